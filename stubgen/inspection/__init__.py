"""Packages and libraries that are there already: describe, compare, verify, list, add stubs."""

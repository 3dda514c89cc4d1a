"""Families: how a call tells variants apart, and what is wrong with a set of them."""

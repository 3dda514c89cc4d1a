"""The Python package."""

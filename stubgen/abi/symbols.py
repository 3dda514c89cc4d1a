"""Symbols of functions that are in every library, beside those of its kernels."""

from __future__ import annotations

EXPLAIN = "cute_stubgen_explain"
"""The function that failed calls end with; it is seen within the library alone."""

NEAREST = "cute_stubgen_nearest"
"""The one that says what does not fit the variant of a family that is nearest to a call."""

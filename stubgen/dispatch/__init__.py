"""Families: how a call tells variants apart, and what is wrong with a set of them."""

from stubgen.dispatch.families import (
    Selection,
    decision_tree,
    families,
    gaps,
    judged_families,
    selections,
    variant_of,
)
from stubgen.dispatch.sizes import parameters_alike
from stubgen.dispatch.texts import stated

__all__ = [
    "Selection",
    "decision_tree",
    "families",
    "gaps",
    "judged_families",
    "parameters_alike",
    "selections",
    "stated",
    "variant_of",
]

"""Which installed distributions Python packages come from."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from functools import cache


@cache
def distributions() -> Mapping[str, list[str]]:
    """Give the distributions by package; looked up once, because it reads what all of them have installed."""
    return importlib.metadata.packages_distributions()

"""What is found wrong with a declaration, before anybody says in whose kernel and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Finding(NamedTuple):
    """A problem in the making: its code and what fills in the catalogue's entry."""

    code: str
    parameter: str | None
    details: Mapping[str, object]
    remark: str = ""
    """What is to be said after the remedy."""


class RefusedError(Exception):
    """A declaration cannot be compiled; one :class:`Finding` for each reason."""

    args: tuple[Finding, ...]


def finding(code: str, parameter: str | None = None, **details: object) -> Finding:
    """Note a problem; takes what :func:`stubgen.problems.problem.problem` takes."""
    return Finding(code, parameter, details)

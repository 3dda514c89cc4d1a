"""Imports what is only installed where somebody asked for it."""

from __future__ import annotations

import importlib
from typing import Any

from stubgen.problems.problem import StubgenError, problem


def require(module: str, *, what: str, extra: str) -> Any:
    """Import a module of an extra.

    Parameters
    ----------
    module
        Its name.
    what
        What needs it, in the user's words.
    extra
        The extra that brings it.

    Raises
    ------
    StubgenError
        CS120 if it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        requirement = f"cute-stubgen[{extra}]"
        raise StubgenError(
            problem("CS120", what=what, package=package, reason=error, requirement=requirement)
        ) from None

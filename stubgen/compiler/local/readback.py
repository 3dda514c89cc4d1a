"""Asks a linked library for its signatures. Runs in a worker process, because it loads native code."""

from __future__ import annotations

import re

import tvm_ffi


def stated_signatures(library: str, names: dict[str, int]) -> dict[str, str]:
    """Return the signature that each function states in its error messages.

    Parameters
    ----------
    library
        Path of the shared library.
    names
        For each function the number of its parameters; it is called with one more, so that it refuses.

    Returns
    -------
        By name the text between backquotes, such as ``add_one(a: Tensor([n], float32), …)``.
    """
    module = tvm_ffi.load_module(library)
    return {name: _stated(module[name], arity) for name, arity in names.items()}


def _stated(function: tvm_ffi.Function, arity: int) -> str:
    try:
        function(*[None] * (arity + 1))
    except Exception as error:
        found = re.search(r"`(.*)`", str(error), re.DOTALL)
        return found[1] if found else f"silent: {error}"
    return "callable with any number of arguments"

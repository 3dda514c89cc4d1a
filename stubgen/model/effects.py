"""What a kernel does to its arguments: which it writes, which it makes, and how to differentiate it.

Compiled code does not tell. The modules for PyTorch and JAX have to know, and only they do: nothing that is
compiled depends on what is said here.
"""

from __future__ import annotations

import msgspec

from stubgen.model.spelling import CName, Name


class Backward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kernel that computes the gradients of another one, as :mod:`stubgen.declare.gradients` has it."""

    function: CName
    grads: dict[Name, Name]
    """By output of the forward kernel, the parameter of this one that takes its gradient."""
    gives: dict[Name, Name]
    """By input of the forward kernel, the output of this one that is its gradient."""


class Effects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a declaration says of a kernel's effects; nothing by default."""

    mutates: tuple[Name, ...] = ()
    """Parameters whose tensors are written; those of ``returns`` among them."""
    returns: tuple[Name, ...] = ()
    """Those of them that are written only, so that they can be made by the call and returned."""
    backward: Backward | None = None

"""What a kernel does to its arguments: which it writes, which it makes, and how to differentiate it.

Compiled code does not tell. The modules for PyTorch and JAX have to know, and only they do: nothing that is
compiled depends on what is said here.
"""

from __future__ import annotations

import msgspec

from stubgen.spelling import CName, Name


class Backward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The kernel that computes the gradients of another one; see :func:`backward`."""

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


def backward(function: str, *, grads: dict[str, str], gives: dict[str, str]) -> Backward:
    """Name the kernel that computes the gradients of the one that is declared.

    Its other parameters take what the forward kernel took, or returned, under the same name.

    Parameters
    ----------
    function
        Public name of an export or family with ``returns``.
    grads
        For each output of the forward kernel the parameter that takes its gradient.
    gives
        For each input that has a gradient the parameter that the gradient is written to and returned by.
    """
    return Backward(function, grads, gives)

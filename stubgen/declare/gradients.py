"""What authors say of a kernel's gradients: ``sg.backward``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gradients:
    """The kernel that computes the gradients of another one; see :func:`backward`."""

    function: str
    grads: dict[str, str]
    """By output of the forward kernel, the parameter of this one that takes its gradient."""
    gives: dict[str, str]
    """By input of the forward kernel, the output of this one that is its gradient."""


def backward(function: str, *, grads: dict[str, str], gives: dict[str, str]) -> Gradients:
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
    return Gradients(function, grads, gives)

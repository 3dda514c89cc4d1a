"""Ahead-of-time libraries from CuTe DSL kernels.

Kernel modules use the names below, usually as ``import stubgen as sg``. The command is ``cute-stubgen``.
"""

from stubgen.declare import (
    DeclarationError,
    dim,
    env_stream,
    export,
    family,
    kernel,
    pointer,
    stream,
    target_arch,
    tensor,
)

__all__ = [
    "DeclarationError",
    "dim",
    "env_stream",
    "export",
    "family",
    "kernel",
    "pointer",
    "stream",
    "target_arch",
    "tensor",
]

__version__ = "0.1.0"

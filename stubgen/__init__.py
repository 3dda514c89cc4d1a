"""Ahead-of-time libraries from CuTe DSL kernels.

Kernel modules use the names below, usually as ``import stubgen as sg``. The command is ``cute-stubgen``.
"""

from stubgen.declare.arguments import dim, env_stream, pointer, stream, strided, tensor
from stubgen.declare.declarations import export, family, kernel, target_arch
from stubgen.declare.gradients import backward
from stubgen.declare.labels import DeclarationError

__all__ = [
    "DeclarationError",
    "backward",
    "dim",
    "env_stream",
    "export",
    "family",
    "kernel",
    "pointer",
    "stream",
    "strided",
    "target_arch",
    "tensor",
]

__version__ = "0.1.0"

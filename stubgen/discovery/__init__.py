"""What the kernel modules of a project hold, read from their text; nothing of the user's is imported.

``files`` finds and reads files, ``scan`` takes in one file, ``exports`` brings the scans of all files
together, ``modules`` makes :class:`KernelModule` of that and checks their names. ``imports`` knows where
imports lead.
"""

from stubgen.discovery.imports import external_imports, import_name, source_closure
from stubgen.discovery.modules import JitFunction, KernelModule, find_modules, no_kernels, require_kernels

__all__ = [
    "JitFunction",
    "KernelModule",
    "external_imports",
    "find_modules",
    "import_name",
    "no_kernels",
    "require_kernels",
    "source_closure",
]

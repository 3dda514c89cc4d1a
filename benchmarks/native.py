"""Compiles programs against the generated package, for the benchmarks that are not in Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tvm_ffi import libinfo

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "generated" / "cute_kernels"
LIBRARY = PACKAGE / "lib" / "libcute_kernels.so"


def include_flags() -> list[str]:
    """Return the compiler's arguments that find the headers."""
    return [f"-I{folder}" for folder in (PACKAGE / "include", *libinfo.include_paths())]


def compiled(source: Path, program: Path, *options: str) -> None:
    """Build a program with the machine's C++ compiler, for where the libraries are now."""
    tvm_ffi = Path(libinfo.find_libtvm_ffi())
    paths = [f"-Wl,-rpath,{folder}" for folder in (LIBRARY.parent, tvm_ffi.parent)]
    command = ["c++", *include_flags(), str(source), *options, str(tvm_ffi), *paths, "-o", str(program)]
    subprocess.run(command, check=True)

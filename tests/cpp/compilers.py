"""C++ compilers, called the way a user of a generated library calls them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tvm_ffi import libinfo

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")


@dataclass(frozen=True)
class Compiler:
    """A compiler, and how it is started."""

    name: str
    command: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    def compile(self, source: Path, *, standard: str, include: Path) -> Path:
        """Compile a source file, with warnings as errors and those of tvm-ffi's headers off."""
        made = source.with_suffix(f".{self.name}.o")
        self._run([source], made, "-c", standard=standard, include=include)
        return made

    def build(
        self, program: Path, sources: Sequence[Path], *libraries: Path, standard: str, include: Path
    ) -> None:
        """Build a program that finds its libraries, tvm-ffi being one, where they are now."""
        needed = [*libraries, Path(libinfo.find_libtvm_ffi())]
        linked = [text for lib in needed for text in (str(lib), f"-Wl,-rpath,{lib.parent}")]
        self._run(sources, program, *linked, standard=standard, include=include)

    def macros(self, source: Path, *, standard: str, include: Path) -> list[str]:
        """Give the definitions of all macros at the end of a source file."""
        made = source.with_suffix(".macros")
        self._run([source], made, "-E", "-dM", standard=standard, include=include)
        return made.read_text().splitlines()

    def _run(self, sources: Sequence[Path], made: Path, *options: str, standard: str, include: Path) -> None:
        if not shutil.which(self.command[0]):
            pytest.skip(f"needs {self.name}")
        command = [*self.command, f"-std={standard}", *WARNINGS, f"-I{include}"]
        system = [f"-isystem{folder}" for folder in libinfo.include_paths()]
        done = subprocess.run(
            [*command, *system, *map(str, sources), *options, "-o", str(made)],
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr


GCC = Compiler("g++", ("g++",))
CLANG = Compiler("clang++", (sys.executable, "-m", "ziglang", "c++"))
"""The clang of PyPI's ziglang, which is there wherever the tool is."""

"""C and C++ compilers, called the way a user of a generated library calls them."""

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
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")


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
        self,
        program: Path,
        sources: Sequence[Path],
        *libraries: Path,
        standard: str,
        include: Path,
        options: Sequence[str] = (),
    ) -> None:
        """Build a program that finds its libraries, tvm-ffi being one, where they are now."""
        needed = [*libraries, Path(libinfo.find_libtvm_ffi())]
        linked = [text for lib in needed for text in (str(lib), f"-Wl,-rpath,{lib.parent}")]
        self._run(sources, program, *linked, *options, standard=standard, include=include)

    def complaints(self, source: Path, *, standard: str, include: Path) -> str:
        """Say what is wrong with a source file, or nothing."""
        made = source.with_suffix(".o")
        done = self._done([source], "-c", "-o", str(made), standard=standard, include=include)
        return done.stderr if done.returncode else ""

    def macros(self, source: Path, *, standard: str, include: Path) -> list[str]:
        """Return the definitions of all macros at the end of a source file."""
        made = source.with_suffix(".macros")
        self._run([source], made, "-E", "-dM", standard=standard, include=include)
        return made.read_text().splitlines()

    def _run(self, sources: Sequence[Path], made: Path, *options: str, standard: str, include: Path) -> None:
        done = self._done(sources, *options, "-o", str(made), standard=standard, include=include)
        assert done.returncode == 0, done.stderr

    def _done(
        self, sources: Sequence[Path], *options: str, standard: str, include: Path
    ) -> subprocess.CompletedProcess[str]:
        if not shutil.which(self.command[0]):
            pytest.skip(f"needs {self.name}")
        command = [*self.command, f"-std={standard}", *self._warnings(), f"-I{include}"]
        system = [text for folder in libinfo.include_paths() for text in ("-isystem", folder)]
        return subprocess.run(
            [*command, *system, *map(str, sources), *options],
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def _warnings(self) -> tuple[str, ...]:
        return WARNINGS


class CudaCompiler(Compiler):
    """nvcc, which hands warnings on to the host's compiler; its own files are not pedantic."""

    def _warnings(self) -> tuple[str, ...]:
        return ("-Werror=all-warnings", "-Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Werror")


_ZIG = (sys.executable, "-m", "ziglang")

GCC = Compiler("g++", ("g++",))
CLANG = Compiler("clang++", (*_ZIG, "c++"))
"""The clang of PyPI's ziglang, which is there wherever the tool is."""

GCC_C = Compiler("gcc", ("gcc",))
CLANG_C = Compiler("clang", (*_ZIG, "cc"))
NVCC = CudaCompiler("nvcc", ("nvcc",))

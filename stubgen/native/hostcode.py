"""Reads back what the host code of a library asks of its machine, and holds it to its target."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stubgen.model.library import HostCode
from stubgen.native import elf
from stubgen.native.toolchain import HostTarget
from stubgen.problems.problem import Problem, problem, raise_if_any


def read_host_code(library: Path, target: HostTarget, glibc: str | None = None) -> HostCode:
    """Read back what a linked library asks of a machine.

    Parameters
    ----------
    library
        The shared library.
    target
        What it was compiled for.
    glibc
        The oldest that it has to run with, if that matters.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged; CS410 if it needs a newer glibc.
    """
    found = elf.glibc_version(library)
    raise_if_any(_too_new(library, found, glibc))
    return HostCode(
        target.machine,
        elf.needed(library),
        found,
        elf.libstdcxx_version(library),
    )


def _too_new(library: Path, found: str | None, limit: str | None) -> Iterator[Problem]:
    if found and limit and elf.version_key(found) > elf.version_key(limit):
        yield problem("CS410", library=library.name, found=found, limit=limit)

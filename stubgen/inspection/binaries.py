"""Reads shared libraries: the model in them, or what their texts tell, and what they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from stubgen.inspection import recovered, recovery
from stubgen.inspection.recovery import Unknown
from stubgen.model import names
from stubgen.model.consistency import contradiction
from stubgen.model.library import Library
from stubgen.model.section import SECTION, from_section
from stubgen.native import elf
from stubgen.problems.problem import StubgenError, problem

_KINDS = {1: "it is an object file, which has to be linked first", 4: "it is a core dump"}


class ArchCode(msgspec.Struct, frozen=True):
    """The GPU binaries for one architecture."""

    arch: str
    count: int
    size: int
    """Of all together, in bytes."""


class Binary(msgspec.Struct, frozen=True):
    """What a shared library is made of."""

    file: str
    size: int
    """In bytes."""
    machine: str
    needed: tuple[str, ...]
    """The libraries that it asks the loader for."""
    glibc: str | None
    """The oldest that it runs with."""
    soname: str | None
    gpu_code: tuple[ArchCode, ...]


class Read(msgspec.Struct, frozen=True):
    """What a library says of its functions."""

    library: Library
    unknown: tuple[Unknown, ...] = ()
    """Functions that are not in the model, because too little can be read of them."""


def binary(file: Path) -> Binary:
    """Tell what a library is made of.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged or no library, or cannot be read.
    """
    found = elf.cubins(file)
    return Binary(
        file=file.name,
        size=file.stat().st_size,
        machine=elf.machine(file),
        needed=elf.needed(file),
        glibc=elf.glibc_version(file),
        soname=elf.soname(file),
        gpu_code=tuple(_of_arch(arch, found) for arch in dict.fromkeys(cubin.arch for cubin in found)),
    )


def _of_arch(arch: str, cubins: Iterable[elf.Cubin]) -> ArchCode:
    sizes = [cubin.size for cubin in cubins if cubin.arch == arch]
    return ArchCode(arch, len(sizes), sum(sizes))


def model_in(file: Path) -> Library | None:
    """Read the model that lies in a library of this tool; ``None`` if there is none.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged or no library, or cannot be read; CS507 if the model is damaged.
    """
    section = elf.section(file, SECTION)
    if section is None:
        return None
    try:
        library = from_section(section)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        reason = f"its metadata is damaged, or another version's: {error}"
        raise StubgenError(problem("CS507", file=file, reason=reason)) from None
    wrong = contradiction(library)
    if wrong:
        raise StubgenError(problem("CS507", file=file, reason=f"its metadata contradicts itself: {wrong}"))
    return library


def read(file: Path, package: str | None = None) -> Read:
    """Read what a library says of its functions: all of it, or what its texts tell.

    Parameters
    ----------
    file
        The library.
    package
        What to call the package of a library that does not say it.

    Raises
    ------
    StubgenError
        As for :func:`model_in`; CS507 also if there is nothing to read.
    """
    library = model_in(file)
    if library is not None:
        return Read(library)
    kind = elf.header(file).type
    if kind in _KINDS:
        raise StubgenError(problem("CS507", file=file, reason=_KINDS[kind]))
    cubins = elf.cubins(file)
    findings = elf.read(file, lambda data: recovery.find(data, cubins))
    made, unknown = recovered.library(findings, package or findings.package or _package(file), file.name)
    if not made.modules:
        reason = (
            "it has neither metadata of cute-stubgen nor a function for tvm-ffi that states its signature"
        )
        raise StubgenError(problem("CS507", file=file, reason=reason))
    return Read(made, unknown)


def _package(file: Path) -> str:
    """Return what to call the package of a library that does not say it: like its file, if that can be."""
    stem = file.name.partition(".")[0].removeprefix("lib")
    name = re.sub(r"[\W_]+", "_", stem.lower(), flags=re.ASCII).strip("_")
    spelled = (name, f"lib{name}", f"lib{name}_kernels")
    return next(word for word in spelled if names.package_name_error(word) is None)

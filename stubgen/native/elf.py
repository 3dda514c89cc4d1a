"""Reads linked libraries and the GPU code inside them, without loading them.

Files come from anywhere, whole or not: whatever is wrong with one becomes CS407, in bounded time
and memory.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import mmap
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from stubgen.native.elf_format import HEADER, SECTION, Header
from stubgen.problems.problem import StubgenError, problem

T = TypeVar("T")

_NOBITS = 8
_SMALLEST_VERSION_ENTRY = 16
_ELF_MAGIC = b"\x7fELF\x02\x01"
_EM_CUDA = 190


class _Image(NamedTuple):
    """What has to be known of an ELF image before it is cut out of the file."""

    abi: int
    flags: int
    size: int


class _DamagedError(Exception):
    """What is wrong with the file."""


@dataclass(frozen=True)
class Cubin:
    """A GPU binary inside a library.

    Attributes
    ----------
    offset, size : int
        Where it lies in the file, in bytes.
    sha256 : str
        Of its bytes, in hexadecimal.
    arch : str
        What it was assembled for, such as ``sm_90a``.
    kernels : tuple of str
        Names of the kernels in it.
    """

    offset: int
    size: int
    sha256: str
    arch: str
    kernels: tuple[str, ...]


def exported_symbols(path: Path) -> tuple[str, ...]:
    """Return the names that the library defines for others, sorted.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged or no library, or cannot be read.
    """

    def look(data: mmap.mmap) -> tuple[str, ...]:
        tables = _sections(data, SymbolTableSection, ".dynsym")
        symbols = (symbol for table in tables for symbol in table.iter_symbols())
        return tuple(sorted(symbol.name for symbol in symbols if _is_exported(symbol)))

    return read(path, look)


def needed(path: Path) -> tuple[str, ...]:
    """Return the libraries that this one asks the loader for, in its order.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """

    def look(data: mmap.mmap) -> tuple[str, ...]:
        tables = _sections(data, DynamicSection, ".dynamic")
        return tuple(tag.needed for table in tables for tag in table.iter_tags("DT_NEEDED"))

    return read(path, look)


def soname(path: Path) -> str | None:
    """Return the name that a program that is linked with the library asks the loader for.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """

    def look(data: mmap.mmap) -> str | None:
        tables = _sections(data, DynamicSection, ".dynamic")
        return next((tag.soname for table in tables for tag in table.iter_tags("DT_SONAME")), None)

    return read(path, look)


def header(path: Path) -> Header:
    """Return the ELF header.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """
    return read(path, lambda data: Header(*HEADER.unpack_from(data)))


def section(path: Path, name: str) -> bytes | None:
    """Return the content of a section, or ``None`` if there is none of that name.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """

    def look(data: mmap.mmap) -> bytes | None:
        found = {section.name: section for section in ELFFile(cast("IO[bytes]", data)).iter_sections()}
        return _content(data, found[name]) if name in found else None

    return read(path, look)


def glibc_version(path: Path) -> str | None:
    """Return the oldest glibc that the library runs with, such as ``2.17``; ``None`` if it uses none.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """
    return _highest_version(path, "GLIBC")


def libstdcxx_version(path: Path) -> str | None:
    """Return the highest version of libstdc++ symbols, such as ``3.4.21``; ``None`` if it uses none.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """
    return _highest_version(path, "GLIBCXX")


def _highest_version(path: Path, family: str) -> str | None:
    def look(data: mmap.mmap) -> str | None:
        names = itertools.chain.from_iterable(
            map(_version_names, _sections(data, GNUVerNeedSection, ".gnu.version_r"))
        )
        found = (re.fullmatch(rf"{family}_(\d+(?:\.\d+)*)", name) for name in names)
        return max((match[1] for match in found if match), key=version_key, default=None)

    return read(path, look)


def machine(path: Path) -> str:
    """Return the instruction set of the library or object, as in a target triple.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`.
    """
    names = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}

    def look(data: mmap.mmap) -> str:
        found = str(ELFFile(cast("IO[bytes]", data))["e_machine"])
        return names.get(found, found)

    return read(path, look)


def cubins(path: Path) -> tuple[Cubin, ...]:
    """Return the GPU binaries inside a library, in the order they lie there.

    The DSL stores them as they are. Ones that ``nvcc`` compressed are not seen.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`; also if a GPU binary is damaged.
    """
    return read(path, lambda data: tuple(_find_cubins(data)))


def version_key(version: str) -> tuple[int, ...]:
    """Return what to compare versions by."""
    return tuple(map(int, version.split(".")))


def read(path: Path, reader: Callable[[mmap.mmap], T]) -> T:
    """Return what a reader makes of a file, whose parts lie within it.

    Raises
    ------
    StubgenError
        As for :func:`exported_symbols`; whatever the reader raises becomes CS407.
    """
    try:
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            _check_bounds(data, 0)
            return reader(data)
    except OSError as error:
        reason: object = error.strerror
    except _DamagedError as error:
        reason = error
    except Exception as error:
        # pyelftools raises whatever its parts do, from KeyError to RecursionError.
        reason = f"{type(error).__name__}: {error}"
    raise StubgenError(problem("CS407", file=path, reason=reason)) from None


def _check_bounds(data: mmap.mmap, start: int) -> _Image:
    """Check that an ELF image lies within the file; this bounds what pyelftools does with it."""
    if data[start : start + len(_ELF_MAGIC)] != _ELF_MAGIC:
        raise _DamagedError("it does not begin like a 64-bit little-endian ELF file")
    room = len(data) - start
    if room < HEADER.size:
        raise _DamagedError("it is cut short")
    header = Header(*HEADER.unpack_from(data, start))
    if header.shnum == 0 or header.shentsize != SECTION.size:
        raise _DamagedError("it has no section headers")
    end_of_table = header.shoff + header.shnum * header.shentsize
    if end_of_table > room:
        raise _DamagedError("it is cut short")
    table = SECTION.iter_unpack(data[start + header.shoff : start + end_of_table])
    ends = [offset + size for _, kind, _, _, offset, size, *_ in table if kind != _NOBITS]
    size = max(end_of_table, header.phoff + header.phnum * header.phentsize, *ends)
    if size > room:
        raise _DamagedError("a part of it lies beyond its end")
    return _Image(header.ident[8], header.flags, size)


def _sections(data: mmap.mmap, kind: type[Any], name: str) -> Iterator[Any]:
    # pyelftools wants no more of a file than seek, tell and read.
    for section in ELFFile(cast("IO[bytes]", data)).iter_sections():
        if isinstance(section, kind) and section.name == name:
            yield section


def _is_exported(symbol: Any) -> bool:
    return (
        symbol["st_shndx"] != "SHN_UNDEF"
        and symbol["st_info"]["bind"] != "STB_LOCAL"
        and symbol["st_other"]["visibility"] in ("STV_DEFAULT", "STV_PROTECTED")
    )


def _version_names(section: Any) -> Iterator[str]:
    # The entries are a linked list; in a damaged file it may go in circles.
    most = section["sh_size"] // _SMALLEST_VERSION_ENTRY
    for _, versions in itertools.islice(section.iter_versions(), most):
        for version in itertools.islice(versions, most):
            yield version.name


def _find_cubins(data: mmap.mmap) -> Iterator[Cubin]:
    start = data.find(_ELF_MAGIC, 1)
    while start != -1:
        following = start + 1
        if data[start + 18 : start + 20] == _EM_CUDA.to_bytes(2, "little"):
            cubin = _cubin(data, start)
            yield cubin
            following = start + cubin.size
        start = data.find(_ELF_MAGIC, following)


def _cubin(data: mmap.mmap, start: int) -> Cubin:
    try:
        image = _check_bounds(data, start)
    except _DamagedError as error:
        raise _DamagedError(f"the GPU code at {start:#x} is damaged: {error}") from None
    binary = data[start : start + image.size]
    sections = {section.name: section for section in ELFFile(io.BytesIO(binary)).iter_sections()}
    text = ".text."
    return Cubin(
        offset=start,
        size=image.size,
        sha256=hashlib.sha256(binary).hexdigest(),
        arch=_arch(image, _content(binary, sections.get(".note.nv.tkinfo"))),
        kernels=tuple(name[len(text) :] for name in sections if name.startswith(text)),
    )


def _content(binary: bytes | mmap.mmap, section: Any | None) -> bytes:
    # Not `section.data()`, which would unpack what a damaged header calls compressed.
    if section is None:
        return b""
    return binary[section["sh_offset"] : section["sh_offset"] + section["sh_size"]]


def _arch(image: _Image, tool_info: bytes) -> str:
    """Tell what a cubin was assembled for.

    Measured with DSL 4.8.1 (its ptxas is 12.9) and with ptxas 13.0:

    ====================  =================  ===============  ========================
    written by            ABI version        number           ``a``
    ====================  =================  ===============  ========================
    12.9, up to sm_90a    7                  bits 0 to 7      bit 11
    12.9, from sm_100     8                  bits 8 to 15     bit 3
    13.0                  8                  bits 8 to 15     not in the flags
    ====================  =================  ===============  ========================

    The flags of sm_100f are those of sm_100. But from ABI version 8 on there is a note that holds
    the command line of ptxas, ``-O 3 -arch sm_100f``.
    """
    if image.abi == 7:
        number, accelerated = image.flags & 0xFF, image.flags & 0x800
    elif image.abi == 8:
        number, accelerated = image.flags >> 8 & 0xFF, image.flags & 0x8
    else:
        raise _DamagedError(f"it holds GPU code of the unknown ABI version {image.abi}")
    stated = re.search(rb"-arch[ =](sm_%d[af]?)\b" % number, tool_info)
    if stated:
        return stated[1].decode("ascii")
    return f"sm_{number}{'a' if accelerated else ''}"

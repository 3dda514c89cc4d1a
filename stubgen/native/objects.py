"""Reads and writes static archives, and gives symbols of object files other names.

Only what the toolchain or an installed package wrote comes here: 64-bit little-endian ELF objects.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from stubgen.native.elf_format import SECTION, SYMBOL, Section

_ARCHIVE = b"!<arch>\n"
_MEMBER_HEADER = 60
_SHOFF, _SHNUM = 0x28, 0x3C
_SYMBOL_TABLE, _GROUP = 2, 17
_VISIBLE = frozenset({1, 2})
"""Bindings of symbols that other objects can see: global and weak."""
_HIDDEN = 2


@dataclass(frozen=True)
class ObjectSymbol:
    """A symbol that matters to other objects."""

    name: str
    is_defined: bool
    """Or names a group of sections, of which a linker keeps one and drops those of the same name."""


def archive_members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files in a static archive, by name; its index is left out.

    Raises
    ------
    ValueError
        It is no archive.
    """
    if not data.startswith(_ARCHIVE):
        raise ValueError("no static archive")
    long_names = b""
    at = len(_ARCHIVE)
    while at + _MEMBER_HEADER <= len(data):
        name = data[at : at + 16].decode().rstrip()
        size = int(data[at + 48 : at + 58])
        content = data[at + _MEMBER_HEADER : at + _MEMBER_HEADER + size]
        at += _MEMBER_HEADER + size + size % 2
        if name == "//":
            long_names = content
        elif name not in {"/", "/SYM64/"}:
            yield _member_name(name, long_names), content


def _member_name(name: str, long_names: bytes) -> str:
    if not name[1:].isdigit():
        return name.rstrip("/")
    start = int(name[1:])
    return long_names[start : long_names.index(b"\n", start)].decode().rstrip("/")


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return a static archive of objects, with the index that linkers look symbols up in.

    Names and contents are all that counts: members have no times and no owners.

    Parameters
    ----------
    members
        The objects by name, in their order.
    """
    starts: list[int] = []
    long_names = bytearray()
    for name in members:
        starts.append(len(long_names))
        long_names += f"{name}/\n".encode()
    defined = [(i, name) for i, data in enumerate(members.values()) for name in _offered(data)]
    texts = b"".join(f"{name}\0".encode() for _, name in defined)
    index_size = 4 + 4 * len(defined) + len(texts)
    at = len(_ARCHIVE) + 2 * _MEMBER_HEADER + _even(index_size) + _even(len(long_names))
    places: list[int] = []
    for data in members.values():
        places.append(at)
        at += _MEMBER_HEADER + _even(len(data))
    numbers = struct.pack(f">I{len(defined)}I", len(defined), *(places[i] for i, _ in defined))
    files = [("/", numbers + texts), ("//", bytes(long_names))]
    files += [(f"/{start}", data) for start, data in zip(starts, members.values(), strict=True)]
    return _ARCHIVE + b"".join(_member(name, data) for name, data in files)


def _member(name: str, data: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n"
    return header.encode() + data + b"\n" * (len(data) % 2)


def _offered(data: bytes) -> Iterator[str]:
    """Yield the names that an object defines for others."""
    for table, names in _tables(data):
        for _, (name, info, _, section, *_) in _entries(data, table):
            if section != 0 and info >> 4 in _VISIBLE:
                yield _text(data, names.offset + name)


def _even(size: int) -> int:
    return size + size % 2


def symbols(data: bytes) -> list[ObjectSymbol]:
    """List the symbols of an object that other objects can see, defined in it or not, and names of groups."""
    return [
        ObjectSymbol(_text(data, names.offset + entry[0]), entry[3] != 0 or at in table.groups)
        for table, names in _tables(data)
        for at, entry in _entries(data, table)
    ]


def renamed(data: bytes, new_name: Callable[[str], str | None]) -> bytes:
    """Return an object whose symbols have other names.

    The new names stand in a new string table at the end; all else stays where it is.

    Parameters
    ----------
    data
        The object.
    new_name
        For the name of a symbol that other objects can see gives another one, or ``None`` to leave it. Those
        that are renamed cannot be seen from outside of the library or program that the object gets into.
    """
    made = bytearray(data)
    for table, names in _tables(data):
        strings = bytearray(data[names.offset : names.offset + names.size])
        for at, (name, info, other, *rest) in _entries(data, table):
            new = new_name(_text(data, names.offset + name))
            if new is not None:
                if info >> 4 in _VISIBLE:
                    other = (other & ~3) | _HIDDEN  # noqa: PLW2901
                made[at : at + SYMBOL.size] = SYMBOL.pack(len(strings), info, other, *rest)
                strings += new.encode() + b"\0"
        header = _section_at(data, table.names)
        made[header : header + SECTION.size] = SECTION.pack(
            *names._replace(offset=len(made), size=len(strings))
        )
        made += strings
    return bytes(made)


class _Table(NamedTuple):
    """A symbol table."""

    start: int
    end: int
    names: int
    """Index of the section that holds the names."""
    groups: frozenset[int]
    """Offsets of the symbols that name groups, whatever their binding."""


def _tables(data: bytes) -> list[tuple[_Table, Section]]:
    """Return each symbol table and the string table with its names; an object has one."""
    sections = list(_sections(data))
    return [
        (_table(index, section, sections), sections[section.link])
        for index, section in enumerate(sections)
        if section.type == _SYMBOL_TABLE
    ]


def _table(index: int, section: Section, sections: list[Section]) -> _Table:
    groups = (s.info for s in sections if s.type == _GROUP and s.link == index)
    return _Table(
        section.offset,
        section.offset + section.size,
        section.link,
        frozenset(section.offset + number * SYMBOL.size for number in groups),
    )


def _sections(data: bytes) -> Iterator[Section]:
    (count,) = struct.unpack_from("<H", data, _SHNUM)
    if count == 0:  # it has more than the header can say
        count = Section(*SECTION.unpack_from(data, _section_at(data, 0))).size
    for index in range(count):
        yield Section(*SECTION.unpack_from(data, _section_at(data, index)))


def _section_at(data: bytes, index: int) -> int:
    (start,) = struct.unpack_from("<Q", data, _SHOFF)
    return int(start) + index * SECTION.size


def _entries(data: bytes, table: _Table) -> Iterator[tuple[int, tuple[int, int, int, int, int, int]]]:
    """Yield the offset and the fields of each symbol that matters to other objects."""
    for at in range(table.start, table.end, SYMBOL.size):
        name, info, other, section, value, size = SYMBOL.unpack_from(data, at)
        if info >> 4 in _VISIBLE or at in table.groups:
            yield at, (name, info, other, section, value, size)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()

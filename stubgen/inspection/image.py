"""A shared library as it lies in memory once it is loaded: addresses instead of offsets. Nothing is loaded.

What a damaged file says is taken as it is, within bounds: an address that leads nowhere gives nothing.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from stubgen.native.elf_format import HEADER, SECTION, SYMBOL, Section

X86_64 = 62
AARCH64 = 183

_SEGMENT = struct.Struct("<IIQQQQQQ")
_RELOCATION = struct.Struct("<QQq")
_FRAME = struct.Struct("<ii")

_LOAD, _EXECUTABLE = 1, 1
_RELOCATIONS, _DYNAMIC_SYMBOLS = 4, 11
_INSTRUCTIONS, _NO_BITS = 4, 8
_FUNCTION, _LOCAL = 2, 0
_LONGEST_TEXT = 1 << 16

_OF_SYMBOL = {X86_64: (1, 6, 7), AARCH64: (257, 1025, 1026)}
"""Relocations that put the address of a symbol into a word: absolute, in the GOT, for the PLT."""
_RELATIVE = {X86_64: 8, AARCH64: 1027}


class LibraryFunction(NamedTuple):
    """A function that the library shows."""

    name: str
    address: int
    size: int


class _Segment(NamedTuple):
    """A part of the file that is loaded."""

    flags: int
    offset: int
    address: int
    size: int


class Image:
    """A library that is read by address.

    Parameters
    ----------
    data
        The file, an ELF image of 64 bits, little-endian, whose sections lie within it.
    """

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self._data = data
        header = HEADER.unpack_from(data)
        self.type: int = header[1]
        self.machine: int = header[2]
        self._segments = list(self._read_segments(header[5], header[10]))
        sections = list(self._read_sections(header[6], header[12]))
        self._code = [s for s in sections if s.flags & _INSTRUCTIONS and s.type != _NO_BITS]
        """Some linkers put constants into the segment that is executed, and still have sections of each."""
        self._symbols = [symbol for section in sections for symbol in self._read_symbols(section, sections)]
        self.functions = tuple(self._read_functions())
        self.pointers = dict(self._read_pointers(sections))
        """Of words that the loader fills in, the address that it puts there."""
        starts = {function.address for function in self.functions}
        starts.update(self._read_frames(sections, HEADER.unpack_from(data)[13]))
        self._starts = sorted(starts)

    def code_at(self, start: int) -> bytes:
        """Return the code of the function that begins at an address; empty if there is none."""
        after = bisect_right(self._starts, start)
        end = self._starts[after] if after < len(self._starts) else start + _LONGEST_TEXT
        sizes = [f.size for f in self.functions if f.address == start and f.size]
        end = min(end, start + max(sizes)) if sizes else end
        for segment in self._segments:
            if segment.flags & _EXECUTABLE and 0 <= start - segment.address < segment.size:
                at = segment.offset + start - segment.address
                return self._data[at : at + min(end - start, segment.address + segment.size - start)]
        return b""

    def is_function(self, address: int) -> bool:
        """Return whether a function begins at an address, as far as that is known."""
        at = bisect_right(self._starts, address)
        return at > 0 and self._starts[at - 1] == address

    def is_code(self, address: int) -> bool:
        """Return whether an address is one of code."""
        if self._code:
            return any(0 <= address - section.addr < section.size for section in self._code)
        return any(s.flags & _EXECUTABLE and 0 <= address - s.address < s.size for s in self._segments)

    def text_at(self, address: int) -> str | None:
        """Return the text that ends with a zero, if one lies there."""
        at = self.offset_of(address)
        if at is None:
            return None
        end = self._data.find(b"\0", at, at + _LONGEST_TEXT)
        try:
            return None if end < 0 else self._data[at:end].decode()
        except UnicodeDecodeError:
            return None

    def offset_of(self, address: int) -> int | None:
        """Return the place in the file of what is loaded to an address."""
        for segment in self._segments:
            if 0 <= address - segment.address < segment.size:
                return segment.offset + address - segment.address
        return None

    # -----------------------------------------------------------------------------------------------------
    # Tables

    def _read_segments(self, start: int, count: int) -> Iterator[_Segment]:
        table = self._data[start : start + count * _SEGMENT.size]
        for kind, flags, offset, address, _, size, _, _ in self._entries(_SEGMENT, table):
            if kind == _LOAD and offset + size <= len(self._data):
                yield _Segment(flags, offset, address, size)

    def _read_sections(self, start: int, count: int) -> Iterator[Section]:
        table = self._data[start : start + count * SECTION.size]
        yield from itertools.starmap(Section, self._entries(SECTION, table))

    def _read_symbols(
        self, section: Section, sections: list[Section]
    ) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield name, info, section, value and size of each dynamic symbol."""
        if section.type != _DYNAMIC_SYMBOLS or section.link >= len(sections):
            return
        names = self._content(sections[section.link])
        for name, info, _, where, value, size in self._entries(SYMBOL, self._content(section)):
            end = names.find(b"\0", name, name + _LONGEST_TEXT)
            yield names[name:end].decode(errors="replace") if end > name else "", info, where, value, size

    def _read_functions(self) -> Iterator[LibraryFunction]:
        for name, info, where, value, size in self._symbols:
            if info & 0xF == _FUNCTION and info >> 4 != _LOCAL and where and name:
                yield LibraryFunction(name, value, size)

    def _read_pointers(self, sections: list[Section]) -> Iterator[tuple[int, int]]:
        of_symbol, relative = _OF_SYMBOL.get(self.machine, ()), _RELATIVE.get(self.machine)
        for section in sections:
            if section.type != _RELOCATIONS:
                continue
            for where, info, addend in self._entries(_RELOCATION, self._content(section)):
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                if kind == relative:
                    yield where, addend
                elif kind in of_symbol and symbol < len(self._symbols) and self._symbols[symbol][2]:
                    yield where, self._symbols[symbol][3] + addend

    def _read_frames(self, sections: list[Section], names_at: int) -> Iterator[int]:
        """Yield where functions begin, by the table that exceptions are unwound with."""
        names = self._content(sections[names_at]) if names_at < len(sections) else b""
        for section in sections:
            if not names[section.name :].startswith(b".eh_frame_hdr\0"):
                continue
            content = self._content(section)
            # Version 1; the address of .eh_frame in 4 bytes; the number of entries in 4 bytes; each entry
            # two distances from the table itself, in 4 bytes each.
            if content[:1] == b"\1" and content[2:4] == b"\x03\x3b":
                for start, _ in self._entries(_FRAME, content[12:]):
                    yield section.addr + start

    def _content(self, section: Section) -> bytes:
        return self._data[section.offset : section.offset + section.size]

    @staticmethod
    def _entries(layout: struct.Struct, table: bytes) -> Iterator[tuple[int, ...]]:
        return layout.iter_unpack(table[: len(table) // layout.size * layout.size])

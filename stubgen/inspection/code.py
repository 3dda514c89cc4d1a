"""What machine code refers to: the addresses of texts and data that it takes, and the functions it calls.

No disassembler is needed for that. Compilers make an address in few ways, and each leaves bytes that hardly
come about otherwise; a false find does not matter, because what lies there has to make sense as well.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from stubgen.inspection.image import AARCH64, X86_64, Image

_RIP = rb"[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]"
_TAKEN = re.compile(rb"(?=[\x48\x4c]\x8d" + _RIP + rb"(.{4}))", re.DOTALL)
"""``lea disp(%rip), %r``"""
_LOADED = re.compile(rb"(?=(?:[\x48\x4c]\x8b" + _RIP + rb"|\xff[\x15\x25])(.{4}))", re.DOTALL)
"""``mov disp(%rip), %r``; ``call *disp(%rip)`` and ``jmp *disp(%rip)``"""
_CALLED = re.compile(rb"(?=(?:[\xe8\xe9]|\x0f[\x80-\x8f])(.{4}))", re.DOTALL)
"""``call``, ``jmp`` and conditional jumps"""
_CONSTANT = re.compile(rb"(?=[\x48\x49][\xb8-\xbf](.{8}))", re.DOTALL)
"""``movabs $constant, %r``"""
_TO_TABLE = 32
"""How far apart in bytes the two instructions are that find the GOT."""

_PAGE = 1 << 12


def references(image: Image, start: int) -> tuple[int, ...]:
    """Return all addresses that the function at an address takes, loads, calls or jumps to, each once.

    Where it loads a pointer that the loader fills in, the address is what that leads to; so it is where it
    calls through the PLT.
    """
    code = image.code_at(start)
    if image.machine == X86_64:
        found = _of_x86_64(image, start, code)
    elif image.machine == AARCH64:
        found = _of_aarch64(image, start, code)
    else:
        return ()
    return tuple(dict.fromkeys(address for address in found if address != start))


# ---------------------------------------------------------------------------------------------------------


def _of_x86_64(image: Image, start: int, code: bytes) -> Iterator[int]:
    for address in _relative(_TAKEN, start, code):
        yield address
    for address in _relative(_LOADED, start, code):
        if address in image.pointers:
            yield image.pointers[address]
    for address in _relative(_CALLED, start, code):
        if not start <= address < start + len(code):
            yield from _callee(image, address)
    yield from _by_table(image, start, code)


def _relative(pattern: re.Pattern[bytes], start: int, code: bytes) -> Iterator[int]:
    for match in pattern.finditer(code):
        yield start + match.end(1) + struct.unpack("<i", match[1])[0]


def _by_table(image: Image, start: int, code: bytes) -> Iterator[int]:
    """Yield what code of the large model refers to, as the DSL's own objects have it.

    It takes its own address, adds a constant that leads to the GOT, and to that one that leads to what is
    meant.
    """
    constants = [(m.start(), struct.unpack("<q", m[1])[0]) for m in _CONSTANT.finditer(code)]
    tables: set[int] = set()
    for match in _TAKEN.finditer(code):
        here = start + match.end(1) + struct.unpack("<i", match[1])[0]
        if start <= here < start + len(code):
            near = (v for at, v in constants if 0 <= at - match.start() <= _TO_TABLE)
            tables.update(here + value for value in near)
    for table in sorted(tables):
        for _, value in constants:
            address = table + value
            if address in image.pointers:
                yield image.pointers[address]
            elif image.offset_of(address) is not None:
                yield address


def _callee(image: Image, address: int) -> Iterator[int]:
    """Yield a function that is called; if that is a stub of the PLT, what is behind it."""
    if image.is_function(address):
        yield address
    elif image.is_code(address):
        stub = image.code_at(address)[:16]
        for slot in _relative(_LOADED, address, stub):
            if slot in image.pointers:
                yield image.pointers[slot]


# ---------------------------------------------------------------------------------------------------------


def _of_aarch64(image: Image, start: int, code: bytes) -> Iterator[int]:
    pages: dict[int, int] = {}
    for at, (word,) in enumerate(struct.iter_unpack("<I", code[: len(code) // 4 * 4])):
        here = start + 4 * at
        target, source = word & 31, word >> 5 & 31
        if word & 0x9F000000 == 0x90000000:  # adrp
            pages[target] = (here & -_PAGE) + _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) * _PAGE
        elif word & 0x9F000000 == 0x10000000:  # adr
            yield here + _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)
        elif word & 0xFFC00000 == 0x91000000 and source in pages:  # add
            yield pages[source] + (word >> 10 & 0xFFF)
        elif word & 0xFFC00000 == 0xF9400000 and source in pages:  # ldr
            slot = pages[source] + (word >> 10 & 0xFFF) * 8
            if slot in image.pointers:
                yield image.pointers[slot]
        elif word & 0x7C000000 == 0x14000000:  # b, bl
            address = here + _signed(word & 0x3FFFFFF, 26) * 4
            if image.is_function(address):
                yield address
            elif image.is_code(address) and not start <= address < start + len(code):
                yield from _stub(image, address)


def _stub(image: Image, address: int) -> Iterator[int]:
    """Yield what is behind a stub of the PLT: ``adrp x16``, ``ldr x17``, ``add x16``, ``br x17``."""
    words = [word for (word,) in struct.iter_unpack("<I", image.code_at(address)[:8])]
    if len(words) == 2 and words[0] & 0x9F00001F == 0x90000010 and words[1] & 0xFFC003FF == 0xF9400211:
        page = (address & -_PAGE) + _signed((words[0] >> 5 & 0x7FFFF) << 2 | words[0] >> 29 & 3, 21) * _PAGE
        slot = page + (words[1] >> 10 & 0xFFF) * 8
        if slot in image.pointers:
            yield image.pointers[slot]


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value

"""Damages libraries in the ways that files get damaged, and some that take malice."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable

_MODEL = b"cute-stubgen model 1\n"
_SECTION_HEADER, _SEGMENT_HEADER = 64, 56
_EXTREME = (
    0,
    1,
    7,
    0x7F,
    0xFF,
    0xFFFF,
    0x10000,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def mutated(data: bytes, chosen: random.Random) -> tuple[str, bytes]:
    """Damage a library; gives what was done, and the result."""
    mutation = chosen.choice(_MUTATIONS)
    damaged = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 4))):
        mutation(damaged, chosen)
    return mutation.__name__.strip("_"), bytes(damaged)


def _bits(data: bytearray, chosen: random.Random) -> None:
    for _ in range(chosen.choice((1, 8, 64))):
        data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)


def _bytes(data: bytearray, chosen: random.Random) -> None:
    start = chosen.randrange(len(data))
    length = chosen.choice((1, 8, 64, 4096))
    data[start : start + length] = chosen.choice(
        (b"\0" * length, b"\xff" * length, chosen.randbytes(length), b"", data[:length])
    )


def _truncated(data: bytearray, chosen: random.Random) -> None:
    del data[chosen.randrange(1, len(data)) :]


def _header(data: bytearray, chosen: random.Random) -> None:
    _overwrite(data, chosen, 4, 64)


def _section_headers(data: bytearray, chosen: random.Random) -> None:
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    _overwrite(data, chosen, start, start + count * _SECTION_HEADER)


def _segment_headers(data: bytearray, chosen: random.Random) -> None:
    start, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    _overwrite(data, chosen, start, start + count * _SEGMENT_HEADER)


def _tables(data: bytearray, chosen: random.Random) -> None:
    """Damage what a section holds, most of all small ones: symbols, relocations, versions, frames."""
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    if not 0 < count < 100 or start + count * _SECTION_HEADER > len(data):
        return
    at = start + chosen.randrange(count) * _SECTION_HEADER
    offset, size = struct.unpack_from("<QQ", data, at + 24)
    if size and offset + size <= len(data):
        _overwrite(data, chosen, offset, offset + size)


def _metadata(data: bytearray, chosen: random.Random) -> None:
    """Damage the model, and mend its checksum now and then: that is all that protects it."""
    start = data.find(_MODEL) + len(_MODEL)
    size = _model_size(data)
    if start < len(_MODEL) or not size:
        return
    _overwrite(data, chosen, start, start + size)
    if chosen.random() < 0.8:
        data[start : start + 4] = zlib.crc32(data[start + 4 : start + size]).to_bytes(4, "little")


def _model_size(data: bytearray) -> int:
    """Return the size of what is behind the first words of the model: it is in the section's header."""
    start, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for at in range(start, min(start + count * _SECTION_HEADER, len(data) - _SECTION_HEADER + 1), 64):
        offset, size = struct.unpack_from("<QQ", data, at + 24)
        if data[offset : offset + len(_MODEL)] == _MODEL:
            return int(size) - len(_MODEL)
    return 0


def _texts(data: bytearray, chosen: random.Random) -> None:
    """Damage a signature, with what signatures are made of."""
    found = _places(data, b" when calling: `")
    if found:
        start = chosen.choice(found) + chosen.randrange(120)
        part = chosen.choice(
            (b"(", b")", b"[", b"]", b"`", b"|", b", ", b": ", b"Tuple[", b"9" * 40, b"\xff", b"\0")
        )
        data[start : start + len(part)] = part


def _gpu_code(data: bytearray, chosen: random.Random) -> None:
    found = _places(data, b"\x7fELF")[1:]
    if found:
        start = chosen.choice(found)
        _overwrite(data, chosen, start, start + 64)


_MUTATIONS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _bits,
    _bytes,
    _truncated,
    _header,
    _section_headers,
    _segment_headers,
    _tables,
    _metadata,
    _texts,
    _gpu_code,
)


def _places(data: bytes | bytearray, mark: bytes) -> list[int]:
    found: list[int] = []
    at = data.find(mark)
    while at != -1:
        found.append(at)
        at = data.find(mark, at + 1)
    return found


def _overwrite(data: bytearray, chosen: random.Random, start: int, end: int) -> None:
    """Put an extreme or random number somewhere between."""
    size = chosen.choice((1, 2, 4, 8))
    end = min(end, len(data)) - size
    if start < end:
        value = chosen.choice((*_EXTREME, chosen.getrandbits(64), len(data), len(data) // 2)) % 2 ** (
            8 * size
        )
        at = chosen.randrange(start, end)
        at -= at % size if chosen.random() < 0.8 else 0  # fields lie at multiples of their size
        data[at : at + size] = value.to_bytes(size, "little")

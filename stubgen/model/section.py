"""The model as it lies in the shared library: in a section of its own, found without running anything."""

from __future__ import annotations

import zlib

import msgspec

from stubgen.model.library import Library

SECTION = ".cute_stubgen"
"""The section of the shared library that holds the model."""

_MAGIC = b"cute-stubgen model 1\n"


def to_section(library: Library) -> bytes:
    """Encode a library for the section; :func:`from_section` gives an equal one back.

    A checksum, and MessagePack, which unlike JSON knows infinities.
    """
    packed = msgspec.msgpack.encode(library)
    return _MAGIC + _checksum(packed) + packed


def _checksum(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def from_section(data: bytes) -> Library:
    """Decode what :func:`to_section` made.

    Raises
    ------
    msgspec.ValidationError
        The section is whole, but does not describe a library as this version knows it.
    msgspec.DecodeError
        The section is damaged, or another version's.
    """
    if not data.startswith(_MAGIC):
        raise msgspec.DecodeError("it does not begin as this version's does")
    start = len(_MAGIC) + 4
    if data[len(_MAGIC) : start] != _checksum(data[start:]):
        raise msgspec.DecodeError("its checksum is another")
    return msgspec.msgpack.decode(data[start:], type=Library)

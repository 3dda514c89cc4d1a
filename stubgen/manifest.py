"""``manifest.json``: what a package was generated from, and the hash of every file in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from stubgen.model import Library

NAME = "manifest.json"


class Manifest(msgspec.Struct, frozen=True):
    """The contents of the file."""

    library: Library
    files: dict[str, str]
    """SHA-256 of every generated file, by path relative to the output folder."""


def encode(library: Library, files: dict[str, bytes]) -> bytes:
    """Give the manifest of a library and its files."""
    hashes = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())}
    data = msgspec.json.encode(Manifest(library, hashes))
    return msgspec.json.format(data, indent=2) + b"\n"


def read(file: Path) -> Manifest | None:
    """Read a manifest; ``None`` if there is none, or none that this version understands."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError):
        return None

"""``manifest.json``: what a package was generated from, and the hash of everything in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from stubgen.model import jsontext
from stubgen.model.consistency import contradiction
from stubgen.model.library import HostCode, Library

NAME = "manifest.json"


class GpuCode(msgspec.Struct, frozen=True):
    """A GPU binary inside the shared library."""

    arch: str
    size: int
    """In bytes."""
    sha256: str


class Sources(msgspec.Struct, frozen=True):
    """What decided what was compiled."""

    files: dict[str, str] = {}
    """SHA-256 of every kernel module and every local module that one imports, by path in the project."""
    packages: dict[str, str] = {}
    """Versions of the distributions that they import, that these need, and that the tool builds with."""


class Manifest(msgspec.Struct, frozen=True):
    """The contents of the file."""

    library: Library
    files: dict[str, str]
    """SHA-256 of every generated file, by path relative to the output folder."""
    gpu_code: tuple[GpuCode, ...] = ()
    """In the order in which it lies in the shared library."""
    sources: Sources = Sources()
    host: HostCode | None = None
    """What the shared library asks of the machine that it runs on."""


def encode(
    library: Library,
    files: Mapping[str, bytes],
    *,
    gpu_code: Sequence[GpuCode] = (),
    sources: Sources | None = None,
    host: HostCode | None = None,
) -> bytes:
    """Return the manifest of a library and its files."""
    hashes = {path: sha256(data) for path, data in sorted(files.items())}
    return jsontext.encode(Manifest(library, hashes, tuple(gpu_code), sources or Sources(), host)) + b"\n"


def read(file: Path) -> Manifest | None:
    """Read a manifest; ``None`` if there is none, or none that this version could have written."""
    try:
        found = jsontext.decode(file.read_bytes(), Manifest)
    except (OSError, RecursionError, ValueError, msgspec.MsgspecError):
        return None
    return found if all(map(is_inside, found.files)) and not contradiction(found.library) else None


class _Files(msgspec.Struct, frozen=True):
    """The part of a manifest that all versions of the tool have alike."""

    files: dict[str, str]


def read_files(file: Path) -> dict[str, str] | None:
    """Return the hash of every file that a run wrote, whichever version of the tool; ``None`` if none did."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Files).files
    except (OSError, RecursionError, ValueError, msgspec.MsgspecError):
        return None


def is_inside(path: str) -> bool:
    """Return whether a path, relative to the output folder, stays in it and is spelled in the only way."""
    pure = PurePosixPath(path)
    return "\0" not in path and path == str(pure) != "." and not pure.is_absolute() and ".." not in pure.parts


def sha256(data: bytes) -> str:
    """Return a hash in hexadecimal."""
    return hashlib.sha256(data).hexdigest()

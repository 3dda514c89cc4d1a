"""A store of what was compiled before, found again by the hash of all that shaped it.

An entry is a file: the SHA-256 of its key and of what follows, and the data, compressed. Files appear whole,
under their final names, and never change, so any number of processes may read and write at once, over a
network file system too. What is damaged, is another entry, or is no file counts as none and is written again.
Nothing here may fail a run: a store that cannot be read or written, for lack of space or of rights, stores
nothing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from stubgen.problems.problem import Problem, problem
from stubgen.system import folders

DEFAULT_LIMIT = 4 * 2**30
"""Of all entries together, in bytes."""

_DIGEST = hashlib.sha256().digest_size
_SUFFIX = ".entry"
LARGEST = 1 << 29
"""Of an entry in bytes, packed or not: some hundred times what the largest kernels take."""
_FAST = 1
"""zlib's level: what is stored is read far more often than it is worth compressing well."""


class Cache(Protocol):
    """Where compiled things are kept."""

    def get(self, key: str) -> bytes | None:
        """Return what was put under a key, or ``None``."""

    def put(self, key: str, data: bytes) -> None:
        """Keep data under a key."""

    def expect(self, keys: Sequence[str]) -> None:
        """Prepare to be asked for these soon."""

    def tidy(self) -> None:
        """Finish what was begun, and make room if it is time to."""

    def warnings(self) -> tuple[Problem, ...]:
        """Return what went wrong so far, and did not keep the run from going on."""
        ...


class NoCache:
    """Keeps nothing.

    Parameters
    ----------
    why
        What to warn of, if that is nobody's wish.
    """

    def __init__(self, *why: Problem) -> None:
        self._why = why

    def get(self, key: str) -> bytes | None:
        """Return nothing."""

    def put(self, key: str, data: bytes) -> None:
        """Forget it."""

    def expect(self, keys: Sequence[str]) -> None:
        """Do nothing."""

    def holds(self, key: str) -> bool:
        """Tell that there is nothing."""
        del key
        return False

    def tidy(self) -> None:
        """Do nothing."""

    def warnings(self) -> tuple[Problem, ...]:
        """Return the reason for it."""
        return self._why


@dataclass(frozen=True)
class Contents:
    """What a store holds."""

    folder: Path
    entries: int
    size: int
    """In bytes, on disk."""


class FolderCache:
    """Keeps entries in a folder, of this machine or shared.

    Parameters
    ----------
    folder
        Made when the first entry is kept.
    limit
        Of all entries together in bytes; :meth:`prune` removes those that were not used for longest.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self._limit = limit
        self._written = False
        self._problem: Problem | None = None

    def get(self, key: str) -> bytes | None:
        """Return what was put under a key, or ``None`` if there is nothing, or nothing whole."""
        path = self._path(key)
        try:
            stored = _content(path)
        except OSError:
            return None
        data = opened(stored, key)
        if data is not None:
            with contextlib.suppress(OSError):
                os.utime(path)  # used just now
        return data

    def put(self, key: str, data: bytes) -> None:
        """Keep data under a key, if the folder can be written."""
        path = self._path(key)
        try:
            folders.create(path.parent, self.folder)
            folders.replace_file(path, sealed(data, key), prefix="tmp", root=self.folder)
            self._written = True
        except OSError as error:
            self._problem = self._problem or unkept(self.folder, error.strerror or error)

    def holds(self, key: str) -> bool:
        """Return whether there is something under a key; it may turn out to be damaged."""
        return self._path(key).is_file()

    def expect(self, keys: Sequence[str]) -> None:
        """Do nothing: all is at hand."""

    def contents(self) -> Contents:
        """Count what there is."""
        sizes = [status.st_size for _, status in self._entries()]
        return Contents(self.folder, len(sizes), sum(sizes))

    def prune(self, *, limit: int | None = None) -> int:
        """Remove the entries that were not used for longest, until the rest is within the limit.

        Returns
        -------
        int
            How many were removed.
        """
        self._sweep()
        entries = sorted(self._entries(), key=lambda entry: entry[1].st_mtime, reverse=True)
        room = self._limit if limit is None else limit
        removed = 0
        for path, status in entries:
            room -= status.st_size
            if room < 0:
                with contextlib.suppress(OSError):
                    path.unlink()
                    removed += 1
        return removed

    def tidy(self) -> None:
        """Prune, if this process has added something and nobody has pruned for an hour."""
        stamp = self.folder / "pruned"
        with contextlib.suppress(OSError):
            if self._written and not _is_recent(stamp):
                stamp.touch()
                self.prune()

    def warnings(self) -> tuple[Problem, ...]:
        """Return what kept entries from being written; the next run will make them again."""
        return (self._problem,) if self._problem else ()

    def _path(self, key: str) -> Path:
        return self.folder / entry_name(key)

    def _sweep(self) -> None:
        """Remove what writers left half-written that were killed; what is new may be another's."""
        for path in self.folder.glob("*/tmp*"):
            with contextlib.suppress(OSError):
                if not _is_recent(path):
                    path.unlink()

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.glob(f"*/*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # removed in between
                yield path, path.stat()


def sealed(data: bytes, key: str = "") -> bytes:
    """Pack data so that :func:`opened` sees whether it came through whole, and is what was asked for."""
    packed = zlib.compress(data, _FAST)
    return _digest(key, packed) + packed


def opened(stored: bytes, key: str = "") -> bytes | None:
    """Return what was sealed under a key, or ``None`` if it is damaged, another's or too large."""
    digest, packed = stored[:_DIGEST], stored[_DIGEST:]
    if _digest(key, packed) != digest:
        return None
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, LARGEST)
    except zlib.error:
        return None
    return data if unpacking.eof else None


def _digest(key: str, packed: bytes) -> bytes:
    return hashlib.sha256(key.encode() + packed).digest()


def entry_name(key: str) -> str:
    """Return the path of an entry in its store."""
    return f"{key[:2]}/{key[2:]}{_SUFFIX}"


def key(*parts: object) -> str:
    """Return the key of something that these parts have shaped: plain data, each of which counts."""
    return hashlib.sha256(msgspec.msgpack.encode(parts)).hexdigest()


def _content(path: Path) -> bytes:
    """Read a file of a size that an entry may have; what is no file might never end.

    Raises
    ------
    OSError
        It cannot be read.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        return file.read(LARGEST)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file, and do not wait for who might write into a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def unkept(folder: object, reason: object) -> Problem:
    """Return the warning that nothing is kept in a folder."""
    return problem("CS618", folder=folder, reason=reason)


def _is_recent(file: Path) -> bool:
    try:
        return time.time() - file.stat().st_mtime < 60 * 60
    except FileNotFoundError:
        return False

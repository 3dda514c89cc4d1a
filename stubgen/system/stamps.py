"""Tells whether a file is what it was, without reading it where that is certain.

As git does it: size, times and inode that are the same say that the content is, unless the file was so new
when it was read that it may have been written again within the same tick of the clock. Then, and where
anything but the size differs, the content decides.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import msgspec

_TICK = 2_000_000_000
"""Nanoseconds: the coarsest times of a file system in use, those of FAT."""


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was read."""

    size: int
    modified: int
    """In nanoseconds, as are all times. Anyone can set this one."""
    changed: int
    """Of the last change to the file or its inode; only the system sets it."""
    inode: int
    read: int
    """When it was read, by this machine's clock."""
    sha256: str

    @property
    def is_certain(self) -> bool:
        """Whether a later change would have left another stamp: it was not just being written when read.

        A file from the future, or one read before the clock was set back, is not.
        """
        return max(self.modified, self.changed) + _TICK < self.read <= time.time_ns()

    def matches(self, status: os.stat_result) -> bool:
        """Return whether a file has the same size, times and inode."""
        return (self.size, self.modified, self.changed, self.inode) == (
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
        )


def take(path: Path) -> Stamp:
    """Read a file and return its stamp.

    Raises
    ------
    OSError
        It cannot be read.
    """
    return read(path)[1]


def read(path: Path) -> tuple[bytes, Stamp]:
    """Read a file; return its content and its stamp.

    Raises
    ------
    OSError
        It cannot be read.
    """
    # The status first: what changes while the file is read makes the stamp an old one, not a wrong one.
    now, status = time.time_ns(), path.stat()
    content = path.read_bytes()
    return content, Stamp(
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        now,
        hashlib.sha256(content).hexdigest(),
    )


def renewed(path: Path, stamp: Stamp) -> Stamp | None:
    """Return the stamp that a file has now if its content is the same, or ``None``."""
    try:
        status = path.stat()
        if stamp.is_certain and stamp.matches(status):
            return stamp
        if status.st_size != stamp.size:
            return None
        now = take(path)
    except OSError:
        return None
    return now if now.sha256 == stamp.sha256 else None

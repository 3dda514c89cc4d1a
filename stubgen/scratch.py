"""Folders for what is needed only while a run goes on, and an end to those of runs that were killed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from stubgen.diagnostics import StubgenError, problem
from stubgen.text import is_storable, storable

_PREFIX = "cute-stubgen-run-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_OLD = 60 * 60
"""Seconds after which a folder that nobody has locked is nobody's; a new one may not be locked yet."""


@contextlib.contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """Give a folder that is gone afterwards.

    Raises
    ------
    StubgenError
        CS405 where there is no room for what is done in it.
    """
    try:
        parent = _temporary_files()
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder, _lock(Path(folder)):
            _remove_abandoned(Path(folder).parent)
            yield Path(folder)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        path = error.filename or tempfile.gettempdir()
        raise StubgenError(problem("CS405", path=path, reason=error.strerror or error)) from error


def temporary_folder(prefix: str) -> Path:
    """Create a folder among the temporary files that stays there.

    Raises
    ------
    StubgenError
        CS405 where there is no room for it.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=_temporary_files()))
    except OSError as error:
        path = tempfile.gettempdir()
        raise StubgenError(problem("CS405", path=path, reason=error.strerror or error)) from None


def _temporary_files() -> str:
    """Return the folder for temporary files; Python looks for one that can be written.

    Raises
    ------
    StubgenError
        CS405 where there is none, CS256 where its name is not UTF-8.
    """
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError as error:
        path = os.environ.get("TMPDIR", "/tmp")  # only named, not used
        raise StubgenError(problem("CS405", path=path, reason=error.strerror)) from None
    if not is_storable(folder):  # the compiler's messages are read as text
        raise StubgenError(problem("CS256", path=storable(folder)))
    return folder


def _remove_abandoned(parent: Path) -> None:
    for folder in _old(parent):
        with contextlib.suppress(OSError), _lock(folder) as is_nobodys:
            if is_nobodys:
                shutil.rmtree(folder, ignore_errors=True)


def _old(parent: Path) -> Iterator[Path]:
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # gone in between
            if folder.stat().st_mtime < time.time() - _OLD:
                yield folder


@contextlib.contextmanager
def _lock(folder: Path) -> Generator[bool, None, None]:
    """Try to hold a folder's lock; the system lets go of it with this process, however that ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield _is_locked_by_us(descriptor)
    finally:
        os.close(descriptor)


def _is_locked_by_us(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it, or there are no locks on such file systems
        return False
    return True

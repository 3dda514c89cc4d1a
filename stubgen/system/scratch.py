"""Folders for what is needed only while a run goes on, and an end to those of runs that were killed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import multiprocessing.util
import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from stubgen.model.text import is_storable, storable
from stubgen.problems.problem import StubgenError, problem

_PREFIX = "cute-stubgen-run-"
_LONGEST_SOCKET = 107
"""Bytes of the path of a socket."""
_TEMPORARY_FILES = ("/tmp", "/var/tmp", "/dev/shm")
"""Where any process of the system may put some."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)
_OLD = 60 * 60
"""Seconds after which a folder that nobody has locked is nobody's, where its process cannot be asked for.

A new one may not be locked yet.
"""


@contextlib.contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """Return a folder that is gone afterwards.

    Raises
    ------
    StubgenError
        CS405 where there is no room for what is done in it.
    """
    try:
        parent = _temporary_files()
        with tempfile.TemporaryDirectory(prefix=_own_prefix(), dir=parent) as folder, _lock(Path(folder)):
            _remove_abandoned(Path(folder).parent)
            yield Path(folder)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        path = error.filename or tempfile.gettempdir()
        raise StubgenError(problem("CS405", path=path, reason=error.strerror or error)) from error


def keep_sockets_in_scratch() -> None:
    """Have ``multiprocessing`` keep its sockets in a folder that a later run removes if this one is killed.

    Where the path of the folder for temporary files is too long, it lies in another of the system's.

    Raises
    ------
    StubgenError
        CS405 where there is none that will do.
    """
    own: Any = multiprocessing.current_process()
    if "tempdir" in own._config:
        return
    parent = _folder_for_sockets()
    if parent != _temporary_files():  # which is looked through anyway
        _remove_abandoned(Path(parent))
    with contextlib.suppress(OSError):  # whoever needs a folder says so
        folder = tempfile.mkdtemp(prefix=_own_prefix(), dir=parent)
        lock = os.open(folder, os.O_RDONLY)  # until this process ends
        _is_locked_by_us(lock)
        own._config["tempdir"] = folder
        multiprocessing.util.Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=-100)


def _folder_for_sockets() -> str:
    wanted = _temporary_files()
    for folder in (wanted, *_TEMPORARY_FILES):
        if len(os.fsencode(folder)) <= _LONGEST_SOCKET - 60 and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise StubgenError(problem("CS405", path=wanted, reason="its path is too long for a socket"))


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
    for folder in _perhaps_abandoned(parent):
        with contextlib.suppress(OSError), _lock(folder) as is_nobodys:
            if is_nobodys:
                shutil.rmtree(folder, ignore_errors=True)


def _perhaps_abandoned(parent: Path) -> Iterator[Path]:
    """Yield the folders of processes that have ended, and old ones whose processes are not seen from here."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # gone in between
            if _has_ended(folder.name) or folder.stat().st_mtime < time.time() - _OLD:
                yield folder


def _own_prefix() -> str:
    """Return how the names of this process's folders begin: with its number, and where that counts."""
    return f"{_PREFIX}{_process_namespace():x}-{os.getpid():x}-"


def _process_namespace() -> int:
    """Return which processes have their numbers from one counter; containers may share temporary files."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _has_ended(name: str) -> bool:
    """Return whether the process that a folder is named after is certain to have ended."""
    match = re.fullmatch(rf"{_PREFIX}([0-9a-f]+)-([0-9a-f]+)-\w+", name)
    if match is None or int(match[1], 16) != _process_namespace():
        return False
    try:
        os.kill(int(match[2], 16), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # another user's, or no number of a process
        return False
    return False


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

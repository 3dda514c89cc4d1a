"""The user's own folders: where they are, and whether they can be used.

A user may have no home, or one that nobody can write to, as in many containers. Then nothing is kept there,
and the run does without.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs

_NAME = "cute-stubgen"

Kind: TypeAlias = Literal["locks", "logs", "objects", "runs", "wheels", "zig"]


def own(kind: Kind) -> Path | None:
    """Return where one of the user's own folders is to be, or ``None`` for a user without a home."""
    find = platformdirs.user_log_dir if kind == "logs" else platformdirs.user_cache_dir
    try:
        folder = Path(find(_NAME))
    except RuntimeError:  # platformdirs knows no home; before 4.5 it returns "~" as it is
        return None
    if not folder.is_absolute():
        return None
    return folder if kind == "logs" else folder / kind


def writable(kind: Kind) -> Path | None:
    """Return one of the user's own folders, created if need be; ``None`` if nothing can be put there."""
    folder = own(kind)
    return folder if folder is not None and is_writable(folder) else None


@cache
def writable_or_temporary(kind: Kind) -> Path:
    """Return one of the user's own folders, or else one that lives as long as this process.

    Raises
    ------
    OSError
        There is no room for temporary files either.
    """
    folder = writable(kind)
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix=f"{_NAME}-{kind}-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_writable(folder: Path) -> bool:
    """Create a folder if it is missing, and tell whether files can be put into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def create(folder: Path, root: Path) -> None:
    """Create a folder below a root; where the root is open to others, so is the folder.

    Raises
    ------
    OSError
        It cannot be created.
    """
    if folder.is_dir():
        return
    root.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    mode = root.stat().st_mode
    if _is_shared(mode):
        folder.chmod(stat.S_IMODE(mode))


def replace_file(target: Path, data: bytes, *, prefix: str, root: Path | None = None) -> None:
    """Write a file that appears whole under its name, with the mode that any new file gets there.

    Parameters
    ----------
    target
        The file; its folder is there.
    data
        What it is to hold.
    prefix
        How the name begins that it has until it is whole.
    root
        A folder around it. Where that is open to others, the file is as open to them, whatever the umask is.

    Raises
    ------
    OSError
        It cannot be written; nothing is left behind.
    """
    unfinished = unique(target.parent, prefix)
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if root is not None and _is_shared(mode := root.stat().st_mode):
                os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode) | mode & 0o066)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def unique(folder: Path, prefix: str) -> Path:
    """Return a path that nobody else has. :mod:`tempfile` would make it for its owner alone."""
    return folder / f"{prefix}{os.getpid()}-{os.urandom(6).hex()}"


def _is_shared(mode: int) -> bool:
    """Return whether others than its owner may put files into a folder."""
    return bool(mode & (stat.S_IWGRP | stat.S_IWOTH))

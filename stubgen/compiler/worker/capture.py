"""Keeps what kernel modules print, which would be lost or be in the way, in log files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass
class Printed:
    """What was printed into a log file."""

    log: Path
    is_something: bool = False
    """Whether there is more than white space; known at the end."""


@contextlib.contextmanager
def printing_to(log: Path) -> Generator[Printed, None, None]:
    """Send everything that is printed, by native code too, to the end of a file.

    What runs meanwhile may close or replace the standard streams.
    """
    printed = Printed(log)
    saved = [os.dup(1), os.dup(2)]
    with _opened(log) as target:
        start = target.tell()
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
        try:
            yield printed
        finally:
            for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
                with contextlib.suppress(Exception):
                    stream.flush()  # type: ignore[union-attr]
            for descriptor, original in zip((1, 2), saved, strict=True):
                with contextlib.suppress(OSError):
                    os.dup2(original, descriptor)
                    os.close(original)
            with contextlib.suppress(OSError), log.open("rb") as written:
                written.seek(start)
                printed.is_something = bool(written.read(1 << 20).strip())


def _opened(log: Path) -> BinaryIO:
    """Open a log, or nothing at all where it cannot be written: what is compiled is worth more."""
    try:
        return log.open("ab")
    except OSError:
        return Path(os.devnull).open("wb")

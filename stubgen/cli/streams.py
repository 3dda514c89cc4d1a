"""The standard streams of the command, made to take whatever is printed and to fail in one way."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from stubgen.problems.problem import problem

_CLOSED_PIPE = 128 + 13
"""What a shell says of a program that SIGPIPE has ended."""


class UnwritableError(Exception):
    """The standard output does not take what is printed."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(reason.strerror or str(reason))
        self.is_closed_pipe = isinstance(reason, BrokenPipeError)


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command that prints, and exit with its status.

    Whatever the encoding of a stream lacks is escaped. A closed stream takes everything and shows nothing. A
    reader that is gone ends the command in silence; a standard output that is full ends it with CS135. What
    cannot be said on the standard error is not worth failing for.
    """
    _open_closed()
    sys.stdout, sys.stderr = _escaping(1, _Output), _escaping(2, _Errors)
    status: int | str | None = 0
    try:
        try:
            command()
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
    except UnwritableError as error:
        status = _said(error)
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    sys.exit(status)


def _said(error: UnwritableError) -> int:
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)  # so that nothing is left to fail as Python ends
    if error.is_closed_pipe:
        return _CLOSED_PIPE
    sys.stderr.write(f"error: {problem('CS135', reason=error)}\n")
    return 1


def _open_closed() -> None:
    """Open the streams that are closed, so that no file gets their numbers: programs print to them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)


class _Output(io.FileIO):
    """Says in its own way that it cannot be written, so that nobody takes it for another file."""

    def write(self, data: object, /) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            raise UnwritableError(error) from None


class _Errors(io.FileIO):
    """Takes everything, and shows what it can."""

    def write(self, data: object, /) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _escaping(number: int, kind: type[io.FileIO]) -> io.TextIOWrapper:
    """Open a standard stream anew, with its encoding."""
    old = sys.stdout if number == 1 else sys.stderr
    encoding = getattr(old, "encoding", None) or "utf-8"
    if old is not None:
        with contextlib.suppress(OSError, ValueError):
            old.flush()
    raw = kind(number, "w", closefd=False)
    line_buffering = number == 2 or raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=line_buffering
    )

"""Runs compilers and linkers, and turns what they complain about into problems."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from stubgen.problems.problem import Problem, StubgenError, problem

# The slowest thing seen is a first zig link, which builds its libc stubs: 15 s. Zig 0.17.1 spins
# for ever on some unwritable caches, so that no limit at all would hang a build.
TIMEOUT = 600.0
"""After which a command counts as hung, in seconds."""

# What an object or a small library may take, in bytes.
_ROOM = 1 << 20

# These make a compiler look into folders that this build did not name, or change what it prints.
_UNWANTED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "GCC_COLORS")

_UNWRITABLE = {
    errno.ENOSPC: ("No space left on device", "NoSpaceLeft"),
    errno.EDQUOT: ("Disk quota exceeded", "DiskQuota"),
    errno.EROFS: ("Read-only file system", "ReadOnlyFileSystem"),
    errno.EACCES: ("Permission denied", "AccessDenied", "PermissionDenied"),
}

_DISTRESS = re.compile(r"\b(?:fatal )?error: |undefined reference|multiple definition")

# lld and GNU ld put it in different words, and mean the same.
_LINK_TROUBLE = (
    (r"undefined symbol: (\S+)|undefined reference to [`'](.+?)'", "nothing defines {}"),
    (r"duplicate symbol: (\S+)|multiple definition of [`'](.+?)'", "{} is defined twice"),
    (r"to symbol '(.+?)' failed: symbol not defined", "nothing defines {}, which is exported"),
)


class ToolError(StubgenError):
    """A compiler or linker failed.

    Attributes
    ----------
    output : str
        All that the tool said; the problem quotes one line of it.
    """

    def __init__(self, *problems: Problem, output: str = "") -> None:
        super().__init__(*problems)
        self.output = output


def environment(**changes: str) -> dict[str, str]:
    """Return this process's environment, less what would make builds differ."""
    kept = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    return {**kept, "LC_ALL": "C", **changes}


def run(
    command: Sequence[str | Path],
    *,
    tool: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[str]:
    """Run a build command to its end, whatever that is.

    Parameters
    ----------
    command
        Program and arguments.
    tool
        What the user calls the program.
    env, cwd
        Environment (by default :func:`environment`) and folder to run in.
    timeout
        In seconds.

    Raises
    ------
    ToolError
        CS401 if there is no such program; CS402 if it cannot be run, or does not end; CS405 if the
        system has no room to run it in.
    """
    try:
        return subprocess.run(
            [str(part) for part in command],
            env=dict(env) if env is not None else environment(),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        reason = f"it did not end within {timeout:g} s"
        raise ToolError(problem("CS402", tool=tool, reason=reason)) from None
    except OSError as error:
        raise ToolError(_cannot_run(error, str(command[0]), tool, cwd)) from None


def _cannot_run(error: OSError, program: str, tool: str, cwd: Path | None) -> Problem:
    if cwd is not None and not cwd.is_dir():
        return problem("CS405", path=cwd, reason="no such folder")
    if error.errno == errno.ENOSPC:
        return problem("CS405", path=cwd or program, reason=error.strerror)
    if isinstance(error, FileNotFoundError) and not Path(program).exists():
        return problem("CS401", tool=tool, reason=f"no {program}")
    return problem("CS402", tool=tool, reason=f"{program}: {error.strerror}")


def probe(command: Sequence[str | Path], *, tool: str, env: Mapping[str, str] | None = None) -> str:
    """Ask a tool something that a sound one always answers, such as its version.

    Raises
    ------
    ToolError
        CS401 or CS402.
    """
    done = run(command, tool=tool, env=env, timeout=60)
    if done.returncode:
        reason = f"{Path(command[0]).name} {' '.join(map(str, command[1:]))}: {first_error(done)}"
        raise ToolError(problem("CS402", tool=tool, reason=reason), output=done.stderr)
    return done.stdout.strip()


def first_error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line that says best why a command failed."""
    if done.returncode < 0:
        return f"it was killed by {_signal_name(-done.returncode)}"
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    if not lines:
        return f"it ended with status {done.returncode}, without a word"
    return next(filter(_DISTRESS.search, lines), lines[0])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def unwritable(done: subprocess.CompletedProcess[str], output: Path) -> ToolError | None:
    """Return CS405 if what failed is the writing of ``output``; ``None`` otherwise."""
    reason = _stated_reason(done.stderr) or _why_unwritable(output.parent)
    if reason is None:
        return None
    return ToolError(problem("CS405", path=output, reason=reason), output=done.stderr)


def _stated_reason(text: str) -> str | None:
    for number, words in _UNWRITABLE.items():
        if any(word in text for word in words):
            return os.strerror(number)
    return None


def _why_unwritable(folder: Path) -> str | None:
    """Try it, because lld dies of a full disk without a word, and knows others by "No such file"."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        return error.strerror
    return None


def link_failed(done: subprocess.CompletedProcess[str], output: Path) -> ToolError:
    """Return CS404, once for each symbol that the linker complains about."""
    reasons = dict.fromkeys(
        text.format(next(filter(None, match.groups())))
        for pattern, text in _LINK_TROUBLE
        for match in re.finditer(pattern, done.stderr)
    )
    found = [
        problem("CS404", library=output.name, reason=reason) for reason in reasons or [first_error(done)]
    ]
    return ToolError(*found, output=done.stderr)

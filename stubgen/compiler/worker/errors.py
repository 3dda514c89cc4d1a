"""Reads errors that other people's code raised: the sentence that matters, and the line it is about."""

from __future__ import annotations

import re
import textwrap
import traceback
from pathlib import Path

import stubgen
from stubgen.model.library import Place
from stubgen.model.text import storable

_TOOL = Path(stubgen.__file__).parent
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# The DSL's errors begin with `error[CODE]: sentence`, and point at the source with `--> file:line:column`.
# Of some it only says that the compiler has a problem, and tells which in an indented `error: ` below.
_HEADLINE = re.compile(r"^error(?:\[(?P<code>\w+)\])?: (?P<text>.+)", re.MULTILINE)
_DETAIL = re.compile(r"^ +error: (?P<text>.+(?:\n {8,}\S.*)*)", re.MULTILINE)
_CAUSE = re.compile(r"^ *= note: Caused exception: (?P<text>.+)", re.MULTILINE)
_ARROW = re.compile(r"^ *--> (?P<file>.+?):(?P<line>\d+)(?::\d+)?$", re.MULTILINE)
_WRAPPING = re.compile(
    r"^(?:\W*ICE\W*: |Caused exception: |IR verification failed: |error: |unknown: |loc\(.*?\): )+"
)
_POSITION = re.compile(r"argument #\d+ \((?P<name>\w+)\)")
"""Where the DSL numbers arguments, counting ``self``; they have names."""
_CLASS = re.compile(r"<class '(?:\w+\.)*_?(?P<name>\w+)'>")

PROJECT = "~project"
"""What the compiler is told in place of the project's folder."""

_ASSERT_OF_DSL = "assert test, msg"

_LONGEST = 300
"""What an error line may quote, in characters."""


def place_in(error: BaseException, project: str) -> Place | None:
    """Find the line of the project's own code that an error is about, or else passed through last."""
    if isinstance(error, SyntaxError) and error.filename:
        relative = relative_to_project(error.filename, project)
        return Place(relative, error.lineno or 1) if relative else None
    pointed_at = _ARROW.search(uncoloured(str(error)))
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if pointed_at:
        file = re.sub(f"^{PROJECT}(?=/)", lambda _: project, pointed_at["file"])
        frames.append((file, int(pointed_at["line"])))
    for file, line in reversed(frames):
        relative = relative_to_project(file, project)
        if relative and line:
            return Place(relative, line)
    return None


def relative_to_project(file: str, project: str) -> str | None:
    """Return a path relative to the project, or ``None`` if it is not the project's own code."""
    path = Path(file)
    if "site-packages" in path.parts or not path.is_absolute() or path.is_relative_to(_TOOL):
        return None
    return storable(path.relative_to(project).as_posix()) if path.is_relative_to(project) else None


def file_in_library(error: BaseException, project: str) -> str | None:
    """Name the line of somebody else's code that an error was raised in; ``None`` if it was the project's."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or relative_to_project(frames[-1].filename, project) is not None:
        return None
    last = frames[-1]
    _, found, inside = last.filename.rpartition("/site-packages/")
    return f"{inside}:{last.lineno}" if found else None


def essence(error: BaseException) -> str:
    """Cut an error to the sentence that says what is wrong."""
    if isinstance(error, SystemExit):
        return f"it calls {exit_call(error)}"
    failed = _failed_assertion(error)
    if failed is not None:
        return _sentence(failed)
    text = uncoloured(str(error))
    headline = _HEADLINE.search(text)
    if headline is None:
        name = type(error).__name__
        return _sentence(f"{name}: {text}" if text.strip() else name)
    details = [detail["text"] for detail in _DETAIL.finditer(text)]
    if headline["code"] == "INTERNAL" and details:
        return _sentence(details[-1])
    cause = _CAUSE.search(text)
    if cause and cause["text"] not in headline["text"]:
        return _sentence(f"{headline['text'].rstrip('.')}: {cause['text']}")
    return _sentence(headline["text"])


def exit_call(error: SystemExit) -> str:
    """Return the call that ends Python with this status.

    >>> exit_call(SystemExit()), exit_call(SystemExit("no GPU"))
    ('sys.exit()', "sys.exit('no GPU')")
    """
    return "sys.exit()" if error.code is None else f"sys.exit({_sentence(repr(error.code))})"


def _failed_assertion(error: BaseException) -> str | None:
    """Say which ``assert`` failed, and its message; the DSL makes calls of those in kernels."""
    if not isinstance(error, AssertionError):
        return None
    lines = [str(frame.line) for frame in traceback.extract_tb(error.__traceback__)]
    asserts = [line for line in lines if re.match(r"assert\b", line) and line != _ASSERT_OF_DSL]
    message = uncoloured(str(error)) if error.args not in ((), (None,)) else ""
    if not asserts:
        return None
    return f"`{asserts[-1]}` fails" + (f": {message}" if message and message not in asserts[-1] else "")


def _sentence(text: str) -> str:
    """Put a sentence on one line, without a full stop, as another follows."""
    bare = _WRAPPING.sub("", " ".join(text.split())).rstrip(".")
    bare = _CLASS.sub(r"\g<name>", _POSITION.sub(r"\g<name>", bare))
    return textwrap.shorten(bare, _LONGEST, placeholder=" ...")


def uncoloured(text: str) -> str:
    """Take the terminal's colours out of a text."""
    return _COLOUR.sub("", text)

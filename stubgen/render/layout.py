"""Line fitting: the one place that counts columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100
"""Of a line in generated files, in columns."""


def call_like(head: str, items: Sequence[str], tail: str) -> str:
    """Lay out Python's ``head(items)tail`` on one line, or with one item a line if it does not fit.

    >>> call_like("def f", ["a: int"], " -> None:")
    'def f(a: int) -> None:'
    """
    line = f"{head}({', '.join(items)}){tail}"
    if len(line) <= WIDTH or not items:
        return line
    body = "".join(f"    {item},\n" for item in items)
    return f"{head}(\n{body}){tail}"


def cpp_head(head: str, parameters: Sequence[str]) -> str:
    """Lay out the head of a C or C++ function, with one parameter a line if one line is too short for all."""
    line = f"{head}({', '.join(parameters)}) {{"
    if len(line) <= WIDTH or not parameters:
        return line
    *others, last = parameters
    return f"{head}(\n{_cpp_lines([*(f'{p},' for p in others), f'{last}) {{'], indent=4)}"


def cpp_call(head: str, arguments: Sequence[str]) -> str:
    """Lay out a call in the body of a C or C++ function; if an argument has parts, each gets its own line."""
    line = f"  {head}({', '.join(arguments)});"
    if len(line) <= WIDTH:
        return line
    parts = [f"{argument}," for argument in arguments[:-1]] + [f"{arguments[-1]});"]
    if any(" " in argument for argument in arguments):
        return f"  {head}(\n{_cpp_lines(parts, indent=6)}"
    filled = wrapped(" ".join(parts), width=WIDTH - 6)
    return f"  {head}(\n{_cpp_lines(filled, indent=6)}"


def c_array(head: str, items: Sequence[str]) -> str:
    """Lay out the definition of an array in the body of a C or C++ function."""
    line = f"  {head} = {{{', '.join(items)}}};"
    if len(line) <= WIDTH:
        return line
    lines = "".join(f"      {item},\n" for item in items)
    return f"  {head} = {{\n{lines}  }};"


def cpp_declaration(text: str) -> str:
    """Lay out a declaration of C or C++, on two lines if one is too short for it."""
    return _cpp_lines([text], indent=0)


def _cpp_lines(texts: Sequence[str], *, indent: int) -> str:
    lines = [line for text in texts for line in _broken(text, WIDTH - indent)]
    return textwrap.indent("\n".join(lines), " " * indent)


def _broken(text: str, width: int) -> list[str]:
    """Break C++ behind the first opening parenthesis, if it is too long, or else between words."""
    if len(text) <= width:
        return [text]
    opening = text.find("(") + 1
    if not opening:
        return wrapped(text, width=width, hanging=4)
    inner = wrapped(text[opening:], width=width - 4)
    return [*wrapped(text[:opening], width=width, hanging=4), *(f"    {line}" for line in inner)]


def wrapped(text: str, *, width: int, hanging: int = 0) -> list[str]:
    """Break a paragraph into lines, all but the first indented by ``hanging`` columns."""
    if len(text) <= width and text.isprintable() and text == text.rstrip():  # nothing to break
        return [text]
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def docstring(lines: Sequence[str], indent: str) -> str:
    """Write a Python docstring whose content nothing in the lines can escape from.

    The lines come from users. Backslashes and quotes are escaped where Python would read them; all the rest
    stays as it is, so that the docstring reads in the file as it does in ``help()``.
    """
    if len(lines) <= 1:
        text = _escaped("".join(lines).rstrip(), quotes=r'"{3,}|"+$')
        return f'{indent}"""{text}"""'
    safe = [_escaped(line.rstrip(), quotes=r'"{3,}') for line in lines]
    rest = "\n".join(f"{indent}{line}" if line else "" for line in safe[1:])
    return f'{indent}"""{safe[0]}\n{rest}\n{indent}"""'


def in_comment(text: str) -> str:
    """Keep a path of a user's in the middle of a comment that ends with its line, in Python and in C++.

    In the first lines of a Python file, ``coding:`` would say how it is encoded.
    """
    return re.sub(r"coding(?=[:=])", "coding ", _printable(text))


def _escaped(line: str, *, quotes: str) -> str:
    """Escape backslashes, what cannot be printed, and the double quotes that a pattern matches."""
    printable = _printable(line.replace("\\", "\\\\").expandtabs())
    return re.sub(quotes, lambda match: '\\"' * len(match[0]), printable)


def _printable(text: str) -> str:
    """Spell out what cannot be printed, such as line ends and marks that turn the direction of writing."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)

"""Line fitting: the one place that counts columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100
"""Of a line in generated files, in columns."""


def call_like(
    head: str, items: Sequence[str], tail: str, *, indent: str = "    ", trailing_comma: bool = True
) -> str:
    """Lay out ``head(items)tail`` on one line, or with one item a line if it does not fit.

    Python allows a comma after the last item, and formatters put one there; C++ does not.

    >>> call_like("def f", ["a: int"], " -> None:")
    'def f(a: int) -> None:'
    """
    line = f"{head}({', '.join(items)}){tail}"
    if len(line) <= WIDTH or not items:
        return line
    body = ",\n".join(f"{indent}{item}" for item in items)
    if not trailing_comma:
        return f"{head}(\n{body}){tail}"
    return f"{head}(\n{body},\n){tail}"


def wrapped(text: str, *, width: int, hanging: int = 0) -> list[str]:
    """Break a paragraph into lines, all but the first indented by ``hanging`` columns."""
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
    safe = [_escaped(line.rstrip()) for line in lines]
    if safe and safe[-1].endswith('"'):
        safe[-1] = safe[-1][:-1] + '\\"'
    if len(safe) <= 1:
        return f'{indent}"""{"".join(safe)}"""'
    rest = "\n".join(f"{indent}{line}" if line else "" for line in safe[1:])
    return f'{indent}"""{safe[0]}\n{rest}\n{indent}"""'


def _escaped(line: str) -> str:
    printable = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in line.replace("\\", "\\\\").expandtabs()
    )
    return printable.replace('"""', '\\"\\"\\"')

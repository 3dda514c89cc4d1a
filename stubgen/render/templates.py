"""Finds and fills the Jinja2 templates that hold the shape of the generated files."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import jinja2

from stubgen.render.layout import in_comment

_PLAIN = (".cmake.j2", ".pc.j2", ".toml.j2")
"""Files in whose languages nothing is escaped: they are filled with names, versions and paths alone."""


@functools.cache
def environment(*, plain: bool = False) -> jinja2.Environment:
    """Return the environment that templates are filled in.

    Text is not escaped: nothing here is HTML, and whatever comes from users has been made safe for its
    language before it gets here. A name that a template uses and nobody passes is an error.

    Parameters
    ----------
    plain
        Whether what templates are filled with must not mean anything in the language of the file.
    """
    made = jinja2.Environment(
        finalize=_require_plain if plain else None,
        loader=jinja2.FileSystemLoader(_folders()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["in_comment"] = in_comment
    return made


def _require_plain(value: object) -> object:
    """Return a value that is filled in, if it is plain.

    Raises
    ------
    ValueError
        It would mean something to CMake, pkg-config or TOML. Models are checked before.
    """
    if re.fullmatch(r"[\w .+\-/:,<>=!~*{}\[\]]*", str(value), re.ASCII) is None:
        raise ValueError(f"{value!r} cannot be written into a project file")
    return value


def _folders() -> list[Path]:
    """Where templates lie: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    return [package / "templates", package.parent / "templates"]


def fill(template: str, **context: Any) -> str:
    """Fill a template and give the text, which ends with exactly one newline."""
    chosen = environment(plain=template.endswith(_PLAIN))
    return chosen.get_template(template).render(**context).rstrip("\n") + "\n"

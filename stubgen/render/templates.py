"""Finds and fills the Jinja2 templates that hold the shape of the generated files."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jinja2

from stubgen.render.layout import in_comment


@functools.cache
def environment() -> jinja2.Environment:
    """Give the environment that all templates are filled in.

    Text is not escaped: nothing here is HTML, and whatever comes from users has been made safe for its
    language before it gets here. A name that a template uses and nobody passes is an error.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_folders()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters["in_comment"] = in_comment
    return made


def _folders() -> list[Path]:
    """Where templates lie: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    return [package / "templates", package.parent / "templates"]


def fill(template: str, **context: Any) -> str:
    """Fill a template and give the text, which ends with exactly one newline."""
    return environment().get_template(template).render(**context).rstrip("\n") + "\n"

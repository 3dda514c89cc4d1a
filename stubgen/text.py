"""Text of users, before it becomes part of the model."""

from __future__ import annotations

import inspect


def storable(text: str) -> str:
    """Spell out what no file can hold: lone surrogates, which also stand for bytes that are no text."""
    return text.encode("utf-8", "backslashreplace").decode()


def docstring(doc: object) -> str:
    """Give a docstring without its indentation; empty if it is none: ``__doc__`` may be anything."""
    return storable(inspect.cleandoc(doc)) if isinstance(doc, str) else ""

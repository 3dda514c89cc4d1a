"""Text of users, before it becomes part of the model, and before it reaches a terminal."""

from __future__ import annotations

import inspect
import re

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves the cursor, changes colours, or turns the direction of a line; and halves of characters."""


def storable(text: str) -> str:
    """Spell out what no file can hold: lone surrogates, which also stand for bytes that are no text."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_storable(text: str) -> bool:
    """Return whether a file can hold a text as it is; names of files that are not UTF-8 cannot be held."""
    return storable(text) == text


def docstring(doc: object) -> str:
    """Return a docstring without its indentation; empty if it is none: ``__doc__`` may be anything."""
    return storable(inspect.cleandoc(doc)) if isinstance(doc, str) else ""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with a noun.

    >>> counted(1, "item"), counted(3, "item"), counted(2, "entry", "entries")
    ('1 item', '3 items', '2 entries')
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def printable(text: str) -> str:
    """Spell out what would not be seen on a terminal but obeyed; lines and tabs stay."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)

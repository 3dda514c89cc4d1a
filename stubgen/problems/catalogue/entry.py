"""What there is to say about one kind of problem."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One kind of problem. ``{names}`` in the message are filled in where it is reported."""

    message: str
    remedy: str
    why: str = ""
    """Cause and example for ``explain``, where the message and the remedy do not say it all; Markdown."""

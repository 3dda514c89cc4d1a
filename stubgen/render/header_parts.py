"""What C and C++ headers have in common, ready to be put into a template."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeaderStruct:
    """A struct, ready to be put into a header."""

    name: str
    comment: list[str]
    members: list[HeaderMember]


@dataclass(frozen=True)
class HeaderMember:
    """A member of a struct, ready to be put into it."""

    comment: list[str]
    declaration: str

"""What the values of a family's axes are called: in names, and by callers."""

from __future__ import annotations

import enum
import keyword
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

ChoiceValue: TypeAlias = "bool | int | float | str | None"
"""What a caller passes to choose among variants that no other argument tells apart."""


class DeclarationError(ValueError):
    """A declaration is wrong in itself, before anything is compiled; one argument for each thing wrong."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


def labelled(axis: str, values: Any) -> dict[str, Any]:
    """Return the values of an axis by label."""
    if not axis.isidentifier() or keyword.iskeyword(axis):  # it may become a parameter
        raise DeclarationError(f"{axis!r} is no name of an axis; give an identifier that is no keyword")
    if isinstance(values, Mapping):
        given = cast("Mapping[object, Any]", values)
        pairs = [(identifier_part(label), value) for label, value in given.items()]
    elif isinstance(values, str) or not isinstance(values, Iterable):
        raise DeclarationError(f"axis {axis!r} is {values!r}; give a list of its values")
    elif isinstance(values, set | frozenset):
        raise DeclarationError(f"axis {axis!r} is a set, which has no order; give a list of its values")
    else:
        pairs = [(label_of(value), value) for value in cast("Iterable[object]", values)]
    if not pairs:
        raise DeclarationError(f"axis {axis!r} has no values")
    labelled: dict[str, Any] = {}
    for label, value in pairs:
        if label in labelled:
            raise DeclarationError(
                f"axis {axis!r} has two values labelled {label!r}, {labelled[label]!r} and {value!r}; "
                "give labels of your own with a dict"
            )
        labelled[label] = value
    return labelled


def choices(given: Any, labelled: Mapping[str, Any]) -> dict[str, ChoiceValue]:
    """Return what a caller passes for each value of an axis: itself, if it is plain data, or else its name.

    Values that Python takes for the same, such as 1 and True, go by their names too.
    """
    values = list(labelled.values())
    if not isinstance(given, Mapping) and all(map(_is_plain, values)) and len(set(values)) == len(values):
        return {label: _plain(value) for label, value in labelled.items()}
    written = list(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else map(_written, values)
    return dict(zip(labelled, written, strict=True))


def _is_plain(value: object) -> bool:
    """Return whether a value can be compared in the library, and kept in the manifest, as what it is."""
    match value:
        case enum.Enum():  # an IntEnum too: its names are what it is for
            return False
        case int():  # bools too
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case str():
            return value == value.encode("utf-8", "replace").decode()  # no lone surrogates
        case _:
            return value is None


def _plain(value: Any) -> ChoiceValue:
    """Return a value without the class of its own that it may have, such as a number of NumPy's."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__index__(value)
    return float.__float__(value) if isinstance(value, float) else str.__str__(value)


def _written(value: object) -> str:
    return value.name if isinstance(value, enum.Enum) else label_of(value)


def label_of(value: object) -> str:
    """Return the part of an identifier that stands for a value: ``float16``, ``4096``, ``true``, ``relu``.

    Raises
    ------
    DeclarationError
        Values of this type have no obvious label.
    """
    if isinstance(value, type):
        return identifier_part(value.__name__.lower().replace("_", ""))
    if isinstance(value, enum.Enum):
        return identifier_part(value.name)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return identifier_part(str(value).replace("-", "m").replace(".", "p").replace("+", ""))
    if isinstance(value, str):
        return identifier_part(value)
    raise DeclarationError(f"{value!r} has no label of its own; give labels with a dict: {{'label': value}}")


def identifier_part(text: object) -> str:
    """Spell any text in letters and digits, different texts differently.

    Letters and digits stand for themselves, except that ``Z`` is doubled; any other character becomes its
    code point in hexadecimal between ``Z`` and ``z``. Underscores never appear, so that labels joined by
    them can be told apart again.

    Raises
    ------
    DeclarationError
        The text is empty, or no text.
    """
    if not isinstance(text, str) or not text:
        raise DeclarationError(f"{text!r} is no label; give a string of at least one character")
    return re.sub(
        r"[^A-Ya-z0-9]", lambda m: "ZZ" if m[0] == "Z" else f"Z{ord(m[0]):x}z", text, flags=re.ASCII
    )

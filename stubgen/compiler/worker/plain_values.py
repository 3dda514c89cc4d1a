"""Values that authors write in Python, as plain data and as text."""

from __future__ import annotations

import dataclasses
import enum
import numbers
import operator
from typing import Any

from stubgen.compiler.worker.dsl import dsl
from stubgen.model.library import Default
from stubgen.model.text import storable


def plain_number(value: Any) -> bool | int | float | None:
    """Return a number of Python's own for a number of any library's, or of an enumeration; else ``None``."""
    if isinstance(value, bool | type):
        return value if isinstance(value, bool) else None
    if isinstance(value, numbers.Integral):
        return operator.index(value)
    if isinstance(value, numbers.Real):
        return float.__float__(value) if isinstance(value, float) else float(value)
    # NumPy's bools are no numbers to Python; its arrays have items too, but can be exchanged.
    kind = type(value)  # asked in the object's place, which may answer nothing
    is_scalar = hasattr(kind, "dtype") and hasattr(kind, "item") and not hasattr(kind, "__dlpack__")
    item = value.item() if is_scalar else None
    return item if isinstance(item, bool | int | float) else None


def as_default(value: Any) -> Default | None:
    """Return a default as plain data, or ``None`` if it is none: a lambda, a tensor, an object."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    if isinstance(value, tuple):
        items = tuple(map(_plain, value))
        is_plain = all(item is None or isinstance(item, bool | int | float) for item in items)
        return Default(items) if is_plain else None
    value = _plain(value)
    if value is None or isinstance(value, bool | int | float):
        return Default(value)
    return Default(value) if isinstance(value, str) and value == storable(value) else None


def _plain(value: Any) -> Any:
    """Return a number or text without the class of its own that it may have; anything else as it is."""
    value = dsl.plain(value)
    number = plain_number(value)
    if number is not None:
        return number
    return str.__str__(value) if isinstance(value, str) else value


def source_of(value: Any) -> str:
    """Show a compile-time value as its author would write it, without addresses."""
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    if isinstance(value, tuple | list):
        inner = ", ".join(map(source_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return f"<{type(value).__qualname__}>"

"""JSON of plain data with numbers that JSON cannot write: infinities, and what is no number.

They are objects, ``{"$float": "inf"}``, ``{"$float": "-inf"}`` and ``{"$float": "nan"}``: a string may be a
value itself, and a name without the ``$`` that of an axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

_KEY = "$float"


def plain(data: object) -> Any:
    """Return data as JSON has it: objects, lists, strings, finite numbers, bools and ``None``."""
    return _spelled(msgspec.to_builtins(data, str_keys=True))


def encode(data: object) -> bytes:
    """Write data as indented JSON; :func:`decode` gives it back."""
    return msgspec.json.format(msgspec.json.encode(plain(data)), indent=2)


def decode(text: bytes, kind: type[T]) -> T:
    """Read what :func:`encode` wrote.

    Raises
    ------
    msgspec.MsgspecError
        The text is no JSON, or not of this kind.
    """
    return msgspec.convert(_read(msgspec.json.decode(text)), kind, str_keys=True)


def _spelled(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return {_KEY: str(data)}
    return _inside(data, _spelled)


def _read(data: Any) -> Any:
    match data:
        case {"$float": "inf" | "-inf" | "nan" as number, **others} if not others:
            return float(number)
        case _:
            return _inside(data, _read)


def _inside(data: Any, change: Callable[[Any], Any]) -> Any:
    """Change what is in an object or a list, and nothing else."""
    if isinstance(data, dict):
        return {key: change(value) for key, value in cast("dict[str, Any]", data).items()}
    if isinstance(data, list | tuple):
        return [change(item) for item in cast("Sequence[Any]", data)]
    return data

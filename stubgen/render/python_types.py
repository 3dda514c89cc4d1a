"""Slots as Python type expressions, values as Python literals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

from stubgen.model import (
    ChoiceSlot,
    ChoiceValue,
    ConstantSlot,
    Default,
    Extent,
    NoneSlot,
    OneOfSlot,
    Parameter,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)
from stubgen.signatures import admits

OWN_NAMES = ("Pointer", "Stream", "Tensor")
"""Types that the generated package defines, in its module ``_types``."""


def type_of(slot: Slot, *, records: bool) -> str:
    """Give the type that a caller may pass.

    Parameters
    ----------
    slot
        What was compiled.
    records
        Whether a NamedTuple or dataclass is shown as its class, as keyword functions take it, or as the plain
        tuple that the compiled function takes. They also take a tensor for a pointer of known type.
    """
    match slot:
        case TensorSlot():
            return "Tensor"
        case ScalarSlot(dtype=dtype):
            return _scalar_type(dtype)
        case NoneSlot():
            return "None"
        case ConstantSlot(value=value):
            return _constant_type(value)
        case PointerSlot(dtype=dtype):
            return "Pointer | Tensor" if records and dtype is not None else "Pointer"
        case StreamSlot():
            return "Stream"
        case ShapeSlot(extents=extents):
            return _tuple_of(map(_extent_type, extents))
        case TupleSlot(record=record) if record is not None and records:
            return record
        case TupleSlot(items=items):
            return _tuple_of(type_of(item, records=records) for item in items)
        case ChoiceSlot(values=values):
            return _choice_type(values)
        case OneOfSlot(alternatives=alternatives):
            return union(type_of(alternative, records=records) for alternative in alternatives)


def union(types: Iterable[str]) -> str:
    """Join types, each once and None last; literals become one.

    >>> union(["None", "Pointer | Tensor", "Tensor"]), union(["Literal[8]", "int", "Literal[16]"])
    ('Pointer | Tensor | None', 'Literal[8, 16] | int')
    >>> union(["Literal[False]", "Literal[True]"])
    'bool'
    """
    parts = list(dict.fromkeys(part for text in types for part in _parts(text)))
    inner = [part.removeprefix("Literal[")[:-1] for part in parts if part.startswith("Literal[")]
    if len(inner) > 1:
        joined = "bool" if set(inner) == {"True", "False"} else f"Literal[{', '.join(inner)}]"
        first = next(part for part in parts if part.startswith("Literal["))
        parts = [joined if p == first else p for p in parts if p == first or not p.startswith("Literal[")]
    return " | ".join(sorted(dict.fromkeys(parts), key=lambda part: part == "None"))


def _parts(text: str) -> list[str]:
    """Split a union, but not inside of brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _choice_type(values: Sequence[ChoiceValue]) -> str:
    if set(map(type, values)) == {bool} and len(values) == 2:
        return "bool"
    literals = [_literal(value) for value in values if value is not None and _has_literal(value)]
    types = [f"Literal[{', '.join(literals)}]"] if literals else []
    types += [kind.__name__ for kind in (int, float) if any(_is_only(kind, value) for value in values)]
    return " | ".join([*types, *(["None"] if None in values else [])])


def _scalar_type(dtype: str) -> str:
    if dtype == "bool":
        return "bool"
    return "int" if dtype.startswith(("int", "uint")) else "float"


def _constant_type(value: bool | int | float) -> str:
    return f"Literal[{value!r}]" if _has_literal(value) else type(value).__name__


def _has_literal(value: ChoiceValue) -> bool:
    """Tell whether ``Literal`` takes a value: no float, and mypy does not read the least of 64 bits."""
    return not isinstance(value, float) and value != -(2**63)


def _is_only(kind: type, value: ChoiceValue) -> bool:
    """Tell whether a value is shown by its type."""
    return isinstance(value, kind) and not _has_literal(value)


def _extent_type(extent: Extent) -> str:
    return f"Literal[{extent}]" if isinstance(extent, int) else "int"


def _tuple_of(items: Iterable[str]) -> str:
    inner = ", ".join(items)
    return f"tuple[{inner}]" if inner else "tuple[()]"


def literal(default: Default) -> str:
    """Give a default as Python source; infinities and NaN have no literal of their own.

    >>> literal(Default(1e-05)), literal(Default(float("-inf")))
    ('1e-05', 'float("-inf")')
    """
    return _literal(default.value)


def _literal(value: object) -> str:
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        inner = ", ".join(map(_literal, items))
        return f"({inner},)" if len(items) == 1 else f"({inner})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """Put text in double quotes, as the rest of the file has them, where that takes no backslashes."""
    written = repr(text)
    return f'"{text}"' if written == f"'{text}'" and '"' not in text else written


def names_in(types: Iterable[str]) -> tuple[set[str], bool]:
    """Give what a file must import for these type expressions: own types, and whether ``Literal``.

    Works on the finished text, where each name stands between brackets, commas and bars alone.
    """
    words = {word for text in types for word in text.translate(str.maketrans("[],|", "    ")).split()}
    return words & set(OWN_NAMES), "Literal" in words


def positional_items(parameters: Iterable[Parameter]) -> list[str]:
    """Give the parameter list of a compiled function: all by position, in the order of the ABI."""
    items = [f"{p.name}: {type_of(p.slot, records=False)}" for p in parameters]
    return [*items, "/"] if items else []


def keyword_items(parameters: Sequence[Parameter], by_keyword: int | None = None) -> list[str]:
    """Return the parameter list of a keyword function, with defaults; the wrapper knows no ``/``.

    Parameters
    ----------
    parameters
        Of the function.
    by_keyword
        The first that is passed by keyword only, whatever its author wrote; see :func:`first_by_keyword`.
    """
    items: list[str] = []
    starred = False
    for index, parameter in enumerate(parameters):
        if not starred and (parameter.kind == "keyword_only" or index == by_keyword):
            items.append("*")
            starred = True
        default = (
            parameter.default if starred or not _required_follows(parameters[index:by_keyword]) else None
        )
        text = f" = {default_of(parameter.slot, default)}" if default else ""
        items.append(f"{parameter.name}: {type_of(parameter.slot, records=True)}{text}")
    return items


def first_by_keyword(parameters: Sequence[Parameter]) -> int | None:
    """Return the first parameter with a default that is followed by one without, if there is one.

    Python takes such defaults only of parameters that are passed by keyword.
    """
    if any(parameter.kind == "positional_only" for parameter in parameters):
        return None
    gaps = (i for i, p in enumerate(parameters) if p.default and _required_follows(parameters[i:]))
    return next(gaps, None)


def _required_follows(parameters: Sequence[Parameter]) -> bool:
    """Tell whether behind the first parameter there is one that callers have to pass by position."""
    return any(p.default is None and p.kind != "keyword_only" for p in parameters[1:])


def default_of(slot: Slot, default: Default) -> str:
    """Return a parameter's default as Python source; a record is made by its class."""
    alternatives = slot.alternatives if isinstance(slot, OneOfSlot) else (slot,)
    for alternative in alternatives:
        if isinstance(alternative, TupleSlot) and alternative.record and admits(alternative, default.value):
            values = cast("tuple[object, ...]", default.value)
            pairs = zip(alternative.fields, values, strict=True)
            return (
                f"{alternative.record}({', '.join(f'{field}={_literal(value)}' for field, value in pairs)})"
            )
    return literal(default)


def holds_dataclass(slot: Slot, dataclasses: set[str]) -> bool:
    """Tell whether a dataclass is in a slot, at any depth."""
    match slot:
        case TupleSlot(record=record, items=items):
            return record in dataclasses or any(holds_dataclass(item, dataclasses) for item in items)
        case OneOfSlot(alternatives=alternatives):
            return any(holds_dataclass(alternative, dataclasses) for alternative in alternatives)
        case _:
            return False

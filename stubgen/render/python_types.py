"""Slots as Python types, values as Python literals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

from typing_extensions import assert_never

from stubgen.abi.signatures import admits
from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
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
from stubgen.render import type_trees
from stubgen.render.type_trees import Literal, Name, Type, text


def type_of(slot: Slot, *, records: bool) -> Type:
    """Return the type that a caller may pass.

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
            return type_trees.TENSOR
        case ScalarSlot(dtype=dtype):
            return _scalar_type(dtype)
        case NoneSlot():
            return type_trees.NONE
        case ConstantSlot(value=value):
            return _constant_type(value)
        case PointerSlot(dtype=dtype):
            takes_tensors = records and dtype is not None
            tensors = (type_trees.TENSOR,) if takes_tensors else ()
            return type_trees.union([type_trees.POINTER, *tensors])
        case StreamSlot():
            return type_trees.STREAM
        case ShapeSlot(extents=extents):
            return type_trees.Tuple(tuple(map(_extent_type, extents)))
        case TupleSlot(record=record) if record is not None and records:
            return Name(record)
        case TupleSlot(items=items):
            return type_trees.Tuple(tuple(type_of(item, records=records) for item in items))
        case ChoiceSlot(values=values):
            return _choice_type(values)
        case OneOfSlot(alternatives=alternatives):
            return type_trees.union(type_of(alternative, records=records) for alternative in alternatives)
        case _:
            assert_never(slot)


def types_of(parameters: Iterable[Parameter], *, records: bool) -> list[Type]:
    """Return the type of each parameter, as :func:`type_of` does."""
    return [type_of(parameter.slot, records=records) for parameter in parameters]


def _choice_type(values: Sequence[ChoiceValue]) -> Type:
    if set(map(type, values)) == {bool} and len(values) == 2:
        return type_trees.BOOL
    literals = tuple(_literal(value) for value in values if value is not None and _has_literal(value))
    types: list[Type] = [Literal(literals)] if literals else []
    types += [Name(kind.__name__) for kind in (int, float) if any(_is_only(kind, v) for v in values)]
    return type_trees.union([*types, *([type_trees.NONE] if None in values else [])])


def _scalar_type(dtype: str) -> Type:
    if dtype == "bool":
        return type_trees.BOOL
    return Name("int" if dtype.startswith(("int", "uint")) else "float")


def _constant_type(value: bool | int | float) -> Type:
    return Literal((repr(value),)) if _has_literal(value) else Name(type(value).__name__)


def _has_literal(value: ChoiceValue) -> bool:
    """Return whether ``Literal`` takes a value: no float, and mypy does not read the least of 64 bits."""
    return not isinstance(value, float) and value != -(2**63)


def _is_only(kind: type, value: ChoiceValue) -> bool:
    """Return whether a value is shown by its type."""
    return isinstance(value, kind) and not _has_literal(value)


def _extent_type(extent: Extent) -> Type:
    return Literal((str(extent),)) if isinstance(extent, int) else Name("int")


def literal(default: Default) -> str:
    """Return a default as Python source; infinities and NaN have no literal of their own.

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
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Put text in double quotes, as the rest of the file has them, where that takes no backslashes."""
    written = repr(text)
    return f'"{text}"' if written == f"'{text}'" and '"' not in text else written


def positional_items(parameters: Iterable[Parameter]) -> list[str]:
    """Return the parameter list of a compiled function: all by position, in the order of the ABI."""
    items = [f"{p.name}: {text(type_of(p.slot, records=False))}" for p in parameters]
    return [*items, "/"] if items else []


def keyword_items(
    parameters: Sequence[Parameter], by_keyword: int | None = None, tensor: str = type_trees.TENSOR.name
) -> list[str]:
    """Return the parameter list of a keyword function, with defaults; the wrapper knows no ``/``.

    Parameters
    ----------
    parameters
        Of the function.
    by_keyword
        The first that is passed by keyword only, whatever its author wrote; see :func:`first_by_keyword`.
    tensor
        What tensors are called.
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
        value = f" = {default_of(parameter.slot, default)}" if default else ""
        shown = text(type_of(parameter.slot, records=True), tensor=tensor)
        items.append(f"{parameter.name}: {shown}{value}")
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
    """Return whether behind the first parameter there is one that callers have to pass by position."""
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
    """Return whether a dataclass is in a slot, at any depth."""
    match slot:
        case TupleSlot(record=record, items=items):
            return record in dataclasses or any(holds_dataclass(item, dataclasses) for item in items)
        case OneOfSlot(alternatives=alternatives):
            return any(holds_dataclass(alternative, dataclasses) for alternative in alternatives)
        case _:
            return False

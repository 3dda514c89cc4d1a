"""Joins the signature that an author wrote with the ABI that the compiler made of it.

The two differ: ``self``, constexpr parameters and environment streams have no slot, ``*args`` became as many
slots as were compiled, and a default may not fit the slot any more. :func:`bind` gives what a caller of the
compiled function has to know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias, TypeVar, cast

import msgspec
from typing_extensions import assert_never

from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Default,
    Frozen,
    NoneSlot,
    OneOfSlot,
    Parameter,
    ParameterKind,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)

_Part = TypeVar("_Part")
_DefaultValue: TypeAlias = "bool | int | float | str | tuple[bool | int | float | None, ...] | None"

AuthorKind: TypeAlias = ParameterKind | Literal["var_positional", "var_keyword"]


class AuthorParameter(msgspec.Struct, frozen=True):
    """A parameter of the author's function, as ``inspect.signature`` shows it."""

    name: str
    kind: AuthorKind = "positional_or_keyword"
    default: Default | None = None
    """``None`` also where the default is no plain value."""
    frozen: str | None = None
    """The value that the parameter was compiled with, if it is a constexpr."""


class Argument(msgspec.Struct, frozen=True):
    """One argument of the compiled function."""

    name: str
    slot: Slot | None
    """``None`` for a stream that tvm-ffi's environment fills; callers do not pass it."""


class Bound(msgspec.Struct, frozen=True):
    """The public face of a compiled function."""

    parameters: tuple[Parameter, ...]
    frozen: tuple[Frozen, ...]
    env_streams: tuple[str, ...]


def bind(author: tuple[AuthorParameter, ...], arguments: tuple[Argument, ...]) -> Bound:
    """Return the public parameters of a compiled function.

    Parameters
    ----------
    author
        The parameters that the author wrote, in order.
    arguments
        What the compiler made of them, in the order of the ABI. What no author's parameter names comes
        from ``*args`` (and stays in its place, without keywords) or from ``**kwargs``.
    """
    written = {parameter.name: parameter for parameter in author}
    passed = [argument for argument in arguments if argument.slot is not None]
    parameters = [_parameter(argument, written) for argument in passed]
    return Bound(
        parameters=tuple(parameters),
        frozen=tuple(_frozen(author, {argument.name for argument in passed})),
        env_streams=tuple(argument.name for argument in arguments if argument.slot is None),
    )


def _frozen(author: tuple[AuthorParameter, ...], passed: set[str]) -> Iterator[Frozen]:
    """Yield what is not passed any more, with its place among what is."""
    position = 0
    for parameter in author:
        if parameter.name in passed:
            position += 1
        elif parameter.frozen is not None:
            kind: ParameterKind = parameter.kind  # type: ignore[assignment]  # *args are never frozen
            yield Frozen(parameter.name, parameter.frozen, position, kind, parameter.default)


def _parameter(argument: Argument, written: dict[str, AuthorParameter]) -> Parameter:
    """Return the public parameter for one slot, with its default if the slot admits it."""
    assert argument.slot is not None
    own = written.get(argument.name)
    if own is None or own.kind in ("var_positional", "var_keyword"):
        return Parameter(argument.name, argument.slot, kind=_expanded_kind(argument, written))
    kind: ParameterKind = own.kind  # type: ignore[assignment]  # narrowed above
    return Parameter(argument.name, argument.slot, kind, _fitting(argument.slot, own.default))


def _expanded_kind(argument: Argument, written: dict[str, AuthorParameter]) -> ParameterKind:
    """Tell what became of ``*args`` from what became of ``**kwargs``; the DSL names the former so."""
    if argument.name.startswith("_vararg") and argument.name not in written:
        return "positional_only"
    return "keyword_only"


def _fitting(slot: Slot, default: Default | None) -> Default | None:
    """Return a default as the number that the author's annotation makes of it, if the slot admits that."""
    if default is not None and isinstance(slot, ScalarSlot):
        default = Default(_as_number(slot.dtype, default.value))
    return default if default is not None and admits(slot, default.value) else None


def _as_number(dtype: str, value: _DefaultValue) -> _DefaultValue:
    """Convert a number where that keeps what it is, such as 1 for a bool and 2.0 for an integer."""
    if not isinstance(value, bool | int | float) or not (isinstance(value, int) or value.is_integer()):
        return value
    if dtype == "bool":
        return bool(value) if value in (0, 1) else value
    return int(value) if dtype in _INTEGER_RANGES or isinstance(value, bool) else value


_INTEGER_RANGES = {
    f"{sign}{bits}": (
        (0, 2 ** min(bits, 63) - 1) if sign == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    for sign in ("int", "uint")
    for bits in (8, 16, 32, 64)
}
"""What a Python caller can pass; tvm-ffi holds integers in an int64, so not the top half of uint64."""


def integer_range(dtype: str) -> tuple[int | None, int | None] | None:
    """Return the numbers that the compiled check of an integer or bool lets pass; ``None`` for a float.

    Numbers of 64 bits are not checked: tvm-ffi has no others.
    """
    if dtype == "bool":
        return (0, 1)
    if dtype in {"int64", "uint64"}:
        return (None, None)
    return _INTEGER_RANGES.get(dtype)


_FLOAT_LIMITS: dict[str, float] = {
    "float16": 65520 - 2.0**-9,
    "bfloat16": (2 - 2.0**-8) * 2.0**127 - 2.0**103,
    "float32": (2 - 2.0**-24) * 2.0**127,
}


def float_limit(dtype: str) -> float:
    """Return the least number that a float type turns into infinity; narrow types go by way of float32."""
    return _FLOAT_LIMITS.get(dtype, math.inf)


def admits(slot: Slot, value: object) -> bool:
    """Return whether a compiled slot accepts a Python value.

    Follows the checks that the compiled function makes itself. Tensors are never admitted: no default is one.
    """
    match slot:
        case NoneSlot():
            return value is None
        case ConstantSlot(value=constant):
            return type(value) is type(constant) and value == constant
        case ScalarSlot(dtype=dtype):
            return _admits_scalar(dtype, value)
        case PointerSlot() | StreamSlot():
            return value is None or (type(value) is int and 0 <= value < 2**63)
        case ShapeSlot(extents=extents):
            return _admits_each(_admits_extent, extents, value)
        case TupleSlot(items=items):
            return _admits_each(admits, items, value)
        case ChoiceSlot(values=values):
            return any(type(value) is type(choice) and value == choice for choice in values)
        case OneOfSlot(alternatives=alternatives):
            return any(admits(alternative, value) for alternative in alternatives)
        case TensorSlot():
            return False
        case _:
            assert_never(slot)


def _admits_each(admit: Callable[[_Part, object], bool], parts: Sequence[_Part], value: object) -> bool:
    if not isinstance(value, tuple):
        return False
    items = cast("tuple[object, ...]", value)
    return len(items) == len(parts) and all(map(admit, parts, items))


def _admits_scalar(dtype: str, value: object) -> bool:
    if dtype == "bool":
        return isinstance(value, bool)
    if dtype in _INTEGER_RANGES:
        low, high = _INTEGER_RANGES[dtype]
        return isinstance(value, int) and low <= value <= high
    if isinstance(value, int):
        return -(2**63) <= value < 2**63 and abs(value) < float_limit(dtype)
    return isinstance(value, float) and (not math.isfinite(value) or abs(value) < float_limit(dtype))


def _admits_extent(extent: int | Symbol, value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    if isinstance(extent, int):
        low, high = extent, extent
    else:
        low, high = -(2 ** (extent.bits - 1)), 2 ** (extent.bits - 1) - 1
    return low <= value <= high

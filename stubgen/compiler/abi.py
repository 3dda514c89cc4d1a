"""Reads the ABI from the spec that the compiler built it from."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from cutlass.base_dsl.tvm_ffi_builder import spec

from stubgen.compiler import dsl
from stubgen.compiler.findings import RefusedError, finding
from stubgen.model import (
    ConstantSlot,
    Default,
    Extent,
    Field,
    NoneSlot,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.names import can_name_class
from stubgen.signatures import Argument, AuthorKind, AuthorParameter
from stubgen.text import docstring, storable

_CPU = 1  # kDLCPU


class UnknownSpecError(Exception):
    """The compiler described an argument in a way that this version of the tool does not know."""


class Reader:
    """Reads one compiled function; collects the records that its arguments use."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}

    def arguments(self, params: Sequence[Any], values: dict[str, Any]) -> tuple[Argument, ...]:
        """Describe all arguments.

        Parameters
        ----------
        params
            The spec parameters, in order.
        values
            What each was compiled with, by name: it knows what the spec does not, such as field names.
        """
        return tuple(Argument(param.name, self._argument(param, values.get(param.name))) for param in params)

    def _argument(self, param: Any, value: Any) -> Slot | None:
        return None if isinstance(param, spec.EnvStream) else self.slot(param, value)

    def slot(self, param: Any, value: Any) -> Slot:
        """Describe one argument.

        Raises
        ------
        UnknownSpecError
            The compiler knows a kind of argument that the tool does not.
        """
        match param:
            case spec.Tensor():
                return _tensor(param)
            case spec.Var():
                return _scalar(param)
            case spec.Shape():
                return ShapeSlot(tuple(map(_extent, param.shape)))
            case spec.ConstNone():
                return NoneSlot()
            case spec.ConstBool() | spec.ConstInt() | spec.ConstFloat():
                return ConstantSlot(_exactly(param.value))
            case spec.DataPointer():
                return _pointer(value)
            case spec.Stream():
                return StreamSlot()
            case spec.TupleParam():
                return self._tuple(param, value)
            case int():
                return ShapeSlot((param,))
            case _:
                raise UnknownSpecError(f"an argument of the kind {type(param).__name__}")

    def _tuple(self, param: Any, value: Any) -> TupleSlot:
        fields = _field_names(value)
        inner = _items(value, len(param.params))
        items = tuple(map(self.slot, param.params, inner))
        if fields is None or len(fields) != len(items) or not can_name_class(type(value).__name__):
            return TupleSlot(items)
        record = _record(type(value), fields)
        if self.records.setdefault(record.name, record) != record:
            raise RefusedError(finding("CS214", record=record.name))
        return TupleSlot(items, record.name, fields)


def _tensor(param: Any) -> TensorSlot:
    device: Literal["cuda", "cpu"] = "cpu" if param.dlpack_device_type == _CPU else "cuda"
    return TensorSlot(
        dtype=str(param.dtype),
        shape=tuple(map(_extent, param.shape)),
        strides=None if param.strides is None else tuple(map(_extent, param.strides)),
        alignment=param.data_alignment,
        device=device,
    )


def _scalar(param: Any) -> Slot:
    if str(param.dtype) == "handle":
        return PointerSlot()
    return ScalarSlot(str(param.dtype), divisible_by=param.divisibility or 1)


def _pointer(value: Any) -> PointerSlot:
    if value is None or not hasattr(value, "dtype"):
        return PointerSlot()
    generic = value.memspace == type(value.memspace).generic
    return PointerSlot(
        dtype=dsl.tvm_ffi_dtype(value.dtype),
        alignment=getattr(value, "_assumed_align", None),
        device="cpu" if generic else "cuda",
    )


def _extent(extent: Any) -> Extent:
    if isinstance(extent, int):
        return extent
    if not isinstance(extent, spec.Var):
        raise UnknownSpecError(f"an extent of the kind {type(extent).__name__}")
    bits: Literal[32, 64] = 64 if extent.dtype.bits == 64 else 32
    return Symbol(extent.name, bits, extent.divisibility or 1)


# ---------------------------------------------------------------------------------------------------------
# Records


def _field_names(value: Any) -> tuple[str, ...] | None:
    if hasattr(value, "_fields"):
        return tuple(value._fields)
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    return None


def _items(value: Any, count: int) -> tuple[Any, ...]:
    if isinstance(value, tuple | list):
        items: tuple[Any, ...] = tuple(value)
    elif dataclasses.is_dataclass(value):
        items = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    else:
        items = ()
    return items if len(items) == count else (None,) * count


def _record(cls: type, names: tuple[str, ...]) -> Record:
    if hasattr(cls, "_fields"):
        given: dict[str, Any] = getattr(cls, "_field_defaults", {})
        fields = tuple(Field(name, as_default(given[name]) if name in given else None) for name in names)
        return Record(cls.__name__, "namedtuple", fields, doc=_own_doc(cls))
    fields = tuple(
        Field(f.name, None if f.default is dataclasses.MISSING else as_default(f.default))
        for f in dataclasses.fields(cls)
    )
    return Record(cls.__name__, "dataclass", fields, doc=_own_doc(cls))


def records_in(values: Iterable[Any]) -> dict[str, Record]:
    """Describe every NamedTuple and dataclass in some arguments, at any depth, by name."""
    found: dict[str, Record] = {}
    for value in values:
        names = _field_names(value)
        if names is not None:
            record = _record(type(value), names)
            found[record.name] = record
            found |= records_in(getattr(value, name) for name in names)
        elif isinstance(value, tuple | list):
            found |= records_in(value)
    return found


def _own_doc(cls: type) -> str:
    """Give the docstring that the author wrote, and not the one that Python makes up."""
    doc = docstring(cls.__doc__)
    return "" if doc.startswith(f"{cls.__name__}(") else doc


# ---------------------------------------------------------------------------------------------------------
# The author's signature

_KINDS: dict[Any, AuthorKind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def author_parameters(bound: inspect.BoundArguments) -> tuple[AuthorParameter, ...]:
    """Describe the parameters that the author wrote, with the values of those that are constexpr."""

    def describe(parameter: inspect.Parameter) -> AuthorParameter:
        has_default = parameter.default is not parameter.empty
        value = bound.arguments.get(parameter.name, parameter.default if has_default else None)
        constexpr = dsl.is_constexpr(parameter.annotation, parameter.name) or isinstance(value, type)
        return AuthorParameter(
            parameter.name,
            _KINDS[parameter.kind],
            as_default(parameter.default) if has_default else None,
            storable(source_of(value)) if constexpr else None,
        )

    return tuple(map(describe, bound.signature.parameters.values()))


def as_default(value: Any) -> Default | None:
    """Give a default as plain data, or ``None`` if it is none: a lambda, a tensor, an object."""
    value = _exactly(dsl.plain(value))
    if isinstance(value, str) and value != storable(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return Default(value)
    if isinstance(value, tuple):
        items = tuple(_exactly(dsl.plain(item)) for item in value)
        if all(item is None or isinstance(item, bool | int | float) for item in items):
            return Default(items)
    return None


def _exactly(value: Any) -> Any:
    """Turn a member of an enumeration, or of any class that extends a plain type, into a plain value."""
    for base, exact in _EXACT.items():
        if isinstance(value, base) and not isinstance(value, bool):
            return exact(value)
    return value


_EXACT: dict[type, Callable[[Any], Any]] = {
    # What a class that extends one of these cannot change.
    int: int.__index__,
    float: float.__float__,
    str: str.__str__,
}


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

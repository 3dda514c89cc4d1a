"""Reads the ABI from the spec that the compiler built it from."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Literal

from cutlass.base_dsl.tvm_ffi_builder import spec

from stubgen.abi.signatures import Argument, AuthorKind, AuthorParameter
from stubgen.compiler.worker import author_classes
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.findings import RefusedError, finding
from stubgen.compiler.worker.plain_values import as_default, plain_number, source_of
from stubgen.model.library import (
    ConstantSlot,
    Extent,
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
from stubgen.model.text import storable

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
                return ConstantSlot(_constant(param.value))
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
        fields = author_classes.field_names(value)
        inner = author_classes.items(value, len(param.params))
        items = tuple(map(self.slot, param.params, inner))
        if (
            fields is None
            or len(fields) != len(items)
            or not author_classes.can_be_shown(type(value), fields)
        ):
            return TupleSlot(items)
        record = author_classes.record(type(value))
        if self.records.setdefault(record.name, record) != record:
            raise RefusedError(finding("CS214", record=record.name))
        return TupleSlot(items, record.name, fields)


def _constant(value: Any) -> bool | int | float:
    number = plain_number(value)
    assert number is not None  # the compiler takes no others
    return number


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

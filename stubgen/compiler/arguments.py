"""Turns declared arguments into what ``cute.compile`` takes."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.runtime import (
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
    make_ptr,
)

from stubgen.compiler import checks, dsl
from stubgen.declare import Call, DeclarationError, Dim, PointerArg, StreamArg, TensorArg


def signature_of(fn: Any) -> inspect.Signature:
    """Give the signature that ``cute.compile`` sees, with string annotations resolved where they can be.

    For an object it is that of its ``__call__``, without ``self``.

    Raises
    ------
    DeclarationError
        The function is none that the DSL compiles.
    """
    target = fn if inspect.isroutine(fn) else getattr(fn, "__call__", None)  # noqa: B004
    if target is None or inspect.isclass(fn) or not dsl.is_jit(target):
        raise DeclarationError(f"{_described(fn)} {_why_not_compiled(fn)}")
    try:
        return inspect.signature(target, eval_str=True)
    except Exception:  # an annotation may name what exists only for a type checker
        return inspect.signature(target)


def bind(call: Call) -> inspect.BoundArguments:
    """Give every parameter of the function the value that it is compiled with.

    Scalars that the declaration leaves out are made from their annotations; defaults are not applied, because
    ``cute.compile`` does that itself.

    Raises
    ------
    DeclarationError
        The arguments do not fit the function's signature, or are wrong in themselves.
    """
    signature = signature_of(call.fn)
    checks.options(call.options)
    try:
        bound = signature.bind_partial(*call.args, **call.kwargs)
    except TypeError as error:
        raise DeclarationError(f"the arguments do not fit {_shown(signature)}: {error}") from None
    build = _Builder()
    values: dict[str, Any] = {}
    missing: list[str] = []
    wrong: list[str] = []
    for name, parameter in signature.parameters.items():
        if name in bound.arguments:
            try:
                values[name] = build.parameter(parameter, bound.arguments[name])
            except DeclarationError as error:
                wrong += [f"argument {name!r}: {reason}" for reason in error.args]
        elif dsl.is_scalar_type(parameter.annotation) and parameter.default is parameter.empty:
            values[name] = parameter.annotation(0)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            missing.append(name)
    if missing:
        wrong.append(f"no argument is given for {', '.join(missing)} of {_shown(signature)}")
    if wrong:
        raise DeclarationError(*wrong)
    return inspect.BoundArguments(signature, values)


class _Builder:
    """Builds the arguments of one call; one :class:`Dim` is one symbol throughout."""

    def __init__(self) -> None:
        self._symbols: dict[Dim, Any] = {}

    def parameter(self, parameter: inspect.Parameter, value: Any) -> Any:
        """Build the value of one parameter; constexpr values pass through untouched."""
        if parameter.kind is parameter.VAR_POSITIONAL:
            return tuple(self.value(item, parameter.annotation) for item in value)
        if parameter.kind is parameter.VAR_KEYWORD:
            return {name: self.value(item, parameter.annotation) for name, item in value.items()}
        if dsl.is_constexpr(parameter.annotation, parameter.name):
            return value
        return self.value(value, parameter.annotation)

    def value(self, value: Any, annotation: Any = None) -> Any:
        """Build one value, or a container of values, at any depth."""
        match value:
            case TensorArg():
                return self._tensor(value)
            case PointerArg():
                checks.pointer(value)
                align = value.align or max(1, value.dtype.width // 8)
                return make_ptr(value.dtype, align, _memspace(value.device), assumed_align=align)
            case StreamArg():
                return make_fake_stream(use_tvm_ffi_env_stream=value.env)
            case Dim():
                return self._extent(value)
            case type() if dsl.is_scalar_type(value) and not _is_type_annotation(annotation):
                return value(0)
            case bool() | int() | float() if dsl.is_scalar_type(annotation):
                # The DSL takes an unboxed number in a field or element annotated with another width, and
                # then fails inside the compiler.
                return annotation(value)
            case tuple() | list():
                return self._sequence(value, annotation)
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return self._dataclass(value)
            case _:
                return value

    def _tensor(self, arg: TensorArg) -> Any:
        checks.tensor(arg)
        shape = tuple(map(self._extent, arg.shape))
        memspace = _memspace(arg.device)
        if arg.strides is not None:
            strides = tuple(map(self._extent, arg.strides))
            return make_fake_tensor(arg.dtype, shape, strides, memspace=memspace, assumed_align=arg.align)
        order = tuple(reversed(range(len(shape)))) if arg.order is None else tuple(arg.order)
        return make_fake_compact_tensor(
            arg.dtype, shape, stride_order=order, memspace=memspace, assumed_align=arg.align
        )

    def _extent(self, extent: Any) -> Any:
        if not isinstance(extent, Dim):
            return extent
        checks.dim(extent)
        if extent not in self._symbols:
            self._symbols[extent] = cute.sym_int(
                extent.bits, divisibility=extent.divisible_by, symbol=extent.name
            )
        return self._symbols[extent]

    def _sequence(self, value: Any, annotation: Any) -> Any:
        items = [
            self.value(item, of)
            for item, of in zip(value, _item_types(value, annotation))  # noqa: B905
        ]
        if hasattr(value, "_fields"):
            return type(value)(*items)
        return type(value)(items)

    def _dataclass(self, value: Any) -> Any:
        hints = _hints(type(value))
        changed = {
            field.name: self.value(getattr(value, field.name), hints.get(field.name))
            for field in dataclasses.fields(value)
            if field.init and not dsl.is_constexpr(hints.get(field.name), field.name)
        }
        return dataclasses.replace(value, **changed)


def _memspace(device: str) -> Any:
    return cutlass.AddressSpace.gmem if device == "cuda" else cutlass.AddressSpace.generic


def _item_types(value: Any, annotation: Any) -> list[Any]:
    """Give the annotation of each item of a tuple, NamedTuple or list; ``None`` where there is none."""
    if hasattr(value, "_fields"):
        hints = _hints(type(value))
        return [hints.get(field) for field in value._fields]
    if typing.get_origin(annotation) in (tuple, list):
        types_ = typing.get_args(annotation)
        if len(types_) == len(value) and Ellipsis not in types_:
            return list(types_)
    return [None] * len(value)


def _hints(cls: type) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # an annotation may name what exists only for a type checker
        return getattr(cls, "__annotations__", {})


def _is_type_annotation(annotation: Any) -> bool:
    """Tell whether a parameter takes a type rather than a value of it."""
    return annotation is type or typing.get_origin(annotation) is type


def _described(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or f"an object of {type(fn).__qualname__}"


def _why_not_compiled(fn: Any) -> str:
    if inspect.isclass(fn):
        return "is a class; export an object of it"
    if dsl.is_kernel(fn):
        return "is a @cute.kernel; export a @cute.jit function that launches it"
    return "is no @cute.jit function, and no object whose __call__ is one"


def _shown(signature: inspect.Signature) -> str:
    """Show a signature by names alone; annotations would bury them."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))

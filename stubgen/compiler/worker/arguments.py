"""Turns declared arguments into what ``cute.compile`` takes."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.runtime import (
    make_fake_compact_tensor,
    make_fake_stream,
    make_fake_tensor,
    make_ptr,
)

from stubgen.compiler.worker import author_classes, checks, compile_options, exported_functions, limits
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.findings import Finding, RefusedError, finding
from stubgen.compiler.worker.plain_values import plain_number
from stubgen.declare.arguments import Dim, PointerArg, StreamArg, StridedArg, TensorArg
from stubgen.declare.declarations import OF_EXPORTS, OF_KERNELS, Call
from stubgen.declare.labels import DeclarationError


def signature_of(fn: Any) -> inspect.Signature:
    """Return the signature that ``cute.compile`` sees, with string annotations resolved where they can be.

    For an object it is that of its ``__call__``, without ``self``.

    Raises
    ------
    RefusedError
        The function is none that the DSL compiles.
    """
    refused = exported_functions.find(fn)
    if refused is not None:
        raise RefusedError(exported_functions.said_of_library(fn, refused))
    target = fn if inspect.isroutine(fn) else fn.__call__
    try:
        return inspect.signature(target, eval_str=True)
    except Exception:  # an annotation may name what exists only for a type checker
        return inspect.signature(target)


def bind(call: Call) -> inspect.BoundArguments:
    """Return the value that each parameter of the function is compiled with.

    Scalars that the declaration leaves out are made from their annotations. Defaults are not applied, because
    ``cute.compile`` does that itself, but for those that hold numbers which it would stumble over.

    Raises
    ------
    RefusedError
        The arguments do not fit the function's signature, are wrong in themselves, or are none that the DSL
        compiles.
    """
    signature = signature_of(call.fn)
    unfit = compile_options.find(call.options.options)
    if unfit is not None:
        raise RefusedError(unfit)
    try:
        given = signature.bind_partial(*call.args, **call.kwargs).arguments
    except DeclarationError as error:
        raise RefusedError(*_declared_wrong(error)) from None
    except TypeError as error:
        reason = f"the arguments do not fit {_shown(signature)}: {error}{_meant_as_options(call, signature)}"
        raise RefusedError(finding("CS210", reason=reason)) from None
    if exported_functions.is_unbound_method(call.fn) and _describes(given.get("self")):
        raise RefusedError(_without_object(call.fn))
    build = _ArgumentBuilder()
    values: dict[str, Any] = {}
    wrong: list[Finding] = []
    for name, parameter in signature.parameters.items():
        try:
            if name in given:
                values[name] = build.parameter(parameter, given[name])
            elif _is_left_to_annotation(parameter):
                values[name] = parameter.annotation(0)
            elif _is_built(parameter.default):
                values[name] = build.parameter(parameter, parameter.default)
        except DeclarationError as error:
            wrong += _declared_wrong(error, name)
    wrong += _missing(signature, {*given, *values})
    if not wrong:
        found = limits.find(signature, values)
        wrong += (exported_functions.said_of_library(call.fn, item) for item in found)
    if wrong:
        raise RefusedError(*wrong)
    return inspect.BoundArguments(signature, values)


def _meant_as_options(call: Call, signature: inspect.Signature) -> str:
    """Say where options go, if some stand among the arguments."""
    known = (OF_EXPORTS | OF_KERNELS) - signature.parameters.keys()
    options = [name for name in call.kwargs if name in known]
    given = ", ".join(f"{name}=..." for name in options)
    return f"; options have a call of their own: stubgen.export({given})(function, ...)" if options else ""


def _describes(value: Any) -> bool:
    """Return whether this describes an argument, and so is no object that a method could belong to."""
    return isinstance(
        value, TensorArg | StridedArg | PointerArg | StreamArg | Dim | type | int | float | None
    )


def _without_object(fn: Any) -> Finding:
    owner = exported_functions.owner_of(fn)
    what = f"{fn.__qualname__} is a method, and no object is given for it"
    method = "" if fn.__name__ == "__call__" else f".{fn.__name__}"
    return finding(
        "CS233", what=what, instead=f"export it of an object: sg.export({owner}(...){method}, ...)"
    )


def _declared_wrong(error: DeclarationError, name: str | None = None) -> list[Finding]:
    prefix = f"argument {name!r}: " if name else ""
    return [finding("CS210", name, reason=f"{prefix}{reason}") for reason in error.args]


def _is_left_to_annotation(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    is_number = dsl.is_scalar_type(annotation) or dsl.type_of_plain(annotation) is not None
    return is_number and parameter.default is parameter.empty


def _is_built(default: Any) -> bool:
    """Return whether a default holds numbers that the DSL does not take as they are."""
    return isinstance(default, tuple) or limits.is_dataclass(default) or plain_number(default) is not None


def _missing(signature: inspect.Signature, known: set[str]) -> Iterator[Finding]:
    missing = [
        name
        for name, parameter in signature.parameters.items()
        if name not in known
        and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        reason = f"no argument is given for {', '.join(missing)} of {_shown(signature)}"
        yield finding("CS210", missing[0], reason=reason)


def ignored_numbers(call: Call) -> Iterator[Finding]:
    """Find numbers given for parameters that keep another default: the caller passes them, or the default."""
    signature = signature_of(call.fn)
    given = signature.bind_partial(*call.args, **call.kwargs).arguments
    for name, value in given.items():
        parameter = signature.parameters[name]
        default = dsl.plain(parameter.default)
        if not isinstance(dsl.plain(value), int | float) or not isinstance(default, int | float):
            continue
        if dsl.plain(value) != default and not dsl.is_constexpr(parameter.annotation, name):
            yield finding("CS601", name, value=dsl.plain(value), default=default)


class _ArgumentBuilder:
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
            case StridedArg():
                return self._strided(value)
            case PointerArg():
                checks.pointer(value)
                align = value.align or max(1, value.dtype.width // 8)
                return make_ptr(value.dtype, align, _memspace(value.device), assumed_align=align)
            case StreamArg():
                return make_fake_stream(use_tvm_ffi_env_stream=value.env)
            case Dim():
                return self._extent(value)
            case type() if not _is_type_annotation(annotation):
                return _value_of_type(value, annotation)
            case _ if plain_number(value) is not None:
                return _number(value, annotation)
            case _ if author_classes.is_record(value) and author_classes.misfit(value):
                return value  # what it cannot be made of again is refused with its place
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

    def _strided(self, arg: StridedArg) -> Any:
        checks.strided(arg)
        rank = len(arg.shape)
        unit = None if arg.unit is None else arg.unit % max(rank, 1)
        strides = tuple(
            1 if index == unit else cute.sym_int(arg.bits, divisibility=arg.vector) for index in range(rank)
        )
        return make_fake_tensor(
            arg.dtype,
            tuple(map(self._extent, arg.shape)),
            strides,
            memspace=_memspace(arg.device),
            assumed_align=arg.align or checks.vector_bytes(arg),
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
        if hasattr(value, "_fields"):
            return self._namedtuple(value)
        types = limits.item_types(value, annotation)
        return type(value)([self.value(item, of) for item, of in zip(value, types, strict=True)])

    def _namedtuple(self, value: Any) -> Any:
        hints = limits.hints_of(type(value))
        return type(value)(
            *(
                item
                if dsl.is_constexpr(hints.get(field), field)
                else _boxed(self.value(item, hints.get(field)))
                for field, item in zip(value._fields, value, strict=True)
            )
        )

    def _dataclass(self, value: Any) -> Any:
        hints = limits.hints_of(type(value))
        changed = {
            field.name: self.value(getattr(value, field.name), hints.get(field.name))
            for field in dataclasses.fields(value)
            if field.init and not dsl.is_constexpr(hints.get(field.name), field.name)
        }
        return dataclasses.replace(value, **changed)


def _memspace(device: str) -> Any:
    return cutlass.AddressSpace.gmem if device == "cuda" else cutlass.AddressSpace.generic


def _value_of_type(scalar: type, annotation: Any) -> Any:
    """Make a number of a type; a plain one where the annotation wants what the DSL makes of that.

    Python's own types stand for any width: an annotation that says more says which.
    """
    own = dsl.type_of_plain(scalar) or scalar
    if dsl.type_of_plain(annotation) is own or dsl.is_kind_of(annotation, scalar):
        return annotation(0)
    return own(0) if dsl.is_scalar_type(own) else scalar


def _number(value: Any, annotation: Any) -> Any:
    """Make a number of the annotated type: the DSL fails over others, and over numpy's and enums' numbers."""
    value = plain_number(value)
    if dsl.is_scalar_type(annotation):
        # The DSL takes an unboxed number in a field or element annotated with another width, and then fails
        # inside the compiler.
        return annotation(value)
    return float(value) if annotation is float and not isinstance(value, bool) else value


def _boxed(value: Any) -> Any:
    """Box the plain numbers in a NamedTuple's field, which the DSL would forget to pass on."""
    scalar = dsl.type_of_plain(type(value))
    if scalar is not None:
        return scalar(value)
    return tuple(map(_boxed, value)) if type(value) is tuple else value


def _is_type_annotation(annotation: Any) -> bool:
    """Return whether a parameter takes a type rather than a value of it."""
    return annotation is type or typing.get_origin(annotation) is type


def _shown(signature: inspect.Signature) -> str:
    """Show a signature by names alone; annotations would bury them."""
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))

"""What the DSL does not compile, found in the arguments instead of in its internal errors.

Every rule here was seen to fail with nvidia-cutlass-dsl 4.8.1, under exactly the condition that it checks;
what compiles is let through, however odd it looks. :func:`find` follows the DSL's own way through an
argument: it knows an annotation for the items of an annotated tuple and for the fields of a NamedTuple or
dataclass, and for nothing else.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from stubgen.compiler.worker import author_classes
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.findings import Finding, finding
from stubgen.compiler.worker.wording import helper_without_call, instead_of, named, shown, shown_type
from stubgen.model.text import counted


class _Value(NamedTuple):
    """A value somewhere in an argument, the way the DSL comes to it."""

    value: Any
    annotation: Any
    parameter: str
    where: str
    """Such as ``options.scales[1]``."""
    inside: tuple[type, ...] = ()
    """The types of the containers that it is in, the outermost first."""

    @property
    def in_namedtuple(self) -> bool:
        return any(hasattr(container, "_fields") for container in self.inside)

    @property
    def is_converted(self) -> bool:
        """Whether the DSL turns it into the annotated type, as it does with all but items of tuples."""
        return not self.inside or dataclasses.is_dataclass(self.inside[-1])

    def inner(self, value: Any, annotation: Any, step: str) -> _Value:
        inside = (*self.inside, type(self.value))
        return _Value(value, annotation, self.parameter, self.where + step, inside)

    def found(self, code: str, **details: object) -> Finding:
        return finding(code, self.parameter, where=self.where, **details)


def find(signature: inspect.Signature, values: Mapping[str, Any]) -> Iterator[Finding]:
    """Find all that the DSL will not compile among the arguments of a call.

    Parameters
    ----------
    signature
        Of the function.
    values
        What its parameters are compiled with, as built for ``cute.compile``; those that are left out have
        their defaults.
    """
    yield from _parameters(signature, values)
    arguments = list(_arguments(signature, values))
    # A library that converts arguments itself has taught the DSL more.
    knows_more = not dsl.converts_arguments_itself()
    for argument in arguments:
        yield from _within(argument, _OWN_RULES if knows_more else (*_OWN_RULES, *_RULES))
    if not knows_more:
        yield from _env_stream_without_tensor(arguments)


# ---------------------------------------------------------------------------------------------------------
# Parameters


def _parameters(signature: inspect.Signature, values: Mapping[str, Any]) -> Iterator[Finding]:
    """Find names and orders of parameters that no wrapper can be made for."""
    default_before: str | None = None
    for name, parameter in signature.parameters.items():
        if name in dsl.RESERVED_PARAMETERS:
            yield finding("CS235", name)
        if parameter.kind is parameter.VAR_POSITIONAL and values.get(name) and default_before:
            yield finding("CS236", name, before=default_before)
        if parameter.default is not parameter.empty and not _is_constexpr(parameter):
            default_before = name


def _arguments(signature: inspect.Signature, values: Mapping[str, Any]) -> Iterator[_Value]:
    """Yield what becomes an argument of the compiled function, defaults included."""
    for name, parameter in signature.parameters.items():
        value = values.get(name, parameter.default)
        if value is parameter.empty or _is_constexpr(parameter) or _is_self(name, value):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            for index, item in enumerate(value):
                yield _Value(item, None, name, f"{name}[{index}]")
        elif parameter.kind is parameter.VAR_KEYWORD:
            for key, item in value.items():
                yield _Value(item, None, name, key)
        else:
            yield _Value(value, parameter.annotation, name, name)


def _is_constexpr(parameter: inspect.Parameter) -> bool:
    return dsl.is_constexpr(parameter.annotation, parameter.name)


def _is_self(name: str, value: Any) -> bool:
    """Return whether this is the object that an unbound method is compiled for."""
    return name == "self" and not dsl.is_argument(value)


# ---------------------------------------------------------------------------------------------------------
# Values


def _within(value: _Value, rules: Sequence[_Rule]) -> Iterator[Finding]:
    """Find what is wrong with a value, or if nothing is, with what it contains."""
    first = next((found for rule in rules for found in rule(value)), None)
    if first is not None:
        yield first
    elif not _is_shape(value):
        for inner in _items(value):
            yield from _within(inner, rules)


def _items(of: _Value) -> Iterator[_Value]:
    value = of.value
    if hasattr(value, "_fields"):
        hints = hints_of(type(value))
        for field in value._fields:
            yield of.inner(getattr(value, field), hints.get(field), f".{field}")
    elif isinstance(value, tuple | list):
        for index, (item, annotation) in enumerate(zip(value, item_types(value, of.annotation), strict=True)):
            yield of.inner(item, annotation, f"[{index}]")
    elif is_dataclass(value):
        hints = hints_of(type(value))
        for field in dataclasses.fields(value):
            annotation = hints.get(field.name)
            if not dsl.is_constexpr(annotation, field.name):
                yield of.inner(getattr(value, field.name), annotation, f".{field.name}")


def item_types(value: Any, annotation: Any) -> list[Any]:
    """Return the annotation of each item of a tuple or list; ``None`` where there is none."""
    types = typing.get_args(annotation) if typing.get_origin(annotation) in (tuple, list) else ()
    return list(types) if len(types) == len(value) and ... not in types else [None] * len(value)


def hints_of(cls: type) -> Mapping[str, Any]:
    """Return the annotations of a class's fields, resolved where they can be."""
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # an annotation may name what exists only for a type checker
        return getattr(cls, "__annotations__", {})


def is_dataclass(value: Any) -> bool:
    """Return whether this is an object of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


# ---------------------------------------------------------------------------------------------------------
# Streams


def _env_stream_inside(of: _Value) -> Iterator[Finding]:
    if of.inside and dsl.is_env_stream(of.value):
        yield of.found("CS220", container=of.inside[-1].__name__)


def _stream_of_union(of: _Value) -> Iterator[Finding]:
    if not of.inside and dsl.is_stream(of.value) and dsl.is_union(of.annotation):
        yield of.found("CS222", annotation=shown_type(of.annotation))


def _env_stream_without_tensor(arguments: list[_Value]) -> Iterator[Finding]:
    """Find streams of the environment that no tensor, however deep it is, leads to."""
    if not any(map(_has_gpu_tensor, arguments)):
        yield from (of.found("CS221") for of in arguments if dsl.is_env_stream(of.value))


def _has_gpu_tensor(of: _Value) -> bool:
    return dsl.is_gpu_tensor(of.value) or any(map(_has_gpu_tensor, _items(of)))


# ---------------------------------------------------------------------------------------------------------
# Containers


def _record(of: _Value) -> Iterator[Finding]:
    """Find classes that the package cannot define anew for its callers."""
    misfit = author_classes.misfit(of.value) if author_classes.is_record(of.value) else None
    if misfit is not None:
        cls = type(of.value).__name__
        yield of.found("CS245", cls=cls, reason=misfit.reason, instead=misfit.instead)


def _annotated_without_types(of: _Value) -> Iterator[Finding]:
    """Find annotations that name a NamedTuple whose fields have no types, which the DSL looks up."""
    annotation = of.annotation
    if isinstance(annotation, type) and hasattr(annotation, "_fields") and isinstance(of.value, tuple):
        hints = hints_of(annotation)
        missing = next((field for field in annotation._fields if field not in hints), None)
        if missing is not None:
            yield of.found("CS247", cls=annotation.__name__, field=missing)


def _constexpr_in_namedtuple(of: _Value) -> Iterator[Finding]:
    if not hasattr(of.value, "_fields"):
        return
    for field, annotation in hints_of(type(of.value)).items():
        value = getattr(of.value, field, None)
        if dsl.is_constexpr(annotation, field) and value is not None and not dsl.is_number(value):
            yield of.found("CS224", cls=type(of.value).__name__, field=field)


def _dataclass_in_namedtuple(of: _Value) -> Iterator[Finding]:
    if of.in_namedtuple and is_dataclass(of.value):
        outer = next(container for container in of.inside if hasattr(container, "_fields"))
        yield of.found("CS225", cls=type(of.value).__name__, outer=outer.__name__)


def _constexpr_in_dataclass(of: _Value) -> Iterator[Finding]:
    if not is_dataclass(of.value):
        return
    for field, annotation in hints_of(type(of.value)).items():
        value = getattr(of.value, field, None)
        if dsl.is_constexpr(annotation, field) and not _is_constant(value):
            yield of.found("CS226", cls=type(of.value).__name__, field=field, value=shown(value))


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, float) or (isinstance(value, int) and _is_int64(value))


def _is_int64(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _tuple_of_other_length(of: _Value) -> Iterator[Finding]:
    """Find tuples of other lengths than annotated; of ``Tuple[T, ...]`` the DSL believes that it is two."""
    if typing.get_origin(of.annotation) is not tuple or not isinstance(of.value, tuple | list):
        return
    types = typing.get_args(of.annotation)
    if len(types) != len(of.value):
        details = {"annotation": shown_type(of.annotation), "count": counted(len(of.value), "item")}
        if ... in types:
            yield of.found("CS228", **details)
        else:
            yield of.found("CS312", expected=counted(len(types), "item"), **details)


# ---------------------------------------------------------------------------------------------------------
# Shapes


def _is_shape(of: _Value) -> bool:
    return dsl.is_shape_type(of.annotation) and not dsl.is_number(of.value) and of.value is not None


def _shape(of: _Value) -> Iterator[Finding]:
    """Find what is no shape; a flat one may mix fixed and run-time extents, any other may not."""
    if not _is_shape(of):
        return
    if not isinstance(of.value, tuple):
        if isinstance(of.value, int) or dsl.is_symbol(of.value):
            yield of.found("CS227", reason=f"is {shown(of.value)}, which is no tuple", instead=_ONE_EXTENT)
        return
    wrong = [
        extent for extent in _leaves(of.value) if not isinstance(extent, int) and not dsl.is_integer(extent)
    ]
    if wrong:
        yield of.found("CS227", reason=f"holds {shown(wrong[0])}", instead=_RUN_TIME_EXTENT)
    elif _depth(of.value) > 2:
        yield of.found("CS227", reason="is nested more than once", instead="flatten it")
    elif (of.inside or _depth(of.value) == 2) and any(isinstance(extent, int) for extent in of.value):
        kind = "nested one" if not of.inside else "shape inside a container"
        yield of.found(
            "CS227", reason=f"has a fixed extent, which a {kind} cannot have", instead=_RUN_TIME_EXTENT
        )


_ONE_EXTENT = "give a tuple, such as (12,), or cutlass.Int32 for one integer that the caller passes"
_RUN_TIME_EXTENT = "give cutlass.Int32 or cutlass.Int64 for an integer that the caller passes"


def _leaves(shape: Any) -> Iterator[Any]:
    for extent in shape:
        if isinstance(extent, tuple):
            yield from _leaves(extent)
        else:
            yield extent


def _depth(shape: Any) -> int:
    return 1 + max(map(_depth, shape), default=0) if isinstance(shape, tuple) else 0


# ---------------------------------------------------------------------------------------------------------
# Single values


def _not_by_value(of: _Value) -> Iterator[Finding]:
    """Find number types that no register of a caller's holds, such as float8."""
    annotated = of.annotation if isinstance(of.value, int | float | type) else None
    candidates: tuple[Any, ...] = (of.value, annotated, type(of.value))
    for dtype in candidates:
        if dsl.is_concrete_type(dtype) and not dsl.is_scalar_type(dtype):
            yield of.found("CS231", dtype=dtype.__name__)
            return


def _another_kind(of: _Value) -> Iterator[Finding]:
    """Find tensors where a pointer is annotated, pointers where a tensor is, and numbers where either is."""
    is_number = dsl.is_number(of.value) or isinstance(of.value, int | float)
    if dsl.is_pointer_type(of.annotation) and (dsl.is_tensor(of.value) or is_number):
        yield of.found("CS311", value=shown(of.value), annotation="cute.Pointer", helper="sg.pointer(...)")
    elif dsl.is_tensor_type(of.annotation) and (dsl.is_pointer(of.value) or is_number):
        yield of.found("CS311", value=shown(of.value), annotation="cute.Tensor", helper="sg.tensor(...)")


def _another_type(of: _Value) -> Iterator[Finding]:
    """Find values that are not, and do not become, the number that an annotation says."""
    if dsl.is_scalar_type(of.annotation):
        fits: Callable[[type, Any], bool] = _is_converted_to if of.is_converted else _stands_for
    elif of.annotation in (bool, int, float) and not of.inside:
        fits = _is_plain
    else:
        return
    if not fits(of.annotation, of.value):
        value = named(of.value) if isinstance(of.value, type) else shown(of.value)
        yield of.found("CS230", value=value, annotation=shown_type(of.annotation))


def _is_converted_to(scalar: type, value: Any) -> bool:
    return type(value) is scalar or isinstance(value, int | float)


def _stands_for(scalar: type, value: Any) -> bool:
    """Return whether an item of a tuple is a number, whose own type counts, or a size of that annotated."""
    if dsl.is_symbol(value):
        return dsl.type_of_symbol(value) is scalar
    return value is None or dsl.is_number(value) or isinstance(value, int | float)


def _is_plain(annotation: type, value: Any) -> bool:
    return value is None or isinstance(value, annotation)


def _no_argument(of: _Value) -> Iterator[Finding]:
    value = of.value
    if isinstance(value, int) and not _is_int64(value):
        yield of.found("CS229", value=shown(value), instead="give one that fits into 64 bits")
    elif isinstance(value, type | str | dict | set | frozenset) or not dsl.is_argument(value):
        yield of.found("CS229", value=named(value), instead=instead_of(value))


def _helper_without_call(of: _Value) -> Iterator[Finding]:
    if helper_without_call(of.value):
        yield of.found("CS229", value=named(of.value), instead=instead_of(of.value))


def _tensor_type(of: _Value) -> Iterator[Finding]:
    if dsl.is_tensor(of.value) and dsl.tvm_ffi_dtype(of.value.element_type) is None:
        yield of.found("CS232", dtype=of.value.element_type.__name__)


_Rule: TypeAlias = Callable[[_Value], Iterator[Finding]]

_OWN_RULES: tuple[_Rule, ...] = (_record, _helper_without_call)
"""What the tool itself cannot do, whatever a library has taught the DSL."""

_RULES: tuple[_Rule, ...] = (
    _env_stream_inside,
    _stream_of_union,
    _tensor_type,
    _annotated_without_types,
    _constexpr_in_namedtuple,
    _dataclass_in_namedtuple,
    _constexpr_in_dataclass,
    _shape,
    _tuple_of_other_length,
    _not_by_value,
    _another_kind,
    _another_type,
    _no_argument,
)

"""What a C caller passes for each slot, and how it is packed into what the compiled function takes.

A compiled function takes an array of ``TVMFFIAny``. Tuples and shapes are objects of tvm-ffi's there, whose
layout is public (``TVMFFISeqCell`` and ``TVMFFIShapeCell`` in ``tvm/ffi/c_api.h``), so that they are put
together on the stack. The compiled functions read them and keep nothing: tried with DSL 4.8.1, they take a
view of a tensor inside of a tuple too, and count no references.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from typing_extensions import assert_never

from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
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
from stubgen.render import cpp_types
from stubgen.render.cpp.cpp_structs import Struct
from stubgen.render.cpp_types import is_hidden
from stubgen.render.layout import c_array

_LOCALS = "ffi_"
"""How the names of variables in functions begin."""
_NAMES_IN_BODIES = {"DLTensor", "TVMFFIAny", "INT64_MIN", "INFINITY", "NAN", "bool", "false", "true"}
_SCALARS = {"bool": "bool", "float64": "double", "uint64": "uint64"}


@dataclass(frozen=True)
class CallerValue:
    """Something that a caller passes: an argument, or a member of a struct."""

    path: str
    """The way to it in Python, as in ``operands[1][0]``."""
    name: str
    """In C."""
    slot: Slot

    def declaration(self, package: str, structs: Mapping[TupleSlot, Struct]) -> str:
        """Declare a parameter or a member to hold it."""
        return f"{_type(self.slot, package, structs)} {self.name}"


def taken_apart(parameter: Parameter, structs: Mapping[TupleSlot, Struct]) -> Iterator[Parameter]:
    """Take tuples apart that have no struct, for which C has no type; each part is named by its path."""
    slot = parameter.slot
    if not isinstance(slot, TupleSlot) or slot in structs or is_hidden(slot):
        yield parameter
        return
    for step, item in _steps(slot):
        yield from taken_apart(Parameter(parameter.name + step, item), structs)


def arguments(parts: Sequence[Parameter]) -> list[CallerValue]:
    """Return what callers pass for parameters that have been taken apart; hidden ones are left out."""
    return _named([(part.name, part.slot) for part in parts if not is_hidden(part.slot)])


def members(slot: TupleSlot, structs: Mapping[TupleSlot, Struct]) -> list[CallerValue]:
    """Return the members of a record's struct; their paths start at the record."""
    parts = [
        part
        for name, item in zip(structs[slot].fields, slot.items, strict=True)
        for part in taken_apart(Parameter(name, item), structs)
    ]
    return arguments(parts)


def _named(parts: Sequence[tuple[str, Slot]]) -> list[CallerValue]:
    """Name what is passed so that C accepts the names and no two are the same."""
    paths = [path for path, _ in parts]
    names: list[str] = []
    for path in paths:
        name = re.sub(r"\]?[\[.]", "_", path).rstrip("]")
        while name in names or (name != path and name in paths):
            name += "_"
        names.append(name)
    taken = _NAMES_IN_BODIES.union(name for name in names if name.startswith(_LOCALS))
    spelled = cpp_types.parameter_names(names, taken)
    return [CallerValue(path, name, slot) for (path, slot), name in zip(parts, spelled, strict=True)]


def _steps(slot: TupleSlot) -> Iterator[tuple[str, Slot]]:
    steps = [f".{name}" for name in slot.fields] or [f"[{index}]" for index in range(len(slot.items))]
    yield from zip(steps, slot.items, strict=True)


# ---------------------------------------------------------------------------------------------------------
# Types


@dataclass(frozen=True)
class _Form:
    """How C passes what goes into a slot."""

    type: str
    helper: str
    """What packs it; empty if it is packed already."""


_ANY = _Form("TVMFFIAny", "")
"""For what has no type in C: callers pack it, as ``tvm/ffi/c_api.h`` says."""

_TENSOR = _Form("const DLTensor*", "tensor")
_POINTER = _Form("void*", "pointer")
_SHAPE = _Form("const int64_t*", "shape")
_BOOL = _Form("bool", "bool")
_INT64 = _Form("int64_t", "int")
_DOUBLE = _Form("double", "double")
_WORD = _Form("const char*", "string")
_PLAIN: dict[type, _Form] = {bool: _BOOL, int: _INT64, float: _DOUBLE}


def _type(slot: Slot, package: str, structs: Mapping[TupleSlot, Struct]) -> str:
    if isinstance(slot, TupleSlot):
        return f"{package}_{structs[slot].name}"
    return _form(slot).type


def _form(slot: Slot) -> _Form:
    match slot:
        case TensorSlot():
            return _TENSOR
        case ScalarSlot(dtype=dtype):
            return _scalar(dtype)
        case ShapeSlot():
            return _SHAPE
        case PointerSlot() | StreamSlot():
            return _POINTER
        case ChoiceSlot(values=values):
            return _choice(values)
        case OneOfSlot(alternatives=alternatives):
            given = [a for a in alternatives if not isinstance(a, NoneSlot)]
            return _common(given, optional=len(given) < len(alternatives))
        case TupleSlot() | NoneSlot() | ConstantSlot():
            return _ANY
        case _:
            assert_never(slot)


def _scalar(dtype: str) -> _Form:
    """Return the form of a number.

    Integers have all bits that are passed: C narrows without a word, and the compiled function refuses what
    is out of its range.
    """
    helper = _scalar_helper(dtype)
    if helper == "int":
        return _INT64
    return _Form(cpp_types.scalar_type(dtype).removeprefix("std::"), helper)


def _common(slots: Sequence[Slot], *, optional: bool) -> _Form:
    """Return the form for what goes into any of several slots; the library looks at what is in it."""
    if all(isinstance(slot, ScalarSlot) for slot in slots):
        return _number(slots, optional=optional)
    forms = {_form(slot) for slot in slots}
    if forms == {_POINTER} and optional:
        return _Form("void*", "optional_pointer")
    if forms == {_SHAPE} and len({_rank(slot) for slot in slots}) > 1:
        return _ANY
    return forms.pop() if len(forms) == 1 else _ANY


def _number(slots: Sequence[Slot], *, optional: bool) -> _Form:
    helpers = {_form(slot).helper for slot in slots}
    if len(helpers) > 1 and "bool" in helpers:
        return _ANY
    form = _DOUBLE if "double" in helpers else _BOOL if "bool" in helpers else _INT64
    return _Form(f"const {form.type}*", f"optional_{form.helper}") if optional else form


def _choice(values: Sequence[ChoiceValue]) -> _Form:
    kinds = {type(value) for value in values}
    if str in kinds and kinds <= {str, type(None)}:
        return _WORD
    return _PLAIN.get(kinds.pop(), _ANY) if len(kinds) == 1 else _ANY


def _rank(slot: Slot) -> int:
    return len(slot.extents) if isinstance(slot, ShapeSlot) else -1


def _scalar_helper(dtype: str) -> str:
    if dtype in _SCALARS:
        return _SCALARS[dtype]
    return "int" if dtype.startswith(("int", "uint")) else "double"


# ---------------------------------------------------------------------------------------------------------
# Packing


@dataclass
class Packing:
    """Packs the arguments of one function.

    Attributes
    ----------
    package : str
        Its helpers in C begin with this name and two underscores.
    texts : mapping
        By path, the expressions for what callers pass.
    statements : list of str
        What the expressions refer to: the tuples and shapes on the stack, inner ones first.
    """

    package: str
    texts: Mapping[str, str]
    statements: list[str] = field(default_factory=list[str])
    _objects: int = 0

    def value(self, path: str, slot: Slot) -> str:
        """Return the expression for the argument, or the part of one, at a path."""
        match slot:
            case NoneSlot():
                return self._helper("none")
            case ConstantSlot(value=value):
                return self._constant(value)
            case TupleSlot(items=items):
                return self._tuple([self.value(path + step, item) for step, item in _steps(slot)], len(items))
            case _:
                return self._given(self.texts[path], slot)

    def _given(self, text: str, slot: Slot) -> str:
        form = _form(slot)
        if form == _SHAPE:
            ranks = map(_rank, slot.alternatives if isinstance(slot, OneOfSlot) else [slot])
            return self._object("shape", f"{text}, {max(ranks)}")
        return self._helper(form.helper, text) if form.helper else text

    def _tuple(self, items: list[str], size: int) -> str:
        if not items:
            return self._object("tuple", "NULL, 0")
        name = f"{_LOCALS}items_{self._objects + 1}"
        self.statements.append(c_array(f"TVMFFIAny {name}[]", items))
        return self._object("tuple", f"{name}, {size}")

    def _object(self, kind: str, arguments: str) -> str:
        self._objects += 1
        name = f"{_LOCALS}{kind}_{self._objects}"
        made = f"{self.package}__make_{kind}({arguments})"
        self.statements.append(f"  {self.package}__{kind} {name} = {made};")
        return self._helper("object", f"&{name}.header")

    def _constant(self, value: float) -> str:
        if isinstance(value, bool):
            return self._helper("bool", "true" if value else "false")
        kind = "int" if isinstance(value, int) else "double"
        return self._helper(kind, _literal(value))

    def _helper(self, name: str, argument: str = "") -> str:
        return f"{self.package}__{name}({argument})"


def texts(values: Sequence[CallerValue], structs: Mapping[TupleSlot, Struct]) -> dict[str, str]:
    """Say for each path how a function's body refers to it, members of structs included."""
    found: dict[str, str] = {}
    for value in values:
        found[value.path] = value.name
        if isinstance(value.slot, TupleSlot):
            inner = texts(members(value.slot, structs), structs)
            found |= {f"{value.path}.{path}": f"{value.name}.{text}" for path, text in inner.items()}
    return found


def _literal(value: float) -> str:
    """Write a constant of a record; C++ writes it with ``std::numeric_limits`` where it is extreme."""
    if value == -(2**63):
        return "INT64_MIN"
    text = repr(value)
    if text in {"inf", "-inf", "nan"}:
        return text.replace("inf", "INFINITY").replace("nan", "NAN")
    return text

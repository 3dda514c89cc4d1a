"""What has to hold between the parts of a model, beyond what their types say.

A model that the tool has made is right by the way it was made. One that was read may come from anywhere, and
everything that renders, compares or describes it relies on this.
"""

from __future__ import annotations

import itertools
import keyword
import math
from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import assert_never

from stubgen.model import names
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Family,
    Kernel,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Parameter,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Variant,
)
from stubgen.model.text import counted

_MOST_COMBINATIONS = 1_000_000
"""Of a family's axes; every one of them was once looked at to find out whether there is a variant."""
_DEEPEST = 64
"""How many tuples may lie in one another."""
_LEAST, _MOST = -(2**63), 2**63 - 1


def contradiction(library: Library) -> str | None:
    """Return the first thing in a library that cannot be, or ``None`` if it is consistent."""
    return next(_contradictions(library), None)


def contradiction_in(slots: Iterable[Slot], records: Iterable[Record]) -> str | None:
    """Return the first thing in a kernel's slots and their classes that cannot be, or ``None``."""
    named = {record.name: record for record in records}
    return next((reason for slot in slots for reason in _in_slot(slot, named, _DEEPEST)), None)


def _contradictions(library: Library) -> Iterator[str]:
    if not library.kernels:
        yield "there is no function in it"
    if keyword.iskeyword(library.package):
        yield f"{library.package} is no name of a package"
    yield from _repeated("module", (module.name for module in library.modules))
    modules = {module.name for module in library.modules}
    for module in library.modules:
        parents = itertools.accumulate(module.name.split(".")[:-1], "{}.{}".format)
        is_taken = names.is_reserved_module(module.name) or not modules.isdisjoint(parents)
        if names.module_name_error(module.name) or is_taken:
            yield f"{module.name} is no name of a module"
        yield from _in_module(module)
    functions = [*(k.name for k in library.kernels), *(f.name for f in library.families)]
    yield from _repeated("function", functions)


def _in_module(module: Module) -> Iterator[str]:
    if not module.kernels:
        yield f"there is no function in {module.name}"
    public = [kernel.name for kernel in module.kernels if not kernel.variant]
    public += [family.name for family in module.families]
    yield from _repeated("name", (*public, *(record.name for record in module.records)))
    for record in module.records:
        if not names.can_name_class(record.name):
            yield f"{record.name} is no name of a class"
        yield from _misnamed(record.name, [field.name for field in record.fields])
    records = {record.name: record for record in module.records}
    functions: list[Kernel | Family] = [*module.kernels, *module.families]
    for function in functions:
        if function.module != module.name:
            yield f"{function.name} is in the module {module.name}, and says that it is in {function.module}"
        yield from _in_function(function, records)
    yield from _in_families(module)


def _in_function(function: Kernel | Family, records: dict[str, Record]) -> Iterator[str]:
    if keyword.iskeyword(function.name):
        yield f"{function.name} is no name of a function"
    parameters = [parameter.name for parameter in function.parameters]
    yield from _misnamed(function.name, parameters)
    for parameter in function.parameters:
        for reason in _in_parameter(parameter, function, records):
            yield f"{parameter.name} of {function.name} {reason}"
    for frozen in function.frozen:
        if not 0 <= frozen.position <= len(parameters):
            yield f"{frozen.name} of {function.name} has no place among its parameters"
    effects = function.effects
    backward = effects.backward
    known = {*effects.mutates, *effects.returns, *(backward.grads if backward else ())}
    if not known <= set(parameters):
        yield f"{function.name} writes to what it does not take"


def _in_parameter(
    parameter: Parameter, function: Kernel | Family, records: dict[str, Record]
) -> Iterator[str]:
    slot = parameter.slot
    if isinstance(slot, ChoiceSlot | OneOfSlot) and isinstance(function, Kernel):
        yield "is what only families have"
    if isinstance(slot, ChoiceSlot):
        axes = {axis.name for axis in function.axes} if isinstance(function, Family) else ()
        if not slot.values or slot.axis not in axes:
            yield "chooses from nothing"
        return
    alternatives = slot.alternatives if isinstance(slot, OneOfSlot) else (slot,)
    if not alternatives:
        yield "takes nothing"
    for alternative in alternatives:
        yield from _in_slot(alternative, records, _DEEPEST)


def _in_slot(slot: Slot, records: dict[str, Record], deepest: int) -> Iterator[str]:
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            if strides is not None and len(strides) != len(shape):
                yield f"has {counted(len(shape), 'dimension')} and {counted(len(strides), 'stride')}"
            yield from _in_extents((*shape, *(strides or ())))
        case ShapeSlot(extents=extents):
            yield from _in_extents(extents)
        case TupleSlot():
            yield from _in_tuple(slot, records, deepest)
        case ChoiceSlot() | OneOfSlot():
            yield "has a choice inside of another argument"
        case ScalarSlot() | PointerSlot() | StreamSlot() | NoneSlot() | ConstantSlot():
            pass
        case _:
            assert_never(slot)


def _in_extents(extents: Iterable[Extent]) -> Iterator[str]:
    for extent in extents:
        if not isinstance(extent, Symbol) and not _LEAST <= extent <= _MOST:
            yield f"has the size {extent}, which 64 bits do not hold"


def _in_tuple(slot: TupleSlot, records: dict[str, Record], deepest: int) -> Iterator[str]:
    if not deepest:
        yield "is nested too deep"
        return
    if slot.record is None:
        fields: Sequence[str] = slot.fields
    elif slot.record in records:
        fields = [field.name for field in records[slot.record].fields]
    else:
        yield f"is of the class {slot.record}, which there is not"
        return
    if (fields or slot.record) and len(fields) != len(slot.items):
        yield f"has {counted(len(slot.items), 'item')} and {counted(len(fields), 'name')} for them"
    if slot.fields and list(slot.fields) != list(fields):
        yield f"has other fields than {slot.record}"
    for item in slot.items:
        yield from _in_slot(item, records, deepest - 1)


def _in_families(module: Module) -> Iterator[str]:
    """Yield what families and their variants do not know of each other."""
    kernels = {kernel.name: kernel for kernel in module.kernels}
    families = {family.name: family for family in module.families}
    for kernel in module.kernels:
        family = families.get(kernel.variant.family) if kernel.variant else None
        if kernel.variant and (family is None or kernel.name not in family.variants):
            yield f"{kernel.name} is a variant of {kernel.variant.family}, which does not know it"
    for family in module.families:
        if not family.variants:
            yield f"{family.name} has no variants"
        yield from _repeated(f"variant of {family.name}", family.variants)
        yield from _repeated(f"axis of {family.name}", (axis.name for axis in family.axes))
        if math.prod(len(axis.labels) for axis in family.axes) > _MOST_COMBINATIONS:
            yield f"{family.name} has too many combinations"
        for name in family.variants:
            if name not in kernels or not _fits(kernels[name], family):
                yield f"{name} is no variant of {family.name}"


def _fits(kernel: Kernel, family: Family) -> bool:
    variant: Variant | None = kernel.variant
    if variant is None or variant.family != family.name:
        return False
    selectors = [p.slot for p in family.choices if isinstance(p.slot, ChoiceSlot)]
    places = zip(variant.labels.values(), family.axes, strict=False)
    taken = [p.name for p in family.parameters if not isinstance(p.slot, ChoiceSlot)]
    return (
        list(variant.labels) == [axis.name for axis in family.axes]
        and all(label in axis.labels for label, axis in places)
        and all(s.axis in variant.values and s.has(variant.values[s.axis]) for s in selectors)
        and taken == [p.name for p in kernel.parameters]
    )


def _misnamed(owner: str, parts: Sequence[str]) -> Iterator[str]:
    yield from _repeated(f"part of {owner}", parts)
    for name in parts:
        if not name.isidentifier() or keyword.iskeyword(name):
            yield f"{owner} has a part called {name!r}, which is no name in Python"


def _repeated(what: str, parts: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in parts:
        if name in seen:
            yield f"{name} stands twice as a {what}"
        seen.add(name)

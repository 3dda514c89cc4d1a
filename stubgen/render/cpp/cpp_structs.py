"""Structs for the NamedTuples and dataclasses that kernels take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stubgen.abi.signatures import admits
from stubgen.model.library import (
    Family,
    Kernel,
    Library,
    Module,
    OneOfSlot,
    Parameter,
    Record,
    Slot,
    TupleSlot,
)
from stubgen.model.names import USED_BY_HEADERS
from stubgen.render import cpp_types


@dataclass(frozen=True)
class Member:
    """A field that callers fill in; hidden fields are none."""

    name: str
    type: str
    default: str | None
    index: int
    """Of the field, among those of the record."""


@dataclass(frozen=True)
class Struct:
    """A record, as C++ shows it."""

    name: str
    doc: str
    fields: tuple[str, ...]
    """Of the record, all of them, as its author spells them."""
    members: tuple[Member, ...]


@dataclass(frozen=True)
class ModuleStructs:
    """The structs of one header, in the order in which they have to be defined."""

    structs: tuple[Struct, ...] = ()
    of: dict[TupleSlot, Struct] = field(default_factory=dict[TupleSlot, Struct])
    """For each place where a record is passed; not for those inside plain tuples, which stay tuples."""

    @property
    def names(self) -> dict[TupleSlot, str]:
        """The names that types are written with."""
        return {slot: struct.name for slot, struct in self.of.items()}


def library_structs(library: Library) -> dict[str, ModuleStructs]:
    """Return the structs of each module, by its name.

    All headers share one namespace. The first record of a name gets that name; one that is laid out
    differently, because it was compiled with another pattern of ``None`` or belongs to another module, has
    the name of the first kernel that takes it appended.
    """
    taken = {*USED_BY_HEADERS, *(kernel.name for kernel in library.kernels)}
    structs: dict[str, ModuleStructs] = {}
    for module in library.modules:
        structs[module.name] = _module_structs(module, taken)
    return structs


def _module_structs(module: Module, taken: set[str]) -> ModuleStructs:
    """Name the structs of a module, and add the names to those taken."""
    records = {record.name: record for record in module.records}
    names: dict[TupleSlot, str] = {}
    uses: dict[tuple[str, tuple[str, ...]], list[TupleSlot]] = {}
    functions: tuple[Kernel | Family, ...] = (*module.kernels, *module.families)  # which call sizes otherwise
    for kernel in functions:
        for slot in _records_in(kernel.parameters):
            layout = (slot.record or "", _member_types(slot, names))
            if layout not in uses:
                [spelled] = cpp_types.parameter_names([layout[0]], {"std", "tvm"})
                names[slot] = _free(spelled, kernel.name, taken)
            else:
                names[slot] = names[uses[layout][0]]
            uses.setdefault(layout, []).append(slot)
    made = {
        names[slots[0]]: _struct(names[slots[0]], records[record], slots, names)
        for (record, _), slots in uses.items()
    }
    return ModuleStructs(tuple(made.values()), {slot: made[name] for slot, name in names.items()})


def _records_in(parameters: tuple[Parameter, ...]) -> Iterator[TupleSlot]:
    """Find the records that get a struct, inner ones first."""
    for parameter in parameters:
        yield from _records_at(parameter.slot)


def _records_at(slot: Slot) -> Iterator[TupleSlot]:
    if isinstance(slot, OneOfSlot):
        for alternative in slot.alternatives:
            yield from _records_at(alternative)
    elif isinstance(slot, TupleSlot) and slot.record is not None and not cpp_types.is_hidden(slot):
        for item in slot.items:
            yield from _records_at(item)
        yield slot


def _member_types(slot: TupleSlot, names: dict[TupleSlot, str]) -> tuple[str, ...]:
    return tuple(
        "" if cpp_types.is_hidden(item) else cpp_types.member_type(item, names) for item in slot.items
    )


def _free(record: str, kernel: str, taken: set[str]) -> str:
    name = record
    while name in taken:
        name += f"_{kernel}"
    taken.add(name)
    return name


def _struct(name: str, record: Record, uses: list[TupleSlot], names: dict[TupleSlot, str]) -> Struct:
    spelled = cpp_types.parameter_names([f.name for f in record.fields], set(names.values()))
    members = [
        Member(spelled[index], kind, _default(record, index, uses), index)
        for index, kind in enumerate(_member_types(uses[0], names))
        if kind
    ]
    return Struct(name, record.doc, tuple(f.name for f in record.fields), tuple(members))


def _default(record: Record, index: int, uses: list[TupleSlot]) -> str | None:
    """Return a member's default, if every place that takes the struct admits it."""
    default = record.fields[index].default
    if default is None or not all(admits(slot.items[index], default.value) for slot in uses):
        return None
    return cpp_types.default(uses[0].items[index], default.value)

"""Python classes for the NamedTuples and dataclasses that kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stubgen.abi.signatures import admits
from stubgen.model.library import ConstantSlot, Default, Module, NoneSlot, Record, Slot, TupleSlot
from stubgen.render import python_types, type_trees
from stubgen.render.layout import docstring
from stubgen.render.type_trees import Type

_INDENT = " " * 4


@dataclass(frozen=True)
class PythonClass:
    """A NamedTuple or dataclass, ready to be put into a file."""

    name: str
    decorator: str
    """Empty for a NamedTuple."""
    head: str
    doc: str
    fields: list[str]
    types: tuple[Type, ...]
    """Of the fields."""


def python_class(record: Record, module: Module) -> PythonClass:
    """Return the class that a module has for a NamedTuple or dataclass which its kernels take."""
    doc = record.doc.splitlines() or [f"Arguments that belong together, of {module.source}."]
    is_dataclass = record.kind == "dataclass"
    keyword_only = ", kw_only=True" if _is_keyword_only(record) else ""
    places = _places(record.name, module)
    types = tuple(_field_type(places, index) for index in range(len(record.fields)))
    return PythonClass(
        record.name,
        f"@_dataclass(frozen=True{keyword_only})" if is_dataclass else "",
        f"class {record.name}:" if is_dataclass else f"class {record.name}(_NamedTuple):",
        docstring(doc, _INDENT),
        _fields(record, places, types),
        types,
    )


def _is_keyword_only(record: Record) -> bool:
    return bool(record.fields) and all(field.kw_only for field in record.fields)


def has_mixed_fields(record: Record) -> bool:
    """Return whether a class takes some of its fields by keyword only, and others not."""
    return any(field.kw_only for field in record.fields) and not _is_keyword_only(record)


def _places(record: str, module: Module) -> list[list[TupleSlot]]:
    """Return every place where a record is passed; what the variants of a family take there is one place."""
    places: dict[tuple[object, ...], list[TupleSlot]] = {}
    for kernel in module.kernels:
        public = kernel.variant.family if kernel.variant else kernel.name
        for parameter in kernel.parameters:
            for path, slot in _uses(parameter.slot, record):
                places.setdefault((public, parameter.name, *path), []).append(slot)
    return list(places.values())


def _uses(slot: Slot, record: str) -> Iterator[tuple[tuple[int, ...], TupleSlot]]:
    """Find where in a slot a record is passed."""
    if not isinstance(slot, TupleSlot):
        return
    if slot.record == record:
        yield (), slot
    for index, item in enumerate(slot.items):
        for path, use in _uses(item, record):
            yield (index, *path), use


def _field_type(places: list[list[TupleSlot]], index: int) -> Type:
    """Return the types of all uses of a field as one."""
    slots = (use.items[index] for place in places for use in place)
    return type_trees.union(python_types.type_of(slot, records=True) for slot in slots)


def _fields(record: Record, places: list[list[TupleSlot]], types: Sequence[Type]) -> list[str]:
    """Return the fields with their types; defaults only where every place admits them."""
    lines: list[str] = []
    required_follows = False
    is_mixed = has_mixed_fields(record)
    for index, field in reversed(list(enumerate(record.fields))):
        columns = [[use.items[index] for use in place] for place in places]
        default = _field_default(field.default, columns)
        if not field.kw_only:
            default = None if required_follows else default
            required_follows = default is None
        value = python_types.literal(default) if default else ""
        if is_mixed and field.kw_only:
            value = f"_field({f'default={value}, ' if value else ''}kw_only=True)"
        lines.append(f"{field.name}: {type_trees.text(types[index])}{f' = {value}' if value else ''}")
    return list(reversed(lines))


def _field_default(default: Default | None, columns: list[list[Slot]]) -> Default | None:
    """Return a field's default; where only one value ever fits, that is it, so nobody has to repeat it."""
    slots = [slot for column in columns for slot in column]
    only = {repr(value): value for value in map(_only_value, slots)}  # unlike a set, tells True from 1
    if len(only) == 1 and None not in only.values():
        return next(iter(only.values()))
    if default is not None and all(any(admits(s, default.value) for s in column) for column in columns):
        return default
    return None


def _only_value(slot: Slot) -> Default | None:
    """Return the value of a slot that takes no other."""
    match slot:
        case NoneSlot():
            return Default(None)
        case ConstantSlot(value=value):
            return Default(value)
        case _:
            return None

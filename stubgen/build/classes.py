"""Names for the classes that a generated module defines, where a library uses one for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stubgen.compiler.jobs import Compiled
from stubgen.model.library import Record, Slot, TupleSlot


def with_own_names(compiled: Sequence[Compiled]) -> list[Compiled]:
    """Rename classes that differ from another of the same name in their module.

    The first keeps its name; others have that of their public function in front, so that ``Arguments`` of
    ``gemm_act`` becomes ``GemmActArguments``.

    Parameters
    ----------
    compiled
        The kernels of one module, in order. Two of one public function that still differ are left to the
        caller to refuse.
    """
    first: dict[str, Record] = {}
    found: list[Compiled] = []
    for item in compiled:
        public = item.variant.family if item.variant else item.name
        names = {
            record.name: f"{_camel_case(public)}{record.name}"
            for record in item.records
            if first.setdefault(record.name, record) != record
        }
        found.append(_renamed(item, names) if names else item)
    return found


def _camel_case(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def _renamed(compiled: Compiled, names: Mapping[str, str]) -> Compiled:
    return msgspec.structs.replace(
        compiled,
        records=tuple(
            msgspec.structs.replace(record, name=names.get(record.name, record.name))
            for record in compiled.records
        ),
        arguments=tuple(
            argument
            if argument.slot is None
            else msgspec.structs.replace(argument, slot=_renamed_in(argument.slot, names))
            for argument in compiled.arguments
        ),
    )


def _renamed_in(slot: Slot, names: Mapping[str, str]) -> Slot:
    if not isinstance(slot, TupleSlot):
        return slot
    items = tuple(_renamed_in(item, names) for item in slot.items)
    record = None if slot.record is None else names.get(slot.record, slot.record)
    return TupleSlot(items, record, slot.fields)

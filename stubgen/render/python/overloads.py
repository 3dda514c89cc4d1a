"""Which Python signatures a family has.

One is enough if any combination of what its parameters take is some variant's. Otherwise, as where two
tensors are given together or not at all, there is an overload for each combination that is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from stubgen.abi.signatures import admits
from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import variant_of
from stubgen.model.library import ChoiceSlot, Family, Kernel, OneOfSlot, Parameter, Slot
from stubgen.render import python_types, type_trees

_Row: TypeAlias = "list[dict[str, Slot]]"
"""For each parameter what it takes, by how that is shown in Python."""


def overloads(family: Family, variants: Sequence[Kernel]) -> list[tuple[Parameter, ...]]:
    """Return the parameters of each signature; the family's own if one is enough."""
    found = _distinct([_slots(family, kernel) for kernel in variants])
    columns = [{_shown(slot): slot for slot in column} for column in zip(*found, strict=True)]
    if len(found) == math.prod(map(len, columns)):
        return [family.parameters]
    known = {tuple(map(_shown, row)) for row in found}
    rows: list[_Row] = [[{_shown(slot): slot} for slot in row] for row in found]
    for position in range(len(columns)):
        rows = _joined(rows, position)
    rows = [_grown(row, columns, known) for row in rows]
    return [_parameters(family, [_either(list(cell.values())) for cell in row]) for row in rows]


def by_signature(variants: Sequence[Kernel]) -> list[list[Kernel]]:
    """Group variants by what their parameters take in Python."""
    groups: dict[tuple[str, ...], list[Kernel]] = {}
    for kernel in variants:
        groups.setdefault(tuple(_shown(p.slot) for p in kernel.parameters), []).append(kernel)
    return list(groups.values())


def _shown(slot: Slot) -> str:
    return type_trees.text(python_types.type_of(slot, records=False))


def _slots(family: Family, kernel: Kernel) -> tuple[Slot, ...]:
    """Return what a variant takes in the place of each parameter of the family."""
    own = iter(kernel.parameters)
    variant = variant_of(kernel)
    return tuple(
        ChoiceSlot(parameter.slot.axis, (variant.values[parameter.slot.axis],))
        if isinstance(parameter.slot, ChoiceSlot)
        else next(own).slot
        for parameter in family.parameters
    )


def _distinct(rows: Iterable[tuple[Slot, ...]]) -> list[tuple[Slot, ...]]:
    """Keep one of the rows that look the same in Python."""
    return list({tuple(map(_shown, row)): row for row in reversed(list(rows))}.values())[::-1]


def _joined(rows: Sequence[_Row], position: int) -> list[_Row]:
    """Make one row of those that differ in one position only."""
    groups: dict[tuple[frozenset[str], ...], list[_Row]] = {}
    for row in rows:
        groups.setdefault(tuple(map(frozenset, (*row[:position], *row[position + 1 :]))), []).append(row)
    return [
        [*first[:position], {t: s for row in group for t, s in row[position].items()}, *first[position + 1 :]]
        for group in groups.values()
        for first in group[:1]
    ]


def _grown(row: _Row, columns: Sequence[Mapping[str, Slot]], known: set[tuple[str, ...]]) -> _Row:
    """Let a row take all that variants take together with the rest of it, even if other rows do so too.

    A caller's ``bool`` fits neither of two rows that take one of its values each.
    """
    grown = list(row)
    for position, column in enumerate(columns):
        rest = [list(cell) for cell in grown]
        for text, slot in column.items():
            rest[position] = [text]
            if all(combination in known for combination in itertools.product(*rest)):
                grown[position] = {**grown[position], text: slot}
    return grown


def _either(slots: Sequence[Slot]) -> Slot:
    if len(slots) == 1:
        return slots[0]
    first = slots[0]
    if isinstance(first, ChoiceSlot):
        values: list[ChoiceValue] = [v for slot in slots if isinstance(slot, ChoiceSlot) for v in slot.values]
        return ChoiceSlot(first.axis, tuple(values))
    return OneOfSlot(tuple(slots))


def _parameters(family: Family, slots: Sequence[Slot]) -> tuple[Parameter, ...]:
    """Return the family's parameters narrowed to some slots, with the defaults that those admit."""
    narrowed: list[Parameter] = []
    for parameter, slot in zip(family.parameters, slots, strict=True):
        default = parameter.default
        kept = default if default and admits(slot, default.value) else None
        narrowed.append(msgspec.structs.replace(parameter, slot=slot, default=kept))
    return tuple(narrowed)

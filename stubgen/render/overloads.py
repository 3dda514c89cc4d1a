"""Which Python signatures a family has.

One is enough if any combination of what its parameters take is some variant's. Otherwise, as where two
tensors are given together or not at all, there is an overload for each combination that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from stubgen.model import ChoiceSlot, ChoiceValue, Family, Kernel, OneOfSlot, Parameter, Slot, Variant
from stubgen.render import python_types
from stubgen.signatures import admits, without_gaps


def overloads(family: Family, variants: Sequence[Kernel]) -> list[tuple[Parameter, ...]]:
    """Give the parameters of each signature; the family's own if one is enough."""
    found = _distinct([_slots(family, kernel) for kernel in variants])
    alternatives = [len({_shown(slot) for slot in column}) for column in zip(*found, strict=True)]
    if len(found) == math.prod(alternatives):
        return [family.parameters]
    for position in range(len(family.parameters)):
        found = _joined(found, position)
    return [_parameters(family, slots) for slots in found] if len(found) > 1 else [family.parameters]


def by_signature(variants: Sequence[Kernel]) -> list[list[Kernel]]:
    """Group variants by what their parameters take in Python."""
    groups: dict[tuple[str, ...], list[Kernel]] = {}
    for kernel in variants:
        groups.setdefault(tuple(_shown(p.slot) for p in kernel.parameters), []).append(kernel)
    return list(groups.values())


def _shown(slot: Slot) -> str:
    return python_types.type_of(slot, records=False)


def _slots(family: Family, kernel: Kernel) -> tuple[Slot, ...]:
    """Give what a variant takes in the place of each parameter of the family."""
    own = iter(kernel.parameters)
    variant = kernel.variant
    assert isinstance(variant, Variant)
    return tuple(
        ChoiceSlot(parameter.slot.axis, (variant.values[parameter.slot.axis],))
        if isinstance(parameter.slot, ChoiceSlot)
        else next(own).slot
        for parameter in family.parameters
    )


def _distinct(rows: Iterable[tuple[Slot, ...]]) -> list[tuple[Slot, ...]]:
    """Keep one of the rows that look the same in Python."""
    return list({tuple(map(_shown, row)): row for row in reversed(list(rows))}.values())[::-1]


def _joined(rows: Sequence[tuple[Slot, ...]], position: int) -> list[tuple[Slot, ...]]:
    """Make one row of those that differ in one position only."""
    groups: dict[tuple[str, ...], list[tuple[Slot, ...]]] = {}
    for row in rows:
        shown = tuple(map(_shown, row))
        groups.setdefault((*shown[:position], *shown[position + 1 :]), []).append(row)
    return [
        (*group[0][:position], _either([row[position] for row in group]), *group[0][position + 1 :])
        for group in groups.values()
    ]


def _either(slots: Sequence[Slot]) -> Slot:
    if len(slots) == 1:
        return slots[0]
    first = slots[0]
    if isinstance(first, ChoiceSlot):
        values: list[ChoiceValue] = [v for slot in slots if isinstance(slot, ChoiceSlot) for v in slot.values]
        return ChoiceSlot(first.axis, tuple(values))
    parts = [a for slot in slots for a in (slot.alternatives if isinstance(slot, OneOfSlot) else (slot,))]
    return OneOfSlot(tuple(parts))


def _parameters(family: Family, slots: tuple[Slot, ...]) -> tuple[Parameter, ...]:
    """Give the family's parameters narrowed to some slots, with the defaults that those admit."""
    narrowed: list[Parameter] = []
    for parameter, slot in zip(family.parameters, slots, strict=True):
        default = parameter.default
        kept = default if default and admits(slot, default.value) else None
        narrowed.append(msgspec.structs.replace(parameter, slot=slot, default=kept))
    return without_gaps(narrowed)

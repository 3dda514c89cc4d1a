"""The signature of a family as its own error messages state it, in the way of the compiled functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from typing_extensions import assert_never

from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Family,
    NoneSlot,
    OneOfSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)


def stated(family: Family, values: Sequence[ChoiceValue] = ()) -> str:
    """Return the signature of a family.

    Parameters
    ----------
    family
        The family.
    values
        What has been chosen, for each of its selectors; by default, nothing.

    Examples
    --------
    ``rmsnorm(x: Tensor([m, 1024|4096], float16|bfloat16), eps: float32)``
    """
    chosen = iter(values)
    items: list[str] = []
    for parameter in family.parameters:
        choice = isinstance(parameter.slot, ChoiceSlot)
        shown = _choice([next(chosen)]) if choice and values else _slot(parameter.slot)
        items.append(f"{parameter.name}: {shown}")
    return f"{family.name}({', '.join(items)})"


def _slot(slot: Slot) -> str:
    match slot:
        case TensorSlot(dtype=dtype, shape=shape):
            return f"Tensor([{_extents(shape)}], {dtype})"
        case ScalarSlot(dtype=dtype):
            return dtype
        case NoneSlot():
            return "None"
        case ConstantSlot(value=value):
            return repr(value)
        case PointerSlot():
            return "Pointer"
        case StreamSlot():
            return "Stream"
        case ShapeSlot(extents=extents):
            return f"Shape({_extents(extents)})"
        case TupleSlot(items=items):
            return f"Tuple[{', '.join(map(_slot, items))}]"
        case ChoiceSlot(values=values):
            return _choice(values)
        case OneOfSlot(alternatives=alternatives):
            return _one_of(alternatives)
        case _:
            assert_never(slot)


def _choice(values: Iterable[ChoiceValue]) -> str:
    return "|".join(json.dumps(v, ensure_ascii=False) if isinstance(v, str) else repr(v) for v in values)


def _one_of(alternatives: Sequence[Slot]) -> str:
    """Put tensors of one rank into one text, and the rest beside it."""
    by_rank: dict[int, list[TensorSlot]] = {}
    others: list[str] = []
    for slot in alternatives:
        if isinstance(slot, TensorSlot):
            by_rank.setdefault(len(slot.shape), []).append(slot)
        else:
            others.append(_slot(slot))
    tensors = [
        f"Tensor([{', '.join(map(_alternatives, zip(*(s.shape for s in slots), strict=True)))}], "
        f"{'|'.join(dict.fromkeys(slot.dtype for slot in slots))})"
        for slots in by_rank.values()
    ]
    return "|".join(dict.fromkeys([*tensors, *others]))


def _alternatives(extents: tuple[Extent, ...]) -> str:
    return "|".join(dict.fromkeys(map(_extent, extents)))


def _extents(extents: Iterable[Extent]) -> str:
    return ", ".join(map(_extent, extents))


def _extent(extent: Extent) -> str:
    return str(extent) if isinstance(extent, int) else extent.name

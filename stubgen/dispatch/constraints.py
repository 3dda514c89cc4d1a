"""What a compiled function demands of a call, as constraints on things that can be read from it.

Each slot of a signature becomes constraints on *features*: the kind of the third argument, the second extent
of the first. A :class:`Pattern` is all of them together, and a call fits if each holds. Because features can
be compared one by one, so can patterns: two are disjoint if one feature tells them apart, and one is more
specific than the other if it is so, or equal, in every feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from stubgen.model import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    NoneSlot,
    OneOfSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.signatures import integer_range

Path: TypeAlias = tuple[int, ...]
"""Where a value stands: the argument, then the item in it if it is a tuple, and so on."""

What: TypeAlias = Literal[
    "kind", "dtype", "rank", "device", "extent", "integer", "float", "layout", "address"
]
"""What is read there. ``rank`` is also the length of a tuple or shape, ``extent`` an element of a shape."""

Value: TypeAlias = "bool | int | float | str"

Relation: TypeAlias = Literal["equal", "subset", "superset", "disjoint", "overlap"]
"""How the calls that fit one thing relate to those that fit another."""


@dataclass(frozen=True, order=True)
class Feature:
    """Something that can be read from a call."""

    path: Path
    what: What
    index: int = 0
    """Of the dimension, for an extent."""


@dataclass(frozen=True)
class Values:
    """One of a few values: kinds, dtypes, ranks, fixed extents."""

    values: frozenset[Value]


@dataclass(frozen=True)
class Integers:
    """The multiples of a number in a range; ``None`` leaves an end open."""

    low: int | None = None
    high: int | None = None
    multiple_of: int = 1

    def __contains__(self, value: object) -> bool:
        return (
            isinstance(value, int)
            and (self.low is None or self.low <= value)
            and (self.high is None or value <= self.high)
            and value % self.multiple_of == 0
        )


@dataclass(frozen=True)
class Layout:
    """The strides of a tensor.

    The compiled functions let the stride of a dimension of extent 1 be anything. Comparisons leave such
    tensors out: they fit several layouts, and each is right for them.
    """

    strides: tuple[int | Integers | None, ...]
    """In elements; ``None`` where the stride has to be that of a row-major tensor."""

    @property
    def row_major(self) -> bool:
        """Whether the whole tensor has to be row-major."""
        return None in self.strides


Constraint: TypeAlias = Values | Integers | Layout


@dataclass(frozen=True)
class Pattern:
    """All that a function demands of a call; a feature without a constraint may be anything."""

    constraints: Mapping[Feature, Constraint]
    equal: frozenset[tuple[Feature, ...]]
    """Groups of extents that have to be the same number."""

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """What two patterns have in common if and only if they accept the same calls."""
        return (frozenset(self.constraints.items()), self.equal)

    def relation(self, other: Pattern) -> Relation:
        """Compare the calls that fit this pattern with those that fit another."""
        found: Relation = "equal"
        for feature in self.constraints.keys() | other.constraints.keys():
            found = _both(found, relation(self.constraints.get(feature), other.constraints.get(feature)))
            if found == "disjoint":
                return found
        return _both(found, self._relation_of_equalities(other))

    def _relation_of_equalities(self, other: Pattern) -> Relation:
        if self.equal == other.equal:
            return "equal"
        here = all(self._implies(group) for group in other.equal)
        there = all(other._implies(group) for group in self.equal)
        if here and there:
            return "equal"
        return "subset" if here else "superset" if there else "overlap"

    def _implies(self, group: tuple[Feature, ...]) -> bool:
        """Tell whether whatever fits this pattern has the same number in all places of a group."""
        if any(set(group) <= set(own) for own in self.equal):
            return True
        fixed = {self.constraints.get(feature) for feature in group}
        only = next(iter(fixed))
        return len(fixed) == 1 and isinstance(only, Values) and len(only.values) == 1


# ---------------------------------------------------------------------------------------------------------
# From slots


INTEGER_KINDS = frozenset({"int", "bool"})
FLOAT_KINDS = frozenset({"float", "int", "bool"})
POINTER_KINDS = frozenset({"pointer", "int", "none"})


def pattern(slots: Iterable[Slot]) -> Pattern:
    """Give the pattern of a function from its slots, in the order of its arguments."""
    found = [item for position, slot in enumerate(slots) for item in _of_slot((position,), slot)]
    symbols: dict[str, list[Feature]] = {}
    for feature, demand in found:
        if isinstance(demand, Symbol):
            symbols.setdefault(demand.name, []).append(feature)
    constraints = {
        feature: _of_symbol(demand) if isinstance(demand, Symbol) else demand for feature, demand in found
    }
    groups = frozenset(tuple(features) for features in symbols.values() if len(features) > 1)
    return Pattern(constraints, groups)


def _of_slot(path: Path, slot: Slot) -> Iterator[tuple[Feature, Constraint | Symbol]]:
    match slot:
        case TensorSlot():
            yield from _of_tensor(path, slot)
        case ScalarSlot(dtype=dtype, divisible_by=divisible_by):
            limits = integer_range(dtype)
            yield _kinds(path, FLOAT_KINDS if limits is None else INTEGER_KINDS)
            if limits is not None:
                yield Feature(path, "integer"), Integers(*limits, divisible_by)
        case NoneSlot():
            yield _kinds(path, frozenset({"none"}))
        case ConstantSlot(value=bool() | int() as value):
            yield _kinds(path, frozenset({"bool" if isinstance(value, bool) else "int"}))
            yield Feature(path, "integer"), Values(frozenset({int(value)}))
        case ConstantSlot(value=value):
            yield _kinds(path, frozenset({"float"}))
            yield Feature(path, "float"), Values(frozenset({value}))
        case PointerSlot() | StreamSlot():
            yield _kinds(path, POINTER_KINDS)
        case ShapeSlot(extents=extents):
            yield _kinds(path, frozenset({"shape", "array"}))
            yield Feature(path, "rank"), Values(frozenset({len(extents)}))
            yield from _of_extents(path, extents)
        case TupleSlot(items=items):
            yield _kinds(path, frozenset({"array"}))
            yield Feature(path, "rank"), Values(frozenset({len(items)}))
            for index, item in enumerate(items):
                yield from _of_slot((*path, index), item)
        case ChoiceSlot() | OneOfSlot():
            raise TypeError("the variants of a family have patterns, the family itself has none")


def _of_tensor(path: Path, slot: TensorSlot) -> Iterator[tuple[Feature, Constraint | Symbol]]:
    yield _kinds(path, frozenset({"tensor"}))
    yield Feature(path, "dtype"), Values(frozenset({slot.dtype}))
    yield Feature(path, "rank"), Values(frozenset({len(slot.shape)}))
    yield Feature(path, "device"), Values(frozenset({slot.device}))
    yield from _of_extents(path, slot.shape)
    if slot.shape:
        yield Feature(path, "layout"), Layout(_strides(slot.shape, slot.strides))
    if slot.alignment is not None and slot.alignment > 1:
        yield Feature(path, "address"), Integers(multiple_of=slot.alignment)


def _of_extents(path: Path, extents: tuple[Extent, ...]) -> Iterator[tuple[Feature, Constraint | Symbol]]:
    for index, extent in enumerate(extents):
        feature = Feature(path, "extent", index)
        yield feature, extent if isinstance(extent, Symbol) else Values(frozenset({extent}))


def _strides(
    shape: tuple[Extent, ...], strides: tuple[Extent, ...] | None
) -> tuple[int | Integers | None, ...]:
    if strides is None:
        return _row_major(shape)
    return tuple(_of_symbol(stride) if isinstance(stride, Symbol) else stride for stride in strides)


def _row_major(shape: tuple[Extent, ...]) -> tuple[int | Integers | None, ...]:
    """Give the strides of a row-major tensor as far as its fixed extents tell."""
    found: list[int | Integers | None] = []
    stride: int | None = 1
    for extent in reversed(shape):
        found.append(stride)
        stride = stride * extent if stride is not None and isinstance(extent, int) else None
    return tuple(reversed(found))


def _of_symbol(symbol: Symbol) -> Integers:
    """Give what the compiled function checks: that the number fits its type, and the divisor."""
    limit = 2 ** (symbol.bits - 1) if symbol.bits < 64 else None
    return Integers(None if limit is None else -limit, limit and limit - 1, symbol.divisible_by)


def _kinds(path: Path, kinds: frozenset[str]) -> tuple[Feature, Values]:
    return Feature(path, "kind"), Values(frozenset[Value](kinds))


# ---------------------------------------------------------------------------------------------------------
# Comparing


def relation(first: Constraint | None, second: Constraint | None) -> Relation:
    """Compare two constraints on one feature; ``None`` allows everything."""
    if first == second:
        return "equal"
    match first, second:
        case None, _:
            return "superset"
        case _, None:
            return "subset"
        case Values(values=ours), Values(values=theirs):
            return _sets(ours, theirs)
        case Values(values=values), Integers():
            return _values_in(values, second)
        case Integers(), Values(values=values):
            return _mirrored(_values_in(values, first))
        case Integers(), Integers():
            return _ranges(first, second)
        case Layout(), Layout():
            return _layouts(first, second)
        case _:
            raise TypeError(f"{first} and {second} constrain different things")


def _sets(ours: frozenset[Value], theirs: frozenset[Value]) -> Relation:
    if ours < theirs:
        return "subset"
    if ours > theirs:
        return "superset"
    return "overlap" if ours & theirs else "disjoint"


def _values_in(values: frozenset[Value], integers: Integers) -> Relation:
    inside = sum(value in integers for value in values)
    if inside == len(values):
        return "subset"
    return "overlap" if inside else "disjoint"


def _ranges(first: Integers, second: Integers) -> Relation:
    here, there = _contains(second, first), _contains(first, second)
    if here and there:
        return "equal"
    if here or there:
        return "subset" if here else "superset"
    low = max((i.low for i in (first, second) if i.low is not None), default=None)
    high = min((i.high for i in (first, second) if i.high is not None), default=None)
    return "disjoint" if low is not None and high is not None and low > high else "overlap"


def _contains(outer: Integers, inner: Integers) -> bool:
    return (
        (outer.low is None or (inner.low is not None and outer.low <= inner.low))
        and (outer.high is None or (inner.high is not None and inner.high <= outer.high))
        and inner.multiple_of % outer.multiple_of == 0
    )


def _layouts(first: Layout, second: Layout) -> Relation:
    if len(first.strides) != len(second.strides):
        return "disjoint"
    units = [layout.strides.index(1) if 1 in layout.strides else None for layout in (first, second)]
    if None not in units and units[0] != units[1]:
        return "disjoint"  # two dimensions of stride 1 are only possible if one has extent 1
    found: Relation = "equal"
    for ours, theirs in zip(first.strides, second.strides, strict=True):
        found = _both(found, _stride_relation(ours, theirs))
    return found


def _stride_relation(ours: int | Integers | None, theirs: int | Integers | None) -> Relation:
    if ours == theirs:
        return "equal"
    match ours, theirs:
        case int(), int():
            return "disjoint"
        case int(), Integers():
            return "subset" if ours in theirs else "disjoint"
        case Integers(), int():
            return "superset" if theirs in ours else "disjoint"
        case Integers(), Integers():
            return _ranges(ours, theirs)
        case None, Integers(multiple_of=multiple_of):
            return "subset" if multiple_of == 1 else "overlap"
        case Integers(multiple_of=multiple_of), None:
            return "superset" if multiple_of == 1 else "overlap"
        case _:  # row-major and a fixed number: only for some extents
            return "disjoint" if 1 in (ours, theirs) else "overlap"


def _both(first: Relation, second: Relation) -> Relation:
    """Combine the relations of two features: a call has to fit in both."""
    if "disjoint" in (first, second):
        return "disjoint"
    if first in ("equal", second):
        return second
    return first if second == "equal" else "overlap"


def _mirrored(found: Relation) -> Relation:
    return {"subset": "superset", "superset": "subset"}.get(found, found)  # type: ignore[return-value]


def described(constraint: Constraint | None) -> str:
    """Say in a few words what a constraint allows."""
    match constraint:
        case None:
            return "anything"
        case Values(values=values):
            return " or ".join(sorted(map(str, values)))
        case Integers(low=low, high=high, multiple_of=multiple_of):
            known = [f"a multiple of {multiple_of}"] if multiple_of > 1 else []
            known += [f"at least {low}"] if low is not None else []
            known += [f"at most {high}"] if high is not None else []
            return " and ".join(known) or "any integer"
        case Layout(strides=strides):
            return f"strides ({', '.join(_stride(stride) for stride in strides)})"


def _stride(stride: int | Integers | None) -> str:
    if stride is None:
        return "row-major"
    return str(stride) if isinstance(stride, int) else "*"

"""What a compiled function demands of a call, as constraints on things that can be read from it.

Each slot of a signature becomes constraints on *features*: the kind of the third argument, the second extent
of the first. A :class:`Pattern` is all of them together, and a call fits if each holds. Because features can
be compared one by one, so can patterns: two are disjoint if one feature tells them apart, and one is more
specific than the other if it is so, or equal, in every feature.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from typing_extensions import assert_never

from stubgen.abi.signatures import integer_range
from stubgen.model.library import (
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

Path: TypeAlias = tuple[int, ...]
"""Where a value stands: the argument, then the item in it if it is a tuple, and so on."""

What: TypeAlias = Literal[
    "kind", "dtype", "rank", "device", "extent", "stride", "integer", "float", "layout", "address"
]
"""What is read there. ``rank`` is also the length of a tuple or shape.

A ``stride`` is only compared with other sizes that have to be the same; what it may be is in the ``layout``.
"""

Value: TypeAlias = "bool | int | float | str"

Relation: TypeAlias = Literal["equal", "subset", "superset", "disjoint", "overlap"]
"""How the calls that fit one thing relate to those that fit another."""


@dataclass(frozen=True, order=True)
class Feature:
    """Something that can be read from a call."""

    path: Path
    what: What
    index: int = 0
    """Of the dimension, for an extent or a stride."""


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
    """Of the 64 bits without a sign: that is how the compiled functions divide."""

    def __contains__(self, value: object) -> bool:
        return (
            isinstance(value, int)
            and (self.low is None or self.low <= value)
            and (self.high is None or value <= self.high)
            and value % 2**64 % self.multiple_of == 0
        )


@dataclass(frozen=True)
class Layout:
    """The strides of a tensor.

    The compiled functions let the stride of a dimension of extent 1 be anything. Comparisons leave tensors
    out that happen to have one, and those with two strides of 1: they fit several layouts, and each is right
    for them.
    """

    strides: tuple[int | Integers | None, ...]
    """In elements; ``None`` where it may be anything, as the extent is always 1."""
    row_major: bool = False
    """Whether they also have to be those of a row-major tensor, whatever its extents are."""

    @property
    def unit(self) -> int | None:
        """The dimension that is contiguous, if exactly one has to be."""
        return self.strides.index(1) if self.strides.count(1) == 1 else None


Constraint: TypeAlias = Values | Integers | Layout


@dataclass(frozen=True)
class Pattern:
    """All that a function demands of a call; a feature without a constraint may be anything."""

    constraints: Mapping[Feature, Constraint]
    equal: frozenset[tuple[Feature, ...]]
    """Groups of sizes that have to be the same number, each in the order of the arguments."""

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
        if self._cannot_be_equal(other):
            return "disjoint"
        here = all(self._implies(group) for group in other.equal)
        there = all(other._implies(group) for group in self.equal)
        if here and there:
            return "equal"
        return "subset" if here else "superset" if there else "overlap"

    def _cannot_be_equal(self, other: Pattern) -> bool:
        """Return whether sizes that are one number in this pattern are different ones in the other."""
        for group in _joined([*self.equal, *other.equal]):
            demands = [pattern._demand(feature) for pattern in (self, other) for feature in group]
            if any(relation(a, b) == "disjoint" for a, b in itertools.combinations(demands, 2)):
                return True
        return False

    def _implies(self, group: tuple[Feature, ...]) -> bool:
        """Return whether whatever fits this pattern has the same number in all places of a group."""
        first, *rest = group
        compared = [first, *(feature for feature in rest if not self._is_free(feature))]
        if len(compared) == 1 or any(set(compared) <= set(own) for own in self.equal):
            return True
        only, *others = {self._demand(feature) for feature in compared}
        return not others and isinstance(only, Values) and len(only.values) == 1

    def _is_free(self, size: Feature) -> bool:
        """Return whether a size is a stride that may be anything, as the extent is always 1."""
        return size.what == "stride" and self._demand(size) is None

    def _demand(self, size: Feature) -> Constraint | None:
        """Return what an extent or a stride has to be."""
        if size.what != "stride":
            return self.constraints.get(size)
        layout = self.constraints.get(Feature(size.path, "layout"))
        stride = layout.strides[size.index] if isinstance(layout, Layout) else None
        return None if stride is None else _as_constraint(stride)


def _joined(groups: Iterable[tuple[Feature, ...]]) -> list[set[Feature]]:
    """Join the groups that have members in common."""
    joined: list[set[Feature]] = []
    for group in groups:
        touched = [own for own in joined if not own.isdisjoint(group)]
        joined = [own for own in joined if own.isdisjoint(group)]
        joined.append(set(group).union(*touched))
    return joined


# ---------------------------------------------------------------------------------------------------------
# From slots


INTEGER_KINDS = frozenset({"int", "bool"})
FLOAT_KINDS = frozenset({"float", "int", "bool"})
POINTER_KINDS = frozenset({"pointer", "int", "none"})


def pattern(slots: Iterable[Slot]) -> Pattern:
    """Return the pattern of a function from its slots, in the order of its arguments."""
    found = [item for position, slot in enumerate(slots) for item in _of_slot((position,), slot)]
    symbols: dict[str, list[Feature]] = {}
    for feature, demand in found:
        if isinstance(demand, Symbol):
            symbols.setdefault(demand.name, []).append(feature)
    constraints = {
        feature: _of_symbol(demand) if isinstance(demand, Symbol) else demand
        for feature, demand in found
        if feature.what != "stride"
    }
    groups = frozenset(tuple(features) for features in symbols.values() if len(features) > 1)
    return Pattern(constraints, groups)


def _of_slot(  # noqa: PLR0912  # one branch for each kind
    path: Path, slot: Slot
) -> Iterator[tuple[Feature, Constraint | Symbol]]:
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
            yield _kinds(path, frozenset({"bool"}) if isinstance(value, bool) else INTEGER_KINDS)
            yield Feature(path, "integer"), Values(frozenset({int(value)}))
        case ConstantSlot(value=value):
            yield _kinds(path, frozenset({"float"}))
            yield Feature(path, "float"), Values(frozenset({value}))
        case PointerSlot() | StreamSlot():
            yield _kinds(path, POINTER_KINDS)
        case ShapeSlot(extents=extents):
            yield _kinds(path, frozenset({"shape", "array"}))
            yield Feature(path, "rank"), Values(frozenset({len(extents)}))
            for index, extent in enumerate(extents):
                yield _kinds((*path, index), frozenset({"int"}))
                yield Feature((*path, index), "integer"), _of_extent(extent)
        case TupleSlot(items=items):
            yield _kinds(path, frozenset({"array"}))
            yield Feature(path, "rank"), Values(frozenset({len(items)}))
            for index, item in enumerate(items):
                yield from _of_slot((*path, index), item)
        case ChoiceSlot() | OneOfSlot():
            raise TypeError("the variants of a family have patterns, the family itself has none")
        case _:
            assert_never(slot)


def _of_tensor(path: Path, slot: TensorSlot) -> Iterator[tuple[Feature, Constraint | Symbol]]:
    yield _kinds(path, frozenset({"tensor"}))
    yield Feature(path, "dtype"), Values(frozenset({slot.dtype}))
    yield Feature(path, "rank"), Values(frozenset({len(slot.shape)}))
    if slot.device is not None:
        yield Feature(path, "device"), Values(frozenset({slot.device}))
    for index, extent in enumerate(slot.shape):
        yield Feature(path, "extent", index), _of_extent(extent)
    if slot.device is None:  # then no more is known
        return
    if slot.shape:
        yield Feature(path, "layout"), _layout(slot.shape, slot.strides)
    for index, stride in enumerate(slot.strides or ()):
        if isinstance(stride, Symbol):
            yield Feature(path, "stride", index), stride
    if slot.alignment is not None and slot.alignment > 1:
        yield Feature(path, "address"), Integers(multiple_of=slot.alignment)


def _of_extent(extent: Extent) -> Constraint | Symbol:
    return extent if isinstance(extent, Symbol) else Values(frozenset({extent}))


def _layout(shape: tuple[Extent, ...], strides: tuple[Extent, ...] | None) -> Layout:
    if strides is None:
        found = _row_major(shape)
    else:
        found = [_of_symbol(stride) if isinstance(stride, Symbol) else stride for stride in strides]
    row_major = strides is None and not all(isinstance(stride, int) for stride in found)
    needed = (None if extent == 1 else stride for extent, stride in zip(shape, found, strict=True))
    return Layout(tuple(needed), row_major)


def _row_major(shape: tuple[Extent, ...]) -> list[int | Integers]:
    """Return the strides of a row-major tensor as far as its fixed extents tell."""
    found: list[int | Integers] = []
    stride: int | None = 1
    for extent in reversed(shape):
        found.append(Integers() if stride is None else stride)
        stride = stride * extent if stride is not None and isinstance(extent, int) else None
    return found[::-1]


def _of_symbol(symbol: Symbol) -> Integers:
    """Return what the compiled function checks: that the number fits its type, and the divisor."""
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
    if _are_contiguous_elsewhere(first, second):
        return "disjoint"
    found: Relation = "equal"
    if first.row_major != second.row_major:
        found = "subset" if first.row_major else "superset"
    for ours, theirs in zip(first.strides, second.strides, strict=True):
        found = _both(found, _stride_relation(ours, theirs))
    return found


def _are_contiguous_elsewhere(first: Layout, second: Layout) -> bool:
    """Return whether each wants another dimension to be contiguous, as row-major and column-major do."""
    here, there = first.unit, second.unit
    if here is None or there is None or here == there:
        return False
    return first.strides[there] is not None and second.strides[here] is not None


def _stride_relation(ours: int | Integers | None, theirs: int | Integers | None) -> Relation:
    if ours is None or theirs is None:  # where the extent is 1, neither demands anything
        return "equal"
    return relation(_as_constraint(ours), _as_constraint(theirs))


def _as_constraint(stride: int | Integers) -> Constraint:
    return Values(frozenset({stride})) if isinstance(stride, int) else stride


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
            if low is not None and high is not None and low == -high - 1:
                return f"{''.join(known) or 'any integer'} in {high.bit_length() + 1} bits"
            known += [f"at least {low}"] if low is not None else []
            known += [f"at most {high}"] if high is not None else []
            return " and ".join(known) or "any integer"
        case Layout(strides=strides, row_major=row_major):
            shown = ", ".join(map(_described_stride, strides))
            return f"strides ({shown}{',' * (len(strides) == 1)}){', row-major' * row_major}"


def _described_stride(stride: int | Integers | None) -> str:
    match stride:
        case None:
            return "*"
        case int():
            return str(stride)
        case Integers(high=high, multiple_of=multiple_of):
            bits = f" of {high.bit_length() + 1} bits" if high is not None else ""
            return f"{multiple_of}k{bits}" if multiple_of > 1 else f"*{bits}"

"""The decision tree that finds the variant for a call, and what is wrong with a set of variants.

A tree is made of :class:`Switch` nodes, which branch on a value that can be read from the call in one step,
and ends in :class:`Leaf` nodes, which try what is left one by one, the most specific variant first. Most
leaves hold a single variant. What all variants of a leaf demand alike is not tested at all: the compiled
function checks its arguments itself, and says better what is wrong.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from stubgen.families.constraints import Constraint, Feature, Pattern, Value, Values
from stubgen.model.archs import share_a_device


@dataclass(frozen=True)
class DispatchVariant:
    """A variant, as far as the dispatcher has to know it."""

    pattern: Pattern
    archs: tuple[str, ...] = ()
    """What it is built for; none for a function without device code."""
    priority: int = 0


@dataclass(frozen=True)
class LeafVariant:
    """A variant that a leaf tries."""

    variant: int
    """Index among the family's."""
    tests: tuple[tuple[Feature, Constraint], ...] = ()
    """What has to hold, beyond what the way to the leaf has shown."""
    equal: tuple[tuple[Feature, ...], ...] = ()
    """Groups of extents that have to be the same number."""


@dataclass(frozen=True)
class Leaf:
    """Variants to try, in this order; none if no variant accepts the call."""

    candidates: tuple[LeafVariant, ...] = ()


@dataclass(frozen=True)
class Switch:
    """A branch for each value of a feature."""

    feature: Feature
    branches: tuple[tuple[tuple[Value, ...], Node], ...]
    otherwise: Node


Node: TypeAlias = Leaf | Switch


@dataclass(frozen=True)
class Ambiguity:
    """Two variants that accept the same call, neither being more specific."""

    first: int
    second: int
    features: tuple[Feature, ...]
    """Where they differ without excluding each other; none if they accept exactly the same calls."""


@dataclass
class Tree:
    """The decision tree of a family."""

    root: Node
    ambiguities: list[Ambiguity] = field(default_factory=list[Ambiguity])


def decision_tree(variants: Sequence[DispatchVariant]) -> Tree:
    """Find out how a call tells the variants of a family apart.

    Parameters
    ----------
    variants
        In the order of their declaration, which decides where nothing else does.

    Returns
    -------
    Tree
        With the ambiguities that there are; a tree that has some must not be used.
    """
    builder = _TreeBuilder(variants)
    root = builder.node(tuple(range(len(variants))), {})
    return Tree(root, list(builder.ambiguities.values()))


class _TreeBuilder:
    def __init__(self, variants: Sequence[DispatchVariant]) -> None:
        self._variants = variants
        self.ambiguities: dict[tuple[int, int], Ambiguity] = {}

    def node(self, candidates: tuple[int, ...], known: Mapping[Feature, bool]) -> Node:
        """Make the node for what is left, ``known`` being the features that the way here has settled.

        A feature that is known to be True has a value that all candidates with values for it allow; one that
        is False has another, and only candidates without values for it are left.
        """
        if len(candidates) <= 1:
            return Leaf(tuple(map(LeafVariant, candidates)))
        best = min(self._splits(candidates, known), key=lambda split: split.cost, default=None)
        if best is None:
            return self._leaf(candidates, known)
        branches: dict[tuple[int, ...], list[Value]] = {}
        for value, left in best.branches.items():
            branches.setdefault(left, []).append(value)
        return Switch(
            best.feature,
            tuple(
                (tuple(values), self.node(left, {**known, best.feature: True}))
                for left, values in branches.items()
            ),
            self.node(best.otherwise, {**known, best.feature: False}),
        )

    def _splits(self, candidates: tuple[int, ...], known: Mapping[Feature, bool]) -> Iterator[_Split]:
        """Yield every feature that tells the candidates apart by its values."""
        demands: dict[Feature, list[tuple[int, Constraint]]] = {}
        for index in candidates:
            for feature, constraint in self._variants[index].pattern.constraints.items():
                if feature not in known and feature.what != "float":  # C has no switch on those
                    demands.setdefault(feature, []).append((index, constraint))
        for feature, found in demands.items():
            valued = {index: c.values for index, c in found if isinstance(c, Values)}
            if not valued or (len(valued) == len(candidates) and len(set(valued.values())) == 1):
                continue
            others = {index: c for index, c in found if not isinstance(c, Values)}
            split = _split(feature, candidates, valued, others)
            if split.is_worth_it(len(candidates)):
                yield split

    def _leaf(self, candidates: tuple[int, ...], known: Mapping[Feature, bool]) -> Leaf:
        ordered = self._in_order(candidates)
        patterns = [self._variants[index].pattern for index in ordered]
        features = sorted({feature for pattern in patterns for feature in pattern.constraints})
        telling = [
            feature
            for feature in features
            if len({pattern.constraints.get(feature) for pattern in patterns}) > 1
        ]
        shared = frozenset[tuple[Feature, ...]].intersection(*(pattern.equal for pattern in patterns))
        return Leaf(
            tuple(
                LeafVariant(
                    index,
                    tuple(_tests(pattern, telling, known)),
                    tuple(sorted(pattern.equal - shared)),
                )
                for index, pattern in zip(ordered, patterns, strict=True)
            )
        )

    def _in_order(self, candidates: tuple[int, ...]) -> list[int]:
        """Sort the candidates, the most specific first, and note those that cannot be sorted."""
        before: dict[int, set[int]] = {index: set() for index in candidates}
        for position, first in enumerate(candidates):
            for second in candidates[position + 1 :]:
                match self._first_of(first, second):
                    case None:
                        pass
                    case winner:
                        before[second if winner == first else first].add(winner)
        ordered: list[int] = []
        ready = [index for index in candidates if not before[index]]
        heapq.heapify(ready)
        while ready:
            index = heapq.heappop(ready)
            ordered.append(index)
            for other, waits_for in before.items():
                if index in waits_for:
                    waits_for.remove(index)
                    if not waits_for:
                        heapq.heappush(ready, other)
        left = [index for index in candidates if index not in ordered]
        for first, second in itertools.pairwise(left):  # priorities against specificity, in a ring
            self._note(first, second)
        return ordered + left

    def _first_of(self, first: int, second: int) -> int | None:
        """Tell which of two variants has to be tried first, if that matters."""
        ours, theirs = self._variants[first], self._variants[second]
        match ours.pattern.relation(theirs.pattern):
            case "disjoint":
                return None
            case "subset":
                return first
            case "superset":
                return second
            case _ if not share_a_device(ours.archs, theirs.archs):
                return None
            case _ if ours.priority != theirs.priority:
                return first if ours.priority > theirs.priority else second
            case _:
                self._note(first, second)
                return first

    def _note(self, first: int, second: int) -> None:
        ours, theirs = self._variants[first].pattern, self._variants[second].pattern
        differing = tuple(
            feature
            for feature in sorted(ours.constraints.keys() | theirs.constraints.keys())
            if ours.constraints.get(feature) != theirs.constraints.get(feature)
        )
        self.ambiguities.setdefault((first, second), Ambiguity(first, second, differing))


@dataclass(frozen=True)
class _Split:
    """What a switch on a feature would make of some candidates."""

    feature: Feature
    branches: dict[Value, tuple[int, ...]]
    otherwise: tuple[int, ...]

    @property
    def largest(self) -> int:
        return max(len(self.otherwise), *map(len, self.branches.values()))

    @property
    def total(self) -> int:
        """How many candidates the parts have together; one that does not mind the value is in each."""
        return sum(map(len, set(self.branches.values()))) + len(self.otherwise)

    def is_worth_it(self, candidates: int) -> bool:
        """Return whether to switch. What repeats candidates has to halve them, or trees never end."""
        if self.total <= candidates:
            return self.largest < candidates
        return self.largest <= candidates // 2 + 1 < candidates and self.total <= 4 * candidates

    @property
    def cost(self) -> tuple[int, int, Feature]:
        """Order splits: small parts first, then few candidates that appear in several parts."""
        return (self.largest, self.total, self.feature)


def _split(
    feature: Feature,
    candidates: tuple[int, ...],
    valued: Mapping[int, frozenset[Value]],
    others: Mapping[int, Constraint],
) -> _Split:
    every = sorted(set[Value]().union(*valued.values()), key=_order)
    otherwise = tuple(index for index in candidates if index not in valued)
    by_value: dict[Value, list[int]] = {value: [] for value in every}
    for index in candidates:
        for value in valued.get(index, every):
            constraint = others.get(index)
            if constraint is None or value in constraint:  # type: ignore[operator]  # integers
                by_value[value].append(index)
    return _Split(feature, {value: tuple(left) for value, left in by_value.items()}, otherwise)


def _order(value: Value) -> tuple[str, object]:
    return (type(value).__name__, value)


def _tests(
    pattern: Pattern, telling: Sequence[Feature], known: Mapping[Feature, bool]
) -> Iterator[tuple[Feature, Constraint]]:
    for feature in telling:
        constraint = pattern.constraints.get(feature)
        if constraint is not None and not known.get(feature):
            yield feature, constraint

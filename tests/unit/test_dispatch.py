"""Constraints, decision trees, selectors, gaps, and what is said of a set of variants that is wrong."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from stubgen.declare.labels import ChoiceValue
from stubgen.families import constraints, tree
from stubgen.families.constraints import Constraint, Integers, Layout, Relation, Values
from stubgen.families.families import families, gaps
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Default,
    Frozen,
    Kernel,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    Symbol,
    TupleSlot,
)
from stubgen.problems.problem import StubgenError
from tests.dispatch.models import tensor, variant

MIRRORED = {"subset": "superset", "superset": "subset"}
LD, OTHER, M = Symbol("ld"), Symbol("other"), Symbol("m")


def values(*allowed: bool | int | str) -> Values:
    return Values(frozenset(allowed))


def pattern(*slots: Slot) -> constraints.Pattern:
    return constraints.pattern(slots)


class TestRelations:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            (values(1), values(1, 2), "subset"),
            (values(1, 3), values(1, 2), "overlap"),
            (values(1), values(2), "disjoint"),
            (None, values(2), "superset"),
            (values(8), Integers(multiple_of=4), "subset"),
            (values(8), Integers(multiple_of=3), "disjoint"),
            (values(8, 9), Integers(multiple_of=4), "overlap"),
            (values(-6), Integers(multiple_of=6), "disjoint"),  # divided without the sign
            (Integers(multiple_of=8), Integers(multiple_of=4), "subset"),
            (Integers(multiple_of=6), Integers(multiple_of=4), "overlap"),
            (Integers(-128, 127), Integers(0, 255), "overlap"),
            (Integers(0, 127), Integers(-128, 127), "subset"),
            (Integers(0, 1), Integers(2, None), "disjoint"),
            (Layout((Integers(), 1)), Layout((1, Integers())), "disjoint"),
            (Layout((8, 1)), Layout((Integers(), 1)), "subset"),
            (Layout((8, 1)), Layout((16, 1)), "disjoint"),
            (Layout((1, 1)), Layout((Integers(), 1)), "subset"),  # overlapping windows
            (Layout((1, None)), Layout((Integers(), 1)), "subset"),  # an extent that is always 1
            (Layout((Integers(), 1), row_major=True), Layout((Integers(), 1)), "subset"),
            (Layout((Integers(), 1), row_major=True), Layout((8, 1)), "overlap"),
            (Layout((1,)), Layout((8, 1)), "disjoint"),
        ],
    )
    def test_of_constraints(
        self, first: Constraint | None, second: Constraint | None, expected: Relation
    ) -> None:
        assert constraints.relation(first, second) == expected
        assert constraints.relation(second, first) == MIRRORED.get(expected, expected)
        assert constraints.relation(first, first) == "equal"

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            (tensor("float32", "n"), tensor("float16", "n"), "disjoint"),
            (tensor("float32", "n"), tensor("float32", "n", "m"), "disjoint"),
            (tensor("float32", "n"), tensor("float32", "n", device="cuda"), "disjoint"),
            (tensor("float32", 8), tensor("float32", "n"), "subset"),
            (tensor("float32", "n", alignment=16), tensor("float32", "n", alignment=4), "subset"),
            (tensor("float32", "n"), tensor("float32", Symbol("n", 64)), "subset"),
            (tensor("float32", "n", "n"), tensor("float32", "n", "m"), "subset"),
            (tensor("float32", "n", "n"), tensor("float32", 4, 4), "superset"),
            (tensor("float32", "n", "n"), tensor("float32", 4, 8), "disjoint"),
            (tensor("float32", "n", "n"), tensor("float32", 4, "m"), "overlap"),
            (tensor("float32", "n", "n", "m"), tensor("float32", "n", "m", "m"), "overlap"),
            (tensor("float32", "n", "n", "m"), tensor("float32", 4, "m", 5), "overlap"),
            (tensor("float32", "n", "n", "n"), tensor("float32", 4, "m", 5), "disjoint"),
            (tensor("float32", "n", 1), tensor("float32", "n", "m"), "subset"),
            (tensor("float32", "n", 1), tensor("float32", 1, "m"), "overlap"),
            (
                tensor("float32", "n", "m", strides=(M, 1)),
                tensor("float32", "n", "m", strides=(LD, 1)),
                "subset",
            ),
            (tensor("float32", "n", "m", strides=(M, 1)), tensor("float32", 4, 8), "superset"),
            (
                tensor("float32", "n", "m", strides=(M, 1)),
                tensor("float32", 4, 8, strides=(16, 1)),
                "disjoint",
            ),
            (
                tensor("float32", "n", "m", strides=(LD, LD)),
                tensor("float32", "n", "m", strides=(LD, OTHER)),
                "subset",
            ),
            (tensor("float32", "n"), NoneSlot(), "disjoint"),
            (PointerSlot(), NoneSlot(), "superset"),
            (ScalarSlot("int8"), ScalarSlot("bool"), "superset"),
            (ScalarSlot("int8"), ScalarSlot("uint8"), "overlap"),
            (ScalarSlot("int32"), ScalarSlot("float32"), "subset"),
            (ScalarSlot("float16"), ScalarSlot("float64"), "equal"),
            (ConstantSlot(1), ConstantSlot(True), "superset"),
            (ConstantSlot(1), ConstantSlot(1.0), "disjoint"),
            (ConstantSlot(0.5), ConstantSlot(0.25), "disjoint"),
            (ShapeSlot((4, 8)), ShapeSlot((4, Symbol("n"))), "subset"),
            (ShapeSlot((4,)), ShapeSlot((4, 8)), "disjoint"),
            (ShapeSlot((4, 8)), TupleSlot((tensor("float32", "n"), ScalarSlot("int8"))), "disjoint"),
            (TupleSlot((NoneSlot(),)), TupleSlot((NoneSlot(), NoneSlot())), "disjoint"),
        ],
    )
    def test_of_slots(self, first: Slot, second: Slot, expected: Relation) -> None:
        assert pattern(first).relation(pattern(second)) == expected
        assert pattern(second).relation(pattern(first)) == MIRRORED.get(expected, expected)
        assert pattern(first).relation(pattern(first)) == "equal"

    def test_of_integers_is_that_of_samples(self) -> None:
        """Exactly for ranges, and for multiples without limits; in between nothing that samples refute."""
        seen: Counter[Relation] = Counter()
        lows, highs = [None, -6, 0, 3], [None, 0, 5, 24]
        ranges = itertools.product(lows, highs, [1, 2, 4, 6])
        for first, second in itertools.product(itertools.starmap(Integers, ranges), repeat=2):
            ours, theirs = ({i for i in range(-200, 200) if i in integers} for integers in (first, second))
            found = constraints.relation(first, second)
            holds = {
                "equal": ours == theirs,
                "subset": ours <= theirs,
                "superset": ours >= theirs,
                "disjoint": not ours & theirs,
                "overlap": True,
            }
            assert holds[found], (first, second)
            assert constraints.relation(second, first) == MIRRORED.get(found, found)
            if ours and theirs and first.multiple_of == second.multiple_of == 1:
                assert found == next(relation for relation, is_so in holds.items() if is_so)
            if first.low == second.low == first.high == second.high is None:
                assert found == next(relation for relation, is_so in holds.items() if is_so)
            seen[found] += 1
        assert len(seen) == 5
        assert min(seen.values()) >= 30


def leaves(node: tree.Node) -> list[tree.Leaf]:
    if isinstance(node, tree.Leaf):
        return [node]
    return [leaf for below in [*(n for _, n in node.branches), node.otherwise] for leaf in leaves(below)]


class TestTrees:
    def test_cartesian_families_end_in_single_variants(self) -> None:
        variants = [
            tree.DispatchVariant(pattern(tensor(dtype, "n", hidden), bias))
            for dtype in ("float16", "bfloat16", "float32")
            for hidden in (64, 128, 256, 512)
            for bias in (NoneSlot(), tensor(dtype, hidden))
        ]
        found = tree.decision_tree(variants)
        assert not found.ambiguities
        assert max(len(leaf.candidates) for leaf in leaves(found.root)) == 1
        assert sum(len(leaf.candidates) for leaf in leaves(found.root)) == len(variants)

    def test_a_variant_for_the_rest_is_tried_last_everywhere(self) -> None:
        fixed = [tree.DispatchVariant(pattern(tensor("float32", hidden))) for hidden in (64, 128, 256)]
        found = tree.decision_tree([tree.DispatchVariant(pattern(tensor("float32", "n"))), *fixed])
        assert [[c.variant for c in leaf.candidates] for leaf in leaves(found.root)] == [
            [1, 0],
            [2, 0],
            [3, 0],
            [0],
        ]

    def test_trees_do_not_grow_without_bound(self) -> None:
        extents = [f"e{index}" for index in range(12)]
        variants = [
            tree.DispatchVariant(
                pattern(tensor("float32", *extents[:i], value, *extents[i + 1 :])), priority=i
            )
            for i in range(12)
            for value in (2, 3)
        ]
        found = tree.decision_tree(variants)
        assert not found.ambiguities
        assert sum(len(leaf.candidates) for leaf in leaves(found.root)) < 1000

    def test_a_priority_decides_between_variants_that_overlap(self) -> None:
        by4, by6 = (pattern(tensor("float32", Symbol("n", divisible_by=by))) for by in (4, 6))
        assert tree.decision_tree([tree.DispatchVariant(by4), tree.DispatchVariant(by6)]).ambiguities
        found = tree.decision_tree([tree.DispatchVariant(by4), tree.DispatchVariant(by6, priority=1)])
        assert not found.ambiguities
        assert [c.variant for c in leaves(found.root)[0].candidates] == [1, 0]

    def test_variants_for_different_gpus_may_overlap(self) -> None:
        same = pattern(tensor("float32", "n", device="cuda"))
        assert not tree.decision_tree(
            [tree.DispatchVariant(same, ("sm_80",)), tree.DispatchVariant(same, ("sm_90a",))]
        ).ambiguities
        assert tree.decision_tree(
            [tree.DispatchVariant(same, ("sm_80",)), tree.DispatchVariant(same, ("sm_86",))]
        ).ambiguities

    def test_priorities_against_specificity_in_a_ring_are_ambiguous(self) -> None:
        size = [Symbol("n", divisible_by=by) for by in (4, 8, 6)]
        wide, narrow, other = (pattern(tensor("float32", n)) for n in size)
        ring = [
            tree.DispatchVariant(wide, priority=2),
            tree.DispatchVariant(narrow),
            tree.DispatchVariant(other, priority=1),
        ]
        assert tree.decision_tree(ring).ambiguities


def family(kernels: list[Kernel]) -> list[tuple[str, tuple[ChoiceValue, ...] | None]]:
    """Return the parameters of a family, with the values of its selectors."""
    (found,) = families(kernels)
    return [(p.name, p.slot.values if isinstance(p.slot, ChoiceSlot) else None) for p in found.parameters]


VECTOR = tensor("float32", "n")


class TestSelectors:
    def test_stand_in_the_place_of_their_constexpr_parameters(self) -> None:
        kernels = [
            variant(
                "f",
                {"x": VECTOR, "out": VECTOR},
                {"act": act, "causal": causal},
                values={"act": act, "causal": causal == "true"},
                frozen=[
                    Frozen("causal", causal.title(), 1, default=Default(False)),
                    Frozen("activation", repr(act), 1),
                ],
            )
            for act in ("relu", "gelu")
            for causal in ("false", "true")
        ]
        assert family(kernels) == [
            ("x", None),
            ("causal", (False, True)),
            ("activation", ("relu", "gelu")),
            ("out", None),
        ]

    def test_without_a_parameter_come_last_by_keyword_under_a_name_of_their_own(self) -> None:
        kernels = [variant("f", {"x": VECTOR}, {"x": label}) for label in ("a", "b")]
        (found,) = families(kernels)
        assert [(p.name, p.kind) for p in found.parameters] == [
            ("x", "positional_or_keyword"),
            ("x_", "keyword_only"),
        ]

    def test_are_hidden_with_one_value_or_where_arguments_show_them(self) -> None:
        kernels = [
            variant("f", {"x": tensor(dtype, "n")}, {"dtype": dtype, "only": "one"})
            for dtype in ("float16", "float32")
        ]
        assert family(kernels) == [("x", None)]

    def test_are_needed_if_some_variants_do_not_show_them(self) -> None:
        slots = {"a": tensor("float32", 8), "b": tensor("float32", 8), "c": tensor("float16", 8)}
        assert family([variant("f", {"x": slot}, {"mode": mode}) for mode, slot in slots.items()]) == [
            ("x", None),
            ("mode", ("a", "b", "c")),
        ]

    def test_of_two_hidden_axes_are_both(self) -> None:
        kernels = [
            variant("f", {"x": VECTOR}, {"a": a, "b": b}) for a, b in itertools.product("12", repeat=2)
        ]
        assert [name for name, _ in family(kernels)] == ["x", "a", "b"]

    def test_are_not_needed_between_gpus(self) -> None:
        cuda = tensor("float32", "n", device="cuda")
        kernels = [
            variant("f", {"x": cuda}, {"tile": tile}, archs=archs)
            for tile, archs in (("64", ("sm_80",)), ("128", ("sm_90a", "sm_100a")))
        ]
        assert family(kernels) == [("x", None)]


def refused(*kernels: Kernel) -> list[tuple[str, str]]:
    with pytest.raises(StubgenError) as raised:
        families(kernels)
    return [(problem.code, problem.message) for problem in raised.value.problems]


class TestProblems:
    def test_ambiguous_variants(self) -> None:
        four, six = (tensor("float32", "n", Symbol("m", divisible_by=by)) for by in (4, 6))
        assert refused(variant("f", {"x": four}, {"by": "4"}), variant("f", {"x": six}, {"by": "6"})) == [
            (
                "CS238",
                "f__6 and f__4 accept the same call of f: x.shape[1] may be a multiple of 4 in 32 bits or "
                "a multiple of 6 in 32 bits",
            )
        ]

    def test_sizes_that_only_one_wants_to_be_the_same(self) -> None:
        first, second = tensor("float32", "n", "n", "m"), tensor("float32", "n", "m", "m")
        ((code, message),) = refused(
            variant("f", {"x": first}, {"by": "1"}), variant("f", {"x": second}, {"by": "2"})
        )
        assert code == "CS238"
        assert "only f__1 wants x.shape[0] = x.shape[1]; only f__2 wants x.shape[1] = x.shape[2]" in message

    def test_strides_of_different_widths(self) -> None:
        first = tensor("float32", 4, "m", strides=(Symbol("a", 64), 1))
        second = tensor("float32", "n", "m", strides=(Symbol("a"), 1))
        ((_, message),) = refused(
            variant("f", {"x": first}, {"by": "1"}), variant("f", {"x": second}, {"by": "2"})
        )
        assert "the layout of x may be strides (*, 1) or strides (* of 32 bits, 1)" in message

    def test_other_parameters(self) -> None:
        assert refused(
            variant("f", {"x": VECTOR}, {"by": "1"}), variant("f", {"y": VECTOR, "z": VECTOR}, {"by": "2"})
        ) == [("CS237", "f__2 takes (y, z), and its family's f__1 takes (x)")]

    def test_gaps(self) -> None:
        kernels = [
            variant("f", {"x": tensor(dtype, int(n))}, {"dtype": dtype, "n": n})
            for dtype, n in (("float32", "4"), ("float32", "8"), ("float16", "8"))
        ]
        (found,) = families(kernels)
        assert list(gaps(found, kernels)) == [{"dtype": "float16", "n": "4"}]

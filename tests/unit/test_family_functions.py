"""One public function of some variants: parameters, defaults, selectors, gaps, and what overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stubgen.families import tree
from stubgen.families.constraints import Feature, Integers, Values
from stubgen.families.families import decision_tree, families, gaps, selections
from stubgen.families.tree import Leaf, LeafVariant, Switch
from stubgen.model.effects import Effects
from stubgen.model.library import (
    Axis,
    ChoiceSlot,
    ConstantSlot,
    Default,
    Family,
    Frozen,
    Kernel,
    NoneSlot,
    OneOfSlot,
    Parameter,
    Place,
    ScalarSlot,
    Slot,
    Symbol,
    TupleSlot,
    Variant,
)
from stubgen.problems.problem import StubgenError
from tests.dispatch.models import tensor, variant

N = Symbol("n")
F16, F32 = tensor("float16", N), tensor("float32", N)
NUMBER = ScalarSlot("float32")


def family(*kernels: Kernel) -> Family:
    [found] = families(kernels)
    return found


def parameters(*kernels: Kernel) -> tuple[Parameter, ...]:
    return family(*kernels).parameters


def of(slots: Sequence[Slot], **details: Any) -> list[Kernel]:
    return [variant("f", {"x": slot}, {"k": str(index)}, **details) for index, slot in enumerate(slots)]


def replaced(kernels: Sequence[Kernel], name: str, values: Sequence[Any]) -> list[Kernel]:
    return [msgspec.structs.replace(k, **{name: value}) for k, value in zip(kernels, values, strict=True)]


# ---------------------------------------------------------------------------------------------------------
# The function


def test_a_family_is_what_its_first_variant_is_and_has_all_of_them() -> None:
    kernels = [
        variant(
            "f",
            {"x": slot},
            {"dtype": dtype, "only": "one"},
            archs=archs,
            frozen=[Frozen("act", "'relu'"), Frozen("tile", tile), Frozen("late", "1")][
                : 2 + (dtype == "float16")
            ],
            line=line,
        )
        for dtype, slot, archs, tile, line in (
            ("float16", F16, ("sm_80", "sm_90a"), "64", 4),
            ("float32", F32, ("sm_90a", "sm_100a"), "128", 5),
        )
    ]
    kernels = replaced(kernels, "doc", ["First.", "Second."])
    kernels = replaced(kernels, "source", [Place("k.py", 1), Place("k.py", 2)])
    kernels = replaced(kernels, "env_streams", [("stream",), ()])
    kernels = replaced(kernels, "effects", [Effects(("x",)), Effects()])
    assert family(*kernels) == Family(
        "f",
        "module",
        (Parameter("x", OneOfSlot((F16, F32))),),
        ("f__float16_one", "f__float32_one"),
        (Axis("dtype", ("float16", "float32")), Axis("only", ("one",))),
        Place("kernels/module.py", 4),
        "First.",
        Place("k.py", 1),
        (Frozen("act", "'relu'"),),
        ("stream",),
        ("sm_80", "sm_90a", "sm_100a"),
        effects=Effects(("x",)),
    )


def test_families_stand_in_the_order_of_their_first_variants_and_others_are_left_alone() -> None:
    alone = msgspec.structs.replace(variant("g", {"x": F32}, {"k": "1"}), variant=None)
    kernels = [
        variant(name, {"x": slot}, {"k": str(slot.dtype)}) for slot in (F16, F32) for name in ("b", "a")
    ]
    assert [found.name for found in families([alone, *kernels])] == ["b", "a"]
    assert families([alone]) == ()


def test_each_alternative_stands_once_and_true_is_not_one() -> None:
    one, true = (TupleSlot((ConstantSlot(value),)) for value in (1, True))
    kernels = of([F16, F32, F16], archs=())
    kernels = replaced(kernels, "archs", [("sm_80",), ("sm_80",), ("sm_90a",)])
    assert parameters(*kernels) == (Parameter("x", OneOfSlot((F16, F32))),)
    rows = [{"x": one, "y": F16}, {"x": true, "y": F32}]
    found = parameters(*(variant("f", row, {"k": str(i)}) for i, row in enumerate(rows)))
    assert found[0].slot in (OneOfSlot((one, true)), one)  # equal in Python, as 1 and True are


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ([None, None], None),
        ([Default(1), Default(1)], Default(1)),
        ([None, Default(2)], Default(2)),
        ([Default(1), Default(2)], None),
        ([Default(None), Default(None)], Default(None)),
    ],
)
def test_a_default_is_kept_where_variants_agree(
    defaults: list[Default | None], expected: Default | None
) -> None:
    kernels = [
        msgspec.structs.replace(kernel, parameters=(Parameter("x", slot, default=default),))
        for kernel, slot, default in zip(of([F16, F32]), (F16, F32), defaults, strict=True)
    ]
    assert parameters(*kernels) == (Parameter("x", OneOfSlot((F16, F32)), default=expected),)


# ---------------------------------------------------------------------------------------------------------
# Selectors


def chosen(*values: Any, frozen: Sequence[Sequence[Frozen]] = (), **slots: Slot) -> list[Kernel]:
    """Make variants that no argument tells apart."""
    return [
        variant(
            "f",
            slots or {"x": F32, "y": F32},
            {"mode": f"m{index}"},
            values={"mode": value},
            frozen=frozen[index] if frozen else (),
        )
        for index, value in enumerate(values)
    ]


def mode(*values: Any) -> ChoiceSlot:
    return ChoiceSlot("mode", values)


def test_a_selector_takes_the_values_each_once() -> None:
    assert parameters(*chosen(1, True, "1", None)) == (
        Parameter("x", F32),
        Parameter("y", F32),
        Parameter("mode", mode(1, True, "1", None), "keyword_only"),
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["mode"], "mode"),
        (["act"], "act"),
        (["mode", "act"], "mode"),
        (["act", "tile"], None),
    ],
)
def test_a_selector_stands_for_the_constant_that_follows_it(names: list[str], expected: str | None) -> None:
    """That of its name, or else the only one."""
    frozen = [[Frozen(name, repr(value), 1) for name in names] for value in ("a", "b")]
    found = parameters(*chosen("a", "b", frozen=frozen))
    if expected is None:
        assert [p.name for p in found] == ["x", "y", "mode"]
    else:
        assert [p.name for p in found] == ["x", expected, "y"]


def test_a_constant_that_does_not_follow_the_axis_is_none_of_its() -> None:
    same = [[Frozen("act", "1", 0)], [Frozen("act", "1", 0)]]
    assert [p.name for p in parameters(*chosen("a", "b", frozen=same))] == ["x", "y", "mode"]
    crossed = [
        variant(
            "f",
            {"x": F32},
            {"mode": label, "other": other},
            values={"mode": label, "other": other},
            frozen=[Frozen("act", other, 0)],
        )
        for label in "ab"
        for other in "cd"
    ]
    assert [(p.name, p.kind) for p in parameters(*crossed)] == [
        ("act", "positional_or_keyword"),
        ("x", "positional_or_keyword"),
        ("mode", "keyword_only"),
    ]
    named = [[Frozen("act", "1", 0)], [Frozen("other", "2", 0)]]
    assert [p.name for p in parameters(*chosen("a", "b", frozen=named))] == ["x", "y", "mode"]


@pytest.mark.parametrize(
    ("default", "kept"),
    [(Default("a"), Default("a")), (Default("c"), None), (Default(1), None), (None, None)],
)
def test_a_selector_has_the_default_of_its_constant_if_that_is_a_choice(
    default: Default | None, kept: Default | None
) -> None:
    frozen = [[Frozen("act", repr(value), 2, "keyword_only", default)] for value in ("a", "b")]
    assert parameters(*chosen("a", "b", frozen=frozen))[2] == Parameter(
        "act", mode("a", "b"), "keyword_only", kept
    )


def test_selectors_of_one_place_stand_in_the_order_of_their_constants() -> None:
    kernels = [
        variant(
            "f",
            {"x": F32, "y": F32},
            {"one": one, "two": two},
            values={"one": one, "two": two},
            frozen=[Frozen("two", two, 1), Frozen("one", one, 1)],
        )
        for one in "ab"
        for two in "cd"
    ]
    assert [p.name for p in parameters(*kernels)] == ["x", "two", "one", "y"]


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    kernels = chosen("a", "b", mode=F32, mode_=F32)
    assert [p.name for p in parameters(*kernels)] == ["mode", "mode_", "mode__"]


def test_defaults_before_a_selector_without_one_are_kept_for_keywords() -> None:
    frozen = [[Frozen("act", repr(value), 2)] for value in ("a", "b")]
    kernels = [
        msgspec.structs.replace(
            kernel, parameters=(Parameter("x", F32), Parameter("s", NUMBER, default=Default(1.0)))
        )
        for kernel in chosen("a", "b", frozen=frozen)
    ]
    assert [(p.name, p.default) for p in parameters(*kernels)] == [
        ("x", None),
        ("s", Default(1.0)),
        ("act", None),
    ]


def test_of_axes_that_differ_together_those_are_chosen_that_others_need() -> None:
    rows = [("a", "c", F32), ("b", "d", F32), ("a", "c", F16), ("a", "d", F16)]
    kernels = [variant("f", {"x": slot}, {"one": one, "two": two}) for one, two, slot in rows]
    assert [p.name for p in parameters(*kernels)] == ["x", "two"]
    rows = [("a", "c", F32), ("b", "d", F32), ("a", "c", F16), ("b", "c", F16)]
    kernels = [variant("f", {"x": slot}, {"one": one, "two": two}) for one, two, slot in rows]
    assert [p.name for p in parameters(*kernels)] == ["x", "one"]


def test_what_is_chosen_leaves_the_variants_that_have_it() -> None:
    kernels = [
        variant("f", {"x": slot}, {"mode": label, "t": str(slot.dtype)}, values={"mode": value, "t": "t"})
        for label, value in (("m1", 1), ("m2", "two"))
        for slot in (F16, F32)
    ]
    own = family(*kernels)
    found = selections(own, kernels)
    assert [(s.values, s.labels, [k.name for k in s.variants]) for s in found] == [
        ((1,), ("m1",), ["f__m1_float16", "f__m1_float32"]),
        (("two",), ("m2",), ["f__m2_float16", "f__m2_float32"]),
    ]
    assert [(s.values, s.labels) for s in selections(family(*kernels[:2]), kernels[:2])] == [((), ())]


def test_gaps_are_the_combinations_without_a_variant() -> None:
    kernels = [
        variant("f", {"x": slot}, {"a": a, "b": b}) for a, b, slot in (("1", "x", F16), ("2", "y", F32))
    ]
    assert list(gaps(family(*kernels), kernels)) == [{"a": "1", "b": "y"}, {"a": "2", "b": "x"}]
    assert list(gaps(family(*kernels[:1]), kernels[:1])) == []


def test_a_variant_has_a_key() -> None:
    assert Variant("f", {"a": "1", "b": "x"}).key == "1_x"
    assert Variant("f", {}).key == "only"


# ---------------------------------------------------------------------------------------------------------
# What is wrong


def problems(*kernels: Kernel) -> list[str]:
    with pytest.raises(StubgenError) as caught:
        families(kernels)
    return [f"{p.code} {p.place} {p.kernel} {p.family}: {p.message}" for p in caught.value.problems]


def test_all_that_is_wrong_is_said() -> None:
    by4, by6 = (tensor("float32", Symbol("n", divisible_by=by)) for by in (4, 6))
    kernels = [
        variant("f", {"x": F32}, {"k": "1"}, line=1),
        variant("f", {"y": F32}, {"k": "2"}, line=2),
        variant("f", {"x": F32, "z": F32}, {"k": "3"}, line=3),
        variant("g", {"x": by4}, {"k": "1"}, line=4),
        variant("g", {"x": by6}, {"k": "2"}, line=5),
    ]
    assert problems(*kernels) == [
        "CS237 kernels/module.py:2 f__2 f: f__2 takes (y), and its family's f__1 takes (x)",
        "CS237 kernels/module.py:3 f__3 f: f__3 takes (x, z), and its family's f__1 takes (x)",
        "CS238 kernels/module.py:5 g__2 g: g__2 and g__1 accept the same call of g: x.shape[0] may be a "
        "multiple of 4 in 32 bits or a multiple of 6 in 32 bits",
    ]


def pair(first: Slot, second: Slot) -> str:
    kernels = [variant("f", {"x": slot}, {"k": str(i)}) for i, slot in enumerate((first, second))]
    [text] = problems(*kernels)
    return text.partition("the same call of f: ")[2]


def test_where_variants_overlap_is_told() -> None:
    def inside(slot: Slot) -> TupleSlot:
        return TupleSlot((NUMBER, TupleSlot((slot,))))

    assert pair(inside(ScalarSlot("int8")), inside(ScalarSlot("uint8"))) == (
        "x[1][0] may be any integer in 8 bits or at least 0 and at most 255"
    )
    aligned = [tensor("int8", Symbol("n", divisible_by=by), alignment=a) for by, a in ((1, 16), (4, 8))]
    assert pair(*aligned) == (
        "the address of x may be a multiple of 16 or a multiple of 8; "
        "x.shape[0] may be any integer in 32 bits or a multiple of 4 in 32 bits"
    )
    constants = [
        TupleSlot((slot, ScalarSlot("int64", by))) for slot, by in ((ConstantSlot(0.5), 4), (NUMBER, 6))
    ]
    assert pair(*constants) == (
        "x[0] may be 0.5 or anything; x[0] may be float or bool or float or int; "
        "x[1] may be a multiple of 4 or a multiple of 6"
    )
    many = [tensor("int8", *(Symbol(e, divisible_by=by) for e in "abcde"), strides=(1,) * 5) for by in (4, 6)]
    assert pair(*many) == "; ".join(
        f"x.shape[{index}] may be a multiple of 4 in 32 bits or a multiple of 6 in 32 bits"
        for index in range(5)
    )
    first = tensor("int8", "a", "a", "b", strides=(Symbol("a"), Symbol("b"), 1))
    second = tensor("int8", "a", "b", "b", strides=(Symbol("a"), Symbol("c"), 1))
    assert pair(first, second) == (
        "only f__0 wants x.shape[0] = x.shape[1] = x.strides[0]; only f__0 wants x.shape[2] = x.strides[1]; "
        "only f__1 wants x.shape[0] = x.strides[0]; only f__1 wants x.shape[1] = x.shape[2]"
    )


# ---------------------------------------------------------------------------------------------------------
# Trees


def decided(*kernels: Kernel) -> tree.Node:
    found = decision_tree(kernels)
    assert found.ambiguities == []
    return found.root


X = (0,)


def test_a_tree_is_as_shallow_as_can_be() -> None:
    slots = [tensor(dtype, n) for dtype in ("int8", "int16") for n in (4, 8, 16)]
    root = decided(*of(slots))
    assert isinstance(root, Switch)
    assert root.feature == Feature(X, "extent"), "three parts of two are smaller than two of three"
    assert [values for values, _ in root.branches] == [(4,), (8,), (16,)]
    for (_, node), pair_ in zip(root.branches, ((0, 3), (1, 4), (2, 5)), strict=True):
        assert node == Switch(
            Feature(X, "dtype"),
            ((("int16",), Leaf((LeafVariant(pair_[1]),))), (("int8",), Leaf((LeafVariant(pair_[0]),)))),
            Leaf(),
        )
    assert root.otherwise == Leaf()


def test_values_that_lead_to_the_same_are_one_branch() -> None:
    root = decided(*of([ScalarSlot("float32"), NoneSlot()]))
    assert root == Switch(
        Feature(X, "kind"),
        ((("bool", "float", "int"), Leaf((LeafVariant(0),))), (("none",), Leaf((LeafVariant(1),)))),
        Leaf(),
    )


def test_no_variant_is_a_leaf_without_candidates() -> None:
    assert tree.decision_tree([]).root == Leaf()


def test_what_all_demand_alike_is_not_tested() -> None:
    by8, by4 = (tensor("int8", Symbol("n", 64, by), 16, alignment=16) for by in (8, 4))
    assert decided(*of([by4, by8])) == Leaf(
        (
            LeafVariant(1, ((Feature(X, "extent"), Integers(multiple_of=8)),)),
            LeafVariant(0, ((Feature(X, "extent"), Integers(multiple_of=4)),)),
        )
    )


def test_sizes_that_all_want_to_be_the_same_are_not_tested() -> None:
    square = tensor("int8", "n", "n", "n", strides=(1, 1, 1))
    flat = tensor("int8", "n", "n", "m", strides=(1, 1, 1))
    first, second, third = (Feature(X, "extent", index) for index in range(3))
    root = decided(*of([flat, square]))
    assert root == Leaf(
        (LeafVariant(1, (), ((first, second, third),)), LeafVariant(0, (), ((first, second),)))
    )


def test_sizes_that_have_to_be_the_same_are_tested_in_order() -> None:
    pairs = tensor("int8", *"aabbccddee", strides=(1,) * 10)
    free = tensor("int8", *"abcdefghij", strides=(1,) * 10)
    extents = [Feature(X, "extent", index) for index in range(10)]
    groups = tuple(zip(extents[::2], extents[1::2], strict=True))
    assert decided(*of([free, pairs])) == Leaf((LeafVariant(1, (), groups), LeafVariant(0)))


def test_floats_are_not_switched_on() -> None:
    constants = [TupleSlot((ConstantSlot(value),)) for value in (0.5, 1.5)]
    tests = [((Feature((0, 0), "float"), Values(frozenset({value}))),) for value in (0.5, 1.5)]
    assert decided(*of(constants)) == Leaf((LeafVariant(0, tests[0]), LeafVariant(1, tests[1])))


def test_the_order_is_by_specificity_then_priority_then_place() -> None:
    sizes = [Symbol("n", 64, by) for by in (1, 2, 6, 4, 12)]
    every, two, six, four, twelve = (tensor("int8", size) for size in sizes)

    def order(*slots: Slot, priorities: Sequence[int] = ()) -> list[int]:
        kernels = [
            variant("f", {"x": slot}, {"k": str(i)}, priority=priorities[i] if priorities else 0)
            for i, slot in enumerate(slots)
        ]
        root = decided(*kernels)
        assert isinstance(root, Leaf)
        return [candidate.variant for candidate in root.candidates]

    assert order(every, two, four) == [2, 1, 0]
    assert order(four, two, every) == [0, 1, 2]
    assert order(two, four, every) == [1, 0, 2]
    assert order(six, four, priorities=(0, 1)) == [1, 0]
    assert order(six, four, priorities=(1, 0)) == [0, 1]
    assert order(every, six, four, twelve, priorities=(9, 2, 1, 0)) == [3, 1, 2, 0]
    assert order(every, six, four, twelve, priorities=(9, 1, 2, 0)) == [3, 2, 1, 0]


def test_ambiguities_name_both_and_where_they_differ() -> None:
    four, six = (tensor("int8", Symbol("n", divisible_by=by), alignment=a) for by, a in ((4, 16), (6, 16)))
    found = decision_tree(of([four, six, tensor("int16", N)])).ambiguities
    assert found == [tree.Ambiguity(0, 1, (Feature(X, "extent"),))]
    same = decision_tree(of([four, four])).ambiguities
    assert same == [tree.Ambiguity(0, 1, ())]


def test_a_ring_of_priorities_against_specificity_is_ambiguous_all_round() -> None:
    sizes = [Symbol("n", divisible_by=by) for by in (4, 8, 6)]
    kernels = [
        variant("f", {"x": tensor("int8", size)}, {"k": str(i)}, priority=priority)
        for i, (size, priority) in enumerate(zip(sizes, (2, 0, 1), strict=True))
    ]
    found = decision_tree(kernels).ambiguities
    assert [(a.first, a.second) for a in found] == [(0, 1), (1, 2)]


def test_a_switch_that_repeats_variants_has_to_halve_them() -> None:
    """Variants that do not mind the value are in every branch; that may not go on for ever."""
    fixed = [
        tensor("int8", *[n if i == k else "abcdef"[k] for k in range(3)]) for i in range(3) for n in (4, 8)
    ]
    priorities = range(len(fixed))
    kernels = [
        variant("f", {"x": slot}, {"k": str(i)}, priority=priority)
        for i, (slot, priority) in enumerate(zip(fixed, priorities, strict=True))
    ]
    root = decided(*kernels)
    assert isinstance(root, Leaf), "each extent is fixed by two of six"
    assert [candidate.variant for candidate in root.candidates] == [4, 5, 2, 3, 0, 1]

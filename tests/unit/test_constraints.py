"""What each slot demands of a call, how two demands relate, and how they are told."""

from __future__ import annotations

import pytest

from stubgen.families import constraints
from stubgen.families.constraints import (
    Constraint,
    Feature,
    Integers,
    Layout,
    Pattern,
    Relation,
    Values,
    What,
)
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
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

N, WIDE = Symbol("n", 32, 4), Symbol("w", 64, 8)
N_RANGE, WIDE_RANGE = Integers(-(2**31), 2**31 - 1, 4), Integers(None, None, 8)


def only(*allowed: bool | int | float | str) -> Values:
    return Values(frozenset(allowed))


def at(what: What, index: int = 0, path: tuple[int, ...] = (0,)) -> Feature:
    return Feature(path, what, index)


INT, FLOAT = only("int", "bool"), only("float", "int", "bool")


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        (NoneSlot(), {at("kind"): only("none")}),
        (PointerSlot("int8", 4, "cpu"), {at("kind"): only("pointer", "int", "none")}),
        (StreamSlot(), {at("kind"): only("pointer", "int", "none")}),
        (ScalarSlot("float32"), {at("kind"): FLOAT}),
        (ScalarSlot("bool"), {at("kind"): INT, at("integer"): Integers(0, 1)}),
        (ScalarSlot("int8", 2), {at("kind"): INT, at("integer"): Integers(-128, 127, 2)}),
        (ScalarSlot("uint16"), {at("kind"): INT, at("integer"): Integers(0, 2**16 - 1)}),
        (ScalarSlot("uint32"), {at("kind"): INT, at("integer"): Integers(0, 2**32 - 1)}),
        (ScalarSlot("int64", 8), {at("kind"): INT, at("integer"): Integers(None, None, 8)}),
        (ScalarSlot("uint64"), {at("kind"): INT, at("integer"): Integers()}),
        (ConstantSlot(True), {at("kind"): only("bool"), at("integer"): only(1)}),
        (ConstantSlot(7), {at("kind"): INT, at("integer"): only(7)}),
        (ConstantSlot(0.5), {at("kind"): only("float"), at("float"): only(0.5)}),
        (ShapeSlot(()), {at("kind"): only("shape", "array"), at("rank"): only(0)}),
        (
            ShapeSlot((4, N)),
            {
                at("kind"): only("shape", "array"),
                at("rank"): only(2),
                at("kind", path=(0, 0)): only("int"),
                at("integer", path=(0, 0)): only(4),
                at("kind", path=(0, 1)): only("int"),
                at("integer", path=(0, 1)): N_RANGE,
            },
        ),
        (
            TupleSlot((NoneSlot(), TupleSlot((ScalarSlot("float16"),)))),
            {
                at("kind"): only("array"),
                at("rank"): only(2),
                at("kind", path=(0, 0)): only("none"),
                at("kind", path=(0, 1)): only("array"),
                at("rank", path=(0, 1)): only(1),
                at("kind", path=(0, 1, 0)): FLOAT,
            },
        ),
        (
            TensorSlot("int8", (), None, 1, "cpu"),
            {
                at("kind"): only("tensor"),
                at("dtype"): only("int8"),
                at("rank"): only(0),
                at("device"): only("cpu"),
            },
        ),
        (
            TensorSlot("int8", (N, 4), None, None, None),
            {
                at("kind"): only("tensor"),
                at("dtype"): only("int8"),
                at("rank"): only(2),
                at("extent"): N_RANGE,
                at("extent", 1): only(4),
            },
        ),
        (
            TensorSlot("int8", (N, WIDE, 4), None, 16, "cuda"),
            {
                at("kind"): only("tensor"),
                at("dtype"): only("int8"),
                at("rank"): only(3),
                at("device"): only("cuda"),
                at("extent"): N_RANGE,
                at("extent", 1): WIDE_RANGE,
                at("extent", 2): only(4),
                at("layout"): Layout((Integers(), 4, 1), row_major=True),
                at("address"): Integers(multiple_of=16),
            },
        ),
        (
            TensorSlot("int8", (8, 1, 4), None, None, "cuda"),
            {
                at("kind"): only("tensor"),
                at("dtype"): only("int8"),
                at("rank"): only(3),
                at("device"): only("cuda"),
                at("extent"): only(8),
                at("extent", 1): only(1),
                at("extent", 2): only(4),
                at("layout"): Layout((4, None, 1)),
            },
        ),
        (
            TensorSlot("int8", (8, 8, 1), (WIDE, 2, N), 2, "cuda"),
            {
                at("kind"): only("tensor"),
                at("dtype"): only("int8"),
                at("rank"): only(3),
                at("device"): only("cuda"),
                at("extent"): only(8),
                at("extent", 1): only(8),
                at("extent", 2): only(1),
                at("layout"): Layout((WIDE_RANGE, 2, None)),
                at("address"): Integers(multiple_of=2),
            },
        ),
    ],
)
def test_a_slot_demands(slot: Slot, expected: dict[Feature, Constraint]) -> None:
    found = constraints.pattern([slot])
    assert dict(found.constraints) == expected
    assert found.equal == frozenset()


def test_arguments_are_told_apart_by_their_place() -> None:
    found = constraints.pattern([NoneSlot(), TupleSlot((NoneSlot(),))])
    assert dict(found.constraints) == {
        at("kind"): only("none"),
        at("kind", path=(1,)): only("array"),
        at("rank", path=(1,)): only(1),
        at("kind", path=(1, 0)): only("none"),
    }


def test_symbols_of_one_name_have_to_be_the_same_number() -> None:
    m = Symbol("m")
    found = constraints.pattern(
        [
            TensorSlot("int8", (N, m), (m, 1), None, "cpu"),
            ShapeSlot((N, Symbol("alone"))),
            TupleSlot((TensorSlot("int8", (N,), (Symbol("s"),), None, "cpu"),)),
        ]
    )
    assert found.equal == {
        (at("extent"), at("integer", path=(1, 0)), at("extent", path=(2, 0))),
        (at("extent", 1), at("stride")),
    }
    assert at("stride") not in found.constraints


@pytest.mark.parametrize("slot", [ChoiceSlot("a", (1,)), OneOfSlot((NoneSlot(),))])
def test_families_have_no_pattern(slot: Slot) -> None:
    with pytest.raises(TypeError, match="the variants of a family have patterns, the family itself has none"):
        constraints.pattern([slot])


def test_patterns_that_accept_the_same_are_identical() -> None:
    first, second = (constraints.pattern([TensorSlot("int8", (Symbol(n),))]) for n in "ab")
    assert first.identity == second.identity
    assert first.identity != constraints.pattern([TensorSlot("int16", (Symbol("a"),))]).identity
    square = constraints.pattern([TensorSlot("int8", (Symbol("a"), Symbol("a")))])
    assert square.identity != constraints.pattern([TensorSlot("int8", (Symbol("a"), Symbol("b")))]).identity


# ---------------------------------------------------------------------------------------------------------
# Values


@pytest.mark.parametrize(
    ("integers", "inside", "outside"),
    [
        (Integers(), [0, -(2**63), 2**63 - 1, True], [0.0, "0", None]),
        (Integers(3), [3, 4], [2, -1]),
        (Integers(None, 3), [3, -9], [4]),
        (Integers(-2, 2), [-2, 0, 2], [-3, 3]),
        (Integers(multiple_of=4), [0, 4, -4, 8], [1, 2, 6, -2]),
        (Integers(multiple_of=3), [0, 3, 6, -1], [-3, 1, 2**63]),
        (Integers(1, 8, 4), [4, 8], [0, 12, 6]),
    ],
)
def test_integers_hold_what_compiled_functions_let_pass(
    integers: Integers, inside: list[object], outside: list[object]
) -> None:
    assert [value for value in inside if value not in integers] == []
    assert [value for value in outside if value in integers] == []


# ---------------------------------------------------------------------------------------------------------
# Relations

S = Integers()
MIRRORED: dict[Relation, Relation] = {"subset": "superset", "superset": "subset"}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (Layout((8, 1)), Layout((8, 1)), "equal"),
        (Layout((8, 1)), Layout((8,)), "disjoint"),
        (Layout((1, 8)), Layout((8, 1)), "disjoint"),
        (Layout((1, S)), Layout((S, 1)), "disjoint"),
        (Layout((1, None)), Layout((None, 1)), "equal"),
        (Layout((1, None)), Layout((S, 1)), "subset"),
        (Layout((None, 1)), Layout((1, S)), "subset"),
        (Layout((1, 1)), Layout((S, 1)), "subset"),
        (Layout((1, 1)), Layout((1, 1, 1)), "disjoint"),
        (Layout((S, S)), Layout((1, S)), "superset"),
        (Layout((8, S)), Layout((S, 4)), "overlap"),
        (Layout((Integers(multiple_of=8), 1)), Layout((Integers(multiple_of=4), 1)), "subset"),
        (Layout((Integers(multiple_of=8), 1)), Layout((12, 1)), "disjoint"),
        (Layout((Integers(multiple_of=8), 1)), Layout((16, 1)), "superset"),
        (Layout((Integers(0, 7), 1)), Layout((Integers(8, 9), 1)), "disjoint"),
        (Layout((S, 1), row_major=True), Layout((S, 1), row_major=True), "equal"),
        (Layout((S, 1), row_major=True), Layout((S, 1)), "subset"),
        (Layout((S, 1), row_major=True), Layout((Integers(multiple_of=8), 1)), "overlap"),
        (Layout((S, 1), row_major=True), Layout((S, S)), "subset"),
    ],
)
def test_layouts(first: Layout, second: Layout, expected: Relation) -> None:
    assert constraints.relation(first, second) == expected
    assert constraints.relation(second, first) == MIRRORED.get(expected, expected)


def test_the_contiguous_dimension_is_the_only_one_of_stride_one() -> None:
    assert [Layout(strides).unit for strides in ((1, 8), (8, 1), (1, 1), (S, 8), ())] == [
        0,
        1,
        None,
        None,
        None,
    ]


def test_different_things_are_not_compared() -> None:
    with pytest.raises(TypeError, match="constrain different things"):
        constraints.relation(Layout((1,)), Integers())


def _pattern(equal: tuple[tuple[Feature, ...], ...], **demands: Constraint) -> Pattern:
    """Make a pattern of three extents and the strides of one tensor."""
    own = {at("extent", int(name[1:])): demand for name, demand in demands.items() if name != "layout"}
    if "layout" in demands:
        own[at("layout")] = demands["layout"]
    return Pattern(own, frozenset(equal))


E0, E1, E2, S0, S1 = at("extent"), at("extent", 1), at("extent", 2), at("stride"), at("stride", 1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (_pattern(((E0, E1),)), _pattern(((E0, E1),)), "equal"),
        (_pattern(((E0, E1),)), _pattern(()), "subset"),
        (_pattern(((E0, E1, E2),)), _pattern(((E0, E2),)), "subset"),
        (_pattern(((E0, E1),)), _pattern(((E1, E2),)), "overlap"),
        (_pattern(((E0, E1),), e0=only(4)), _pattern((), e0=only(4)), "subset"),
        (_pattern(((E0, E1),), e0=only(4), e1=only(4)), _pattern((), e0=only(4), e1=only(4)), "equal"),
        (_pattern(((E0, E1),)), _pattern((), e0=only(4), e1=only(4)), "superset"),
        (_pattern(((E0, E1),)), _pattern((), e0=only(4), e1=only(8)), "disjoint"),
        (_pattern(((E0, E1),)), _pattern(((E1, E2),), e0=only(4), e2=only(8)), "disjoint"),
        (_pattern(((E0, E1),), e0=only(4)), _pattern((), e1=only(8)), "disjoint"),
        (_pattern(((E0, E1),)), _pattern((), e0=only(4, 8), e1=only(4, 8)), "overlap"),
        (_pattern(((E0, E1),)), _pattern((), e0=Integers(0, 3), e1=Integers(4, 9)), "disjoint"),
        (_pattern(((E0, S0),), layout=Layout((S, 1))), _pattern((), layout=Layout((S, 1))), "subset"),
        (
            _pattern(((E0, S0),), layout=Layout((S, 1))),
            _pattern((), e0=only(4), layout=Layout((8, 1))),
            "disjoint",
        ),
        (
            _pattern(((E0, S0),), layout=Layout((None, 1))),
            _pattern((), layout=Layout((None, 1))),
            "equal",
        ),
        (
            _pattern(((S0, S1),), layout=Layout((S, S))),
            _pattern((), layout=Layout((8, 8))),
            "superset",
        ),
    ],
)
def test_sizes_that_have_to_be_the_same(first: Pattern, second: Pattern, expected: Relation) -> None:
    assert first.relation(second) == expected
    assert second.relation(first) == MIRRORED.get(expected, expected)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("equal", "equal", "equal"),
        ("equal", "subset", "subset"),
        ("subset", "subset", "subset"),
        ("subset", "superset", "overlap"),
        ("superset", "equal", "superset"),
        ("overlap", "subset", "overlap"),
        ("overlap", "equal", "overlap"),
        ("overlap", "disjoint", "disjoint"),
        ("disjoint", "equal", "disjoint"),
    ],
)
def test_a_call_has_to_fit_in_both_features(first: Relation, second: Relation, both: Relation) -> None:
    demands: dict[Relation, tuple[Values, Values]] = {
        "equal": (only(1), only(1)),
        "subset": (only(1), only(1, 2)),
        "superset": (only(1, 2), only(1)),
        "overlap": (only(1, 2), only(1, 3)),
        "disjoint": (only(1), only(2)),
    }
    ours = Pattern({E0: demands[first][0], E1: demands[second][0]}, frozenset())
    theirs = Pattern({E0: demands[first][1], E1: demands[second][1]}, frozenset())
    assert ours.relation(theirs) == both


def test_a_feature_that_one_does_not_mind_is_free() -> None:
    ours, theirs = Pattern({E0: only(1)}, frozenset()), Pattern({}, frozenset())
    assert (ours.relation(theirs), theirs.relation(ours)) == ("subset", "superset")
    assert ours.relation(Pattern({E1: only(1)}, frozenset())) == "overlap"


# ---------------------------------------------------------------------------------------------------------
# Words


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (None, "anything"),
        (only("tensor"), "tensor"),
        (only(8, 16, True), "16 or 8 or True"),
        (Integers(), "any integer"),
        (Integers(multiple_of=4), "a multiple of 4"),
        (Integers(-128, 127), "any integer in 8 bits"),
        (N_RANGE, "a multiple of 4 in 32 bits"),
        (Integers(0, 255), "at least 0 and at most 255"),
        (Integers(3, None, 2), "a multiple of 2 and at least 3"),
        (Integers(None, 7), "at most 7"),
        (Layout((1,)), "strides (1,)"),
        (Layout((8, None, S)), "strides (8, *, *)"),
        (Layout((Integers(multiple_of=8), N_RANGE)), "strides (8k, 4k of 32 bits)"),
        (Layout((Integers(-(2**31), 2**31 - 1), 1), row_major=True), "strides (* of 32 bits, 1), row-major"),
    ],
)
def test_a_demand_is_told_in_a_few_words(constraint: Constraint | None, text: str) -> None:
    assert constraints.described(constraint) == text

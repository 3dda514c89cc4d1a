"""Binding an author's signature to what the compiler made of it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stubgen.abi.signatures import Argument, AuthorKind, AuthorParameter, admits, bind
from stubgen.model.library import (
    ConstantSlot,
    Default,
    Frozen,
    NoneSlot,
    Parameter,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.render import python_types
from tests.unit.samples import defaults, identifiers, slots

F32 = ScalarSlot("float32")
I32 = ScalarSlot("int32")
X = TensorSlot("float32", (Symbol("n"),))


def written(*specs: str | AuthorParameter, **given_defaults: Any) -> tuple[AuthorParameter, ...]:
    """Read parameters as in a signature: ``"a", "*args", "b"``; what follows a star is keyword-only."""
    kind: AuthorKind = "positional_or_keyword"
    parameters: list[AuthorParameter] = []
    for spec in specs:
        if isinstance(spec, AuthorParameter):
            parameters.append(spec)
        elif spec == "*":
            kind = "keyword_only"
        elif spec.startswith("**"):
            parameters.append(AuthorParameter(spec[2:], "var_keyword"))
        elif spec.startswith("*"):
            parameters.append(AuthorParameter(spec[1:], "var_positional"))
            kind = "keyword_only"
        else:
            default = Default(given_defaults[spec]) if spec in given_defaults else None
            parameters.append(AuthorParameter(spec, kind, default))
    return tuple(parameters)


def bound(author: tuple[AuthorParameter, ...], **arguments: Slot | None) -> tuple[Parameter, ...]:
    return bind(author, tuple(Argument(name, slot) for name, slot in arguments.items())).parameters


def shown(parameters: tuple[Parameter, ...]) -> str:
    """Show parameters as the keyword function has them, without types; Python itself reads the list."""
    items = python_types.keyword_items(parameters, python_types.first_by_keyword(parameters))
    slots = [parameter.slot for parameter in parameters]
    names: dict[str, Any] = {
        s.record: lambda **fields: tuple(fields.values())
        for s in slots
        if isinstance(s, TupleSlot) and s.record
    }
    exec(f"from __future__ import annotations\ndef f({', '.join(items)}): ...", names)
    signature = inspect.signature(names["f"])
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare))


# ---------------------------------------------------------------------------------------------------------
# bind


def test_a_default_stays_where_the_slot_admits_it() -> None:
    author = written("x", "scale", "count", "bias", scale=1.0, count=2, bias=None)
    assert shown(bound(author, x=X, scale=F32, count=I32, bias=NoneSlot())) == (
        "(x, scale=1.0, count=2, bias=None)"
    )
    assert shown(bound(author, x=X, scale=I32, count=I32, bias=NoneSlot())) == (
        "(x, scale=1, count=2, bias=None)"
    )


def test_defaults_before_a_required_parameter_are_for_callers_that_use_keywords() -> None:
    author = written("x", "scale", "count", "bias", scale=1.0, count=2, bias=None)
    assert shown(bound(author, x=X, scale=F32, count=I32, bias=X)) == "(x, *, scale=1.0, count=2, bias)"
    author = written("a", "b", "c", "d", a=1.0, b=1.0, c="no number", d=1.0)
    assert shown(bound(author, a=F32, b=F32, c=F32, d=F32)) == "(*, a=1.0, b=1.0, c, d=1.0)"


def test_what_only_takes_none_can_be_left_out_wherever_it_stands() -> None:
    names = ("q", "k", "bias", "mask", "out", "scale", "lens")
    author = written(*names, bias=None, mask=None, out=None, scale=1.0, lens=None)
    none = NoneSlot()
    slots = dict(zip(names, (X, X, none, none, X, F32, none), strict=True))
    assert shown(bound(author, **slots)) == "(q, k, *, bias=None, mask=None, out, scale=1.0, lens=None)"


@pytest.mark.parametrize(
    ("dtype", "written_default", "kept"),
    [
        ("bool", 1, True),
        ("bool", 0.0, False),
        ("bool", 2, None),
        ("int32", 2.0, 2),
        ("int32", True, 1),
        ("int32", 2.5, None),
        ("int8", 300, None),
        ("float32", 1, 1),
        ("float32", True, 1),
        ("float32", math.inf, math.inf),
        ("int32", math.inf, None),
        ("float32", None, None),
        ("bool", "1", None),
    ],
)
def test_a_default_becomes_the_number_that_the_annotation_makes_of_it(
    dtype: str, written_default: Any, kept: Any
) -> None:
    (parameter,) = bound(written("a", a=written_default), a=ScalarSlot(dtype))
    value = parameter.default and parameter.default.value
    assert (type(value), value) == (type(kept), kept)


def test_keyword_only_parameters_leave_gaps_as_they_like() -> None:
    author = written("a", "*", "b", "c", "d", a=1.0, b=2.0, d=3.0)
    assert shown(bound(author, a=F32, b=F32, c=F32, d=F32)) == "(a=1.0, *, b=2.0, c, d=3.0)"


def test_an_environment_stream_is_no_parameter_and_makes_no_gap() -> None:
    author = written("x", "scale", "stream", scale=1.0)
    found = bind(author, (Argument("x", X), Argument("scale", F32), Argument("stream", None)))
    assert shown(found.parameters) == "(x, scale=1.0)"
    assert found.env_streams == ("stream",)


def test_a_passed_stream_is_a_parameter() -> None:
    author = written("x", "stream", stream=None)
    assert shown(bound(author, x=X, stream=StreamSlot())) == "(x, stream=None)"


def test_constexpr_parameters_are_frozen_and_gone() -> None:
    author = (*written("x"), AuthorParameter("size", frozen="4096"), *written("y"))
    found = bind(author, (Argument("x", X), Argument("y", X)))
    assert shown(found.parameters) == "(x, y)"
    assert found.frozen == (Frozen("size", "4096", position=1),)


def test_variadic_arguments_stay_in_their_place_without_keywords() -> None:
    author = written("out", "*xs", "scale", scale=1.0)
    found = bound(author, out=X, _vararg0=X, _vararg1=X, scale=F32)
    assert [p.kind for p in found] == [
        "positional_or_keyword",
        "positional_only",
        "positional_only",
        "keyword_only",
    ]
    assert [p.name for p in found] == ["out", "_vararg0", "_vararg1", "scale"]
    assert found[-1].default == Default(1.0)


def test_a_default_before_variadic_arguments_is_dropped() -> None:
    author = written("out", "*xs", out=None)
    assert shown(bound(author, out=NoneSlot(), _vararg0=X)) == "(out, _vararg0)"


def test_variadic_keywords_are_keywords() -> None:
    author = written("x", "**more")
    assert shown(bound(author, x=X, bias=X)) == "(x, *, bias)"
    assert shown(bound(author, x=X, more=X)) == "(x, *, more)", "one may be called like all of them"
    assert shown(bound(written("x", "*rest"), x=X, rest=X)) == "(x, *, rest)"


def test_a_parameter_that_its_author_calls_vararg_is_his() -> None:
    author = written("_vararg0", _vararg0=1.0)
    assert shown(bound(author, _vararg0=F32)) == "(_vararg0=1.0)"


def test_positional_only_parameters_stay_so() -> None:
    author = (AuthorParameter("a", "positional_only"), *written("b"))
    assert [p.kind for p in bound(author, a=X, b=X)] == ["positional_only", "positional_or_keyword"]


def fits(slot: Slot, value: object) -> bool:
    """Say what a compiled function takes, without the code that is tested."""
    match slot:
        case NoneSlot():
            return value is None
        case ConstantSlot(value=constant):
            return (type(value), value) == (type(constant), constant)
        case ScalarSlot(dtype="bool"):
            return isinstance(value, bool) or value in (0, 1)
        case ScalarSlot(dtype=dtype) if "int" in dtype:
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            bits = min(int(dtype.lstrip("uint")), 64)
            low, high = (0, 2**bits) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
            return isinstance(value, int) and low <= value < min(high, 2**63)
        case ScalarSlot(dtype=dtype):
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                return False
            largest = {"float16": 65504, "bfloat16": 3.3895e38, "float32": 3.4028e38}.get(dtype, math.inf)
            return isinstance(value, int | float) and abs(value) in (math.inf, min(abs(value), largest))
        case PointerSlot() | StreamSlot():
            return value is None or (type(value) is int and 0 <= value < 2**63)
        case ShapeSlot(extents=extents):
            return type(value) is tuple and len(value) == len(extents) and all(map(_is_size, extents, value))
        case TupleSlot(items=items):
            return type(value) is tuple and len(value) == len(items) and all(map(fits, items, value))
        case _:
            return False


def _is_size(extent: int | Symbol, value: object) -> bool:
    if type(value) is not int:
        return False
    return abs(value + 0.5) < 2 ** (extent.bits - 1) if isinstance(extent, Symbol) else value == extent


def test_defaults_are_kept_where_they_fit_and_only_there() -> None:
    numbers = [200, 2**31, 2**40, 2**63, 0.5, 65504, -1e5, 1e39]
    values = [None, True, 0, 1, -1, *numbers, (), (1,), (4, 8)]

    common: list[Slot] = [
        *(ScalarSlot(dtype) for dtype in ("bool", "int8", "uint8", "int32", "uint64", "float16")),
        *(NoneSlot(), ConstantSlot(1), ConstantSlot(True), PointerSlot(), StreamSlot()),
        *(ShapeSlot(()), ShapeSlot((4, Symbol("n"))), TupleSlot((I32,)), TupleSlot(())),
    ]

    def is_kept(slot: Slot, value: Any) -> bool:
        (parameter,) = bound(written("a", a=value), a=slot)
        assert (parameter.default is not None) == fits(slot, value)
        return parameter.default is not None

    @settings(max_examples=200)
    @given(slots, st.sampled_from(values))
    def check(slot: Slot, value: Any) -> None:
        is_kept(slot, value)

    check()
    kept = [is_kept(slot, value) for slot in common for value in values]
    assert kept.count(True) >= 20
    assert kept.count(False) >= 20


@given(
    st.lists(
        st.tuples(identifiers, slots | st.none(), st.none() | defaults, st.booleans()),
        unique_by=lambda item: item[0],
        max_size=6,
    )
)
def test_what_is_bound_is_a_signature_in_the_order_of_the_abi(items: list[Any]) -> None:
    positional = [item for item in items if not item[3]]
    ordered = [*positional, *(item for item in items if item[3])]
    author = tuple(
        AuthorParameter(name, "keyword_only" if keyword else "positional_or_keyword", default)
        for name, _, default, keyword in ordered
    )
    found = bind(author, tuple(Argument(name, slot) for name, slot, _, _ in ordered))
    shown(found.parameters)
    assert [p.name for p in found.parameters] == [name for name, slot, _, _ in ordered if slot is not None]
    written_as = {name: default for name, _, default, _ in ordered}
    for parameter in found.parameters:
        assert parameter.default in (None, written_as[parameter.name])
        assert parameter.default is None or fits(parameter.slot, parameter.default.value)


# ---------------------------------------------------------------------------------------------------------
# admits

BOXES = TupleSlot((I32, NoneSlot(), TupleSlot((F32,))))


@pytest.mark.parametrize(
    ("slot", "yes", "no"),
    [
        (X, [], [None, 1, 1.0, ()]),
        (NoneSlot(), [None], [0, False, (), ""]),
        (ScalarSlot("bool"), [True, False], [0, 1, 1.0, None, "x"]),
        (ScalarSlot("int8"), [-128, 127, True], [-129, 128, 1.0, None, "1"]),
        (ScalarSlot("uint8"), [0, 255], [-1, 256]),
        (I32, [-(2**31), 2**31 - 1], [2**31, -(2**31) - 1, 0.5]),
        (ScalarSlot("uint32"), [0, 2**32 - 1], [2**32, -1]),
        (ScalarSlot("int64"), [-(2**63), 2**63 - 1], [2**63]),
        (ScalarSlot("uint64"), [0, 2**63 - 1], [2**63, -1]),
        (F32, [1, 1.5, -math.inf, math.nan, True], [None, "1", (1.0,)]),
        (ScalarSlot("bfloat16"), [1, 1.5], [None]),
        (ConstantSlot(1), [1], [True, 1.0, 2, None]),
        (ConstantSlot(True), [True], [1, False]),
        (ConstantSlot(1.0), [1.0], [1, True, 2.0]),
        (PointerSlot(), [None, 0, 2**63 - 1], [-1, 2**63, True, 1.0]),
        (StreamSlot(), [None, 0, 1], [-1, True, "x"]),
        (ShapeSlot((4, Symbol("n"))), [(4, 8), (4, -1), (4, 2**31 - 1)], [(5, 8), (4,), [4, 8], (4, 2**31)]),
        (ShapeSlot((Symbol("n", 64),)), [(2**62,)], [(2**63,), (True,), (1.0,)]),
        (ShapeSlot((4,)), [(4,)], [(4.0,), (True,), 4]),
        (ShapeSlot((1,)), [(1,)], [(True,), (1.0,)]),
        (ShapeSlot(()), [()], [(1,), None]),
        (BOXES, [(1, None, (2.0,))], [(1, None, 2.0), (1, 1, (2.0,)), (1, None), None]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_a_slot_admits_what_the_compiled_function_accepts(slot: Slot, yes: list[Any], no: list[Any]) -> None:
    assert [value for value in yes if not admits(slot, value)] == []
    assert [value for value in no if admits(slot, value)] == []

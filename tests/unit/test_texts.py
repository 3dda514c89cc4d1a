"""The parser of signatures: every kind of slot, families, and what is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stubgen.inspection.texts import SelectorValue, parse
from stubgen.model.library import (
    ConstantSlot,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)


def printed(slot: Slot) -> str:
    """Print a slot as the DSL's ``spec.format_param_type`` does."""
    match slot:
        case TensorSlot(dtype=dtype, shape=shape):
            return f"Tensor([{extents(shape)}], {dtype})"
        case ScalarSlot(dtype=dtype):
            return dtype
        case ShapeSlot(extents=found):
            return f"Shape([{extents(found)}])"
        case StreamSlot():
            return "Stream"
        case PointerSlot():
            return "DataPointer"
        case NoneSlot():
            return "None"
        case ConstantSlot(value=value):
            return f"{type(value).__name__.title()}({value})"
        case TupleSlot(items=items):
            return f"Tuple[{', '.join(map(printed, items))}]"
        case _:
            raise TypeError(slot)


def extents(found: tuple[int | Symbol, ...]) -> str:
    return ", ".join(str(e) if isinstance(e, int) else e.name for e in found)


DTYPES = [
    *("bool", "bfloat16", "float16", "float32", "float64", "float32x4"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e8m0fnu", "float8_e4m3b11fnuz"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fnx2"),
]

NAMES = st.from_regex(r"[^\W\d]\w{0,8}", fullmatch=True)
EXTENTS = st.lists(st.integers(0, 2**62) | NAMES.map(Symbol), max_size=5).map(tuple)
LEAVES = st.one_of(
    st.builds(TensorSlot, st.sampled_from(DTYPES), EXTENTS, device=st.none()),
    st.sampled_from(DTYPES).map(ScalarSlot),
    EXTENTS.map(ShapeSlot),
    st.sampled_from([StreamSlot(), PointerSlot(), NoneSlot()]),
    st.booleans().map(ConstantSlot),
    st.integers(-(2**63), 2**63 - 1).map(ConstantSlot),
    st.floats(allow_nan=False).map(ConstantSlot),
)
SLOTS = st.recursive(LEAVES, lambda i: st.lists(i, max_size=4).map(tuple).map(TupleSlot), max_leaves=8)


@given(NAMES, st.dictionaries(NAMES, SLOTS, max_size=30))
def test_what_the_dsl_prints_is_read_back(name: str, parameters: dict[str, Slot]) -> None:
    text = f"{name}({', '.join(f'{n}: {printed(slot)}' for n, slot in parameters.items())})"
    stated = parse(text)
    assert stated is not None, text
    assert (stated.name, stated.text) == (name, text)
    assert [parameter.name for parameter in stated.parameters] == list(parameters)
    assert stated.slots == tuple(parameters.values())


def test_families_state_alternatives_and_choices() -> None:
    stated = parse(
        'f(x: Tensor([m, 1024|4096], float16|bfloat16)|None, kind: "a, b"|"|"|None, n: 1|2.5|-3, '
        "flag: False|True, t: Tuple[3, True, 0.5], s: Shape(4, n), p: Pointer)"
    )
    assert stated is not None
    assert stated.slots is None
    alternatives = {parameter.name: parameter.alternatives for parameter in stated.parameters}
    assert alternatives["x"] == (
        TensorSlot("float16", (Symbol("m"), 1024), device=None),
        NoneSlot(),
    )
    assert alternatives["kind"] == (SelectorValue("a, b"), SelectorValue("|"), NoneSlot())
    assert alternatives["n"] == (SelectorValue(1), SelectorValue(2.5), SelectorValue(-3))
    assert alternatives["flag"] == (SelectorValue(False), SelectorValue(True))
    assert alternatives["t"] == (TupleSlot((ConstantSlot(3), ConstantSlot(True), ConstantSlot(0.5))),)
    assert alternatives["s"] == (ShapeSlot((4, Symbol("n"))),)
    assert alternatives["p"] == (PointerSlot(),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f",
        "f(",
        "f()x",
        " f()",
        "f(a)",
        "f(a: )",
        "f(a:float32)",
        "f(a: float32,b: float32)",
        "f(a: float32, )",
        "f(a: float32, a: float32)",
        "f(a: float)",
        "f(a: float32_)",
        "f(a: integer)",
        "f(a: Tensor)",
        "f(a: Tensor([n], float32)",
        "f(a: Tensor([n] float32))",
        "f(a: Tensor([n,], float32))",
        "f(a: Int(x))",
        "f(a: Bool(1))",
        "f(a: Tuple[float32)",
        'f(a: Tuple["x"])',
        'f(a: "x)',
        "1f()",
        "f(a: Tensor([" + "9" * 5000 + "], float32))",
        "f(a: " + "Tuple[" * 1000 + "]" * 1000 + ")",
        "f(" + ", ".join(f"p{i}: Tensor([n, 128], float32)" for i in range(10_000)) + ")",
    ],
)
def test_other_texts_are_none(text: str) -> None:
    assert parse(text) is None


PIECES = st.lists(
    st.sampled_from([*"[](),:|", ", ", ": ", *DTYPES, "Tensor", "Shape", "n", "7", '"x"', "None"])
)


def test_any_text_is_read_as_what_it_says_or_not_at_all() -> None:
    """What is read has the name and as many parameters as the text; damaged texts are mostly refused."""
    read = refused = 0

    @given(NAMES, st.dictionaries(NAMES, SLOTS, max_size=4), st.data())
    def check(name: str, parameters: dict[str, Slot], data: st.DataObject) -> None:
        nonlocal read, refused
        text = f"{name}({', '.join(f'{n}: {printed(slot)}' for n, slot in parameters.items())})"
        if data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(text)))
            until = data.draw(st.integers(at, min(len(text), at + 3)))
            text = text[:at] + "".join(data.draw(PIECES)) + text[until:]
        stated = parse(text)
        if stated is None:
            refused += 1
            return
        read += 1
        assert stated.text == text
        assert text.startswith(f"{stated.name}(")
        assert all(f"{parameter.name}: " in text for parameter in stated.parameters)
        assert all(parameter.alternatives for parameter in stated.parameters)

    check()
    assert read >= 20
    assert refused >= 10


@given(st.text(max_size=60))
def test_text_of_another_kind_is_no_parameter(text: str) -> None:
    assert parse(f"f(a: ?{text})") is None


def test_choices_may_be_any_text() -> None:
    for value in ('"', "\\", "`", ")", "é", "\n"):
        stated = parse(f"f(a: {json.dumps(value)})")
        assert stated is not None
        assert stated.parameters[0].alternatives == (SelectorValue(value),)

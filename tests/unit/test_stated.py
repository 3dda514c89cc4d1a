"""The signature of a family, as its own error messages state it."""

from __future__ import annotations

import pytest

from stubgen.abi.signature_texts import stated
from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Family,
    NoneSlot,
    OneOfSlot,
    Parameter,
    Place,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from tests.dispatch.models import tensor

N, M = Symbol("n"), Symbol("m", 64, 8)
F32 = ScalarSlot("float32")


def family(**slots: Slot) -> Family:
    return Family("fam", "m", tuple(Parameter(n, s) for n, s in slots.items()), (), (), Place("m.py", 1))


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (tensor("float16", N, 8), "Tensor([n, 8], float16)"),
        (tensor("bool"), "Tensor([], bool)"),
        (F32, "float32"),
        (NoneSlot(), "None"),
        (ConstantSlot(True), "True"),
        (ConstantSlot(0.5), "0.5"),
        (PointerSlot("int8"), "Pointer"),
        (StreamSlot(), "Stream"),
        (ShapeSlot((4, N)), "Shape(4, n)"),
        (ShapeSlot(()), "Shape()"),
        (TupleSlot((F32, TupleSlot((NoneSlot(),)))), "Tuple[float32, Tuple[None]]"),
        (TupleSlot(()), "Tuple[]"),
        (ChoiceSlot("a", ('gr"üße', None, True, -1, 0.5)), '"gr\\"üße"|None|True|-1|0.5'),
        (
            OneOfSlot((tensor("float16", M, 1024), tensor("bfloat16", M, 4096), tensor("float16", M, 4096))),
            "Tensor([m, 1024|4096], float16|bfloat16)",
        ),
        (
            OneOfSlot((NoneSlot(), tensor("int8", N), F32, tensor("int8", N, M), tensor("int16", N))),
            "Tensor([n], int8|int16)|Tensor([n, m], int8)|None|float32",
        ),
        (OneOfSlot((F32, ScalarSlot("float32", 1), ScalarSlot("int8"))), "float32|int8"),
    ],
    ids=str,
)
def test_each_slot_is_stated(slot: Slot, text: str) -> None:
    assert stated(family(x=slot)) == f"fam(x: {text})"


def test_parameters_stand_in_order() -> None:
    assert stated(family()) == "fam()"
    assert stated(family(b=F32, a=NoneSlot())) == "fam(b: float32, a: None)"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), 'fam(x: float32, act: "relu"|None, y: int8, tile: 64|128)'),
        (("relu", 128), 'fam(x: float32, act: "relu", y: int8, tile: 128)'),
        ((None, 64), "fam(x: float32, act: None, y: int8, tile: 64)"),
    ],
)
def test_what_is_chosen_stands_for_what_may_be(values: tuple[ChoiceValue, ...], text: str) -> None:
    act, tile = ChoiceSlot("act", ("relu", None)), ChoiceSlot("tile", (64, 128))
    assert stated(family(x=F32, act=act, y=ScalarSlot("int8"), tile=tile), values) == text


def test_alternatives_of_one_rank_are_told_once_each() -> None:
    slots = (TensorSlot("int8", (N, M)), TensorSlot("int8", (M, N)), TensorSlot("int8", (N, N)))
    assert stated(family(x=OneOfSlot(slots))) == "fam(x: Tensor([n|m, m|n], int8))"

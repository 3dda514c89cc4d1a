"""What the compiler built is read as what it is: slots, records, and the author's own parameters."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import math
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cutlass
import numpy as np
import pytest
from cutlass import cute
from cutlass.base_dsl.tvm_ffi_builder import spec
from cutlass.cute.runtime import make_ptr

import stubgen as sg
from stubgen.abi.signatures import Argument, AuthorParameter
from stubgen.compiler.worker import abi, arguments, author_classes, plain_values
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.findings import RefusedError
from stubgen.declare.declarations import Call
from stubgen.declare.declarations import Options as DeclaredOptions
from stubgen.model.library import (
    ConstantSlot,
    Default,
    Field,
    NoneSlot,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)

F32, I32 = cutlass.Float32, cutlass.Int32


class Pair(NamedTuple):
    """A tensor and a number.

    Both are needed.
    """

    x: Any
    scale: F32 = 0.5  # type: ignore[valid-type]


Bare = namedtuple("Bare", ["x", "y"])


@dataclasses.dataclass
class Options:
    pair: Pair
    stages: cutlass.Constexpr[Any] = 3  # type: ignore[valid-type]
    fast: cutlass.Constexpr[Any] = True  # type: ignore[valid-type]
    made: Any = dataclasses.field(default_factory=tuple)


def var(name: str = "v", dtype: str = "float32", **options: Any) -> Any:
    return spec.Var(name, dtype, **options)


# ---------------------------------------------------------------------------------------------------------
# Slots


@pytest.mark.parametrize(
    ("param", "value", "slot"),
    [
        (var(), None, ScalarSlot("float32")),
        (var(dtype="int8", divisibility=4), None, ScalarSlot("int8", 4)),
        (var(dtype="handle"), None, PointerSlot()),
        (spec.Shape("s", [4, var("n", "int32")]), None, ShapeSlot((4, Symbol("n")))),
        (
            spec.Shape("s", [var("n", "int64", divisibility=8)]),
            None,
            ShapeSlot((Symbol("n", 64, 8),)),
        ),
        (4, None, ShapeSlot((4,))),
        (spec.ConstNone("c"), None, NoneSlot()),
        (spec.ConstBool("c", True), None, ConstantSlot(True)),
        (spec.ConstInt("c", 7), None, ConstantSlot(7)),
        (spec.ConstFloat("c", math.inf), None, ConstantSlot(math.inf)),
        (spec.Stream("s"), None, StreamSlot()),
        (spec.DataPointer("p"), None, PointerSlot()),
        (spec.DataPointer("p"), 3, PointerSlot()),
        (
            spec.DataPointer("p"),
            make_ptr(F32, 16, cutlass.AddressSpace.gmem, assumed_align=16),
            PointerSlot("float32", 16, "cuda"),
        ),
        (
            spec.DataPointer("p"),
            make_ptr(cutlass.Int8, 16, cutlass.AddressSpace.generic, assumed_align=4),
            PointerSlot("int8", 4, "cpu"),
        ),
        (
            spec.Tensor("t", [4, var("n", "int32")], "float16", device_type="cpu"),
            None,
            TensorSlot("float16", (4, Symbol("n")), None, None, "cpu"),
        ),
        (
            spec.Tensor("t", [4], "int8", device_type="cuda", strides=[var("s", "int64")], data_alignment=16),
            None,
            TensorSlot("int8", (4,), (Symbol("s", 64),), 16, "cuda"),
        ),
        (spec.TupleParam("t", []), (), TupleSlot(())),
        (
            spec.TupleParam("t", [var(), spec.TupleParam("u", [spec.ConstNone("c")])]),
            None,
            TupleSlot((ScalarSlot("float32"), TupleSlot((NoneSlot(),)))),
        ),
        (
            spec.TupleParam("t", [spec.ConstNone("a"), var()]),
            Pair(None, 1.0),
            TupleSlot((NoneSlot(), ScalarSlot("float32")), "Pair", ("x", "scale")),
        ),
        (
            spec.TupleParam("t", [spec.TupleParam("u", [spec.ConstNone("a"), var()])]),
            [Pair(None, 1.0)],
            TupleSlot((TupleSlot((NoneSlot(), ScalarSlot("float32")), "Pair", ("x", "scale")),)),
        ),
        (spec.TupleParam("t", [var()]), Pair(None, 1.0), TupleSlot((ScalarSlot("float32"),))),
        (
            spec.TupleParam("t", [var()]),
            dataclasses.make_dataclass("Tensor", ["x"])(1),
            TupleSlot((ScalarSlot("float32"),)),
        ),
        (
            spec.TupleParam("t", [var()]),
            dataclasses.make_dataclass("Mine", ["x"])(1),
            TupleSlot((ScalarSlot("float32"),), "Mine", ("x",)),
        ),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_a_slot_is_what_the_compiler_described(param: Any, value: Any, slot: Slot) -> None:
    assert abi.Reader().slot(param, value) == slot


def test_arguments_are_matched_by_name() -> None:
    params = [var("b"), spec.EnvStream("stream"), spec.TupleParam("a", [spec.ConstNone("x"), var("y")])]
    reader = abi.Reader()
    assert reader.arguments(params, {"a": Pair(None, 1.0), "b": 2.0}) == (
        Argument("b", ScalarSlot("float32")),
        Argument("stream", None),
        Argument("a", TupleSlot((NoneSlot(), ScalarSlot("float32")), "Pair", ("x", "scale"))),
    )
    assert reader.records == {"Pair": PAIR}


def test_what_is_not_known_is_not_guessed() -> None:
    with pytest.raises(abi.UnknownSpecError, match=r"^an argument of the kind object$"):
        abi.Reader().slot(object(), None)
    with pytest.raises(abi.UnknownSpecError, match=r"^an extent of the kind str$"):
        abi.Reader().slot(spec.Shape("s", ["x"]), None)


def test_two_classes_of_one_name_are_refused() -> None:
    reader = abi.Reader()
    classes: list[Any] = [Bare, namedtuple("Bare", ["x", "y"])]
    for cls in classes:
        reader.slot(spec.TupleParam("t", [var(), var()]), cls(1, 2))
    with pytest.raises(RefusedError) as caught:
        reader.slot(spec.TupleParam("t", [var()]), namedtuple("Bare", ["z"])(1))
    [found] = caught.value.args
    assert (found.code, found.details) == ("CS214", {"record": "Bare"})


# ---------------------------------------------------------------------------------------------------------
# Records

PAIR = Record(
    "Pair", "namedtuple", (Field("x"), Field("scale", Default(0.5))), inspect.cleandoc(Pair.__doc__ or "")
)
BARE = Record("Bare", "namedtuple", (Field("x"), Field("y")))
OPTIONS = Record(
    "Options",
    "dataclass",
    (Field("pair"), Field("stages", Default(3)), Field("fast", Default(True)), Field("made", Default(()))),
)


@pytest.mark.parametrize(
    ("values", "records"),
    [
        ([], []),
        ([1, None, "text", (), [1]], []),
        ([Pair(1)], [PAIR]),
        ([(1, [Bare(1, 2)])], [BARE]),
        ([Options(Pair(Bare(1, 2)))], [OPTIONS, PAIR, BARE]),
        ([Options(Pair(1), made=(Bare(1, 2),)), Pair(1)], [OPTIONS, PAIR, BARE]),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_records_are_found_at_any_depth(values: list[Any], records: list[Record]) -> None:
    assert author_classes.records_in(values) == {record.name: record for record in records}


# ---------------------------------------------------------------------------------------------------------
# What the author wrote


class Mode(enum.Enum):
    FAST = "fast"


class Level(enum.IntEnum):
    HIGH = 3


class Word(str):
    def __str__(self) -> str:
        return "another"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(
            (value, Default(value))
            for value in (None, True, False, 0, -1, 2.5, "text", (), (1, 2.5, None, True))
        ),
        (F32(9.0), Default(9.0)),
        (I32(3), Default(3)),
        ((I32(3), F32(0.5)), Default((3, 0.5))),
        (Level.HIGH, Default(3)),
        ((Level.HIGH,), Default((3,))),
        (Word("text"), Default("text")),
        (np.float64(2.5), Default(2.5)),
        ("lone \ud800", None),
        (Mode.FAST, None),
        (F32, None),
        ([1], None),
        (("x",), None),
        (((1,),), None),
        (lambda: None, None),
        (object(), None),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_defaults_are_plain_data_or_none(value: Any, expected: Default | None) -> None:
    found = plain_values.as_default(value)
    assert found == expected
    if found is not None and expected is not None:
        assert type(found.value) is type(expected.value)
        if isinstance(found.value, tuple) and isinstance(expected.value, tuple):
            assert list(map(type, found.value)) == list(map(type, expected.value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((value, repr(value)) for value in (None, True, 3, -2.5, "it's", (), (1,), (1, 2), [], [1, (2,)])),
        (F32, "Float32"),
        (Mode.FAST, "Mode.FAST"),
        (Level.HIGH, "Level.HIGH"),
        ((F32, [Mode.FAST]), "(Float32, [Mode.FAST])"),
        ((F32,), "(Float32,)"),
        (len, "len"),
        (inspect.cleandoc, "cleandoc"),
        (object(), "<object>"),
        (np.float64(2.5), "<float64>"),
        ({}, "<dict>"),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_constants_are_shown_as_source(value: Any, text: str) -> None:
    assert plain_values.source_of(value) == text


def test_the_authors_parameters_are_described_in_order() -> None:
    def function(
        a: cute.Tensor,
        /,
        dtype: Any,
        k: cutlass.Constexpr = 3,  # type: ignore[valid-type]
        mode: cutlass.Constexpr[Any] = Mode.FAST,  # type: ignore[valid-type]
        *rest: Any,
        s: F32 = 1.5,  # type: ignore[valid-type]
        unset: cutlass.Constexpr[Any],  # type: ignore[valid-type]
        odd: cutlass.Constexpr[Any] = "\ud800",  # type: ignore[valid-type]
        **more: Any,
    ) -> None: ...

    signature = inspect.signature(function, eval_str=True)
    bound = signature.bind(1, I32, 4, unset=None)
    assert abi.author_parameters(bound) == (
        AuthorParameter("a", "positional_only"),
        AuthorParameter("dtype", "positional_or_keyword", None, "Int32"),
        AuthorParameter("k", "positional_or_keyword", Default(3), "4"),
        AuthorParameter("mode", "positional_or_keyword", None, "Mode.FAST"),
        AuthorParameter("rest", "var_positional"),
        AuthorParameter("s", "keyword_only", Default(1.5)),
        AuthorParameter("unset", "keyword_only", None, "None"),
        AuthorParameter("odd", "keyword_only", None, "'\\ud800'"),
        AuthorParameter("more", "var_keyword"),
    )


# ---------------------------------------------------------------------------------------------------------
# For real


@cute.jit
def everything(
    a: cute.Tensor,
    b: cute.Tensor,
    s: F32,  # type: ignore[valid-type]
    pair: Any,
    shape: cute.Shape,  # type: ignore[valid-type]
    absent: Any = None,
    k: cutlass.Constexpr = 3,  # type: ignore[valid-type]
) -> None:
    """a[0] = s."""
    a[0] = s


def compiled(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Argument, ...]:
    bound = arguments.bind(Call(fn, args, kwargs, DeclaredOptions()))
    function = dsl.compile_function(fn, bound, name="name", arch=None, options="")
    bound.apply_defaults()
    return abi.Reader().arguments(function.recorded.params, bound.arguments)


def test_what_the_compiler_really_builds_is_read(tmp_path: Path) -> None:
    n, wide = sg.dim("n", divisible_by=4), sg.dim("wide", bits=64)
    found = compiled(
        everything,
        sg.tensor(F32, n, 8, device="cpu", align=16),
        sg.tensor(F32, wide, strides=(2,), device="cpu"),
        pair=Pair(sg.pointer(cutlass.Int8, align=8, device="cpu"), 0.5),
        shape=(4, I32),
    )
    by_name = {argument.name: argument.slot for argument in found}
    assert list(by_name) == ["a", "b", "s", "pair", "shape", "absent"]
    a, b = by_name["a"], by_name["b"]
    assert isinstance(a, TensorSlot)
    assert isinstance(b, TensorSlot)
    assert (a.dtype, a.device, a.alignment, a.shape[1]) == ("float32", "cpu", 16, 8)
    assert isinstance(a.shape[0], Symbol)
    assert (a.shape[0].bits, a.shape[0].divisible_by) == (32, 4)
    assert isinstance(b.shape[0], Symbol)
    assert (b.shape[0].bits, b.strides) == (64, (2,))
    assert by_name["s"] == ScalarSlot("float32")
    assert by_name["absent"] == NoneSlot()
    assert by_name["pair"] == TupleSlot(
        (PointerSlot("int8", 8, "cpu"), ScalarSlot("float32")), "Pair", ("x", "scale")
    )
    assert isinstance(by_name["shape"], ShapeSlot)
    assert by_name["shape"].extents[0] == 4

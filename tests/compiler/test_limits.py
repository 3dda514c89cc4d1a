"""What the DSL would answer with an internal error is found in the arguments; what compiles is let through.

That each of these rules is needed, and no more than that is refused, is tested with the compiler in
``e2e/test_diagnoses.py``.
"""

# ruff: noqa: PLW0108, UP006, UP007, UP035, UP045  # annotations of every age are tested

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple, Union

import cutlass
import pytest
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream, make_ptr

from stubgen.compiler.worker import limits, wording

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]

F32: Any = cutlass.Float32
I32: Any = cutlass.Int32
I64: Any = cutlass.Int64
CONSTEXPR: Any = cutlass.Constexpr
ENV, STREAM = make_fake_stream(use_tvm_ffi_env_stream=True), make_fake_stream()
N = cute.sym_int(32, symbol="n")
N64 = cute.sym_int(64, symbol="n64")
NAMELESS = cute.sym_int(32)


def _tensor(dtype: Any = F32, memspace: Any = cutlass.AddressSpace.generic) -> Any:
    return make_fake_compact_tensor(dtype, (N,), stride_order=(0,), memspace=memspace)


HOST, GPU = _tensor(), _tensor(memspace=cutlass.AddressSpace.gmem)
POINTER = make_ptr(F32, 16, cutlass.AddressSpace.gmem)


class Pair(NamedTuple):
    a: Any
    b: Any = None


class Typed(NamedTuple):
    a: cute.Tensor
    s: F32  # type: ignore[valid-type]


class Fixed(NamedTuple):
    a: Any
    k: CONSTEXPR[int]  # type: ignore[valid-type]


class Unresolved(NamedTuple):
    a: Missing
    s: F32  # type: ignore[valid-type]


@dataclasses.dataclass
class Data:
    a: Any
    k: CONSTEXPR[Any] = None  # type: ignore[valid-type]
    s: F32 = 1.0  # type: ignore[valid-type]


class Colour(enum.Enum):
    RED = 1


class _Private:
    pass


def found(function: Callable[..., Any], **values: Any) -> list[tuple[str, str | None, dict[str, object]]]:
    """Return the code, the parameter and the details of all that is found."""
    signature = inspect.signature(function, eval_str=True)
    return [(f.code, f.parameter, dict(f.details)) for f in limits.find(signature, values)]


def one(x): ...


def annotated(annotation: Any) -> Callable[..., Any]:
    """Make a function whose parameter has an annotation."""

    def function(x): ...

    function.__annotations__["x"] = annotation
    return function


ONE_EXTENT = "give a tuple, such as (12,), or cutlass.Int32 for one integer that the caller passes"
RUN_TIME = "give cutlass.Int32 or cutlass.Int64 for an integer that the caller passes"
FIELDS = "give its items parameters of their own, or make it a dataclass or a NamedTuple"
AS_CONSTEXPR = "annotate its parameter with cutlass.Constexpr to have the value compiled in"


# ---------------------------------------------------------------------------------------------------------
# What compiles


@pytest.mark.parametrize(
    "value",
    [
        *(None, 1, -(2**63), 2**63 - 1, 2.5, True, HOST, GPU, POINTER, N, NAMELESS, STREAM),
        *(F32(1.0), I32(1), I64(1), cutlass.Boolean(True), cutlass.Uint64(1), cutlass.BFloat16(1.0)),
        *((), [], (HOST, [GPU, (1, 2.5, None)]), Pair(HOST, (1,)), Pair(Pair(HOST)), Typed(HOST, F32(1.0))),
        *(Data(HOST), Data(HOST, 4), Data(HOST, 2.5), Data(HOST, True), Data((HOST, Data(GPU)), 2**63 - 1)),
        *(Fixed(HOST, None), Fixed(HOST, I32(4)), _tensor(cutlass.BFloat16), Unresolved(HOST, F32(1.0))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nothing_is_found_in_what_compiles(value: Any) -> None:
    assert found(one, x=value) == []


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        *((F32, 1), (F32, 2.5), (F32, True), (F32, F32(1.0)), (I32, 3), (I32, I32(3))),
        *((int, 3), (int, None), (float, 2.5), (float, None), (bool, True), (bool, None)),
        *((str, None), (Any, HOST), (cute.Tensor, HOST), (CONSTEXPR, object()), (CONSTEXPR[Any], {})),
        *((cute.Shape, (4, 8)), (cute.Shape, (4, I32(8))), (cute.Shape, (I32(4), (I64(8), I32(1))))),
        *((cute.Shape, None), (cute.Shape, I32(4)), (cute.Shape, ()), (cute.IntTuple, (4,))),
        *((tuple[cute.Tensor, F32], (HOST, 1.0)), (tuple[F32, I32], (F32(1.0), N)), (tuple, (HOST,) * 5)),
        *((tuple[I64, I32], (N64, N)), (tuple[F32, F32], (None, 1)), (list, [HOST]), (CUstream, ENV)),
        *((Optional[CUstream], None), (CUstream, STREAM)),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_nothing_is_found_in_what_fits_its_annotation(annotation: Any, value: Any) -> None:
    def beside(x, gpu): ...

    beside.__annotations__["x"] = annotation
    assert found(beside, x=value, gpu=GPU) == []


# ---------------------------------------------------------------------------------------------------------
# What does not


def missing(
    value: object, instead: str = AS_CONSTEXPR, where: str = "x"
) -> tuple[str, str, dict[str, object]]:
    return ("CS229", "x", {"where": where, "value": value, "instead": instead})


def shape(reason: str, instead: str = RUN_TIME, where: str = "x") -> tuple[str, str, dict[str, object]]:
    return ("CS227", "x", {"where": where, "reason": reason, "instead": instead})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", missing("'text'")),
        ("x" * 39, missing(f"'{'x' * 36}...")),
        ("x" * 38, missing(f"'{'x' * 38}'")),
        (object(), missing("an object")),
        (_Private(), missing("a Private")),
        (Colour.RED, missing("a Colour")),
        (Colour, missing(f"the type {__name__}.Colour")),
        (F32, missing("the type Float32")),
        (len, missing("len")),
        ({}, missing("a dict", FIELDS)),
        ({1}, missing("a set", FIELDS)),
        (frozenset(), missing("a frozenset", FIELDS)),
        (2**63, missing("9223372036854775808", "give one that fits into 64 bits")),
        (-(2**63) - 1, missing("-9223372036854775809", "give one that fits into 64 bits")),
        ((HOST, [{}]), missing("a dict", FIELDS, "x[1][0]")),
        (Pair(HOST, "b"), missing("'b'", where="x.b")),
        (Data((HOST, "b")), missing("'b'", where="x.a[1]")),
        (cutlass.Int4, ("CS231", "x", {"where": "x", "dtype": "Int4"})),
        ((HOST, cutlass.Float8E4M3FN), ("CS231", "x", {"where": "x[1]", "dtype": "Float8E4M3FN"})),
        (_tensor(cutlass.Int128), ("CS232", "x", {"where": "x", "dtype": "Int128"})),
        ((HOST, _tensor(cutlass.Int128)), ("CS232", "x", {"where": "x[1]", "dtype": "Int128"})),
        (Fixed(HOST, 4), ("CS224", "x", {"where": "x", "cls": "Fixed", "field": "k"})),
        ((HOST, Fixed(HOST, 4)), ("CS224", "x", {"where": "x[1]", "cls": "Fixed", "field": "k"})),
        (Pair(Data(HOST)), ("CS225", "x", {"where": "x.a", "cls": "Data", "outer": "Pair"})),
        (
            Data(Pair(1, (Data(HOST),))),
            ("CS225", "x", {"where": "x.a.b[0]", "cls": "Data", "outer": "Pair"}),
        ),
        (
            Data(HOST, "fast"),
            ("CS226", "x", {"where": "x", "cls": "Data", "field": "k", "value": "'fast'"}),
        ),
        (
            Data(HOST, 2**63),
            ("CS226", "x", {"where": "x", "cls": "Data", "field": "k", "value": str(2**63)}),
        ),
        (
            (Data(HOST, F32),),
            ("CS226", "x", {"where": "x[0]", "cls": "Data", "field": "k", "value": "Float32"}),
        ),
        (
            Data(HOST, None, "x"),
            ("CS230", "x", {"where": "x.s", "value": "'x'", "annotation": "Float32"}),
        ),
        (
            Data(HOST, None, I32(1)),
            ("CS230", "x", {"where": "x.s", "value": "a Int32", "annotation": "Float32"}),
        ),
        (
            Unresolved(HOST, "x"),
            missing("'x'", where="x.s"),
        ),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, tuple) else type(value).__name__,
)
def test_values_that_cannot_be_passed(value: Any, expected: tuple[str, str, dict[str, object]]) -> None:
    assert found(one, x=value) == [expected]


def test_every_wrong_item_is_found_and_only_the_outermost_reason() -> None:
    assert found(one, x=(HOST, "a", ("b", {}), Data("c", "d"))) == [
        missing("'a'", where="x[1]"),
        missing("'b'", where="x[2][0]"),
        missing("a dict", FIELDS, "x[2][1]"),
        ("CS226", "x", {"where": "x[3]", "cls": "Data", "field": "k", "value": "'d'"}),
    ]


@pytest.mark.parametrize(
    ("annotation", "value", "code", "details"),
    [
        (F32, "x", "CS230", {"value": "'x'", "annotation": "Float32"}),
        (F32, I64(1), "CS230", {"value": "a Int64", "annotation": "Float32"}),
        (F32, N, "CS230", {"value": "the size n", "annotation": "Float32"}),
        (F32, NAMELESS, "CS230", {"value": "a symbolic size", "annotation": "Float32"}),
        (F32, None, "CS230", {"value": "None", "annotation": "Float32"}),
        (F32, HOST, "CS230", {"value": "a tensor", "annotation": "Float32"}),
        (
            cute.Pointer,
            HOST,
            "CS311",
            {"value": "a tensor", "annotation": "cute.Pointer", "helper": "sg.pointer(...)"},
        ),
        (cute.Pointer, 3, "CS311", {"value": "3", "annotation": "cute.Pointer", "helper": "sg.pointer(...)"}),
        (
            cute.Tensor,
            2.5,
            "CS311",
            {"value": "2.5", "annotation": "cute.Tensor", "helper": "sg.tensor(...)"},
        ),
        (
            cute.Tensor,
            F32(1.0),
            "CS311",
            {"value": "a Float32", "annotation": "cute.Tensor", "helper": "sg.tensor(...)"},
        ),
        (int, 2.5, "CS230", {"value": "2.5", "annotation": "int"}),
        (float, "x", "CS230", {"value": "'x'", "annotation": "float"}),
        (bool, 1, "CS230", {"value": "1", "annotation": "bool"}),
        (cutlass.Int4, 1, "CS231", {"dtype": "Int4"}),
        (cutlass.Int4, 2.5, "CS231", {"dtype": "Int4"}),
        (
            tuple[F32, F32],
            (1.0, HOST),
            "CS230",
            {"where": "x[1]", "value": "a tensor", "annotation": "Float32"},
        ),
        (
            tuple[F32, F32],
            (N, 1.0),
            "CS230",
            {"where": "x[0]", "value": "the size n", "annotation": "Float32"},
        ),
        (tuple[I64], (N,), "CS230", {"where": "x[0]", "value": "the size n", "annotation": "Int64"}),
        (tuple[I32], (N64,), "CS230", {"where": "x[0]", "value": "the size n64", "annotation": "Int32"}),
        (Tuple[F32, ...], (1.0,), "CS228", {"annotation": "Tuple[Float32, ...]", "count": "1 item"}),
        (Tuple[F32, ...], (1.0,) * 3, "CS228", {"annotation": "Tuple[Float32, ...]", "count": "3 items"}),
        (
            Tuple[F32],
            [1.0, 2.0],
            "CS312",
            {"annotation": "Tuple[Float32]", "count": "2 items", "expected": "1 item"},
        ),
        (
            tuple[F32, F32],
            (1.0,),
            "CS312",
            {"annotation": "tuple[Float32, Float32]", "count": "1 item", "expected": "2 items"},
        ),
        (
            tuple[F32, F32],
            (),
            "CS312",
            {"annotation": "tuple[Float32, Float32]", "count": "0 items", "expected": "2 items"},
        ),
        (Optional[CUstream], STREAM, "CS222", {"annotation": "Optional[CUstream]"}),
        (Union[CUstream, int], ENV, "CS222", {"annotation": "Union[CUstream, int]"}),
        (CUstream | None, ENV, "CS222", {"annotation": "CUstream | None"}),
        (cute.Shape, 12, "CS227", {"reason": "is 12, which is no tuple", "instead": ONE_EXTENT}),
        (cute.Shape, N, "CS227", {"reason": "is the size n, which is no tuple", "instead": ONE_EXTENT}),
        (cute.Shape, (4, N), "CS227", {"reason": "holds the size n", "instead": RUN_TIME}),
        (cute.Shape, (4, (None, 1)), "CS227", {"reason": "holds None", "instead": RUN_TIME}),
        (cute.Shape, (F32(1.0),), "CS227", {"reason": "holds a Float32", "instead": RUN_TIME}),
        (
            cute.Shape,
            ((I32(4), I32(2)), 3),
            "CS227",
            {"reason": "has a fixed extent, which a nested one cannot have", "instead": RUN_TIME},
        ),
        (
            cute.Shape,
            (((I32(4),), I32(3)), I32(2)),
            "CS227",
            {"reason": "is nested more than once", "instead": "flatten it"},
        ),
        (
            tuple[cute.Shape],
            ((4, I32(1)),),
            "CS227",
            {
                "where": "x[0]",
                "reason": "has a fixed extent, which a shape inside a container cannot have",
                "instead": RUN_TIME,
            },
        ),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_values_that_their_annotation_does_not_fit(
    annotation: Any, value: Any, code: str, details: dict[str, object]
) -> None:
    def beside(x, gpu): ...

    beside.__annotations__["x"] = annotation
    expected = {"where": "x", **details}
    assert [item[1:] for item in found(beside, x=value, gpu=GPU) if item[0] == code] == [("x", expected)]
    assert len(found(beside, x=value, gpu=GPU)) == 1


# ---------------------------------------------------------------------------------------------------------
# Streams of the environment


def two(a, stream): ...


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": GPU, "stream": ENV}, []),
        ({"a": (HOST, [GPU]), "stream": ENV}, []),
        ({"a": Data((Pair(GPU),)), "stream": ENV}, []),
        ({"a": HOST, "stream": STREAM}, []),
        ({"a": HOST, "stream": ENV}, [("CS221", "stream", {"where": "stream"})]),
        ({"a": (HOST,), "stream": ENV}, [("CS221", "stream", {"where": "stream"})]),
        ({"a": POINTER, "stream": ENV}, [("CS221", "stream", {"where": "stream"})]),
        (
            {"a": GPU, "stream": (GPU, ENV)},
            [("CS220", "stream", {"where": "stream[1]", "container": "tuple"})],
        ),
        ({"a": GPU, "stream": [ENV]}, [("CS220", "stream", {"where": "stream[0]", "container": "list"})]),
        (
            {"a": GPU, "stream": Pair(1, ENV)},
            [("CS220", "stream", {"where": "stream.b", "container": "Pair"})],
        ),
        (
            {"a": GPU, "stream": Data((ENV,))},
            [("CS220", "stream", {"where": "stream.a[0]", "container": "tuple"})],
        ),
        ({"a": GPU, "stream": (STREAM,)}, []),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
def test_streams_of_the_environment(values: dict[str, Any], expected: list[Any]) -> None:
    assert found(two, **values) == expected


# ---------------------------------------------------------------------------------------------------------
# Parameters


def test_defaults_and_variadic_arguments_are_looked_at_too() -> None:
    def defaulted(a, b="text", *rest, c=None, d: CONSTEXPR = "constant", **more): ...  # type: ignore[valid-type]

    assert found(defaulted, a=HOST, b=1) == []
    assert found(defaulted, a=HOST) == [
        ("CS229", "b", {"where": "b", "value": "'text'", "instead": AS_CONSTEXPR})
    ]
    assert found(defaulted, a=HOST, b=1, more={"e": "x", "f": 1}) == [
        ("CS229", "more", {"where": "e", "value": "'x'", "instead": AS_CONSTEXPR})
    ]
    assert found(defaulted, a=HOST, b=1, rest=()) == []
    assert found(defaulted, a=HOST, b=1, rest=(HOST, "x")) == [
        ("CS236", "rest", {"before": "b"}),
        ("CS229", "rest", {"where": "rest[1]", "value": "'x'", "instead": AS_CONSTEXPR}),
    ]


def test_variadic_arguments_may_follow_what_has_no_default_or_is_constant() -> None:
    def fine(a, k: CONSTEXPR = 3, *rest, s=1.0): ...  # type: ignore[valid-type]

    assert found(fine, a=HOST, rest=(HOST,)) == []


def test_names_that_wrappers_use_themselves() -> None:
    def internal(a, __i_target_func): ...

    assert found(internal, a=HOST, __i_target_func=HOST) == [("CS235", "__i_target_func", {})]


def test_an_unbound_self_is_no_argument_but_a_parameter_of_that_name_is() -> None:
    def method(self, a): ...

    assert found(method, self=_Private(), a=HOST) == []
    assert found(method, self=(HOST, "x"), a=HOST) == [
        ("CS229", "self", {"where": "self[1]", "value": "'x'", "instead": AS_CONSTEXPR})
    ]

    def other(this, a): ...

    assert found(other, this=_Private(), a=HOST) == [
        ("CS229", "this", {"where": "this", "value": "a Private", "instead": AS_CONSTEXPR})
    ]


def test_a_library_that_converts_arguments_itself_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    import cutlass.cute._tvm_ffi_args_spec_converter as converter

    own = converter._convert_single_arg
    monkeypatch.setattr(converter, "_convert_single_arg", lambda *given: own(*given))
    assert found(one, x="text") == []

    def internal(__i_target_func): ...

    assert found(internal, __i_target_func="text") == [("CS235", "__i_target_func", {})]


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (F32, "Float32"),
        (int, "int"),
        (Tuple[cute.Tensor, ...], "Tuple[Tensor, ...]"),
        (Optional[CUstream], "Optional[CUstream]"),
        (tuple[int, F32], "tuple[int, Float32]"),
    ],
)
def test_annotations_are_shown_without_modules(annotation: Any, text: str) -> None:
    assert wording.shown_type(annotation) == text

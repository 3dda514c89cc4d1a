"""What the helpers cannot mean is said in full, and what they can mean is let through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cutlass
import pytest
from cutlass import cute

import stubgen as sg
from stubgen.compiler.worker import checks
from stubgen.declare.arguments import Dim, PointerArg, StridedArg, TensorArg
from stubgen.declare.declarations import Options
from stubgen.declare.gradients import Gradients
from stubgen.declare.labels import DeclarationError
from stubgen.model.effects import Backward, Effects

F32 = cutlass.Float32
N = sg.dim("n")


def tensor(*shape: Any, dtype: Any = F32, **options: Any) -> TensorArg:
    return sg.tensor(dtype, *shape, **options)


def found(check: Callable[[Any], None], arg: Any) -> tuple[str, ...]:
    """Return all that is wrong; nothing if nothing is."""
    try:
        check(arg)
    except DeclarationError as error:
        return tuple(map(str, error.args))
    return ()


NO_TYPE = "{} is no element type; use one such as cutlass.Float32"
NO_EXTENT = "{} is no extent; give an integer or stubgen.dim(...)"
SMALL_EXTENT = "{} is no extent; it must be at least 1 and fit into 64 bits"
NO_DEVICE = "device is {}; it must be 'cuda' or 'cpu'"


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        (tensor(), []),
        (tensor(1), []),
        (tensor(N, 4), []),
        (tensor(2**63 - 1), []),
        (tensor(cute.sym_int(32), 4), []),
        (tensor(N, device="cpu"), []),
        (tensor(N, align=4), []),
        (tensor(N, align=128), []),
        (tensor(N, align=1, dtype=cutlass.Int8), []),
        (tensor(N, align=1, dtype=cutlass.Float4E2M1FN), []),
        (tensor(N, 4, strides=(4, 1)), []),
        (tensor(N, 4, strides=[0, cute.sym_int(64)]), []),
        (tensor(N, 4, strides=(N, 1)), []),
        (tensor(strides=()), []),
        (tensor(N, 4, order=(0, 1)), []),
        (tensor(N, 4, order=[1, 0]), []),
        (tensor(2, 3, 4, order=(2, 0, 1)), []),
        (tensor(dtype="float32"), [NO_TYPE.format("'float32'")]),
        (tensor(dtype=int), [NO_TYPE.format("int")]),
        (tensor(dtype=N), [NO_TYPE.format("stubgen.dim('n')")]),
        (tensor(dtype=(N, 4, "x")), [NO_TYPE.format("(stubgen.dim('n'), 4, 'x')")]),
        (tensor(dtype=cutlass.Numeric), [NO_TYPE.format("Numeric")]),
        (tensor(dtype=cutlass.Integer), [NO_TYPE.format("Integer")]),
        (tensor(0), [SMALL_EXTENT.format(0)]),
        (tensor(-1), [SMALL_EXTENT.format(-1)]),
        (tensor(2**63), [SMALL_EXTENT.format(2**63)]),
        (tensor(True), [NO_EXTENT.format("True")]),
        (tensor(2.5), [NO_EXTENT.format("2.5")]),
        (tensor("n", (N,), F32), [NO_EXTENT.format(e) for e in ("'n'", "(stubgen.dim('n'))", "Float32")]),
        (tensor(N, device="gpu"), [NO_DEVICE.format("'gpu'")]),
        (tensor(N, device=None), [NO_DEVICE.format("None")]),
        (tensor(N, align=0), ["align=0 is no power of two"]),
        (tensor(N, align=-4), ["align=-4 is no power of two"]),
        (tensor(N, align=6), ["align=6 is no power of two"]),
        (tensor(N, align=True), ["align=True is no power of two"]),
        (tensor(N, align="16"), ["align='16' is no power of two"]),
        (tensor(N, align=2), ["align=2 is less than an element takes, 4 bytes"]),
        (tensor(N, align=4, dtype=cutlass.Float64), ["align=4 is less than an element takes, 8 bytes"]),
        (tensor(N, strides=(1, 2)), ["it has 2 strides for 1 dimension"]),
        (tensor(N, 4, strides=(1,)), ["it has 1 stride for 2 dimensions"]),
        (tensor(strides=(1,)), ["it has 1 stride for 0 dimensions"]),
        (tensor(N, strides=1), ["strides=1 is no tuple"]),
        (tensor(N, strides=(-1,)), ["-1 is no stride; it must be at least 0 and fit into 64 bits"]),
        (tensor(N, strides=(2**63,)), [f"{2**63} is no stride; it must be at least 0 and fit into 64 bits"]),
        (tensor(N, strides=("x",)), ["'x' is no stride; give an integer or stubgen.dim(...)"]),
        (tensor(N, strides=(1,), order=(0,)), ["it has both strides and order; give one of them"]),
        (tensor(N, 4, order=(0, 0)), ["order=(0, 0) is no permutation of (0, 1)"]),
        (tensor(N, 4, order=(0, 1, 2)), ["order=(0, 1, 2) is no permutation of (0, 1)"]),
        (tensor(N, 4, order=(1, 2)), ["order=(1, 2) is no permutation of (0, 1)"]),
        (tensor(N, 4, order=(False, True)), ["order=(False, True) is no permutation of (0, 1)"]),
        (tensor(N, 4, order=("a", "b")), ["order=('a', 'b') is no permutation of (0, 1)"]),
        (tensor(N, 4, order=1), ["order=1 is no permutation of (0, 1)"]),
        (
            tensor(0, dtype=int, align=3, device="x"),
            [
                NO_TYPE.format("int"),
                "align=3 is no power of two",
                NO_DEVICE.format("'x'"),
                SMALL_EXTENT.format(0),
            ],
        ),
    ],
)
def test_tensors(arg: TensorArg, expected: list[str]) -> None:
    assert found(checks.tensor, arg) == tuple(expected)


def strided(*shape: Any, dtype: Any = F32, **options: Any) -> StridedArg:
    return sg.strided(dtype, *shape, **options)


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        (strided(N), []),
        (strided(N, 4, vector=8, unit=None), []),
        (strided(N, 4, unit=0), []),
        (strided(N, 4, unit=1), []),
        (strided(N, 4, unit=-2), []),
        (strided(N, vector=1), []),
        (strided(N, 4, unit=2), ["unit=2 is none of its 2 dimensions"]),
        (strided(N, 4, unit=-3), ["unit=-3 is none of its 2 dimensions"]),
        (strided(N, unit=1), ["unit=1 is none of its 1 dimension"]),
        (strided(N, unit=True), ["unit=True is none of its 1 dimension"]),
        (strided(N, unit="x"), ["unit='x' is none of its 1 dimension"]),
        (strided(N, 4, vector=4, align=16), []),
        (strided(N, 4, vector=4, align=32, bits=32), []),
        (strided(N, 4, vector=4, align=8), ["align=8 is less than a vector takes, 16 bytes"]),
        (strided(N, align=3), ["align=3 is no power of two", "align=3 is less than a vector takes, 4 bytes"]),
        (strided(N, bits=16), ["it has bits=16; it must be 32 or 64"]),
        (strided(N, vector=0), ["vector=0 is no power of two"]),
        (strided(N, vector=3), ["vector=3 is no power of two"]),
        (strided(N, vector=-2), ["vector=-2 is no power of two"]),
        (strided(N, vector=True), ["vector=True is no power of two"]),
        (strided(N, vector=2.0), ["vector=2.0 is no power of two"]),
        (strided(), ["it has no dimension; use stubgen.tensor for a 0-d tensor"]),
        (strided(0), [SMALL_EXTENT.format(0)]),
        (strided(N, dtype="f", device=1), [NO_TYPE.format("'f'"), NO_DEVICE.format(1)]),
    ],
)
def test_strided_tensors(arg: StridedArg, expected: list[str]) -> None:
    assert found(checks.strided, arg) == tuple(expected)


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        (sg.pointer(F32), []),
        (sg.pointer(F32, align=16), []),
        (sg.pointer(F32, device="cpu"), []),
        (sg.pointer("x"), [NO_TYPE.format("'x'")]),
        (sg.pointer(F32, align=2), ["align=2 is less than an element takes, 4 bytes"]),
        (sg.pointer(F32, align=3, device="x"), ["align=3 is no power of two", NO_DEVICE.format("'x'")]),
    ],
)
def test_pointers(arg: PointerArg, expected: list[str]) -> None:
    assert found(checks.pointer, arg) == tuple(expected)


@pytest.mark.parametrize(
    ("arg", "expected"),
    [
        (Dim("n"), []),
        (Dim("n", 8, 64), []),
        (Dim("_n1"), []),
        (Dim("no good"), ["a dim is called 'no good', which is no identifier"]),
        (Dim("größe"), ["a dim is called 'größe', which is no identifier"]),
        (Dim(3), ["a dim is called 3, which is no identifier"]),  # type: ignore[arg-type]
        (Dim("n", 0), ["dim n has divisible_by=0; it must be a positive integer"]),
        (Dim("n", True), ["dim n has divisible_by=True; it must be a positive integer"]),
        (Dim("n", 2.0), ["dim n has divisible_by=2.0; it must be a positive integer"]),  # type: ignore[arg-type]
        (Dim("n", 1, 16), ["dim n has bits=16; it must be 32 or 64"]),  # type: ignore[arg-type]
    ],
)
def test_dims(arg: Dim, expected: list[str]) -> None:
    assert found(checks.dim, arg) == tuple(expected)


# ---------------------------------------------------------------------------------------------------------
# Effects

BACKWARD = sg.backward("f_backward", grads={"out": "dout"}, gives={"x": "dx"})
OF_MODEL = Backward("f_backward", {"out": "dout"}, {"x": "dx"})


def effects(**declared: Any) -> Effects:
    return checks.effects(Options(**declared))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, Effects()),
        ({"mutates": "out"}, Effects(("out",))),
        ({"mutates": ["a", "b"]}, Effects(("a", "b"))),
        ({"returns": ("out",)}, Effects(("out",), ("out",))),
        ({"mutates": "a", "returns": "out"}, Effects(("a", "out"), ("out",))),
        ({"mutates": ("a", "out"), "returns": ("b", "out")}, Effects(("a", "out", "b"), ("b", "out"))),
        ({"returns": "out", "backward": BACKWARD}, Effects(("out",), ("out",), OF_MODEL)),
    ],
)
def test_effects_are_what_is_declared(declared: dict[str, Any], expected: Effects) -> None:
    assert effects(**declared) == expected


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"mutates": 3}, 'mutates=3 is no tuple of names of parameters, such as ("out",)'),
        ({"returns": (3,)}, 'returns=(3,) is no tuple of names of parameters, such as ("out",)'),
        ({"returns": {"out"}}, "returns={'out'} is no tuple of names of parameters, such as (\"out\",)"),
        ({"mutates": ("a", "a")}, "mutates=('a', 'a') names a parameter twice"),
        ({"backward": BACKWARD}, "it has backward= without returns=; only what is returned has a gradient"),
        ({"returns": "out", "backward": "f"}, "backward='f'; write stubgen.backward(...)"),
        (
            {"returns": "out", "backward": Gradients(len, {}, {})},  # type: ignore[arg-type]
            "backward names <built-in function len>; give the name of an export or family",
        ),
        (
            {"returns": "out", "backward": Gradients("f", ["a"], {})},  # type: ignore[arg-type]
            "backward has grads=['a']; give a dict from name to name",
        ),
        (
            {"returns": "out", "backward": Gradients("f", {}, {"x": 3})},  # type: ignore[dict-item]
            "backward has gives={'x': 3}; give a dict from name to name",
        ),
        (
            {"returns": "out", "backward": Gradients("f", {}, {3: "x"})},  # type: ignore[dict-item]
            "backward has gives={3: 'x'}; give a dict from name to name",
        ),
    ],
)
def test_wrong_effects_are_refused(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        effects(**declared)
    assert caught.value.args == (message,)

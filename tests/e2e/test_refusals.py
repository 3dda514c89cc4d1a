"""What a refused call says: the parameter as its author called it, what was passed, and what it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_stubgen

KERNELS = """
from dataclasses import dataclass
from typing import NamedTuple

import cutlass
import stubgen as sg
from cutlass import cute


class Scaled(NamedTuple):
    values: cute.Tensor
    scale: cutlass.Float32


@dataclass
class Operands:
    left: Scaled
    pair: tuple[cute.Tensor, cutlass.Int8]
    power: cutlass.Constexpr[int] = 3


@cute.jit
def numbers(
    half: cutlass.Float16,
    brain: cutlass.BFloat16,
    single: cutlass.Float32,
    double: cutlass.Float64,
    flag: cutlass.Boolean,
    small: cutlass.Int8,
    natural: cutlass.Uint32,
    eights,
    out: cute.Tensor,
):
    out[0] = cutlass.Float64(half.to(cutlass.Float32))
    out[1] = cutlass.Float64(brain.to(cutlass.Float32))
    out[2] = cutlass.Float64(single)
    out[3] = double
    out[4] = cutlass.Float64(cutlass.Int32(flag))
    out[5] = cutlass.Float64(small)
    out[6] = cutlass.Float64(natural)
    out[7] = cutlass.Float64(eights)


@cute.jit
def total(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    out[0] = cutlass.Float32(0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[0] = out[0] + x[i, j] * y[i, j]


@cute.jit
def nested(operands: Operands, größe: cutlass.Int32, out: cute.Tensor):
    out[0] = operands.left.values[0] * operands.left.scale + operands.pair[0][0] + cutlass.Float32(größe)


@cute.jit
def shaped(shape: cute.Shape, p: cute.Pointer, none: cute.Tensor | None, out: cute.Tensor):
    out[0] = cutlass.Float32(shape[0] + shape[1])


f32, cpu = cutlass.Float32, {"device": "cpu"}
m, n = sg.dim("m"), sg.dim("n", divisible_by=4)
one = sg.tensor(f32, 1, **cpu)
vector = sg.tensor(f32, sg.dim("k"), **cpu)
sg.export(
    numbers, cutlass.Float16(0), cutlass.BFloat16(0), f32(0), cutlass.Float64(0), cutlass.Boolean(0),
    cutlass.Int8(0), cutlass.Uint32(0), sg.dim("eights", divisible_by=8),
    sg.tensor(cutlass.Float64, 8, **cpu),
)
sg.export(total, sg.tensor(f32, m, n, align=16, **cpu), sg.strided(f32, m, n, **cpu), one)
sg.export(nested, Operands(Scaled(vector, f32(1)), (vector, cutlass.Int8(1))), cutlass.Int32, one)
sg.export(shaped, (4, cutlass.Int32(1)), sg.pointer(f32, device="cpu"), None, one)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "calls.py").write_text(KERNELS)
    (folder / "pyproject.toml").write_text("[tool.cute-stubgen]\n")
    done = run_stubgen("generate", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


SETUP = """
import math
import numpy as np, torch
from cute_kernels import calls
from tests.fuzz.arguments import Tensor
from tests.fuzz.producers import Capsule

def t(*shape, dtype=np.float32, offset=0):
    whole = np.zeros(math.prod(shape) * 8 + 64, np.uint8)
    start = -whole.ctypes.data % 64 + offset
    return whole[start : start + math.prod(shape) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)

NULL = lambda *shape: Capsule(0, Tensor("float32", shape, (shape[-1], 1)[-len(shape) :], 0), "capsule")
fine = [0.5, 1.5, 2.5, 3.5, True, 1, 2, 8, t(8, dtype=np.float64)]
out, x, y = t(1), t(2, 4), t(2, 4)
k = t(3)

def told(function, *arguments):
    try:
        function(*arguments)
    except (TypeError, ValueError) as error:
        kind, text = type(error).__name__, str(error).splitlines()[0]
        what, _, signature = text.partition(" when calling: ")
        assert signature.startswith(f"`{function.__name__}(") and signature.endswith(")`"), text
        return f"{kind}: {what}"
    return "accepted"

def number(position, value):
    return told(calls.numbers, *fine[:position], value, *fine[position + 1 :])
"""

ACUTES = ("(" + ('"' + "é" * 30 + '", ') * 99).encode()[:512].decode(errors="ignore")

REFUSED = {
    # Numbers
    "number(0, 65520.0)": "ValueError: half is 65520.0, expected a number that float16 holds",
    "number(0, 65520)": "ValueError: half is 65520, expected a number that float16 holds",
    "number(0, -70000)": "ValueError: half is -70000, expected a number that float16 holds",
    "number(1, -1e39)": "ValueError: brain is -1e+39, expected a number that bfloat16 holds",
    "number(2, 1e300)": "ValueError: single is 1e+300, expected a number that float32 holds",
    "number(2, 3.5e38)": "ValueError: single is 3.5e+38, expected a number that float32 holds",
    "number(2, '1')": 'TypeError: single is "1", expected a number',
    "number(2, 10**30)": "TypeError: single is an integer of more than 64 bits, expected a number",
    "number(2, None)": "TypeError: single is None, expected a number",
    "number(4, 2)": "ValueError: flag is 2, expected a bool",
    "number(4, -1)": "ValueError: flag is -1, expected a bool",
    "number(4, 1.0)": "TypeError: flag is 1.0, expected a bool",
    "number(5, 128)": "ValueError: small is 128, expected int8, from -128 to 127",
    "number(5, 1.5)": "TypeError: small is 1.5, expected an integer",
    "number(6, -1)": "ValueError: natural is -1, expected uint32, from 0 to 4294967295",
    "number(6, 2**32)": "ValueError: natural is 4294967296, expected uint32, from 0 to 4294967295",
    "number(7, 12)": "ValueError: eights is 12, expected a multiple of 8",
    "told(calls.numbers, *fine[:3])": (
        "TypeError: Expects 9 parameters "
        "(half, brain, single, double, flag, small, natural, eights, out), got 3"
    ),
    # Tensors
    "told(calls.total, 1, y, out)": "TypeError: x is 1, expected a tensor",
    "told(calls.total, x, t(2, 4, dtype=np.float64), out)": (
        "ValueError: y is Tensor([2, 4], float64, CPU), expected dtype float32"
    ),
    "told(calls.total, x, t(8), out)": "ValueError: y is Tensor([8], float32, CPU), expected 2 dimensions",
    "told(calls.total, x, t(3, 4), out)": (
        "ValueError: y.shape[0] is 3, but m is 2 from x.shape[0]; y is Tensor([3, 4], float32, CPU)"
    ),
    "told(calls.total, t(2, 6), y, out)": (
        "ValueError: x.shape[1] is 6, expected a multiple of 4; x is Tensor([2, 6], float32, CPU)"
    ),
    "told(calls.total, x, y, t(2))": (
        "ValueError: out.shape[0] is 2, expected 1; out is Tensor([2], float32, CPU)"
    ),
    "told(calls.total, t(2, 4, offset=4), y, out)": (
        "ValueError: x is Tensor([2, 4], float32, CPU, 4-byte aligned), expected its data aligned to 16 bytes"
    ),
    "told(calls.total, x, t(2, 8)[:, ::2], out)": (
        "ValueError: y.strides[1] is 2, expected 1; y is Tensor([2, 4], float32, strides [8, 2], CPU)"
    ),
    "told(calls.total, NULL(2, 4), y, out)": (
        "ValueError: x is Tensor([2, 4], float32, CPU) without memory: the address of its data is NULL"
    ),
    "told(calls.total, x, y, NULL(1))": (
        "ValueError: out is Tensor([1], float32, CPU) without memory: the address of its data is NULL"
    ),
    # Fields and items
    "told(calls.nested, ((k, 1.0), (k, 1), 3), 1.5, out)": "TypeError: größe is 1.5, expected an integer",
    "told(calls.nested, (k, (k, 1), 3), 1, out)": (
        "TypeError: operands.left is Tensor([3], float32, CPU), expected a tuple"
    ),
    "told(calls.nested, ((k, 1e39), (k, 1), 3), 1, out)": (
        "ValueError: operands.left.scale is 1e+39, expected a number that float32 holds"
    ),
    "told(calls.nested, ((k, 1.0), (t(4), 1), 3), 1, out)": (
        "ValueError: operands.pair[0].shape[0] is 4, but k is 3 from operands.left.values.shape[0]; "
        "operands.pair[0] is Tensor([4], float32, CPU)"
    ),
    "told(calls.nested, ((k, 1.0), (k, 1000), 3), 1, out)": (
        "ValueError: operands.pair[1] is 1000, expected int8, from -128 to 127"
    ),
    "told(calls.nested, ((NULL(3), 1.0), (k, 1), 3), 1, out)": (
        "ValueError: operands.left.values is Tensor([3], float32, CPU) without memory: "
        "the address of its data is NULL"
    ),
    "told(calls.nested, ((k, 1.0), (k, 1), 4), 1, out)": (
        "ValueError: operands.power is 4, expected 3, which the function was compiled with"
    ),
    "told(calls.nested, ((k, 1.0), (k, 1)), 1, out)": (
        "ValueError: operands is ((Tensor([3], float32, CPU), 1.0), (Tensor([3], float32, CPU), 1)), "
        "expected a tuple of 3 items"
    ),
    # Shapes, pointers, None
    "told(calls.shaped, (4, 1, 2), 0, None, out)": "ValueError: shape is (4, 1, 2), expected 2 integers",
    # What is long is not shown to its end, so that the rest is said.
    "told(calls.shaped, (4,) * 9999, 0, None, out)": (
        f"ValueError: shape is {('(' + '4, ' * 9999)[:512]}..., expected 2 integers"
    ),
    "told(calls.shaped, ('é' * 30,) * 9999, 0, None, out)": (
        f"ValueError: shape is {ACUTES}..., expected 2 integers"
    ),
    "told(calls.shaped, (5, 1), 0, None, out)": "ValueError: shape[0] is 5, expected 4; shape is (5, 1)",
    "told(calls.shaped, (4, 2**40), 0, None, out)": (
        "ValueError: shape[1] is 1099511627776, expected an int32, from -2147483648 to 2147483647; "
        "shape is (4, 1099511627776)"
    ),
    "told(calls.shaped, (4, 1), k, None, out)": (
        "TypeError: p is Tensor([3], float32, CPU), expected an address"
    ),
    "told(calls.shaped, (4, 1), 0, k, out)": "TypeError: none is Tensor([3], float32, CPU), expected None",
}

ACCEPTED = {
    "number(0, 65519.0)": 65504.0,
    "number(0, math.inf)": float("inf"),
    "number(1, 3.38e38)": 3.380e38,
    "number(1, -math.inf)": float("-inf"),
    "number(2, 3.4028235677973362e38)": 3.4028234663852886e38,
    "number(2, 2**40)": 2.0**40,
    "number(3, 1e300)": 1e300,
    "number(4, 0)": 0.0,
    "number(4, np.bool_(1))": 1.0,
    "number(4, np.False_)": 0.0,
    "number(4, True)": 1.0,
    "number(5, True)": 1.0,
}


def evaluated(folder: Path, *expressions: str) -> list[str]:
    code = SETUP + "".join(f"print({expression})\n" for expression in expressions)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        env={"PYTHONPATH": f"{folder}/generated:.", "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_refusals_name_the_parameter_what_was_passed_and_what_it_takes(folder: Path) -> None:
    assert dict(zip(REFUSED, evaluated(folder, *REFUSED), strict=True)) == REFUSED


def test_numbers_arrive_as_their_type_holds_them(folder: Path) -> None:
    arrived = [f"{call} and fine[-1][{call[7]}]" for call in ACCEPTED]
    values = map(float, evaluated(folder, *arrived))
    for (call, expected), value in zip(ACCEPTED.items(), values, strict=True):
        assert value == pytest.approx(expected, rel=1e-2 if call[7] == "1" else 0), call
    nan = evaluated(folder, *(f"number({i}, math.nan) and fine[-1][{i}]" for i in range(4)))
    assert nan == ["nan"] * 4


def test_tensors_without_elements_need_no_memory(folder: Path) -> None:
    assert evaluated(
        folder,
        "told(calls.total, NULL(0, 4), t(0, 4), out)",
        "told(calls.total, torch.zeros(0, 4), y[:0], out)",
    ) == ["accepted", "accepted"]


def test_tensors_that_frameworks_have_no_memory_for_are_refused(folder: Path) -> None:
    code = """
class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, like):
        return torch.Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype)
    __torch_dispatch__ = classmethod(lambda *_, **__: None)

from torch._subclasses import FakeTensorMode
fake = FakeTensorMode().from_tensor(torch.zeros(2, 4))
freed = torch.zeros(2, 4)
freed.untyped_storage().resize_(0)
zero = torch._efficientzerotensor(2, 4)
for tensor in (Wrapper(torch.zeros(2, 4)), fake, freed, zero):
    try:
        calls.total(x, tensor, out)
    except (TypeError, ValueError, RuntimeError) as error:
        print("refused")
"""
    assert evaluated(folder, f"exec({code!r}) or ''") == ["refused"] * 4 + [""]


def test_keywords_of_functions_that_take_none_are_refused_with_where_to_go(folder: Path) -> None:
    code = """
import traceback
for arguments, keywords in (((x, y), {"out": out}), ((), {"ot": out}), ((x, y, out), {"causal": True})):
    try:
        calls.total(*arguments, **keywords)
    except TypeError as error:
        print(error, len(traceback.extract_tb(error.__traceback__)))
calls.total(x, y, out, **{})
"""
    assert evaluated(folder, f"exec({code!r}) or 'empty ones are none'") == [
        "total() takes 'out' by position only; cute_kernels.kwargs.calls.total takes it by keyword 1",
        "total() has no parameter 'ot'; did you mean 'out'? 1",
        "total() has no parameter 'causal' 1",
        "empty ones are none",
    ]

"""GEMMs of nvidia-cutlass-operators, through the package that its example builds, against float64 on a GPU.

Needs ``PYTHONPATH=examples/cutlass_operators/generated`` and neither that library nor the DSL. Build it with
``cute-stubgen generate -C examples/cutlass_operators --arch sm_90a``.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("operators_aot", reason="examples/cutlass_operators is not built, or not on the path")

from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402  (after the checks for what they need)

SHAPES = [(1, 16, 16), (127, 48, 80), (128, 256, 64), (300, 528, 1040), (2048, 1024, 2048)]

each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
each_dtype = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])


@pytest.fixture
def gemm():
    from operators_aot import gemm  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    return gemm


@each_shape
@each_dtype
@pytest.mark.parametrize("b_major", ["k", "n"])
def test_gemm(gemm, memory, comparison, b_major, dtype, shape):
    m, n, k = shape
    dtype = getattr(torch, dtype)
    a, out = memory.randn(m, k, dtype=dtype), memory.output(m, n, dtype=dtype)
    b = memory.randn(n, k, dtype=dtype).mT if b_major == "k" else memory.randn(k, n, dtype=dtype)
    gemm.gemm(a, b, out)
    _check(comparison, "operators gemm", a, b, out)


@each_dtype
@pytest.mark.parametrize("b_major", ["k", "n"])
def test_batched(gemm, memory, comparison, b_major, dtype):
    dtype = getattr(torch, dtype)
    a, out = memory.randn(3, 130, 144, dtype=dtype), memory.output(3, 130, 272, dtype=dtype)
    rows, columns = (272, 144) if b_major == "k" else (144, 272)
    b = memory.randn(3, rows, columns, dtype=dtype)
    gemm.gemm(a, b.mT if b_major == "k" else b, out)
    _check(comparison, "operators gemm batched", a, b.mT if b_major == "k" else b, out)


@each_shape
@each_dtype
def test_portable(gemm, memory, comparison, dtype, shape):
    m, n, k = shape
    dtype = getattr(torch, dtype)
    a, b = memory.randn(m, k, dtype=dtype), memory.randn(k, n, dtype=dtype)
    out = memory.output(m, n, dtype=dtype)
    gemm.gemm_portable(a, b, out)
    _check(comparison, "operators gemm_portable", a, b, out)


@each_shape
@pytest.mark.parametrize("out_dtype", ["bfloat16", "float32"])
def test_float8(gemm, memory, comparison, out_dtype, shape):
    m, n, k = shape
    a, b = (torch.randn(*size, device="cuda").to(torch.float8_e4m3fn) for size in ((m, k), (n, k)))
    out = memory.output(m, n, dtype=getattr(torch, out_dtype))
    gemm.gemm_fp8(a, b.mT, out)
    # Hopper's tensor cores keep 13 bits behind the point of what they add up for float8.
    _check(comparison, "operators gemm_fp8", a, b.mT, out, rounding=2.0**-13)


@each_shape
def test_integers_are_exact(gemm, shape):
    m, n, k = shape
    a, b = (torch.randint(-128, 128, size, device="cuda", dtype=torch.int8) for size in ((m, k), (n, k)))
    out = torch.full((m, n), -1, device="cuda", dtype=torch.int32)
    gemm.gemm_int8(a, b.mT, out)
    assert torch.equal(out.double(), a.double() @ b.mT.double())


def test_another_dtype_is_refused(gemm, memory):
    a, out = memory.randn(16, 16), memory.output(16, 16)
    with pytest.raises(TypeError, match="No variant accepts"):
        gemm.gemm(a, a, out)


def _check(comparison, name, a, b, out, rounding=2 * FLOAT32):
    want, scale = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    # Once the result, and what tensor cores cut off of the accumulator, per 8 of k.
    bound = UNIT_ROUNDOFF[out.dtype] + (a.shape[-1] / 8 + 16) * rounding
    comparison.check(name, out, want, bound=bound, scale=scale, dtype=str(a.dtype).removeprefix("torch."))

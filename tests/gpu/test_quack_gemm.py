"""The GEMMs of quack, through the package that examples/quack builds, against float64 on a real GPU.

Needs ``PYTHONPATH=examples/quack/generated`` and neither quack nor the DSL. Build it with
``cute-stubgen generate -C examples/quack --arch sm_90a``.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("quack_aot", reason="examples/quack is not built, or not on the path")

from . import reference  # noqa: E402  (after the checks for what they need)
from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402

SHAPES = [(1, 16, 8), (127, 48, 72), (128, 192, 64), (300, 528, 1032), (2048, 1024, 2048)]
APPROXIMATE = 2.0**-10
"""What tanh and the exponential, as the GPU approximates them, are off by."""

each_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
each_dtype = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])


@pytest.fixture
def gemm():
    from quack_aot.kwargs import gemm  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    return gemm


@pytest.fixture
def schedule(gemm):
    """Return what the library's tile scheduler wants: how many clusters, which are pairs, run at once."""
    count = torch.cuda.get_device_properties(0).multi_processor_count
    return gemm.TileSchedulerOptions(max_active_clusters=count // 2, max_swizzle_size=8)


@each_shape
@each_dtype
@pytest.mark.parametrize("b_major", ["k", "n"])
def test_plain(gemm, schedule, memory, comparison, b_major, dtype, shape):
    a, b, d = _operands(memory, dtype, shape, b_major)
    gemm.gemm(a, b, d, None, gemm.EpilogueArguments(), schedule, None)
    want, scale = reference.gemm(a, b)
    comparison.check("quack gemm", d, want, bound=_bound(d, shape[2]), scale=scale)


@each_shape
@each_dtype
@pytest.mark.parametrize("b_major", ["k", "n"])
def test_linear_epilogue(gemm, schedule, memory, comparison, b_major, dtype, shape):
    m, n, k = shape
    a, b, d = _operands(memory, dtype, shape, b_major)
    c, bias = memory.randn(m, n, dtype=d.dtype), memory.randn(1, n)
    epilogue = gemm.EpilogueArguments(alpha=0.75, beta=-1.5, mRowVecBroadcast=bias)
    gemm.gemm(mA=a, mB=b, mD=d, mC=c, epilogue_args=epilogue, scheduler_args=schedule, varlen_args=None)
    product, scale = reference.gemm(a, b)
    want = 0.75 * product - 1.5 * c.double() + bias.double()
    scale = 0.75 * scale + 1.5 * c.double().abs() + bias.double().abs()
    comparison.check("quack gemm linear", d, want, bound=_bound(d, k), scale=scale)


@each_shape
@each_dtype
def test_by_position_is_the_same(gemm, schedule, memory, dtype, shape):
    import quack_aot.gemm  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    a, b, d = _operands(memory, dtype, shape)
    again = memory.output(*d.shape, dtype=d.dtype)
    gemm.gemm(a, b, d, None, gemm.EpilogueArguments(), schedule, None)
    nothing = (None,) * len(gemm.EpilogueArguments._fields)
    quack_aot.gemm.gemm(a, b, again, None, nothing, tuple(schedule), None, None, None)
    assert torch.equal(d, again)


@each_dtype
def test_batched(gemm, schedule, memory, comparison, dtype):
    dtype = getattr(torch, dtype)
    a, b = memory.randn(3, 130, 136, dtype=dtype), memory.randn(3, 264, 136, dtype=dtype)
    d = memory.output(3, 130, 264, dtype=dtype)
    gemm.gemm_batched(a, b, d, None, gemm.EpilogueArguments(), schedule, None)
    want, scale = a.double() @ b.double().mT, a.double().abs() @ b.double().abs().mT
    comparison.check("quack gemm_batched", d, want, bound=_bound(d, 136), scale=scale)


@each_shape
@each_dtype
@pytest.mark.parametrize("preact", [False, True], ids=["", "preact"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_activation(gemm, schedule, memory, comparison, activation, preact, dtype, shape):
    m, n, k = shape
    a, b, d = _operands(memory, dtype, shape)
    out, bias = memory.output(m, n, dtype=d.dtype), memory.randn(1, n)
    epilogue = gemm.GemmActEpilogueArguments(mRowVecBroadcast=bias, mAuxOut=out)
    stored = d if preact else None
    gemm.gemm_act(a, b, stored, None, epilogue, schedule, None, activation=activation)
    product, scale = reference.gemm(a, b)
    before, scale = product + bias.double(), scale + bias.double().abs()
    want = reference.ACTIVATIONS[activation](before)
    # No activation is steeper than 1.13.
    bound = 1.13 * _bound(out, k) + APPROXIMATE
    comparison.check(f"quack gemm_act {activation}", out, want, bound=bound, scale=scale)
    if preact:
        comparison.check("quack gemm_act", d, before, bound=_bound(d, k), scale=scale)


@each_shape
@each_dtype
@pytest.mark.parametrize("activation", ["swiglu", "geglu"])
def test_gated(gemm, schedule, memory, comparison, activation, dtype, shape):
    m, n, k = shape
    a, b, d = _operands(memory, dtype, shape)
    out = memory.output(m, n // 2, dtype=d.dtype)
    gated = gemm.GemmGatedEpilogueArguments(mAuxOut=out)
    gemm.gemm_gated(a, b, d, None, gated, schedule, None, activation=activation)
    product, scale = reference.gemm(a, b)
    comparison.check("quack gemm_gated", d, product, bound=_bound(d, k), scale=scale)
    gate, up = product[:, 0::2], product[:, 1::2]  # gates and what they let pass lie side by side
    let_pass = {
        "swiglu": torch.nn.functional.silu,
        "geglu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    }[activation](gate)
    scale = (1.13 * scale[:, 0::2] + gate.abs()) * up.abs() + gate.abs() * scale[:, 1::2]
    bound = _bound(out, k) + APPROXIMATE
    comparison.check(f"quack gemm_gated {activation}", out, let_pass * up, bound=bound, scale=scale)


@each_shape
@each_dtype
def test_gradient_of_an_activation(gemm, schedule, memory, comparison, dtype, shape):
    m, n, k = shape
    a, b, d = _operands(memory, dtype, shape)
    preact = memory.input(torch.randn(m, n, device="cuda").clamp(-3, 3).to(d.dtype))
    out = memory.output(m, n, dtype=d.dtype)
    epilogue = gemm.GemmDactEpilogueArguments(mAuxOut=out)
    gemm.gemm_dact(a, b, d, preact, epilogue, schedule, None)
    before = preact.double().requires_grad_()
    after = torch.nn.functional.gelu(before, approximate="tanh")
    product, scale = reference.gemm(a, b)
    (want,) = torch.autograd.grad(after, before, product)
    # The derivative has 1 - tanh² in it, times at most 2.7 for what the preactivation is clamped to.
    bound = 1.13 * _bound(d, k) + 6 * APPROXIMATE
    comparison.check("quack gemm_dact", d, want, bound=bound, scale=scale)
    bound = UNIT_ROUNDOFF[out.dtype] + APPROXIMATE
    want = after.detach()
    comparison.check("quack gemm_dact out", out, want, bound=bound, scale=preact.double().abs())


def test_another_dtype_is_refused(gemm, schedule, memory):
    a, d = memory.randn(16, 16), memory.output(16, 16)
    with pytest.raises(TypeError, match="No variant accepts"):
        gemm.gemm(a, a, d, None, gemm.EpilogueArguments(), schedule, None)


def _operands(memory, dtype, shape, b_major="k"):
    m, n, k = shape
    dtype = getattr(torch, dtype)
    b = memory.randn(n, k, dtype=dtype) if b_major == "k" else memory.randn(k, n, dtype=dtype).mT
    return memory.randn(m, k, dtype=dtype), b, memory.output(m, n, dtype=dtype)


def _bound(d, k):
    """Bound what rounds: once the result, and what tensor cores cut off of the accumulator, per 8 of k."""
    return UNIT_ROUNDOFF[d.dtype] + (k / 8 + 16) * 2 * FLOAT32

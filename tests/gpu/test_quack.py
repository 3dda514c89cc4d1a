"""quack's kernels, through the package that is generated from declarations alone, against float64.

Needs the package `quack_aot` in the path, and neither quack nor the DSL:
``cute-stubgen generate -C examples/quack --arch sm_90a``, ``PYTHONPATH=examples/quack/generated``.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("quack_aot", reason="needs the package that examples/quack generates")

from quack_aot import cross_entropy, hadamard, reductions, rmsnorm, rotary, softmax, topk  # noqa: E402

from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402

EPS = 1e-6
ROWS = [1, 3, 133, 1000]
HALF = ["float16", "bfloat16"]
FULL = ["bfloat16", "float32"]

each_half = pytest.mark.parametrize("dtype", HALF)
each_full = pytest.mark.parametrize("dtype", FULL)
each_rows = pytest.mark.parametrize("m", ROWS)
each_hidden = pytest.mark.parametrize("n", [4096, 8192])


def close(comparison, kernel, got, want, *, terms=None, roundings=64):
    """Compare with what was rounded to the dtype once, and to float32 on the way.

    ``terms`` are the magnitudes of what is added up to each element, by default those of the result; the
    ``roundings`` to float32 are of them.
    """
    unit = UNIT_ROUNDOFF[got.dtype]
    terms = want.abs() if terms is None else terms
    scale = want.abs() + roundings * FLOAT32 / unit * terms
    comparison.check(f"quack {kernel}", got, want, bound=1.01 * unit, scale=scale)


def dtype_of(name):
    return getattr(torch, name)


# ---------------------------------------------------------------------------------------------------------
# rmsnorm


@each_rows
@each_hidden
@each_half
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_rmsnorm_fwd(memory, comparison, dtype, n, m, residual, training):
    dtype = dtype_of(dtype)
    x, weight = memory.randn(m, n, dtype=dtype), memory.randn(n, dtype=dtype)
    added = memory.randn(m, n, dtype=dtype) if residual else None
    out = memory.output(m, n, dtype=dtype)
    total = memory.output(m, n, dtype=dtype) if residual else None
    rstd = memory.output(m) if training else None
    rmsnorm.rmsnorm_fwd(x, weight, None, added, out, total, rstd, None, EPS)
    rows = x.double() if added is None else x.double() + added.double()
    factor = (rows.square().mean(1) + EPS).rsqrt()
    close(comparison, "rmsnorm_fwd", out, rows * factor[:, None] * weight.double())
    if residual:
        close(comparison, "rmsnorm_fwd residual", total, rows)
    if training:
        close(comparison, "rmsnorm_fwd rstd", rstd, factor)


def test_rmsnorm_of_rows_that_lie_apart_by_keyword(memory, comparison):
    from quack_aot.kwargs import rmsnorm as by_keyword

    wide, weight = memory.randn(37, 3 * 4096, dtype=torch.half), memory.randn(4096, dtype=torch.half)
    x, out = wide[:, 4096:8192], memory.output(37, 4096, dtype=torch.half)
    absent = dict.fromkeys(["mB", "mRes", "mResO", "mRstd", "mMean"])
    by_keyword.rmsnorm_fwd(mX=x, mW=weight, mO=out, eps=EPS, **absent)
    rows = x.double()
    want = rows * (rows.square().mean(1, keepdim=True) + EPS).rsqrt() * weight.double()
    close(comparison, "rmsnorm_fwd", out, want)


def test_what_no_variant_takes_is_refused(memory):
    x, out = memory.randn(3, 4000, dtype=torch.half), memory.output(3, 4000, dtype=torch.half)
    weight = memory.randn(4000, dtype=torch.half)
    with pytest.raises(TypeError, match="No variant accepts"):
        rmsnorm.rmsnorm_fwd(x, weight, None, None, out, None, None, None, EPS)
    assert out.isnan().all()


@each_rows
@each_hidden
@each_half
@pytest.mark.parametrize("residual", [False, True])
def test_rmsnorm_bwd(memory, comparison, dtype, n, m, residual):
    dtype = dtype_of(dtype)
    x, dout = memory.randn(m, n, dtype=dtype), memory.randn(m, n, dtype=dtype)
    weight = memory.randn(n, dtype=dtype)
    added = memory.randn(m, n, dtype=dtype) if residual else None
    rstd = memory.input((x.double().square().mean(1) + EPS).rsqrt().float())
    dx, parts = memory.output(m, n, dtype=dtype), memory.output(blocks(), n)
    rmsnorm.rmsnorm_bwd(x, weight, dout, added, rstd, None, dx, parts, None, None, blocks())
    normal, wdy = x.double() * rstd.double()[:, None], dout.double() * weight.double()
    mean, terms = (normal * wdy).mean(1, keepdim=True), (normal * wdy).abs().mean(1, keepdim=True)
    rest = added.double() if residual else 0.0
    want = (wdy - normal * mean) * rstd.double()[:, None] + rest
    magnitude = (wdy.abs() + normal.abs() * terms) * rstd.double()[:, None] + abs(rest)
    close(comparison, "rmsnorm_bwd dx", dx, want, terms=magnitude)
    check_parts(comparison, "rmsnorm_bwd dw", parts, dout.double() * normal)


def blocks():
    return torch.cuda.get_device_properties(0).multi_processor_count


def check_parts(comparison, kernel, parts, terms):
    """Compare the sum over all blocks; each has added up some rows in float32."""
    want, magnitude = terms.sum(0), terms.abs().sum(0)
    assert parts.isfinite().all()
    error = ((parts.double().sum(0) - want).abs() / magnitude).max().item()
    assert error <= (len(terms) / len(parts) + 32) * FLOAT32, f"{kernel}: {error:.3e}"
    largest = comparison.largest[f"quack {kernel}"]
    largest["float32"] = max(largest.get("float32", 0.0), error)


# ---------------------------------------------------------------------------------------------------------
# layernorm


@each_rows
@each_half
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_layernorm_fwd(memory, comparison, dtype, m, bias, training):
    dtype, n = dtype_of(dtype), 4096
    x, weight = memory.randn(m, n, dtype=dtype), memory.randn(n)
    shift = memory.randn(n) if bias else None
    out = memory.output(m, n, dtype=dtype)
    rstd, mean = (memory.output(m), memory.output(m)) if training else (None, None)
    rmsnorm.layernorm_fwd(x, weight, shift, None, out, None, rstd, mean, EPS)
    rows = x.double()
    middle, magnitude = rows.mean(1, keepdim=True), rows.abs().mean(1, keepdim=True)
    factor = ((rows - middle).square().mean(1, keepdim=True) + EPS).rsqrt()
    rest = shift.double() if bias else torch.zeros(1, device="cuda").double()
    want = (rows - middle) * factor * weight.double() + rest
    terms = (rows.abs() + magnitude) * factor * weight.double().abs() + rest.abs()
    close(comparison, "layernorm_fwd", out, want, terms=terms)
    if training:
        close(comparison, "layernorm_fwd rstd", rstd, factor[:, 0])
        close(comparison, "layernorm_fwd mean", mean, middle[:, 0], terms=magnitude[:, 0])


@each_rows
@each_half
@pytest.mark.parametrize("bias", [False, True])
def test_layernorm_bwd(memory, comparison, dtype, m, bias):
    dtype, n = dtype_of(dtype), 4096
    x, dout, weight = memory.randn(m, n, dtype=dtype), memory.randn(m, n, dtype=dtype), memory.randn(n)
    middle = memory.input(x.double().mean(1).float())
    deviation = x.double() - middle.double()[:, None]
    rstd = memory.input((deviation.square().mean(1) + EPS).rsqrt().float())
    dx, parts = memory.output(m, n, dtype=dtype), memory.output(blocks(), n)
    more = memory.output(blocks(), n) if bias else None
    rmsnorm.layernorm_bwd(x, weight, dout, None, rstd, middle, dx, parts, None, more, blocks())
    factor = rstd.double()[:, None]
    normal, wdy = deviation * factor, dout.double() * weight.double()
    both = normal * wdy
    want = (wdy - wdy.mean(1, keepdim=True) - normal * both.mean(1, keepdim=True)) * factor
    magnitude = wdy.abs() + wdy.abs().mean(1, keepdim=True) + normal.abs() * both.abs().mean(1, keepdim=True)
    close(comparison, "layernorm_bwd dx", dx, want, terms=magnitude * factor)
    check_parts(comparison, "layernorm_bwd dw", parts, dout.double() * normal)
    if bias:
        check_parts(comparison, "layernorm_bwd db", more, dout.double())


# ---------------------------------------------------------------------------------------------------------
# softmax and cross entropy


@each_rows
@pytest.mark.parametrize("n", [1024, 32768])
@each_full
def test_softmax(memory, comparison, dtype, n, m):
    dtype = dtype_of(dtype)
    x = memory.input((3 * torch.randn(m, n, device="cuda")).to(dtype))
    out = memory.output(m, n, dtype=dtype)
    softmax.softmax_fwd(x, out)
    close(comparison, "softmax_fwd", out, x.double().softmax(1), roundings=256)

    y, dy = memory.input(out), memory.randn(m, n, dtype=dtype)
    dx = memory.output(m, n, dtype=dtype)
    softmax.softmax_bwd(dy, y, dx)
    product = dy.double() * y.double()
    want = y.double() * (dy.double() - product.sum(1, keepdim=True))
    terms = y.double() * (dy.double().abs() + product.abs().sum(1, keepdim=True))
    close(comparison, "softmax_bwd", dx, want, terms=terms, roundings=256)


@pytest.mark.parametrize("m", [1, 5, 133])
@pytest.mark.parametrize("n", [128256])
@each_full
def test_cross_entropy(memory, comparison, dtype, n, m):
    dtype, ignored = dtype_of(dtype), -100
    x = memory.input((3 * torch.randn(m, n, device="cuda")).to(dtype))
    target = torch.randint(n, (m,), device="cuda")
    target[1::4] = ignored
    counts = (target != ignored).double()
    chosen = torch.zeros_like(x, dtype=torch.float64)
    chosen[torch.arange(m, device="cuda"), target.clamp(min=0)] = 1.0
    log_sum = x.double().logsumexp(1)
    logit = (x.double() * chosen).sum(1)
    probabilities = (x.double() - log_sum[:, None]).exp()

    loss, lse = memory.output(m), memory.output(m)
    cross_entropy.cross_entropy_fwd(x, target, None, loss, lse, None, None, ignored)
    close(comparison, "cross_entropy_fwd lse", lse, log_sum, roundings=256)
    terms = (log_sum.abs() + logit.abs()) * counts
    close(comparison, "cross_entropy_fwd", loss, (log_sum - logit) * counts, terms=terms, roundings=256)

    loss, dx = memory.output(m), memory.output(m, n, dtype=dtype)
    cross_entropy.cross_entropy_fwd(x, target, None, loss, None, dx, None, ignored)
    close(comparison, "cross_entropy_fwd", loss, (log_sum - logit) * counts, terms=terms, roundings=256)
    gradient, magnitude = probabilities - chosen, probabilities + chosen
    want, scale = gradient * counts[:, None], magnitude * counts[:, None]
    close(comparison, "cross_entropy_fwd dx", dx, want, terms=scale, roundings=512)

    dloss, dx = memory.randn(2 * m)[::2], memory.output(m, n, dtype=dtype)  # of a stride of its own
    given = memory.input(log_sum.float())
    cross_entropy.cross_entropy_bwd(x, target, dloss, dx, given, None, ignored)
    factor = (dloss.double() * counts)[:, None]
    terms = magnitude * factor.abs()
    close(comparison, "cross_entropy_bwd", dx, gradient * factor, terms=terms, roundings=512)


# ---------------------------------------------------------------------------------------------------------
# topk


@each_rows
@each_full
@pytest.mark.parametrize("normalised", [False, True])
def test_topk(memory, comparison, dtype, m, normalised):
    """Of different integers: the kernel keeps the index in the lowest 8 bits of each float32."""
    dtype, n, k = dtype_of(dtype), 256, 8
    order = torch.rand(m, n, device="cuda").argsort(1)
    x = memory.input((order - n // 2).to(dtype))
    values, indices = (
        memory.output(m, k, dtype=dtype),
        torch.full((m, k), -1, dtype=torch.int32, device="cuda"),
    )
    topk.topk_fwd(x, values, indices, normalised)
    largest, where = x.double().topk(k, 1)
    assert torch.equal(indices.long(), where)
    want = largest.softmax(1) if normalised else largest
    close(comparison, "topk_fwd", values, want, roundings=512 if normalised else 0)

    dvalues, given = memory.randn(m, k, dtype=dtype), memory.input(values)
    dx = memory.output(m, n, dtype=dtype)
    topk.topk_bwd(dvalues, given if normalised else None, indices, dx)
    product = dvalues.double() * given.double()
    gradient, terms = dvalues.double(), dvalues.double().abs()
    if normalised:
        gradient = given.double() * (gradient - product.sum(1, keepdim=True))
        terms = given.double() * (terms + product.abs().sum(1, keepdim=True))
    want, scale = (torch.zeros(m, n, device="cuda").double().scatter(1, where, s) for s in (gradient, terms))
    close(comparison, "topk_bwd", dx, want, terms=scale, roundings=32 if normalised else 0)


# ---------------------------------------------------------------------------------------------------------
# rotary and hadamard


def rotated(x, cos, sin, *, conjugate):
    """Turn (..., heads, 128) by tables (..., 64); give the result, and what its errors are relative to."""
    cos, sin = cos.double().unsqueeze(-2), sin.double().unsqueeze(-2)
    sin = -sin if conjugate else sin
    first, second = x.double().chunk(2, -1)
    want = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
    terms = [(first * cos).abs() + (second * sin).abs(), (first * sin).abs() + (second * cos).abs()]
    return want, torch.cat(terms, -1)


@each_half
@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize(("batch", "seqlen", "heads"), [(1, 1, 1), (2, 77, 3), (3, 512, 8)])
def test_rotary(memory, comparison, dtype, conjugate, batch, seqlen, heads):
    dtype = dtype_of(dtype)
    x = memory.randn(batch, seqlen, heads, 128, dtype=dtype)
    angle = 6.28 * torch.rand(seqlen + 3, 64)
    cos, sin = memory.input(angle.cos().to(dtype)), memory.input(angle.sin().to(dtype))
    out = memory.output(batch, seqlen, heads, 128, dtype=dtype)
    rotary.rotary(x, cos, sin, None, None, out, seqlen, conjugate)
    want, terms = rotated(x, cos[:seqlen], sin[:seqlen], conjugate=conjugate)
    close(comparison, "rotary", out, want, terms=terms, roundings=4)


@each_half
@pytest.mark.parametrize("conjugate", [False, True])
def test_rotary_of_packed_sequences(memory, comparison, dtype, conjugate):
    dtype, lengths, heads = dtype_of(dtype), [5, 1, 200, 64], 4
    total, longest = sum(lengths), max(lengths)
    x = memory.randn(total, heads, 128, dtype=dtype)
    angle = 6.28 * torch.rand(longest, 64)
    cos, sin = memory.input(angle.cos().to(dtype)), memory.input(angle.sin().to(dtype))
    starts = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    out = memory.output(total, heads, 128, dtype=dtype)
    rotary.rotary(x, cos, sin, None, starts, out, longest, conjugate)
    positions = torch.cat([torch.arange(length, device="cuda") for length in lengths])
    want, terms = rotated(x, cos[positions], sin[positions], conjugate=conjugate)
    close(comparison, "rotary packed", out, want, terms=terms, roundings=4)


@each_rows
@pytest.mark.parametrize("n", [128, 32768])
@each_half
def test_hadamard(memory, comparison, dtype, n, m):
    dtype = dtype_of(dtype)
    x, out = memory.randn(m, n, dtype=dtype), memory.output(m, n, dtype=dtype)
    hadamard.hadamard(x, out, n**-0.5, blocks())
    want, step = x.double(), 1
    while step < n:
        pairs = want.view(m, n // (2 * step), 2, step)
        first, second = pairs.unbind(2)
        want = torch.stack([first + second, first - second], 2).view(m, n)
        step *= 2
    terms = x.double().abs().sum(1, keepdim=True) * n**-0.5
    close(comparison, "hadamard", out, want * n**-0.5, terms=terms, roundings=32)


# ---------------------------------------------------------------------------------------------------------
# reductions


@each_full
@pytest.mark.parametrize("split_k", [2, 4])
@pytest.mark.parametrize(("batch", "m", "n"), [(1, 1, 8), (2, 77, 200), (3, 256, 512)])
def test_split_k_reduce(memory, comparison, dtype, split_k, batch, m, n):
    dtype = dtype_of(dtype)
    parts, out = memory.randn(batch * split_k, m, n), memory.output(batch, m, n, dtype=dtype)
    views = [tensor.permute(1, 2, 0) for tensor in (parts, out)]
    reductions.split_k_reduce(*views, None, None, None, None, None, split_k)
    terms = parts.double().view(batch, split_k, m, n)
    close(comparison, "split_k_reduce", out, terms.sum(1), terms=terms.abs().sum(1), roundings=4)


@each_rows
@pytest.mark.parametrize("n", [32, 64])
def test_rms_final_reduce(memory, comparison, n, m):
    x, rstd = memory.input(torch.rand(m, n)), memory.output(m)
    reductions.rms_final_reduce(x, rstd, 1 / 4096, EPS)
    close(comparison, "rms_final_reduce", rstd, (x.double().sum(1) / 4096 + EPS).rsqrt())

"""Attention, compared with a float64 reference on a real GPU.

Needs ``PYTHONPATH=generated`` and nothing of the DSL, as ``test_kernels.py`` does.
"""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from . import reference  # noqa: E402  (after the check for torch)
from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402

# (batch, heads of q, heads of k and v, queries, keys): around nothing, one, and the tiles of 64.
SHAPES = [
    (1, 1, 1, 1, 1),
    (2, 3, 3, 64, 64),
    (2, 4, 2, 63, 65),
    (1, 6, 1, 129, 257),
    (1, 2, 2, 1, 1000),
    (1, 2, 2, 300, 17),
    (3, 1, 1, 17, 300),
    (2, 8, 2, 512, 512),
    (1, 2, 2, 1000, 1000),
    (70_000, 1, 1, 1, 3),
    (1, 2, 2, 70, 0),
    (1, 2, 0, 70, 70),
    (2, 2, 2, 0, 16),
    (2, 0, 0, 16, 16),
    (0, 2, 2, 16, 16),
]

each_dtype = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
each_head_dim = pytest.mark.parametrize("head_dim", [64, 128])
each_mask = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
@pytest.mark.parametrize("with_lse", [False, True], ids=["out", "lse"])
@each_mask
@each_head_dim
@each_dtype
def test_attention(library, memory, comparison, dtype, head_dim, causal, with_lse, shape):
    batch, heads, heads_kv, queries, keys = shape
    q = memory.randn(batch, queries, heads, head_dim, dtype=dtype)
    k, v = (memory.randn(batch, keys, heads_kv, head_dim, dtype=dtype) for _ in range(2))
    out = memory.output(*q.shape, dtype=dtype)
    lse = memory.output(batch, heads, queries) if with_lse else None
    scale = 1 / math.sqrt(head_dim)
    library("attention").attention(q, k, v, out, lse, scale, causal)
    if heads_kv == 0:
        k, v = (x.new_empty(batch, 0, heads, head_dim) for x in (k, v))
    _check(comparison, q, k, v, out, lse, scale, causal)


@pytest.mark.parametrize("scale", [-0.125, 0.0, 1.0, 30.0])
@each_mask
@each_dtype
def test_any_scale(library, memory, comparison, dtype, causal, scale):
    q, k, v = (memory.randn(2, 200, 2, 64, dtype=dtype) for _ in range(3))
    out, lse = memory.output(*q.shape, dtype=dtype), memory.output(2, 2, 200)
    library("attention").attention(q, k, v, out, lse, scale, causal)
    _check(comparison, q, k, v, out, lse, scale, causal)


@each_mask
@each_head_dim
def test_heads_of_one_packed_tensor(library, memory, comparison, head_dim, causal):
    packed = memory.randn(2, 150, 3, 4, head_dim, dtype=torch.bfloat16)
    q, k, v = packed.unbind(2)
    out, lse = memory.output(*q.shape, dtype=q.dtype), memory.output(2, 4, 150)
    library("attention").attention(q, k, v, out, lse, 0.1, causal)
    _check(comparison, q, k, v, out, lse, 0.1, causal)


@each_mask
@each_head_dim
def test_heads_before_places(library, memory, comparison, head_dim, causal):
    q, k, v = (
        memory.randn(2, 4, length, head_dim, dtype=torch.float16).transpose(1, 2)
        for length in (150, 210, 210)
    )
    out = memory.output(2, 4, 150, head_dim, dtype=q.dtype).transpose(1, 2)
    library("attention").attention(q, k, v, out, None, 0.1, causal)
    _check(comparison, q, k, v, out, None, 0.1, causal)


def test_more_than_two_to_the_31_elements(library, comparison):
    """The query finds one key in a million, and takes its value."""
    keys, heads, head_dim = 2**20 + 77, 16, 128
    if torch.cuda.mem_get_info()[0] < 2 * 2 * 2 * keys * heads * head_dim:
        pytest.skip("too little memory on this GPU")
    k, v = (torch.zeros(1, keys, heads, head_dim, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    q = 4 * torch.randn(1, 1, heads, head_dim, device="cuda").sign().bfloat16()
    k[:, -3], v[:, -3] = q[:, 0], torch.randn(1, heads, head_dim, device="cuda").bfloat16()
    out = torch.full_like(q, torch.nan)
    library("attention").attention(q, k, v, out, None, 0.1, False)
    comparison.check("attention", out[:, 0], v[:, -3].double(), bound=UNIT_ROUNDOFF[torch.bfloat16])


def test_rows_that_vectors_do_not_divide_are_refused(library):
    q = torch.zeros(1, 16, 2 * 64 + 4, device="cuda").half()[:, :, :128].unflatten(2, (2, 64))
    with pytest.raises(ValueError, match="expected a multiple of 8"):
        library("attention").attention(q, q, q, torch.empty_like(q), None, 1.0, False)


def _check(comparison, q, k, v, out, lse, scale, causal):
    want = reference.attention(q, k, v, scale, causal)
    head_dim, keys = q.shape[3], k.shape[1]
    # A score is off by what its products' sum is, cut off once per 8 of it, and by some roundings:
    # a weight's relative error. The sum of the weights takes part in all.
    score_error = (head_dim / 8 + 8) * 2 * FLOAT32 * want.score_scale
    # A step of 64 keys rounds or cuts off less than 32 times.
    sum_error = (keys / 64 + 1) * 32 * FLOAT32
    # Weights are rounded, and the result.
    bound = 2 * UNIT_ROUNDOFF[out.dtype] + 2 * score_error + 2 * sum_error
    kernel = "attention causal" if causal else "attention"
    comparison.check(kernel, out, want.out, bound=bound, scale=want.out_scale)
    if lse is not None:
        seen = want.lse.isfinite()
        assert (lse[~seen] == -torch.inf).all()
        comparison.check(
            f"{kernel} lse",
            lse[seen],
            want.lse[seen],
            bound=score_error + sum_error,
            scale=1 + want.lse[seen].abs(),
            dtype=str(q.dtype).removeprefix("torch."),
        )

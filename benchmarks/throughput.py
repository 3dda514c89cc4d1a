"""How fast kernels of this repository move and multiply, against torch on the same GPU in the same run.

Row-wise kernels of 8,192 x 8,192 elements are compared with torch's copy of as many bytes, products and
attention with torch's own. Candidates take turns in every round; the GPU times each run of one, its L2 cache
full of other data. Bandwidth counts each input and output once.

Runs anywhere with a GPU, torch and tvm-ffi; nothing of the tool is needed::

    PYTHONPATH=generated python -m benchmarks throughput
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

ROUNDS = 60
ROWS = 8192
GEMM = 4096
ATTENTION = (4, 4096, 16, 128)
"""Batch, length, heads, head dimension."""

LIMITS = {"rmsnorm bf16 / copy": 0.85, "softmax bf16 / copy": 0.85}
"""At least these shares of the copy's bandwidth."""

Call = Callable[[], object]


def measure() -> dict[str, Any]:
    """Time all kernels and what they are compared with.

    Returns
    -------
        For each the quartiles of the microseconds of a run, the bandwidth or arithmetic that its median
        means, and ratios, which are taken within rounds.
    """
    import torch

    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    moved, multiplied = _row_wise(), _products()
    calls = {name: call for group in (moved, multiplied) for name, (call, _) in group.items()}
    for call in calls.values():
        call()
    rounds = [_round(calls, shift, flush) for shift in range(ROUNDS)]
    cost = {name: statistics.quantiles([r[name] for r in rounds], n=4) for name in calls}
    figures = {
        f"{name}, GB/s": round(amount / cost[name][1] / 1e3) for name, (_, amount) in moved.items()
    } | {f"{name}, TFLOP/s": round(amount / cost[name][1] / 1e6) for name, (_, amount) in multiplied.items()}

    def ratio(faster: str, name: str) -> float:
        return round(statistics.median(r[faster] / r[name] for r in rounds), 3)

    return {
        "unit": "us: lower quartile, median, upper quartile",
        "cost": {name: [round(q, 2) for q in quartiles] for name, quartiles in cost.items()},
        "figures": figures,
        "share of torch's speed": {
            "rmsnorm bf16 / copy": ratio("copy bf16", "rmsnorm bf16"),
            "softmax bf16 / copy": ratio("copy bf16", "softmax bf16"),
            "gemm bf16 / torch.matmul": ratio("torch.matmul bf16", "gemm bf16"),
            "attention bf16 / torch's": ratio("torch's attention bf16", "attention bf16"),
        },
        "limits": LIMITS,
    }


def _row_wise() -> dict[str, tuple[Call, int]]:
    """Return kernels that touch each element of a matrix, with the bytes that they move."""
    import torch
    from cute_kernels import norm, softmax

    x = torch.randn(ROWS, ROWS, device="cuda", dtype=torch.bfloat16)
    weight, out = torch.ones(ROWS, device="cuda", dtype=torch.bfloat16), torch.empty_like(x)
    size = 2 * x.numel() * x.element_size()
    return {
        "copy bf16": (lambda: out.copy_(x), size),
        "rmsnorm bf16": (lambda: norm.rmsnorm(x, weight, out, 1e-5), size),
        "softmax bf16": (lambda: softmax.softmax(x, out), size),
    }


def _products() -> dict[str, tuple[Call, int]]:
    """Return matrix products and attention, with their floating-point operations."""
    import torch
    from cute_kernels import attention, gemm

    a, b = (torch.randn(GEMM, GEMM, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    q, k, v = (torch.randn(ATTENTION, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    out = torch.empty_like(q)
    batch, length, heads, dim = ATTENTION
    # torch's puts the heads before the length.
    q_, k_, v_ = (t.transpose(1, 2) for t in (q, k, v))
    product, scores = 2 * GEMM**3, 4 * batch * heads * length**2 * dim
    return {
        "torch.matmul bf16": (lambda: torch.matmul(a, b.T, out=c), product),
        "gemm bf16": (lambda: gemm.gemm(a, b, c, "none"), product),
        "torch's attention bf16": (
            lambda: torch.nn.functional.scaled_dot_product_attention(q_, k_, v_),
            scores,
        ),
        "attention bf16": (lambda: attention.attention(q, k, v, out, None, dim**-0.5, False), scores),
    }


def _round(calls: dict[str, Call], shift: int, flush: Any) -> dict[str, float]:
    """Time each candidate once, beginning with another one every round."""
    names = list(calls)
    start = shift % len(names)
    return {name: _once(calls[name], flush) for name in names[start:] + names[:start]}


def _once(call: Call, flush: Any) -> float:
    """Return the microseconds of one run."""
    import torch

    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    before.record()
    call()
    after.record()
    after.synchronize()
    return before.elapsed_time(after) * 1e3

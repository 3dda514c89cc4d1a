"""What the kernels are compared with: float64 references, and the memory that they work in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch")

GUARD = 128
"""Elements of guard on either side of a tensor; keeps every alignment that a kernel asks for."""

UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""Largest relative error of rounding once to a dtype."""

FLOAT32 = UNIT_ROUNDOFF[torch.float32]


class GuardedMemory:
    """Places tensors on the GPU with guards around them.

    The guards are NaN: what a kernel reads there spoils its result, and what it writes there is
    found by :meth:`check`. So is a changed input. Outputs are NaN to begin with.
    """

    def __init__(self) -> None:
        self._placed: list[tuple[torch.Tensor, torch.Tensor, slice]] = []

    def input(self, values: torch.Tensor) -> torch.Tensor:
        return self._place(values, written=False)

    def inout(self, values: torch.Tensor) -> torch.Tensor:
        return self._place(values, written=True)

    def output(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return self._place(torch.full(shape, torch.nan, dtype=dtype), written=True)

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Place a normally distributed input."""
        return self.input(torch.randn(shape, device="cuda").to(dtype))

    def check(self) -> None:
        for buffer, before, window in self._placed:
            bits = {2: torch.int16, 4: torch.int32}[buffer.itemsize]
            changed = buffer.view(bits) != before.view(bits)
            changed[window] = False
            where = (changed.nonzero().flatten() - GUARD).tolist()
            assert not where, f"elements {where[:8]} of {buffer.numel() - 2 * GUARD} were changed"

    def _place(self, values: torch.Tensor, *, written: bool) -> torch.Tensor:
        inside = slice(GUARD, GUARD + values.numel())
        buffer = torch.full((inside.stop + GUARD,), torch.nan, dtype=values.dtype, device="cuda")
        buffer[inside] = values.flatten().cuda()
        self._placed.append((buffer, buffer.clone(), inside if written else slice(0)))
        return buffer[inside].view(values.shape)


class Comparison:
    """Compares results with references, and remembers the largest error per kernel and dtype."""

    def __init__(self) -> None:
        self.largest: dict[str, dict[str, float]] = defaultdict(dict)

    def check(
        self,
        kernel: str,
        got: torch.Tensor,
        want: torch.Tensor,
        *,
        bound: float,
        scale: torch.Tensor | None = None,
        dtype: str | None = None,
    ) -> None:
        """Assert that a result is as close to the reference as rounding allows.

        Parameters
        ----------
        kernel
            Name in the report.
        got
            What the kernel gave.
        want
            What float64 gives.
        bound
            Largest error allowed, relative to ``scale``.
        scale
            Magnitude of what was added up to each element, where it may cancel; that of the
            reference by default.
        dtype
            Name in the report, the result's by default.
        """
        dtype = dtype or str(got.dtype).removeprefix("torch.")
        self.largest[kernel].setdefault(dtype, 0.0)
        if not got.numel():
            return
        assert got.isfinite().all(), f"{kernel} left or made elements that are not finite"
        # Below the smallest normal number the error is absolute.
        scale = (want if scale is None else scale).abs().clamp(min=torch.finfo(got.dtype).tiny)
        error = ((got.double() - want).abs() / scale).max().item()
        self.largest[kernel][dtype] = max(self.largest[kernel][dtype], error)
        assert error <= bound, f"{kernel} {dtype}: relative error {error:.3e} above {bound:.3e}"


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    x, weight = x.double(), weight.double()
    return x / (x.square().mean(1, keepdim=True) + eps).sqrt() * weight


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.double().softmax(1)


def gemm(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a @ b.T, and the sum of the magnitudes that each element is the sum of."""
    a, b = a.double(), b.double()
    return a @ b.T, a.abs() @ b.abs().T


ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


class Attended(NamedTuple):
    """What attention gives in float64, and what its errors are relative to."""

    out: torch.Tensor
    """(batch, seqlen_q, heads, head_dim); zeros for a query that sees no key."""
    lse: torch.Tensor
    """(batch, heads, seqlen_q); -inf for a query that sees no key."""
    out_scale: torch.Tensor
    """Magnitudes that each element of ``out`` is the sum of."""
    score_scale: float
    """Magnitudes that the largest score is the sum of."""


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool) -> Attended:
    """Attend to (batch, seqlen, heads, head_dim); causal means that last query and last key are level."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    if k.shape[1]:
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    queries, keys = q.shape[2], k.shape[2]
    visible = torch.ones(queries, keys, dtype=torch.bool, device=q.device)
    if causal:
        visible = visible.tril(keys - queries)
    scores = (scale * q @ k.mT).masked_fill(~visible, -torch.inf)
    lse = scores.logsumexp(-1)
    weights = (scores - lse[..., None]).exp().masked_fill(~visible, 0.0)
    # A weight below the smallest normal float16 is rounded as that is.
    out_scale = (weights + 2.0**-15 * visible) @ v.abs()
    magnitudes = abs(scale) * q.abs() @ k.abs().mT
    return Attended(
        (weights @ v).transpose(1, 2),
        lse,
        out_scale.transpose(1, 2),
        magnitudes.max().item() if magnitudes.numel() else 0.0,
    )


def moving_average(signal: torch.Tensor, gain: float, width: int) -> torch.Tensor:
    """Average over the element and those before it, the signal repeating before its start."""
    signal = signal.double()
    return gain * sum(signal.roll(back) for back in range(width)) / width

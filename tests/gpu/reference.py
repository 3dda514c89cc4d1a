"""What the kernels are compared with: float64 references, and the memory that they work in."""

from __future__ import annotations

from collections import defaultdict

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
    """Give a @ b.T, and the sum of the magnitudes that each element is the sum of."""
    a, b = a.double(), b.double()
    return a @ b.T, a.abs() @ b.abs().T


def moving_average(signal: torch.Tensor, gain: float, width: int) -> torch.Tensor:
    """Average over the element and those before it, the signal repeating before its start."""
    signal = signal.double()
    return gain * sum(signal.roll(back) for back in range(width)) / width

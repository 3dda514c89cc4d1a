"""A kernel of our own that takes a dataclass, which a library's changes to the DSL once broke."""

from dataclasses import dataclass

import cutlass
from cutlass import cute

import stubgen as sg


@dataclass(frozen=True)
class Pair:
    """A tensor and a number."""

    x: cute.Tensor
    by: cutlass.Float32
    times: cutlass.Constexpr[int] = 2


@cute.jit
def moved(pair: Pair):
    """pair.x = pair.x + times * pair.by."""
    for i in range(pair.x.shape[0]):
        pair.x[i] = pair.x[i] + cutlass.Float32(pair.times) * pair.by


sg.export(moved, Pair(sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu"), cutlass.Float32))

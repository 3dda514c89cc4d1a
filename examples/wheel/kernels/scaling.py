"""Kernels of the example; they run on the CPU, so that it works on any machine."""

import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Float32, out: cute.Tensor):
    """Out = factor * x, elementwise."""
    for i in range(x.shape[0]):
        out[i] = factor * x[i]


vector = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
sg.export(scale, x=vector, out=vector)

"""Rotary embedding of queries or keys, in batches or packed."""

from cutlass import BFloat16, Float16, Int32
from quack.rotary import RotaryKernel

import stubgen as sg


@sg.family(dtype=[Float16, BFloat16], dim=[128], conjugate=[False, True], packed=[False, True])
def rotary(dtype, dim, conjugate, packed):
    """Rotary embedding of the first ``dim`` of each head; ``conjugate`` turns back, as the gradient does."""
    rows = [sg.dim("rows")] if packed else [sg.dim("batch"), sg.dim("seqlen")]
    x = sg.strided(dtype, *rows, sg.dim("heads"), sg.dim("head_dim"), vector=8)
    table = sg.strided(dtype, sg.dim("positions"), dim // 2, vector=8)
    starts = sg.tensor(Int32, sg.dim("starts")) if packed else None
    kernel = RotaryKernel(dtype, dim, conjugate=conjugate)
    return sg.kernel(kernel, x, table, table, None, starts, x, stream=sg.env_stream())

"""Normalisation of rows, as quack compiles it."""

from cutlass import BFloat16, Float16, Float32
from quack.rmsnorm import RMSNorm

import stubgen as sg


@sg.family(dtype=[Float16, BFloat16], training=[False, True])
def quack_rmsnorm(dtype, training):
    """RMS normalisation of rows of 4096; with rstd for training."""
    m = sg.dim("m")
    x, weight = sg.strided(dtype, m, 4096, vector=8), sg.strided(dtype, 4096, vector=8)
    rstd = sg.tensor(Float32, m) if training else None
    kernel = RMSNorm(dtype, 4096)
    return sg.kernel(kernel, x, weight, None, None, x, None, rstd, None, stream=sg.env_stream())

"""Normalisation of rows, as flashinfer compiles it."""

from cutlass import BFloat16, Float16, Int64
from flashinfer.norm.kernels.rmsnorm import RMSNormKernel

import stubgen as sg


@sg.family(dtype=[Float16, BFloat16])
def flashinfer_rmsnorm(dtype):
    """RMS normalisation of rows of 4096."""
    m = sg.dim("m", bits=64)
    x, weight = sg.tensor(dtype, m, 4096, align=128), sg.tensor(dtype, 4096, align=16)
    kernel = RMSNormKernel(dtype, 4096, sm_version=90)
    return sg.kernel(kernel, x, weight, x, Int64, enable_pdl=False, stream=sg.env_stream())

"""RMS and layer normalisation of rows, forward and backward."""

from cutlass import BFloat16, Float16, Float32
from quack.rmsnorm import RMSNorm, RMSNormBackward

import stubgen as sg

HALF = [Float16, BFloat16]


@sg.family(dtype=HALF, n=[4096, 8192], residual=[False, True], training=[False, True])
def rmsnorm_fwd(dtype, n, residual, training):
    """RMS normalisation; with a residual, which is added first and written too; with rstd for training."""
    m = sg.dim("m")
    x, weight = sg.strided(dtype, m, n, vector=8), sg.strided(dtype, n, vector=8)
    added, rstd = x if residual else None, sg.tensor(Float32, m) if training else None
    return sg.kernel(RMSNorm(dtype, n), x, weight, None, added, x, added, rstd, None, stream=sg.env_stream())


@sg.family(dtype=HALF, n=[4096, 8192], residual=[False, True])
def rmsnorm_bwd(dtype, n, residual):
    """Gradients of RMS normalisation; that of the weight in float32, as one part for each block."""
    m = sg.dim("m")
    x = sg.strided(dtype, m, n, vector=8)
    weight, parts = sg.strided(dtype, n, vector=8), sg.strided(Float32, sg.dim("parts"), n, vector=8)
    added, rstd = x if residual else None, sg.tensor(Float32, m)
    kernel = RMSNormBackward(dtype, n, dout_dtype=dtype)
    return sg.kernel(kernel, x, weight, x, added, rstd, None, x, parts, None, None, stream=sg.env_stream())


@sg.family(dtype=HALF, n=[4096], bias=[False, True], training=[False, True])
def layernorm_fwd(dtype, n, bias, training):
    """Layer normalisation with weight and bias in float32; with rstd and mean for training."""
    m = sg.dim("m")
    x, weight = sg.strided(dtype, m, n, vector=4), sg.strided(Float32, n, vector=4)
    stats = sg.tensor(Float32, m) if training else None
    kernel = RMSNorm(dtype, n, is_layernorm=True)
    given = weight if bias else None
    return sg.kernel(kernel, x, weight, given, None, x, None, stats, stats, stream=sg.env_stream())


@sg.family(dtype=HALF, n=[4096], bias=[False, True])
def layernorm_bwd(dtype, n, bias):
    """Gradients of layer normalisation; those of weight and bias as one part for each block."""
    m = sg.dim("m")
    x, weight = sg.strided(dtype, m, n, vector=8), sg.strided(Float32, n, vector=8)
    parts, stats = sg.strided(Float32, sg.dim("parts"), n, vector=8), sg.tensor(Float32, m)
    kernel = RMSNormBackward(dtype, n, dout_dtype=dtype, is_layernorm=True, num_acc=1 + bias)
    db = parts if bias else None
    return sg.kernel(kernel, x, weight, x, None, stats, stats, x, parts, None, db, stream=sg.env_stream())

"""Cross entropy of logits over a vocabulary, forward and backward."""

from cutlass import BFloat16, Float32, Int64
from quack.cross_entropy import CrossEntropy, CrossEntropyBackward

import stubgen as sg


@sg.family(dtype=[BFloat16, Float32], n=[128256], gradient=[False, True])
def cross_entropy_fwd(dtype, n, gradient):
    """Cross entropy of each row, with its log-sum-exp, or else with the gradient of the logits."""
    m = sg.dim("m")
    x = sg.strided(dtype, m, n, vector=128 // dtype.width)
    target, loss = sg.tensor(Int64, m), sg.tensor(Float32, m)
    lse, dx = (None, x) if gradient else (loss, None)
    kernel = CrossEntropy(dtype, n, online_softmax=not gradient)
    return sg.kernel(kernel, x, target, None, loss, lse, dx, None, stream=sg.env_stream())


@sg.family(dtype=[BFloat16, Float32], n=[128256])
def cross_entropy_bwd(dtype, n):
    """Gradient of the logits, from that of the loss, of any stride, and the log-sum-exp."""
    m = sg.dim("m")
    x = sg.strided(dtype, m, n, vector=128 // dtype.width)
    target, lse, dloss = sg.tensor(Int64, m), sg.tensor(Float32, m), sg.strided(Float32, m, unit=None)
    kernel = CrossEntropyBackward(dtype, n)
    return sg.kernel(kernel, x, target, dloss, x, lse, None, stream=sg.env_stream())

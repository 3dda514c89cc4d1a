"""Softmax of rows, forward and backward."""

from cutlass import BFloat16, Float32
from quack.softmax import Softmax, SoftmaxBackward

import stubgen as sg


@sg.family(dtype=[BFloat16, Float32], n=[1024, 32768])
def softmax_fwd(dtype, n):
    """Softmax of each row."""
    x = sg.strided(dtype, sg.dim("m"), n, vector=128 // dtype.width)
    return sg.kernel(Softmax(dtype, n), x, x, stream=sg.env_stream())


@sg.family(dtype=[BFloat16, Float32], n=[1024, 32768])
def softmax_bwd(dtype, n):
    """Gradient of the softmax, from its own gradient and the forward result."""
    x = sg.strided(dtype, sg.dim("m"), n, vector=128 // dtype.width)
    return sg.kernel(SoftmaxBackward(dtype, n), x, x, x, stream=sg.env_stream())

"""The largest elements of rows, forward and backward."""

from cutlass import BFloat16, Float32, Int32
from quack.topk import TopK, TopKBackward

import stubgen as sg


@sg.family(dtype=[BFloat16, Float32], n=[256], k=[8], softmax=[False, True])
def topk_fwd(dtype, n, k, softmax):
    """Find the k largest of each row, and where they are; with ``softmax``, the softmax of them."""
    m, vector = sg.dim("m"), 128 // dtype.width
    x, values = sg.strided(dtype, m, n, vector=vector), sg.strided(dtype, m, k, vector=vector)
    indices = sg.strided(Int32, m, k, vector=vector)
    return sg.kernel(TopK(dtype, n, k, softmax=softmax), x, values, indices, stream=sg.env_stream())


@sg.family(dtype=[BFloat16, Float32], n=[256], k=[8], softmax=[False, True])
def topk_bwd(dtype, n, k, softmax):
    """Gradient of the rows; with the values of the forward result, that of their softmax."""
    m, vector = sg.dim("m"), 128 // dtype.width
    dx, values = sg.strided(dtype, m, n, vector=vector), sg.strided(dtype, m, k, vector=vector)
    indices = sg.strided(Int32, m, k, vector=vector)
    kernel = TopKBackward(dtype, n, k, softmax=softmax)
    return sg.kernel(kernel, values, values if softmax else None, indices, dx, stream=sg.env_stream())

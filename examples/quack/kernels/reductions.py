"""Second steps of matrix products: what several blocks have computed is put together."""

from cutlass import BFloat16, Float32
from quack.rms_final_reduce import RmsFinalReduce
from quack.split_k_reduce import SplitKReduce

import stubgen as sg


@sg.family(dtype=[BFloat16, Float32], split_k=[2, 4])
def split_k_reduce(dtype, split_k):
    """Sum of the parts of a product that was split along k."""
    m, n, batch = sg.dim("m"), sg.dim("n", divisible_by=4), sg.dim("batch")
    parts = sg.strided(Float32, m, n, sg.dim("parts"), vector=4, unit=1)
    out = sg.strided(dtype, m, n, batch, vector=128 // dtype.width, unit=1)
    kernel = SplitKReduce(dtype, split_k, add_to_output=False, vec_elems=4)
    return sg.kernel(kernel, parts, out, None, None, None, None, None, stream=sg.env_stream())


@sg.family(n=[32, 64])
def rms_final_reduce(n):
    """Return the reciprocal root mean square of each row, from sums of squares of parts of it."""
    m = sg.dim("m")
    x = sg.strided(Float32, m, n, vector=4)
    return sg.kernel(RmsFinalReduce(Float32, n), x, sg.tensor(Float32, m), stream=sg.env_stream())

"""Hadamard transform of rows."""

from cutlass import BFloat16, Float16
from quack.transform.hadamard import HadamardTransform

import stubgen as sg


@sg.family(dtype=[Float16, BFloat16], n=[128, 32768])
def hadamard(dtype, n):
    """Hadamard transform of each row, times ``scale``; ``num_sms`` counts for rows of 32768 alone."""
    x = sg.strided(dtype, sg.dim("m"), n, vector=8)
    kernel = HadamardTransform(dtype, n, persistent=n == 32768)
    return sg.kernel(kernel, x, x, stream=sg.env_stream())

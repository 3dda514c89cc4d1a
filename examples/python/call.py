"""Call a generated kernel: a function that runs on the CPU, so that it works on any machine."""

import numpy as np
from cute_kernels import host
from cute_kernels.kwargs import host as host_kw

a = np.arange(4, dtype=np.float32)
b = np.empty_like(a)

host.host_add_constant(a, b, 2.5)
print(b)  # [2.5 3.5 4.5 5.5]

host_kw.host_add_constant(a, b=b)
print(b)  # [1. 2. 3. 4.]

print(host.host_add_constant)

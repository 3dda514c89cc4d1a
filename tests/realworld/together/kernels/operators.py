"""A GEMM that the registry of nvidia-cutlass-operators finds."""

import cutlass
import torch
from cutlass.operators import GemmArguments, get_operators, mma

import stubgen as sg


@sg.family(batched=[False, True])
def gemm_fwd(batched):
    """Multiply: out = a @ b, with the instructions of Ampere."""
    lead = [sg.dim("batch")] * batched
    m, n, k = sg.dim("m"), sg.dim("n", divisible_by=8), sg.dim("k", divisible_by=8)
    a, b, out = (sg.strided(cutlass.Float16, *lead, *shape, vector=8) for shape in ((m, k), (k, n), (m, n)))
    samples = [torch.empty([128] * len(each.shape), dtype=torch.float16) for each in (a, b, out)]
    wanted = (mma.AmpereMma, (128, 128), (1, 1, 1))

    def is_wanted(found):
        design = found.design
        return (design.mma_instruction_type, design.tile_shape[:2], design.cluster_shape) == wanted

    [found] = get_operators(GemmArguments(*samples, cutlass.Float32), is_wanted, "90a", limit=1)
    return sg.kernel(found.impl, a, b, out, stream=sg.env_stream())

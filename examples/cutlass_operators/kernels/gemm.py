"""GEMMs that the registry of nvidia-cutlass-operators finds for the architecture that is built for.

The library's own convention: a is (m, k), b is (k, n), out is (m, n), all with a batch in front or none.
"""

import cutlass
import torch
from cutlass import operators
from cutlass.operators.mma import AmpereMma, BlackwellTcgen05Mma, HopperWgmma
from cutlass.operators.utils.dtype import torch_type_from_cutlass_type

import stubgen as sg

TARGET = (sg.target_arch() or "sm_90a").removeprefix("sm_")
NATIVE = {"80": AmpereMma, "90a": HopperWgmma, "100a": BlackwellTcgen05Mma}[TARGET]
FLOATS = [cutlass.Float16, cutlass.BFloat16]

# Of the many tiles and clusters that there are operators for, one for each kind of tensor core.
DESIGNS = {
    AmpereMma: ((128, 128), (1, 1, 1)),
    HopperWgmma: ((128, 256), (2, 1, 1)),
    BlackwellTcgen05Mma: ((256, 256), (2, 1, 1)),
}

batch, m = sg.dim("batch"), sg.dim("m")
n, k = sg.dim("n", divisible_by=16), sg.dim("k", divisible_by=16)


def sample(tensor):
    """Make a tensor of the declared kind, for the registry to look at."""
    made = torch.empty([128] * len(tensor.shape), dtype=torch_type_from_cutlass_type(tensor.dtype))
    return made.mT if tensor.order else made


def operator(mma, a, b, out):
    """Find the operator for these operands, and say what compiles it."""

    def is_wanted(found):
        design = found.design
        return (design.tile_shape[:2], design.cluster_shape) == DESIGNS[mma] and (
            design.mma_instruction_type is mma
        )

    arguments = operators.GemmArguments(sample(a), sample(b), sample(out), cutlass.Float32)
    found = operators.get_operators(arguments, is_wanted, TARGET, limit=1)[0]
    more = {}
    if mma is HopperWgmma:
        more["max_active_clusters"] = cutlass.utils.HardwareInfo().get_max_active_clusters(2)
    return sg.kernel(found.impl, a, b, out, stream=sg.env_stream(), **more)


@sg.family(dtype=FLOATS, b_major=["k", "n"], batched=[False, True])
def gemm(dtype, b_major, batched):
    """Multiply: out = a @ b, on the tensor cores that the GPU has."""
    lead = (batch,) if batched else ()
    order = (*((2,) if batched else ()), 0, 1) if b_major == "k" else None
    a, out = sg.tensor(dtype, *lead, m, k, align=16), sg.tensor(dtype, *lead, m, n, align=16)
    return operator(NATIVE, a, sg.tensor(dtype, *lead, k, n, order=order, align=16), out)


@sg.family(dtype=FLOATS)
def gemm_portable(dtype):
    """Multiply: out = a @ b, with the instructions of Ampere, which later GPUs have too."""
    a, b, out = (sg.tensor(dtype, *shape, align=16) for shape in ((m, k), (k, n), (m, n)))
    return operator(AmpereMma, a, b, out)


@sg.family(out_dtype=FLOATS)
def gemm_fp8(out_dtype):
    """Multiply: out = a @ b for float8, from Hopper on; b has to be contiguous along k."""
    if TARGET == "80":
        return None
    a = sg.tensor(cutlass.Float8E4M3FN, m, k, align=16)
    b = sg.tensor(cutlass.Float8E4M3FN, k, n, order=(0, 1), align=16)
    return operator(NATIVE, a, b, sg.tensor(out_dtype, m, n, align=16))

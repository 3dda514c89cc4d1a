"""GEMMs that the registry of nvidia-cutlass-operators finds for the architecture that is built for.

By the library's own convention, a is (m, k), b is (k, n), out is (m, n), all with a batch in front or none.
"""

import cutlass
import torch
from cutlass.operators import GemmArguments, get_operators, mma
from cutlass.operators.utils.dtype import torch_type_from_cutlass_type

import stubgen as sg

# Of the many designs that there are operators for, one for each generation: tensor cores, tile, cluster.
TARGET = (sg.target_arch() or "sm_80").removeprefix("sm_")
AMPERE = (mma.AmpereMma, (128, 128), (1, 1, 1))
NATIVE = {
    "90a": (mma.HopperWgmma, (128, 256), (2, 1, 1)),
    "100a": (mma.BlackwellTcgen05Mma, (256, 256), (2, 1, 1)),
}.get(TARGET, AMPERE)
HALF = [cutlass.Float16, cutlass.BFloat16]
batch, m, n, k = (
    sg.dim(name, divisible_by=by) for name, by in (("batch", 1), ("m", 1), ("n", 16), ("k", 16))
)


def sample(tensor):
    """Make a tensor like the declared one, for the registry to look at."""
    made = torch.empty([128] * len(tensor.shape), dtype=torch_type_from_cutlass_type(tensor.dtype))
    return made.mT if tensor.unit == -2 else made


def operator(wanted, sums, a, b, out):
    """Find the operator for these operands, and say what compiles it."""

    def is_wanted(found):
        design = found.design
        return (design.mma_instruction_type, design.tile_shape[:2], design.cluster_shape) == wanted

    [found] = get_operators(
        GemmArguments(sample(a), sample(b), sample(out), sums), is_wanted, TARGET, limit=1
    )
    clusters = cutlass.utils.HardwareInfo().get_max_active_clusters(wanted[2][0])
    more = {"max_active_clusters": clusters} if wanted[0] is mma.HopperWgmma else {}
    return sg.kernel(found.impl, a, b, out, stream=sg.env_stream(), **more)


def rows(dtype, *shape, unit=-1):
    """Describe a tensor whose rows are read or written 16 bytes at a time."""
    return sg.strided(dtype, *shape, vector=128 // dtype.width, unit=unit)


def operands(dtype, out_dtype, *lead, b_major):
    """Describe a, b and out."""
    n, k = (sg.dim(name, divisible_by=128 // of.width) for name, of in (("n", out_dtype), ("k", dtype)))
    b = rows(dtype, *lead, k, n, unit=-2 if b_major == "k" else -1)
    return rows(dtype, *lead, m, k), b, rows(out_dtype, *lead, m, n)


@sg.family(dtype=HALF, b_major=["k", "n"], batched=[False, True])
def gemm(dtype, b_major, batched):
    """Multiply: out = a @ b, on the tensor cores that the GPU has."""
    return operator(NATIVE, cutlass.Float32, *operands(dtype, dtype, *[batch] * batched, b_major=b_major))


@sg.family(dtype=HALF)
def gemm_portable(dtype):
    """Multiply: out = a @ b, with the instructions of Ampere, which later GPUs have too."""
    return operator(AMPERE, cutlass.Float32, *operands(dtype, dtype, b_major="n"))


@sg.family(out_dtype=[cutlass.BFloat16, cutlass.Float32])
def gemm_fp8(out_dtype):
    """Multiply: out = a @ b for float8, from Hopper on; b has to be contiguous along k."""
    tensors = operands(cutlass.Float8E4M3FN, out_dtype, b_major="k")
    return None if NATIVE == AMPERE else operator(NATIVE, cutlass.Float32, *tensors)


# Not Uint8: the operators that take it multiply it as Int8.
@sg.family(dtype=[cutlass.Int8])
def gemm_int8(dtype):
    """Multiply: out = a @ b for 8-bit integers, from Hopper on; b has to be contiguous along k."""
    tensors = operands(dtype, cutlass.Int32, b_major="k")
    return None if NATIVE == AMPERE else operator(NATIVE, cutlass.Int32, *tensors)

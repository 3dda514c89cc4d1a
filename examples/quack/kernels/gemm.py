"""GEMMs with linear, activation and gated epilogues: a is (m, k), b is (n, k), d and c are (m, n)."""

from cutlass import BFloat16, Float16, Float32, Int32
from quack.cute_dsl_utils import get_device_capacity
from quack.epilogue.library import dact_mod, linear_act_mod
from quack.gemm_config import default_config
from quack.gemm_default_epi import GemmDefaultSm90, GemmDefaultSm100
from quack.rounding import RoundingMode
from quack.tile_scheduler import TileSchedulerOptions

import stubgen as sg

HALF = [Float16, BFloat16]
GENERATION = get_device_capacity()[0]  # that of the GPUs that are built for
GemmDefault = {9: GemmDefaultSm90, 10: GemmDefaultSm100}[GENERATION]
batch, m, n, k = map(sg.dim, ("batch", "m", "n", "k"))


def operands(dtype, *lead, b_major="k"):
    """Describe a, b and d; TMA wants rows that lie whole 16 bytes apart."""
    units = (-1, -1 if b_major == "k" else -2, -1)
    shapes = ((m, k), (n, k), (m, n))
    return [sg.strided(dtype, *lead, *s, vector=8, unit=u) for s, u in zip(shapes, units, strict=True)]


def compiled(kernel_class, dtype, *tensors, **epilogue):
    """Make the object that the library makes of its default configuration for these GPUs."""
    config = default_config(None)
    own = {"pingpong": config.pingpong} if GENERATION == 9 else {}
    tile, cluster = (config.tile_m, config.tile_n), (config.cluster_m, config.cluster_n, 1)
    kernel = kernel_class(Float32, dtype, tile, cluster, **own)
    arguments, schedule = kernel_class.EpilogueArguments(**epilogue), TileSchedulerOptions(Int32)
    return sg.kernel(kernel, *tensors, arguments, schedule, None, sg.env_stream())


def fused(epilogue, **kinds):
    """Return the class that the library makes when an epilogue is first called with such operands."""
    gated = epilogue.mode == "acc_pair"
    return epilogue._mint(tuple(kinds.items()), GENERATION, gated, False, (), RoundingMode.RN, (), False)


@sg.family(dtype=HALF, b_major=["k", "n"], linear=[False, True])
def gemm(dtype, b_major, linear):
    """Multiply, with alpha, beta * c and a bias for each column, or plainly."""
    a, b, d = operands(dtype, b_major=b_major)
    if not linear:
        return compiled(GemmDefault, dtype, a, b, d, None)
    bias = sg.strided(Float32, batch, n, vector=4)
    return compiled(GemmDefault, dtype, a, b, d, d, alpha=Float32, beta=Float32, mRowVecBroadcast=bias)


@sg.family(dtype=HALF)
def gemm_batched(dtype):
    """Multiply the matrices of a batch."""
    return compiled(GemmDefault, dtype, *operands(dtype, batch), None)


@sg.family(dtype=HALF, activation={"relu": "relu", "gelu": "gelu_tanh_approx"}, preact=[False, True])
def gemm_act(dtype, activation, preact):
    """Multiply, add a bias for each column, and apply an activation; d is what came before it, if wanted."""
    act = linear_act_mod(activation, gated=False, has_c=False, has_rowvec=True, has_colvec=False)
    a, b, d = operands(dtype)
    epilogue = {"mAuxOut": d, "mRowVecBroadcast": sg.strided(Float32, batch, n, vector=4)}
    kernel_class = fused(act, mRowVecBroadcast="row")
    return compiled(kernel_class, dtype, a, b, d if preact else None, None, **epilogue)


@sg.family(dtype=HALF, activation=["swiglu", "geglu"])
def gemm_gated(dtype, activation):
    """Multiply, and let even columns gate odd ones; d is what came before."""
    gate = linear_act_mod(activation, gated=True, has_c=False, has_rowvec=False, has_colvec=False)
    out = sg.strided(dtype, m, sg.dim("half_n", divisible_by=8), vector=8)
    return compiled(fused(gate), dtype, *operands(dtype), None, mAuxOut=out)


@sg.family(dtype=HALF)
def gemm_dact(dtype):
    """Multiply, and pass the gradient on through the GELU of c; the activation itself comes out too."""
    a, b, d = operands(dtype)
    return compiled(fused(dact_mod("gelu_tanh_approx"), c="c"), dtype, a, b, d, d, mAuxOut=d)

"""Calls that both type checkers must refuse: each line marked with ``# wrong``, and no other."""

import cute_kernels.jax
import cute_kernels.torch
import cute_kernels.torch.functional
import jax
import numpy as np
import torch
from cute_kernels import attention, elementwise, gemm, host, norm, structures
from cute_kernels.kwargs import elementwise as elementwise_kw
from cute_kernels.kwargs import gemm as gemm_kw
from cute_kernels.kwargs import host as host_kw
from cute_kernels.kwargs import structures as structures_kw


def arity(t: torch.Tensor) -> None:
    elementwise.add_one(t)  # wrong
    elementwise.add_one(t, t, t)  # wrong
    elementwise.add_constant(t, t)  # wrong: the positional function has no defaults
    elementwise_kw.add_constant(t)  # wrong
    norm.rmsnorm(t, t, t)  # wrong
    norm.rmsnorm.variants["float16_4096"](t, t, t)  # wrong
    gemm.gemm(t, t, t)  # wrong: which activation?
    gemm_kw.gemm(t, t, t)  # wrong


def keywords(t: torch.Tensor) -> None:
    elementwise.add_constant(t, t, offset=1.0)  # wrong: by position only
    elementwise_kw.add_constant(t, t, off=1.0)  # wrong
    elementwise_kw.add_constant(t, t, stream=0)  # wrong: the environment fills it
    host_kw.host_keyword_only(t, t, 3.0)  # wrong: by keyword only
    host_kw.host_frozen(t, t, power=2)  # wrong: fixed at compile time


def scalars(t: torch.Tensor) -> None:
    elementwise.add_constant(t, t, "1")  # wrong
    elementwise.add_constant(t, t, None)  # wrong
    elementwise.add_constant(t, t, t)  # wrong
    structures.load(0, 1.5, t)  # wrong: an integer


def no_tensors(t: torch.Tensor) -> None:
    elementwise.add_one(1, t)  # wrong
    elementwise.add_one([1.0], t)  # wrong
    elementwise.add_one(None, t)  # wrong
    host.host_bias_given(t, None, t)  # wrong: compiled with a tensor
    host.host_bias(t, t, t)  # wrong: compiled without


def structured(t: torch.Tensor) -> None:
    structures.lerp((t,), 0.5, t)  # wrong
    structures.lerp(t, 0.5, t)  # wrong
    structures.moving_average((t, 1.0, 9, True), t)  # wrong: width is 8
    structures.moving_average(structures.Window(t, 1.0), t)  # wrong: a tuple, by position
    structures_kw.moving_average((t, 1.0, 8, True), t)  # wrong: a Window, by keyword
    structures_kw.moving_average(structures_kw.Window(t, 1.0, width=9), t)  # wrong
    host.host_shape_static((4, 9), t)  # wrong: compiled for (4, 8)


def names() -> None:
    elementwise.add_two  # wrong
    norm.rmsnorm__float16_4096  # wrong: variants are no members of the module
    norm.rmsnorm.variants["float16_4097"]  # wrong


def families(t: torch.Tensor) -> None:
    norm.rmsnorm(t, t, t, eps=1e-6)  # wrong: by position only
    norm.rmsnorm(t, None, t, 1e-6)  # wrong
    gemm.gemm(t, t, t, "tanh")  # wrong
    gemm.gemm(t, t, t, None)  # wrong
    gemm.gemm("relu", t, t, t)  # wrong
    gemm_kw.gemm(t, t, t, activation="RELU")  # wrong
    attention.attention(t, t, t, t, None, 1.0, "causal")  # wrong
    attention.attention(t, t, t, t, None, 1.0, None)  # wrong
    attention.attention(t, t, t, t, 0, 1.0, True)  # wrong
    host.host_activate(t, 3, t)  # wrong


def variants(t: torch.Tensor) -> None:
    gemm.gemm.variants["float16_float32_relu_k"](t, t, t, "relu")  # wrong: it is chosen
    gemm.gemm.variants["float16_float32_relu_n"]  # wrong: there is none
    attention.attention.variants["float16_64_true_false"](t, t, t, t, t, 1.0)  # wrong: compiled without lse
    attention.attention.variants["float16_64_true_true"](t, t, t, t, None, 1.0)  # wrong: compiled with it
    norm.rmsnorm.variants = norm.rmsnorm.variants  # wrong


def frameworks(t: torch.Tensor, a: jax.Array, n: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
    cute_kernels.torch.add_one(n, t)  # wrong: its tensors are PyTorch's
    cute_kernels.torch.functional.add_one(a)  # wrong
    cute_kernels.jax.add_one(t)  # wrong
    cute_kernels.torch.functional.gemm(t, t, "tanh")  # wrong
    cute_kernels.torch.functional.gemm(t, t, "relu", torch.float32)  # wrong: by keyword only
    cute_kernels.jax.axpby(2.0, a, 3.0, a, a)  # wrong: it makes its output
    cute_kernels.jax.built_for(a).wait()  # wrong: it gives an array
    cute_kernels.torch.lerp((t, t), 0.5, t)  # wrong: left out

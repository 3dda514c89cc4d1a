"""Calls that both type checkers must accept. Checked, never run."""

import ctypes
from collections.abc import Callable
from typing import Any

import cute_kernels
import cute_kernels.jax
import cute_kernels.torch
import cute_kernels.torch.functional
import jax
import numpy as np
import torch
import tvm_ffi
from cute_kernels import attention, elementwise, gemm, host, norm, structures
from cute_kernels.kwargs import attention as attention_kw
from cute_kernels.kwargs import elementwise as elementwise_kw
from cute_kernels.kwargs import gemm as gemm_kw
from cute_kernels.kwargs import host as host_kw
from cute_kernels.kwargs import norm as norm_kw
from cute_kernels.kwargs import structures as structures_kw


def tensors_of_any_framework(
    t: torch.Tensor, n: np.ndarray[Any, np.dtype[np.float32]], f: tvm_ffi.Tensor
) -> None:
    elementwise.add_one(t, t)
    elementwise.add_one(n, n)
    elementwise.add_one(f, f)
    elementwise.add_constant(t, n, 1)
    generic: cute_kernels.Tensor = t
    elementwise.axpby(1.0, generic, 2, f, n)


def keywords_and_defaults(t: torch.Tensor) -> None:
    elementwise_kw.add_constant(t, t)
    elementwise_kw.add_constant(b=t, a=t, offset=2.0)
    host_kw.host_keyword_only(t, out=t, factor=3.0)


def structured(t: torch.Tensor) -> None:
    structures.affine((t, 2.0, None), t)
    structures.affine(structures.Affine(t, 2.0, None), t)
    structures_kw.affine(structures.Affine(t, factor=2.0, shift=None), out=t)
    structures.moving_average((t, 1.0, 8, True), t)
    structures_kw.moving_average(structures_kw.Window(t, 1.0), t)
    structures.lerp((t, t), 0.5, t)
    structures.double_add(t, None, t)


def pointers_and_streams(t: torch.Tensor) -> None:
    structures.load(t.data_ptr(), 4, t)
    structures.load(ctypes.c_void_p(0), 4, t)
    elementwise.scale(t, 2.0, torch.cuda.current_stream().cuda_stream)
    elementwise.scale(t, 2.0, None)


def families(t: torch.Tensor, n: np.ndarray[Any, np.dtype[np.float32]], flag: bool) -> None:
    norm.rmsnorm(t, t, t, 1e-6)
    norm_kw.rmsnorm(t, t, eps=1e-6, out=t)
    attention.attention(t, t, t, t, None, 1.0, True)
    attention.attention(t, t, t, t, t, 1, flag)
    attention_kw.attention(t, t, t, t, causal=False, lse=None, scale=1.0)
    gemm.gemm(t, t, t, "relu")
    gemm_kw.gemm(t, t, activation="none", c=t)
    host.host_scale_add(n, 2.0, flag, None, n)
    host.host_scale_add(n, 2.0, flag, n, n)
    host.host_activate(n, "cube", n)
    host_kw.host_activate(kind="square", x=n, out=n)


def variants_of_families(t: torch.Tensor) -> None:
    norm.rmsnorm.variants["float16_4096"](t, t, t, 1e-6)
    attention.attention.variants["float16_64_true_false"](t, t, t, t, None, 1.0)
    attention.attention.variants["bfloat16_128_true_true"](t, t, t, t, t, 1.0)
    gemm.gemm.variants["float16_float32_relu_k"](t, t, t)
    for variant in (norm.rmsnorm.variants["float16_1024"], norm.rmsnorm.variants["float16_8192"]):
        variant(t, t, t, 1e-6)
    names: list[str] = list(norm.rmsnorm.variants)
    assert "float16_1024" in norm.rmsnorm.variants, len(names)


def families_as_arguments(t: torch.Tensor) -> None:
    functions: list[Callable[[torch.Tensor, torch.Tensor], None]] = [
        elementwise.add_one,
        host.host_row_sums,
        host.host_row_sums.variants["int32_5"],
        host.host_activate.variants["cube_2"],
    ]
    for function in functions:
        function(t, t)


def results(t: torch.Tensor) -> None:
    nothing: None = host.host_add_constant(t, t, 1.0)  # type: ignore[func-returns-value]
    assert nothing is None


def frameworks(t: torch.Tensor, a: jax.Array) -> tuple[torch.Tensor, jax.Array]:
    cute_kernels.torch.rmsnorm(t, t, t, 1e-5)
    cute_kernels.torch.attention(t, t, t, t, None, 0.1, True)
    made = cute_kernels.torch.functional.gemm(t, b=t, activation="relu", c_dtype=torch.float32)
    return cute_kernels.torch.functional.softmax(made), cute_kernels.jax.gemm(a, a, "gelu")

"""Calls that both type checkers must accept. Checked, never run."""

import ctypes
from typing import Any

import cute_kernels
import numpy as np
import torch
import tvm_ffi
from cute_kernels import elementwise, host, norm, structures
from cute_kernels.kwargs import elementwise as elementwise_kw
from cute_kernels.kwargs import host as host_kw
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


def families(t: torch.Tensor) -> None:
    norm.rmsnorm__float16_4096(t, t, t, 1e-6)


def results(t: torch.Tensor) -> None:
    nothing: None = host.host_add_constant(t, t, 1.0)  # type: ignore[func-returns-value]
    assert nothing is None

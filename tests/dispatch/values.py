"""The calls that dispatch is tried with: what each kernel of the pool accepts, and near misses."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import tvm_ffi

_MEMORY = np.zeros(1 << 16, dtype=np.uint8)
_START = -_MEMORY.ctypes.data % 64


def array(dtype: str, *shape: int, strides: tuple[int, ...] | None = None, offset: int = 0) -> Any:
    """Make a tensor whose data lies some bytes behind an address that is a multiple of 64.

    Kernels of the pool do not touch their arguments, so strides may lead anywhere.
    """
    memory = _MEMORY[_START + offset : _START + offset + (len(_MEMORY) - 256)]
    if dtype == "bfloat16":
        return torch.from_numpy(memory).view(torch.bfloat16)[: np.prod(shape)].reshape(shape)
    base = memory.view(dtype)
    if strides is None:
        return base[: int(np.prod(shape))].reshape(shape)
    in_bytes = tuple(stride * base.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(base, shape, in_bytes)


def first_arguments() -> list[Any]:
    """Return the values for the first argument of a call."""
    return [*_vectors(), *_matrices(), *_cubes(), *_numbers(), *_shapes(), *_tuples()]


def second_arguments() -> list[Any]:
    """Return those for the second."""
    vectors = [array("float32", length) for length in (1, 4, 5, 8, 16)]
    matrices = [array("float32", 2, 3, strides=(stride, 1)) for stride in (3, 4, 5)]
    return [None, *vectors, *matrices, array("float16", 8), 1, 300, 2**40, 1.5, True, "text"]


def _vectors() -> Iterator[Any]:
    for offset in (0, 4, 16):
        for length in (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 18, 24, 32):
            yield array("float32", length, offset=offset)
    for length, stride in ((4, 2), (8, 0), (8, -1), (1, 5), (0, 2)):
        yield array("float32", length, strides=(stride,))
    for dtype in ("float64", "float16", "bfloat16", "int32", "uint32", "int8", "uint8", "bool", "int64"):
        for length in (1, 5, 8):
            yield array(dtype, length)
    huge = np.empty(2**31 + 8, dtype=np.uint8)  # never touched, so it takes no memory
    yield huge
    yield huge[:-4]
    yield huge[: 2**31 - 8]


def _matrices() -> Iterator[Any]:
    for n in (0, 1, 2, 4, 5, 8):
        for m in (0, 1, 3, 4, 5, 8):
            layouts = {(m, 1), (1, n), (m + 1, 1), (m + 2, 1), (8, 1), (16, 1), (1, n + 2), (20, 2), (n, 1)}
            for strides in sorted(layouts):
                yield array("float32", n, m, strides=strides)
    for strides in ((0, 1), (1, 1), (0, 0), (2, 2), (8, 8), (-3, 1), (2**31, 1), (2**33 + 1, 1), (1, 2**33)):
        yield array("float32", 2, 3, strides=strides)
        yield array("float32", 3, 3, strides=strides)
    yield array("float32", 4, 5, strides=(2**33, 1))
    yield array("float32", 4, 8, offset=16)
    for shape in ((2, 3), (2, 4), (4, 8), (1, 4)):
        yield array("float64", *shape)
        yield array("float64", *shape[::-1]).T


def _cubes() -> Iterator[Any]:
    for shape in ((), (2, 3, 4), (3, 3, 2), (3, 2, 2), (2, 3, 2), (2, 2, 2), (3, 3, 3), (1, 1, 1), (2, 2, 3)):
        yield array("float32", *shape)
        if shape:
            yield array("float32", *shape[::-1]).transpose(2, 1, 0)
    yield array("float64")
    yield array("float32", 1, 2, 3, 4)


def _numbers() -> Iterator[Any]:
    for bits in (7, 8, 15, 16, 31, 32):
        yield from (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1)
    yield from (0, 2, 4, 6, 8, 10, 12, 600, 60_000, -4, -6, 2**63 - 1, -(2**63), 2**40)
    yield from (True, False, None, 0.5, 1.0, 8.0, 1e-5, float("nan"), float("inf"))
    yield from (ctypes.c_void_p(64), ctypes.c_void_p(0), "x", "a text that does not fit in place", b"bytes")


def _shapes() -> Iterator[Any]:
    yield from ((), (4,), (4, 8), (4, 9), (5, 8), (2, 3, 4), (2, 3, 5), (4, 2**31), (4, -1), (4, 2**40))
    yield from ((4, 8.0), (4, True), (True, 8), (4, None), ("4", 8), ((4, 8),))
    yield from (
        tvm_ffi.Shape(extents) for extents in ((), (4,), (4, 8), (4, 9), (5, 8), (2, 3, 4), (4, 2**31))
    )


def _tuples() -> Iterator[Any]:
    vector, longer = array("float32", 5), array("float32", 8)
    misaligned, double = array("float32", 5, offset=4), array("float64", 5)
    for number in (1, 1.5, 300, True, None, 2**40):
        yield from (
            (vector, number),
            (double, number),
            (None, number),
            (misaligned, number),
            (number, vector),
        )
        yield from ((vector, vector, number), (vector, longer, number), ((vector, number), 1.5))
    yield from ((vector, vector), (vector, longer), (double, vector), (vector,), ((vector, 1), None))
    for first in (8, 4, 1, 0, 1e-5, 1e-6, 1.0, 2.0, True, False, None):
        yield from ((vector, first, second) for second in (True, False, 1, None))
        yield (double, first, True)

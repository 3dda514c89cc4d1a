"""Streams in every place, dataclasses without fields, unions: kernels for the GPU, compiled but not called."""

from dataclasses import dataclass
from typing import NamedTuple, Optional, Tuple, Union

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

n = sg.dim("n", divisible_by=4, bits=64)
X = sg.tensor(cutlass.Float32, n, align=16)


@cute.kernel
def _fill(x: cute.Tensor, value: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    if thread < cute.size(x):
        x[thread] = value


def launch(x, value, stream):
    _fill(x, value).launch(grid=[1, 1, 1], block=[32, 1, 1], stream=stream)


@cute.jit
def stream_first(stream: CUstream, x: cute.Tensor, value: cutlass.Float32 = 2.0):
    launch(x, value, stream)


@cute.jit
def stream_unannotated(x: cute.Tensor, stream, value: cutlass.Float32):
    launch(x, value, stream)


@cute.jit
def two_streams(x: cute.Tensor, first: CUstream, second: CUstream):
    launch(x, cutlass.Float32(1.0), first)
    launch(x, cutlass.Float32(2.0), second)


@cute.jit
def stream_in_tuple(x: cute.Tensor, options: Tuple[cutlass.Float32, CUstream]):
    launch(x, options[0], options[1])


sg.export(name="env_first")(stream_first, sg.env_stream(), X)
sg.export(name="explicit_first")(stream_first, sg.stream(), X)
sg.export(name="env_unannotated")(stream_unannotated, X, sg.env_stream(), cutlass.Float32)
sg.export(name="explicit_unannotated")(stream_unannotated, X, sg.stream(), cutlass.Float32)
sg.export(name="env_and_explicit")(two_streams, X, sg.env_stream(), sg.stream())
sg.export(name="env_twice")(two_streams, X, sg.env_stream(), sg.env_stream())
sg.export(name="explicit_twice")(two_streams, X, sg.stream(), sg.stream())
sg.export(stream_in_tuple, X, (cutlass.Float32, sg.stream()))


@dataclass
class Nothing:
    """No fields."""


class Weights(NamedTuple):
    """Two weights."""

    a: cutlass.Float32
    b: Optional[cute.Tensor] = None


@cute.jit
def no_fields(x: cute.Tensor, empty: Nothing, stream: CUstream):
    launch(x, cutlass.Float32(1.0), stream)


@cute.jit
def union(x: cute.Tensor, weights: Union[cute.Tensor, Weights], stream: CUstream):
    launch(x, cutlass.Float32(1.0), stream)


sg.export(no_fields, X, Nothing(), sg.env_stream())
sg.export(name="union_tensor")(union, X, X, sg.env_stream())
sg.export(name="union_named")(union, X, Weights(cutlass.Float32(0.0)), sg.env_stream())

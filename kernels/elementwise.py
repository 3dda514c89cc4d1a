"""Elementwise kernels on vectors: the smallest complete kernels, one thread per element."""

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

THREADS = 256


def _blocks(n):
    """Blocks for n elements; at least one, since CUDA refuses an empty grid."""
    return cutlass.max(cute.ceil_div(n, THREADS), 1)


def _element():
    """Index of the element that this thread owns."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


@cute.kernel
def _add_constant(a: cute.Tensor, b: cute.Tensor, offset: cutlass.Float32):
    i = _element()
    if i < a.shape[0]:
        b[i] = a[i] + offset


@cute.kernel
def _axpby(
    alpha: cutlass.Float32,
    x: cute.Tensor,
    beta: cutlass.Float32,
    y: cute.Tensor,
    out: cute.Tensor,
):
    i = _element()
    if i < out.shape[0]:
        out[i] = alpha * x[i] + beta * y[i]


@cute.kernel
def _scale(x: cute.Tensor, factor: cutlass.Float32):
    i = _element()
    if i < x.shape[0]:
        x[i] = factor * x[i]


@cute.jit
def add_one(a: cute.Tensor, b: cute.Tensor):
    """b = a + 1, elementwise.

    Parameters
    ----------
    a
        Input.
    b
        Output; may be the same memory as ``a``.
    """
    _add_constant(a, b, cutlass.Float32(1.0)).launch(grid=[_blocks(a.shape[0]), 1, 1], block=[THREADS, 1, 1])


@cute.jit
def add_constant(
    a: cute.Tensor,
    b: cute.Tensor,
    offset: cutlass.Float32 = 1.0,
    stream: CUstream = None,
):
    """b = a + offset, elementwise.

    Parameters
    ----------
    a
        Input.
    b
        Output; may be the same memory as ``a``.
    offset
        What is added to every element.
    """
    _add_constant(a, b, offset).launch(grid=[_blocks(a.shape[0]), 1, 1], block=[THREADS, 1, 1], stream=stream)


@cute.jit
def axpby(
    alpha: cutlass.Float32,
    x: cute.Tensor,
    beta: cutlass.Float32,
    y: cute.Tensor,
    out: cute.Tensor,
    stream: CUstream,
):
    """out = alpha * x + beta * y, elementwise.

    Parameters
    ----------
    alpha, beta
        Weights of the two inputs.
    x, y
        Inputs.
    out
        Output; may be the same memory as an input.
    """
    _axpby(alpha, x, beta, y, out).launch(
        grid=[_blocks(out.shape[0]), 1, 1], block=[THREADS, 1, 1], stream=stream
    )


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Float32, stream: CUstream):
    """x = factor * x, elementwise and in place, on a stream that the caller passes.

    Parameters
    ----------
    x
        Input and output.
    factor
        What every element is multiplied by.
    stream
        Stream to run on.
    """
    _scale(x, factor).launch(grid=[_blocks(x.shape[0]), 1, 1], block=[THREADS, 1, 1], stream=stream)


n = sg.dim("n")
vector = sg.tensor(cutlass.Float32, n)

sg.export(returns=("b",))(add_one, a=vector, b=vector)
sg.export(returns=("b",))(add_constant, a=vector, b=vector, stream=sg.env_stream())
sg.export(returns=("out",))(axpby, x=vector, y=vector, out=vector, stream=sg.env_stream())
sg.export(mutates=("x",))(scale, x=vector, stream=sg.stream())

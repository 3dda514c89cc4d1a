"""Kernels whose arguments have structure: tuples, dataclasses, pointers, shapes, optional tensors.

All of them work on float32 vectors with one thread per element, so that what is special about each
is its arguments. Every one also takes a tensor of its own beside the structure: it is from such a
tensor that the compiled function learns the device to switch to and the stream to run on.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

THREADS = 256


def _launch(kernel, n, stream):
    """Launch a thread per element, in at least one block: CUDA refuses an empty grid."""
    blocks = cutlass.max(cute.ceil_div(n, THREADS), 1)
    kernel.launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1], stream=stream)


def _element():
    """Index of the element that this thread owns."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    return block * THREADS + thread


# -----------------------------------------------------------------------------------------------
# A tuple of known length


@cute.kernel
def _lerp(ends: tuple[cute.Tensor, cute.Tensor], weight: cutlass.Float32, out: cute.Tensor):
    i = _element()
    if i < out.shape[0]:
        start, end = ends
        out[i] = start[i] + weight * (end[i] - start[i])


@cute.jit
def lerp(
    ends: tuple[cute.Tensor, cute.Tensor],
    weight: cutlass.Float32,
    out: cute.Tensor,
    stream: CUstream,
):
    """out = start + weight * (end - start), elementwise.

    Parameters
    ----------
    ends
        The two inputs, start and end.
    weight
        0 gives the start, 1 gives the end.
    out
        Output.
    """
    _launch(_lerp(ends, weight, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# A tuple of any length


@cute.kernel
def _polynomial(x: cute.Tensor, coefficients: tuple, out: cute.Tensor):
    i = _element()
    if i < out.shape[0]:
        value = cutlass.Float32(0.0)
        for k in cutlass.range_constexpr(len(coefficients) - 1, -1, -1):
            value = value * x[i] + coefficients[k][i]
        out[i] = value


@cute.jit
def polynomial(x: cute.Tensor, coefficients: tuple, out: cute.Tensor, stream: CUstream):
    """out = c0 + c1 * x + c2 * x**2 + ..., elementwise, every element with its own coefficients.

    Parameters
    ----------
    x
        Where to evaluate.
    coefficients
        A tensor for each power of x, from the constant upwards; as many as when compiled.
    out
        Output.
    """
    _launch(_polynomial(x, coefficients, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# A named tuple


class Affine(NamedTuple):
    """An affine map and what it is applied to.

    Attributes
    ----------
    x
        Input.
    factor
        What every element is multiplied by.
    shift
        What is added to the product, elementwise; None for nothing.
    """

    x: cute.Tensor
    factor: cutlass.Float32
    shift: cute.Tensor | None


@cute.kernel
def _affine(arguments: Affine, out: cute.Tensor):
    i = _element()
    if i < out.shape[0]:
        value = arguments.factor * arguments.x[i]
        if cutlass.const_expr(arguments.shift is not None):
            value += arguments.shift[i]
        out[i] = value


@cute.jit
def affine(arguments: Affine, out: cute.Tensor, stream: CUstream):
    """out = factor * x + shift, elementwise; without a shift, out = factor * x.

    Parameters
    ----------
    arguments
        x, factor and shift.
    out
        Output.
    """
    _launch(_affine(arguments, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# A dataclass, some of whose fields are constants


@dataclass
class Window:
    """A signal and the window that is moved over it.

    Attributes
    ----------
    signal
        Input.
    gain
        What every average is multiplied by.
    width
        Elements in the window, of which element i is the last; a constant.
    wrap
        Whether the signal repeats before its start, or is zero there; a constant.
    """

    signal: cute.Tensor
    gain: cutlass.Float32
    width: cutlass.Constexpr[int] = 8
    wrap: cutlass.Constexpr[bool] = True


@cute.kernel
def _moving_average(window: Window, out: cute.Tensor):
    n = out.shape[0]
    i = _element()
    if i < n:
        total = cutlass.Float32(0.0)
        for back in cutlass.range_constexpr(window.width):
            # The signal may be shorter than the window.
            source = i - back % n if cutlass.const_expr(window.wrap) else i - back
            if cutlass.const_expr(window.wrap) and source < 0:
                source += n
            if source >= 0:
                total += window.signal[source]
        out[i] = window.gain / window.width * total


@cute.jit
def moving_average(window: Window, out: cute.Tensor, stream: CUstream):
    """out[i] = gain * the mean of the signal's elements i - width + 1 to i.

    Parameters
    ----------
    window
        The signal, the gain, and the constants.
    out
        Output; not the same memory as the signal.
    """
    _launch(_moving_average(window, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# A pointer


@cute.kernel
def _load(source: cute.Pointer, n: cutlass.Int32, out: cute.Tensor):
    i = _element()
    if i < out.shape[0]:
        value = cutlass.Float32(0.0)
        if i < n:
            value = cute.make_tensor(source, cute.make_layout(n))[i]
        out[i] = value


@cute.jit
def load(source: cute.Pointer, n: cutlass.Int32, out: cute.Tensor, stream: CUstream):
    """Copy n elements from a pointer to the start of out, and fill the rest with zeros.

    Parameters
    ----------
    source
        Address of the first element, in memory of the GPU that out is on.
    n
        How many elements may be read there.
    out
        Output; if it is shorter than n, as many elements as it has are copied.
    """
    _launch(_load(source, n, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# A shape


@cute.kernel
def _transpose(shape: cute.Shape, x: cute.Tensor, out: cute.Tensor):
    rows, columns = shape
    i = _element()
    if i < rows * columns:
        source = cute.make_tensor(x.iterator, cute.make_layout(shape, stride=(columns, 1)))
        out[i] = source[i % rows, i // rows]


@cute.jit
def transpose(shape: cute.Shape, x: cute.Tensor, out: cute.Tensor, stream: CUstream):
    """Transpose a row-major matrix that is stored in a vector.

    Parameters
    ----------
    shape
        Rows and columns of the input.
    x
        Input, of at least rows * columns elements.
    out
        Output, at least as long; not the same memory. What is behind rows * columns is left alone.
    """
    _launch(_transpose(shape, x, out), shape[0] * shape[1], stream)


# -----------------------------------------------------------------------------------------------
# An optional tensor


@cute.kernel
def _add_bias(x: cute.Tensor, bias: cute.Tensor | None, out: cute.Tensor):
    i = _element()
    if i < out.shape[0]:
        value = 2.0 * x[i]
        if cutlass.const_expr(bias is not None):
            value += bias[i]
        out[i] = value


@cute.jit
def double_add(x: cute.Tensor, bias: cute.Tensor | None, out: cute.Tensor, stream: CUstream):
    """out = 2 * x + bias, elementwise; without a bias, out = 2 * x.

    Parameters
    ----------
    x
        Input.
    bias
        What is added; None for nothing.
    out
        Output.
    """
    _launch(_add_bias(x, bias, out), out.shape[0], stream)


# -----------------------------------------------------------------------------------------------
# Declarations

n = sg.dim("n")
vector = sg.tensor(cutlass.Float32, n)
stream = sg.env_stream()

# Inside a structure a scalar must be a value of its type: there the compiler takes no bare type.
one = cutlass.Float32(1.0)

sg.export(lerp, ends=(vector, vector), out=vector, stream=stream)
sg.export(polynomial, x=vector, coefficients=(vector, vector, vector), out=vector, stream=stream)
sg.export(affine, arguments=Affine(vector, one, None), out=vector, stream=stream)
sg.export(moving_average, window=Window(vector, one), out=vector, stream=stream)
sg.export(load, source=sg.pointer(cutlass.Float32), out=vector, stream=stream)
sg.export(
    transpose,
    shape=(cutlass.Int32(1), cutlass.Int32(1)),
    x=sg.tensor(cutlass.Float32, sg.dim("length")),
    out=sg.tensor(cutlass.Float32, sg.dim("capacity")),
    stream=stream,
)
sg.export(returns=("out",))(double_add, x=vector, bias=None, out=vector, stream=stream)
sg.export(name="double_add_given", returns=("out",))(
    double_add, x=vector, bias=vector, out=vector, stream=stream
)

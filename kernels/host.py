"""Host functions without a GPU kernel: every kind of argument, callable on any machine.

They exist so that each generated surface can be tested by real calls. Each computes something that
shows that every argument arrived, and arrived in its own place.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def host_add_constant(a: cute.Tensor, b: cute.Tensor, offset: cutlass.Float32 = 1.0):
    """b = a + offset, elementwise, on the CPU.

    Parameters
    ----------
    a
        Input.
    b
        Output; may be the same memory as ``a``.
    offset
        What is added to every element.
    """
    for i in range(a.shape[0]):
        b[i] = a[i] + offset


@cute.jit
def host_axpby(
    alpha: cutlass.Float32,
    x: cute.Tensor,
    beta: cutlass.Float32,
    y: cute.Tensor,
    out: cute.Tensor,
):
    """out = alpha * x + beta * y, elementwise, on the CPU.

    Parameters
    ----------
    alpha, beta
        Weights of the two inputs.
    x, y
        Inputs.
    out
        Output; may be the same memory as an input.
    """
    for i in range(out.shape[0]):
        out[i] = alpha * x[i] + beta * y[i]


@cute.jit
def host_scalars(
    flag: cutlass.Boolean,
    i8: cutlass.Int8,
    i16: cutlass.Int16,
    i32: cutlass.Int32,
    i64: cutlass.Int64,
    u8: cutlass.Uint8,
    u16: cutlass.Uint16,
    u32: cutlass.Uint32,
    u64: cutlass.Uint64,
    f32: cutlass.Float32,
    f64: cutlass.Float64,
    integers: cute.Tensor,
    floats: cute.Tensor,
):
    """Write every scalar to its own element, in the order of the parameters.

    Parameters
    ----------
    flag
        Goes to ``integers[0]``, as 0 or 1.
    i8, i16, i32, i64, u8, u16, u32, u64
        Go to ``integers[1]`` to ``integers[8]``.
    f32, f64
        Go to ``floats[0]`` and ``floats[1]``.
    integers, floats
        Outputs.
    """
    integers[0] = cutlass.Int64(flag)
    integers[1] = cutlass.Int64(i8)
    integers[2] = cutlass.Int64(i16)
    integers[3] = cutlass.Int64(i32)
    integers[4] = i64
    integers[5] = cutlass.Int64(u8)
    integers[6] = cutlass.Int64(u16)
    integers[7] = cutlass.Int64(u32)
    integers[8] = cutlass.Int64(u64)
    floats[0] = cutlass.Float64(f32)
    floats[1] = f64


@cute.jit
def host_defaults(
    out: cute.Tensor,
    flag: cutlass.Boolean = True,
    count: cutlass.Int64 = -7,
    ratio: cutlass.Float64 = 0.25,
    boxed: cutlass.Float32 = cutlass.Float32(9.0),  # noqa: B008  (a box of the DSL is immutable)
):
    """Write the four scalars, each with a default, to ``out[0]`` to ``out[3]``."""
    out[0] = cutlass.Float64(flag)
    out[1] = cutlass.Float64(count)
    out[2] = ratio
    out[3] = cutlass.Float64(boxed)


@cute.jit
def host_keyword_only(x: cute.Tensor, out: cute.Tensor, *, factor: cutlass.Float32 = 2.0):
    """out = factor * x, elementwise; ``factor`` goes by keyword only."""
    for i in range(out.shape[0]):
        out[i] = factor * x[i]


@cute.jit
def host_positional_only(x: cute.Tensor, factor: cutlass.Float32, out: cute.Tensor, /):
    """out = factor * x, elementwise; every argument goes by position only."""
    for i in range(out.shape[0]):
        out[i] = factor * x[i]


@cute.jit
def host_weighted_sum(out: cute.Tensor, *terms: cute.Tensor):
    """out = 1 * terms[0] + 2 * terms[1] + 3 * terms[2], for any number of terms."""
    for i in range(out.shape[0]):
        total = cutlass.Float32(0.0)
        for k in cutlass.range_constexpr(len(terms)):
            total += float(k + 1) * terms[k][i]
        out[i] = total


@cute.jit
def host_frozen(
    power: cutlass.Constexpr[int],
    x: cute.Tensor,
    negate: cutlass.Constexpr[bool],
    out: cute.Tensor,
):
    """out = x ** power, negated or not; both choices are frozen into the compiled function."""
    for i in range(out.shape[0]):
        value = cutlass.Float32(-1.0 if cutlass.const_expr(negate) else 1.0)
        for _ in cutlass.range_constexpr(power):
            value *= x[i]
        out[i] = value


@cute.jit
def host_tuple(operands: tuple[cute.Tensor, tuple[cute.Tensor, cutlass.Float32]], out: cute.Tensor):
    """out = x - factor * y, elementwise, for operands (x, (y, factor))."""
    x, (y, factor) = operands
    for i in range(out.shape[0]):
        out[i] = x[i] - factor * y[i]


class HostAffine(NamedTuple):
    """Arguments of :func:`host_affine`."""

    x: cute.Tensor
    factor: cutlass.Float32
    shift: cute.Tensor | None


@cute.jit
def host_affine(arguments: HostAffine, out: cute.Tensor):
    """out = factor * x + shift, elementwise; without a shift, out = factor * x."""
    for i in range(out.shape[0]):
        value = arguments.factor * arguments.x[i]
        if cutlass.const_expr(arguments.shift is not None):
            value += arguments.shift[i]
        out[i] = value


@dataclass
class HostPowers:
    """Arguments of :func:`host_powers`; the constants are frozen into the compiled function."""

    x: cute.Tensor
    factor: cutlass.Float32
    terms: cutlass.Constexpr[int] = 3
    alternate: cutlass.Constexpr[bool] = True


@cute.jit
def host_powers(series: HostPowers, out: cute.Tensor):
    """out = factor * (x ± x**2 + x**3 ± ...), elementwise, with as many terms as frozen."""
    for i in range(out.shape[0]):
        power = series.x[i]
        total = power
        for k in cutlass.range_constexpr(1, series.terms):
            power *= series.x[i]
            if cutlass.const_expr(series.alternate and k % 2 == 1):
                total -= power
            else:
                total += power
        out[i] = series.factor * total


@cute.jit
def host_pointer(p: cute.Pointer, count: cutlass.Int32, out: cute.Tensor):
    """out[0] = p[0] + 2 * p[1] + ... + count * p[count - 1]."""
    values = cute.make_tensor(p, cute.make_layout(count))
    total = cutlass.Float32(0.0)
    for i in range(count):
        total += cutlass.Float32(i + 1) * values[i]
    out[0] = total


@cute.jit
def host_shape(shape: cute.Shape, out: cute.Tensor):
    """Write the extents of a shape to ``out``, and their product after them."""
    for k in cutlass.range_constexpr(cute.rank(shape)):
        out[k] = cutlass.Int64(shape[k])
    product = cutlass.Int64(1)
    for extent in shape:
        product *= cutlass.Int64(extent)
    out[cute.rank(shape)] = product


@cute.jit
def host_bias(x: cute.Tensor, bias: cute.Tensor | None, out: cute.Tensor):
    """out = 2 * x + bias, elementwise; without a bias, out = 2 * x."""
    for i in range(out.shape[0]):
        value = 2.0 * x[i]
        if cutlass.const_expr(bias is not None):
            value += bias[i]
        out[i] = value


@cute.jit
def _row_sums(x: cute.Tensor, out: cute.Tensor):
    """out[i] = the sum of row i, the columns weighted 1, 2, 3, ..."""
    for i in range(out.shape[0]):
        total = out.element_type(0)
        for j in cutlass.range_constexpr(x.shape[1]):
            total += x[i, j] * (j + 1)
        out[i] = total


@cute.jit
def _scale_add(
    x: cute.Tensor,
    factor: cutlass.Float64,
    negate: cutlass.Constexpr[bool],
    bias: cute.Tensor | None,
    out: cute.Tensor,
):
    """out = factor * x + bias, elementwise, negated or not; without a bias, factor * x.

    Parameters
    ----------
    x
        Input.
    factor
        What every element is multiplied with, in the type of ``x``.
    negate
        Whether the sign of the result is changed.
    bias
        What is added to each element, if anything.
    out
        Output; may be the same memory as an input.
    """
    factor = x.element_type(factor)
    for i in range(out.shape[0]):
        value = factor * x[i]
        if cutlass.const_expr(bias is not None):
            value += bias[i]
        if cutlass.const_expr(negate):
            value = -value
        out[i] = value


@cute.jit
def _activated_row_sums(x: cute.Tensor, kind: cutlass.Constexpr[str], out: cute.Tensor):
    """out[i] = the sum of the activation of row i, the columns weighted 1, 2, 3, ...

    Parameters
    ----------
    x
        Input.
    kind
        The activation: "identity", "square" or "cube".
    out
        Output.
    """
    power = {"identity": 1, "square": 2, "cube": 3}[kind]
    for i in range(out.shape[0]):
        total = out.element_type(0)
        for j in cutlass.range_constexpr(x.shape[1]):
            value = x[i, j]
            for _ in cutlass.range_constexpr(power - 1):
                value *= x[i, j]
            total += value * (j + 1)
        out[i] = total


class HostPolynomial:
    """A polynomial whose coefficients are frozen into the compiled function.

    Parameters
    ----------
    *coefficients
        From the constant one to that of the highest power.
    """

    def __init__(self, *coefficients: float):
        self.coefficients = coefficients

    @cute.jit
    def __call__(self, x: cute.Tensor, out: cute.Tensor):
        """out = the polynomial at x, elementwise."""
        for i in range(out.shape[0]):
            value = cutlass.Float32(0.0)
            for coefficient in reversed(self.coefficients):
                value = value * x[i] + coefficient
            out[i] = value


n = sg.dim("n")
vector = sg.tensor(cutlass.Float32, n, device="cpu")


def host_array(dtype, length):
    """Return a host tensor of fixed length."""
    return sg.tensor(dtype, length, device="cpu")


sg.export(returns=("b",))(host_add_constant, a=vector, b=vector)
sg.export(returns=("out",))(host_axpby, x=vector, y=vector, out=vector)
sg.export(mutates=("integers", "floats"))(
    host_scalars,
    integers=host_array(cutlass.Int64, 9),
    floats=host_array(cutlass.Float64, 2),
)
sg.export(mutates=("out",))(host_defaults, out=host_array(cutlass.Float64, 4))
sg.export(returns=("out",))(host_keyword_only, x=vector, out=vector)
sg.export(returns=("out",))(host_positional_only, vector, cutlass.Float32, vector)
sg.export(returns=("out",))(host_weighted_sum, vector, vector, vector, vector)
sg.export(returns=("out",))(host_frozen, power=3, x=vector, negate=True, out=vector)
sg.export(host_tuple, operands=(vector, (vector, cutlass.Float32(1.0))), out=vector)
sg.export(host_affine, arguments=HostAffine(vector, cutlass.Float32(1.0), None), out=vector)
sg.export(host_powers, series=HostPowers(vector, cutlass.Float32(1.0)), out=vector)
sg.export(host_pointer, p=sg.pointer(cutlass.Float32, device="cpu"), out=host_array(cutlass.Float32, 1))
sg.export(name="host_shape_static")(host_shape, shape=(4, 8), out=host_array(cutlass.Int64, 3))
sg.export(name="host_shape_mixed")(
    host_shape,
    shape=(4, cutlass.Int32(1), cutlass.Int64(1)),
    out=host_array(cutlass.Int64, 4),
)
sg.export(returns=("out",))(host_bias, x=vector, bias=None, out=vector)
sg.export(name="host_bias_given", returns=("out",))(host_bias, x=vector, bias=vector, out=vector)
sg.export(name="host_polynomial", returns=("out",))(HostPolynomial(1.0, -2.0, 0.5), x=vector, out=vector)


@sg.family(dtype=[cutlass.Float32, cutlass.Float64, cutlass.Int32], columns=[2, 5])
def host_row_sums(dtype, columns):
    """Variants that differ in dtype and in a fixed extent, told apart when called."""
    rows = sg.dim("rows")
    return sg.kernel(returns=("out",))(
        _row_sums,
        x=sg.tensor(dtype, rows, columns, device="cpu"),
        out=sg.tensor(dtype, rows, device="cpu"),
    )


@sg.family(dtype=[cutlass.Float32, cutlass.Float64], negate=[False, True], bias=[False, True])
def host_scale_add(dtype, negate, bias):
    """Variants that differ in dtype, in a constant argument, and in whether there is a bias."""
    x = sg.tensor(dtype, sg.dim("n"), device="cpu")
    return sg.kernel(returns=("out",))(_scale_add, x=x, negate=negate, bias=x if bias else None, out=x)


@sg.family(kind=["identity", "square", "cube"], columns=[2, 3])
def host_activate(kind, columns):
    """Variants that differ in a constant argument that is a string, and in a fixed extent."""
    rows = sg.dim("rows")
    return sg.kernel(returns=("out",))(
        _activated_row_sums,
        x=sg.tensor(cutlass.Float32, rows, columns, device="cpu"),
        kind=kind,
        out=sg.tensor(cutlass.Float32, rows, device="cpu"),
    )

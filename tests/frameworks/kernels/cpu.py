"""Host functions of every kind that PyTorch and JAX call, and of every kind that they cannot."""

import cutlass
from cutlass import cute

import stubgen as sg

n, rows = sg.dim("n"), sg.dim("rows")


def host(dtype, *shape):
    return sg.tensor(dtype, *shape, device="cpu")


@cute.jit
def axpby(alpha: cutlass.Float64, x: cute.Tensor, beta: cutlass.Float64, y: cute.Tensor, out: cute.Tensor):
    """out = alpha * x + beta * y, elementwise.

    Parameters
    ----------
    alpha, beta
        Weights.
    x, y
        Inputs.
    out
        Output.
    """
    for i in range(out.shape[0]):
        out[i] = x.element_type(alpha) * x[i] + x.element_type(beta) * y[i]


@cute.jit
def scale(x: cute.Tensor, factor: cutlass.Float32 = 2.0):
    """x = factor * x, elementwise and in place."""
    for i in range(x.shape[0]):
        x[i] = factor * x[i]


@cute.jit
def cumulate(x: cute.Tensor, total: cute.Tensor, out: cute.Tensor):
    """out = x + total and total = total + x, elementwise."""
    for i in range(x.shape[0]):
        out[i] = x[i] + total[i]
        total[i] = total[i] + x[i]


@cute.jit
def _product(x: cute.Tensor, y: cute.Tensor, power: cutlass.Constexpr[int], out: cute.Tensor):
    """out = x * y**power, elementwise."""
    for i in range(out.shape[0]):
        value = x[i]
        for _ in cutlass.range_constexpr(power):
            value *= y[i]
        out[i] = value


@cute.jit
def _product_backward(
    x: cute.Tensor,
    y: cute.Tensor,
    power: cutlass.Constexpr[int],
    grad: cute.Tensor,
    grad_x: cute.Tensor,
    grad_y: cute.Tensor,
):
    """The gradients of product."""
    for i in range(grad.shape[0]):
        without = grad[i]
        for _ in cutlass.range_constexpr(power - 1):
            without *= y[i]
        grad_x[i] = without * y[i]
        grad_y[i] = without * x[i] * power


@cute.jit
def _activated(x: cute.Tensor, kind: cutlass.Constexpr[str], bias: cute.Tensor | None, out: cute.Tensor):
    """out = x, relu(x) or -x, and bias is added, if there is one."""
    for i in range(out.shape[0]):
        value = x[i]
        if cutlass.const_expr(kind == "relu"):
            value = cutlass.max(value, x.element_type(0))
        if cutlass.const_expr(kind == "negate"):
            value = -value
        if cutlass.const_expr(bias is not None):
            value += bias[i]
        out[i] = value


@cute.jit
def _row_sums(x: cute.Tensor, largest: cute.Tensor | None, out: cute.Tensor):
    """out[i] = the sum of row i, and largest[i] its largest element, if that is asked for."""
    for i in range(out.shape[0]):
        total = out.element_type(0)
        top = x[i, 0]
        for j in cutlass.range_constexpr(x.shape[1]):
            total += out.element_type(x[i, j])
            top = cutlass.max(top, x[i, j])
        out[i] = total
        if cutlass.const_expr(largest is not None):
            largest[i] = top


@cute.jit
def _fill(out: cute.Tensor, flag: cutlass.Boolean, count: cutlass.Int64, ratio: cutlass.Float32):
    """Write three numbers."""
    out[0] = cutlass.Float64(flag)
    out[1] = cutlass.Float64(count)
    out[2] = cutlass.Float64(ratio)


@cute.jit
def _eye(like: cute.Tensor, out: cute.Tensor):
    """out = two for each of the first rows of like, and more of them."""
    for i in range(like.shape[0]):
        for j in cutlass.range_constexpr(2):
            out[i, j] = cutlass.Int32(2)


@cute.jit
def _at_pointer(p: cute.Pointer, out: cute.Tensor):
    """out[0] = p[0]."""
    out[0] = cute.make_tensor(p, cute.make_layout(1))[0]


@cute.jit
def _of_pair(pair: tuple[cute.Tensor, cute.Tensor], out: cute.Tensor):
    """out = the sum of a pair."""
    for i in range(out.shape[0]):
        out[i] = pair[0][i] + pair[1][i]


@sg.family("axpby", dtype=[cutlass.Float32, cutlass.Float64])
def _axpby(dtype):
    x = host(dtype, n)
    return sg.kernel(returns=("out",))(axpby, x=x, y=x, out=x)


vector = host(cutlass.Float32, n)
sg.export(mutates=("x",))(scale, x=vector)
sg.export(mutates=("total",), returns=("out",))(cumulate, x=vector, total=vector, out=vector)
sg.export(mutates="out", name="fill")(_fill, out=host(cutlass.Float64, 3))
sg.export(returns="out", name="twos")(
    _eye, like=host(cutlass.Float32, rows, 3), out=host(cutlass.Int32, rows, 2)
)
sg.export(name="at_pointer")(_at_pointer, sg.pointer(cutlass.Float32, device="cpu"), host(cutlass.Float32, 1))
sg.export(name="of_pair")(_of_pair, (vector, vector), vector)


@sg.family(dtype=[cutlass.Float32, cutlass.Float64], power=[1, 2])
def product(dtype, power):
    x = host(dtype, n)
    return sg.kernel(
        returns=("out",),
        backward=sg.backward("product_backward", grads={"out": "grad"}, gives={"x": "grad_x", "y": "grad_y"}),
    )(
        _product,
        x=x,
        y=x,
        power=power,
        out=x,
    )


@sg.family(dtype=[cutlass.Float32, cutlass.Float64], power=[1, 2])
def product_backward(dtype, power):
    x = host(dtype, n)
    return sg.kernel(returns=("grad_x", "grad_y"))(
        _product_backward,
        x=x,
        y=x,
        power=power,
        grad=x,
        grad_x=x,
        grad_y=x,
    )


@sg.family(kind=["identity", "relu", "negate"], bias=[False, True])
def activated(kind, bias):
    return sg.kernel(returns=("out",))(
        _activated, x=vector, kind=kind, bias=vector if bias else None, out=vector
    )


@sg.family(
    dtype=[cutlass.Float32, cutlass.Float64], out=[cutlass.Float32, cutlass.Float64], largest=[False, True]
)
def row_sums(dtype, out, largest):
    x = host(dtype, rows, 3)
    return sg.kernel(mutates=("largest",), returns=("out",))(
        _row_sums,
        x=x,
        largest=host(dtype, rows) if largest else None,
        out=host(out, rows),
    )

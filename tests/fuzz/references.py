"""What each host function computes, on NumPy arrays that may share memory; one entry for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

f32 = np.float32


def add_constant(a, b, offset):
    for i in range(len(a)):
        b[i] = a[i] + offset


def axpby(alpha, x, beta, y, out):
    for i in range(len(out)):
        out[i] = alpha * x[i] + beta * y[i]


def scalars(*arguments):
    *numbers, f, d, integers, floats = arguments
    integers[:] = [np.asarray(number).astype(np.int64) for number in numbers]
    floats[:] = f, d


def defaults(out, flag, count, ratio, boxed):
    out[:] = flag, count, ratio, boxed


def scale(x, factor, out):
    for i in range(len(out)):
        out[i] = factor * x[i]


def weighted_sum(out, *terms):
    for i in range(len(out)):
        out[i] = sum((f32(k) * term[i] for k, term in enumerate(terms, 1)), f32(0))


def frozen(x, out):
    for i in range(len(out)):
        out[i] = -x[i] * x[i] * x[i]


def difference(operands, out):
    x, (y, factor) = operands
    for i in range(len(out)):
        out[i] = x[i] - factor * y[i]


def affine(arguments, out):
    x, factor, _ = arguments
    scale(x, factor, out)


def powers(series, out):
    x, factor, terms, alternate = series
    for i in range(len(out)):
        power = total = x[i]
        for k in range(1, terms):
            power = power * x[i]
            total = total - power if alternate and k % 2 else total + power
        out[i] = factor * total


def pointer(p, count, out):
    total = f32(0)
    for i in range(count):
        total += f32(i + 1) * p[i]
    out[0] = total


def shape(extents, out):
    product = np.int64(1)
    for i, extent in enumerate(extents):
        out[i] = extent
        product *= np.int64(extent)
    out[len(extents)] = product


def bias(x, given, out):
    for i in range(len(out)):
        out[i] = f32(2) * x[i] if given is None else f32(2) * x[i] + given[i]


def polynomial(x, out):
    for i in range(len(out)):
        value = f32(0)
        for coefficient in (0.5, -2.0, 1.0):
            value = value * x[i] + f32(coefficient)
        out[i] = value


def row_sums(x, out):
    for i in range(len(out)):
        total = out.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j] * out.dtype.type(j + 1)
        out[i] = total


def scale_add(x, factor, negate, bias, out):
    factor = x.dtype.type(factor)
    for i in range(len(out)):
        value = factor * x[i] if bias is None else factor * x[i] + bias[i]
        out[i] = -value if negate else value


def activate(x, kind, out):
    power = {"identity": 1, "square": 2, "cube": 3}[kind]
    for i in range(len(out)):
        total = f32(0)
        for j in range(x.shape[1]):
            value = x[i, j]
            for _ in range(power - 1):
                value *= x[i, j]
            total += value * f32(j + 1)
        out[i] = total


REFERENCES: dict[str, Callable[..., None]] = {
    "host_add_constant": add_constant,
    "host_axpby": axpby,
    "host_scalars": scalars,
    "host_defaults": defaults,
    "host_keyword_only": lambda x, out, factor: scale(x, factor, out),
    "host_positional_only": scale,
    "host_weighted_sum": weighted_sum,
    "host_frozen": frozen,
    "host_tuple": difference,
    "host_affine": affine,
    "host_powers": powers,
    "host_pointer": pointer,
    "host_shape_static": shape,
    "host_shape_mixed": shape,
    "host_bias": bias,
    "host_bias_given": bias,
    "host_polynomial": polynomial,
    "host_row_sums": row_sums,
    "host_scale_add": scale_add,
    "host_activate": activate,
}

REACH: dict[str, Callable[..., Any]] = {"host_pointer": lambda p, count, out: count}
"""How many elements behind its pointer a function touches: no check sees them, the caller promises them."""

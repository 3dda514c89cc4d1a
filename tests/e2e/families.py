"""Families of every form, on the CPU; ``test_families.py`` generates, checks and calls them."""

import enum
from dataclasses import dataclass
from typing import NamedTuple

import cutlass
from cutlass import cute

import stubgen as sg

x = sg.tensor(cutlass.Float64, sg.dim("n"), device="cpu")
one = sg.tensor(cutlass.Float64, 1, device="cpu")


# Two optional tensors that are given together or not at all


@cute.jit
def _affine(
    x: cute.Tensor, out: cute.Tensor, scale: cute.Tensor | None = None, shift: cute.Tensor | None = None
):
    """out = scale * x + shift, or x if neither is given."""
    for i in range(out.shape[0]):
        if cutlass.const_expr(scale is not None):
            out[i] = scale[i] * x[i] + shift[i]
        else:
            out[i] = x[i]


@sg.family(given=[False, True])
def affine(given):
    """Each form has a signature of its own."""
    return sg.kernel(_affine, x, x, x if given else None, x if given else None)


# Selectors of every type


@cute.jit
def _write(out: cute.Tensor, number: cutlass.Constexpr[float]):
    out[0] = cutlass.Float64(number)


@sg.family(flag=[True, False])
def by_bool(flag):
    return sg.kernel(_write, one, 1.0 if flag else 2.0)


@sg.family(size=[64, 1 - 2**63, 2**40])
def by_int(size):
    return sg.kernel(_write, one, float(size))


@sg.family(number=[0.5, -1e300, 2.0])
def by_float(number):
    return sg.kernel(_write, one, number)


@sg.family(word=["relu", "ReLU", "two words", "größe \"'\\?/", "int"])
def by_str(word):
    return sg.kernel(_write, one, float(len(word.encode())))


class Mode(enum.Enum):
    FAST = 1
    exact = 2


@sg.family(mode=list(Mode))
def by_enum(mode):
    return sg.kernel(_write, one, float(mode.value))


@sg.family(value=[None, 3, "four", True, -5.5])
def by_anything(value):
    return sg.kernel(_write, one, {None: 0.0, 3: 3.0, "four": 4.0, True: 1.0, -5.5: -5.5}[value])


def _double(value):
    return value + value


def _square(value):
    return value * value


@cute.jit
def _map(x: cute.Tensor, function: cutlass.Constexpr, out: cute.Tensor):
    for i in range(out.shape[0]):
        out[i] = function(x[i])


@sg.family(function={"double": _double, "square": _square})
def by_function(function):
    return sg.kernel(_map, x, function, x)


# Defaults, of selectors and others; keywords


@cute.jit
def _defaults(
    x: cutlass.Float64,
    out: cute.Tensor,
    mode: cutlass.Constexpr[str] = "add",
    *,
    amount: cutlass.Float64 = 0.5,
    negate: cutlass.Constexpr[bool] = False,
):
    """out[0] = x + amount, or x * amount, negated or not.

    Parameters
    ----------
    mode
        What to do.
    """
    value = x + amount if mode == "add" else x * amount
    out[0] = out.element_type(-value if negate else value)


@sg.family(mode=["add", "multiply"], negate=[False, True])
def defaults(mode, negate):
    """A combination is missing."""
    if mode == "multiply" and negate:
        return None
    return sg.kernel(_defaults, out=one, mode=mode, negate=negate)


@sg.family(mode=["add", "multiply"], out=[cutlass.Float64, cutlass.Float32])
def partly_chosen(mode, out):
    """Only one of the axes has to be chosen."""
    return sg.kernel(_defaults, out=sg.tensor(out, 1, device="cpu"), mode=mode)


# Nothing but a selector; no axis; one value


@cute.jit
def _nothing(number: cutlass.Constexpr[int] = 1):
    """Do nothing at all."""


@sg.family(number=[1, 2])
def nothing(number):
    return sg.kernel(_nothing, number)


@sg.family()
def no_axes():
    return sg.kernel(_write, one, 6.0)


@sg.family(number=[7.0])
def one_value(number):
    return sg.kernel(_write, one, number)


# Names that the generated code uses itself


@cute.jit
def _named(
    out: cute.Tensor,
    self: cutlass.Constexpr[int],
    entry: cutlass.Float64,
    UnbuiltWord: cutlass.Float64,  # noqa: N803
    word: cutlass.Constexpr[str],
):
    out[0] = entry + UnbuiltWord + (self if word == "none" else -self)


@sg.family(self=[1, 2], word=["None", "none", "NONE"])
def unbuilt(self, word):
    """The kernel has no docstring of its own."""
    return sg.kernel(_named, one, self=self, word=word)


@sg.family(entry=[1, 2])
def by_entry(entry):
    return sg.kernel(_write, one, float(entry))


# Records with other contents in each variant


class Pair(NamedTuple):
    """A tensor with a factor or a second tensor."""

    tensor: cute.Tensor
    factor: cutlass.Float64 | None
    other: cute.Tensor | None


@dataclass
class Options:
    """How to do it."""

    amount: cutlass.Float64
    negate: cutlass.Constexpr = False


@cute.jit
def _records(pair: Pair, options: Options, out: cute.Tensor):
    for i in range(out.shape[0]):
        value = pair.tensor[i] + options.amount
        if cutlass.const_expr(pair.factor is not None):
            value = value * pair.factor
        if cutlass.const_expr(pair.other is not None):
            value = value + pair.other[i]
        if cutlass.const_expr(options.negate):
            value = -value
        out[i] = value


@sg.family(kind=["factor", "other", "neither"], negate=[False, True])
def records(kind, negate):
    pair = Pair(x, cutlass.Float64(0) if kind == "factor" else None, x if kind == "other" else None)
    return sg.kernel(_records, pair, Options(cutlass.Float64(0), negate), x)


# Names that would meet in C++


@sg.family(b_c=["x", "y"])
def a(b_c):
    return sg.kernel(_write, one, 1.0 if b_c == "x" else 2.0)


@sg.family(c=["x", "y"])
def a_b(c):
    return sg.kernel(_write, one, 3.0 if c == "x" else 4.0)


@sg.family(number=[9.0])
def a_variants(number):
    return sg.kernel(_write, one, number)


@sg.family(c=["x"])
def AB(c):  # noqa: N802
    return sg.kernel(_write, one, 5.0)


@sg.family(str_word=["relu", "x"])
def by(str_word):
    return sg.kernel(_write, one, 11.0)


sg.export(name="detail")(_write, one, 8.0)
sg.export(name="ByEnumNumber")(_write, one, 10.0)

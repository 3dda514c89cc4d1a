"""One function for each row of the table of argument kinds; all run on the CPU.

Every function takes ``out``, a float64 vector, and writes to it what proves that each argument arrived in its
own place: scalars as they are, tensors by their first element or their sizes.
"""

# ruff: noqa: A002, N803
from dataclasses import dataclass
from enum import Enum
from typing import Any, List, NamedTuple, Optional, Tuple, Union

import cutlass
from cutlass import cute

import stubgen as sg

f64 = cutlass.Float64
OUT = sg.tensor(f64, 8, device="cpu")
n = sg.dim("n")


def vec(dtype=cutlass.Float32, *shape, **kw):
    return sg.tensor(dtype, *(shape or (n,)), device="cpu", **kw)


# c01: positional-only, keyword-only, mixed -----------------------------------------------------------------


@cute.jit
def posonly(src: cute.Tensor, s: cutlass.Float32, out: cute.Tensor, /):
    out[0] = src[0].to(f64)
    out[1] = s.to(f64)


@cute.jit
def mixed(src: cute.Tensor, /, out: cute.Tensor, *, s: cutlass.Float32 = 2.0, t: cutlass.Int32):
    out[0] = src[0].to(f64)
    out[1] = s.to(f64)
    out[2] = t.to(f64)


sg.export(posonly, vec(), cutlass.Float32, OUT)
sg.export(mixed, vec(), OUT)


# c02: every kind of default --------------------------------------------------------------------------------


@cute.jit
def defaults(
    out: cute.Tensor,
    flag: cutlass.Boolean = True,
    i8: cutlass.Int8 = -8,
    u64: cutlass.Uint64 = 2**63 - 1,
    f16: cutlass.Float16 = 0.5,
    bf16: cutlass.BFloat16 = cutlass.BFloat16(1.5),
    box: cutlass.Float32 = cutlass.Float32(9.0),
    un=4,
    pi: int = 3,
    pf: float = 0.25,
):
    out[0] = flag.to(f64)
    out[1] = i8.to(f64)
    out[2] = f16.to(f64)
    out[3] = bf16.to(f64)
    out[4] = box.to(f64)
    out[5] = f64(un)
    out[6] = f64(pi)
    out[7] = f64(pf)


sg.export(defaults, OUT, un=4, pi=3, pf=0.25)


# c03: constexpr anywhere -----------------------------------------------------------------------------------


class Mode(Enum):
    FAST = "fast"
    EXACT = "exact"


@cute.jit
def constants(
    tile: cutlass.Constexpr,
    x: cutlass.Float32,
    mode: cutlass.Constexpr[Any],
    out: cute.Tensor,
    dtype: cutlass.Constexpr,
    op: cutlass.Constexpr = lambda v: v,
    *,
    last: cutlass.Constexpr[bool] = False,
):
    out[0] = f64(tile)
    out[1] = op(x).to(dtype).to(f64)
    out[2] = f64(2.0 if cutlass.const_expr(mode is Mode.FAST) else 1.0)


sg.export(constants, 16, mode=Mode.FAST, out=OUT, dtype=cutlass.Float32, op=lambda v: v + 1)


@cute.jit
def only_constexpr(tile: cutlass.Constexpr = 8):
    pass


sg.export(only_constexpr)


# c04: optionals --------------------------------------------------------------------------------------------


@cute.jit
def optionals(
    x: cute.Tensor,
    bias: Optional[cute.Tensor],
    out: cute.Tensor,
    scale: Optional[cutlass.Float32] = None,
    lens: cute.Tensor | None = None,
):
    out[0] = x[0].to(f64)
    if cutlass.const_expr(bias is not None):
        out[1] = bias[0].to(f64)
    if cutlass.const_expr(scale is not None):
        out[2] = f64(scale)
    if cutlass.const_expr(lens is not None):
        out[3] = lens[0].to(f64)


sg.export(name="optionals_none")(optionals, vec(), None, OUT)
sg.export(name="optionals_bias")(optionals, vec(), vec(), OUT)
sg.export(name="optionals_lens")(optionals, vec(), None, OUT, lens=vec(cutlass.Int32))
sg.export(name="optionals_all")(optionals, vec(), vec(), OUT, cutlass.Float32, vec(cutlass.Int32))


# c05: tuples -----------------------------------------------------------------------------------------------


@cute.jit
def nested(t: Tuple[cute.Tensor, Tuple[cute.Tensor, cutlass.Float32]], out: cute.Tensor):
    out[0] = t[0][0].to(f64)
    out[1] = t[1][0][0].to(f64)
    out[2] = t[1][1].to(f64)


@cute.jit
def bare(t: tuple, out: cute.Tensor):
    for i in cutlass.range_constexpr(len(t)):
        out[i] = t[i][0].to(f64)


@cute.jit
def listed(t: List[cute.Tensor], out: cute.Tensor):
    for i in cutlass.range_constexpr(len(t)):
        out[i] = t[i][0].to(f64)


@cute.jit
def empty_tuple(e: tuple, out: cute.Tensor):
    out[0] = f64(len(e))


@cute.jit
def widths(t: Tuple[cutlass.Int32, cutlass.Int64, int, cutlass.Float64, bool], out: cute.Tensor):
    out[0] = t[0].to(f64)
    out[1] = t[1].to(f64)
    out[2] = f64(t[2])
    out[3] = t[3]
    out[4] = f64(t[4])


sg.export(nested, (vec(), (vec(), cutlass.Float32)), OUT)
sg.export(bare, (vec(), vec()), OUT)
sg.export(listed, [vec(), vec(), vec()], OUT)
sg.export(empty_tuple, (), OUT)
sg.export(widths, (1, 2, 3, 4.0, True), OUT)


# c06: NamedTuple and dataclass -----------------------------------------------------------------------------


class Affine(NamedTuple):
    x: cute.Tensor
    factor: cutlass.Float32
    shift: Optional[cute.Tensor] = None


class Pair(NamedTuple):
    a: cutlass.Int32
    b: cutlass.Int32 = 7


class Outer(NamedTuple):
    first: Pair
    second: cutlass.Float64


@dataclass
class Config:
    x: cute.Tensor
    factor: cutlass.Float32
    tile: cutlass.Constexpr[int] = 8
    wrap: cutlass.Constexpr[bool] = True
    eps: cutlass.Constexpr[float] = 1e-5
    nothing: cutlass.Constexpr[Any] = None


@dataclass
class Inner:
    k: cutlass.Int32


@dataclass
class Holder:
    inner: Inner
    pair: Tuple[cutlass.Int32, cutlass.Float32]
    x: cute.Tensor


@cute.jit
def named(p: Affine, out: cute.Tensor):
    out[0] = p.x[0].to(f64)
    out[1] = p.factor.to(f64)


@cute.jit
def named_nested(o: Outer, out: cute.Tensor):
    out[0] = o.first.a.to(f64)
    out[1] = o.first.b.to(f64)
    out[2] = o.second


@cute.jit
def data(c: Config, out: cute.Tensor):
    out[0] = c.x[0].to(f64)
    out[1] = c.factor.to(f64)
    out[2] = f64(c.tile)


@cute.jit
def data_in_tuple(t: Tuple[Inner, cute.Tensor], out: cute.Tensor):
    out[0] = t[0].k.to(f64)
    out[1] = t[1][0].to(f64)


@cute.jit
def data_nested(h: Holder, out: cute.Tensor):
    out[0] = h.inner.k.to(f64)
    out[1] = h.pair[0].to(f64)
    out[2] = h.pair[1].to(f64)
    out[3] = h.x[0].to(f64)


@cute.jit
def data_optional(out: cute.Tensor, c: Optional[Config] = None):
    out[0] = f64(1.0 if cutlass.const_expr(c is None) else 2.0)


@cute.jit
def data_union(c: Union[Inner, Pair], out: cute.Tensor):
    out[0] = f64(c.k if cutlass.const_expr(isinstance(c, Inner)) else c.a)


sg.export(named, Affine(vec(), 0.0), OUT)
sg.export(named_nested, Outer(Pair(0), 0.0), OUT)
sg.export(data, Config(vec(), cutlass.Float32), OUT)
sg.export(data_in_tuple, (Inner(0), vec()), OUT)
sg.export(data_nested, Holder(Inner(0), (0, 0.0), vec()), OUT)
sg.export(name="data_absent")(data_optional, OUT)
sg.export(name="union_data")(data_union, Inner(0), OUT)


# c07: shapes -----------------------------------------------------------------------------------------------


@cute.jit
def shape(s: cute.Shape, out: cute.Tensor):
    for i in cutlass.range_constexpr(len(s)):
        out[i] = f64(s[i])


@cute.jit
def shape_default(out: cute.Tensor, s: cute.Shape = (4, 8), c: cute.Coord = (1, 2)):
    out[0] = f64(s[0])
    out[1] = f64(c[1])


sg.export(name="shape_static")(shape, (4, 8), OUT)
sg.export(name="shape_dynamic")(shape, (cutlass.Int32, cutlass.Int64), OUT)
sg.export(name="shape_mixed")(shape, (4, cutlass.Int32, 6), OUT)
sg.export(name="shape_default_kept")(shape_default, OUT, s=(4, 8), c=(1, 2))
sg.export(name="shape_default_dropped")(shape_default, OUT, s=(4, 16), c=(cutlass.Int32, 2))


# c08: pointers ---------------------------------------------------------------------------------------------


@cute.jit
def pointer(p: cute.Pointer, q: Optional[cute.Pointer], out: cute.Tensor):
    out[0] = cute.make_tensor(p, cute.make_layout(1))[0].to(f64)
    if cutlass.const_expr(q is not None):
        out[1] = cute.make_tensor(q, cute.make_layout(1))[0].to(f64)


sg.export(name="pointer_one")(pointer, sg.pointer(cutlass.Float32, device="cpu"), None, OUT)
sg.export(name="pointer_two")(
    pointer,
    sg.pointer(cutlass.Float32, device="cpu", align=16),
    sg.pointer(cutlass.Int64, device="cpu"),
    OUT,
)


# c09, c10: dtypes, ranks, strides, alignment ---------------------------------------------------------------


@cute.jit
def sizes(x: cute.Tensor, out: cute.Tensor):
    for i in cutlass.range_constexpr(cute.rank(x)):
        out[i] = f64(cute.size(x, mode=[i]))


@sg.family(
    dtype=[
        cutlass.Boolean,
        cutlass.Int8,
        cutlass.Uint8,
        cutlass.Int16,
        cutlass.Uint16,
        cutlass.Int32,
        cutlass.Uint32,
        cutlass.Int64,
        cutlass.Uint64,
        cutlass.Float16,
        cutlass.BFloat16,
        cutlass.Float32,
        cutlass.Float64,
        cutlass.Float8E5M2,
        cutlass.Float8E4M3FN,
        cutlass.Float8E8M0FNU,
    ]
)
def dtype(dtype):
    return sg.kernel(sizes, vec(dtype, n, 4), OUT)


sg.export(name="tfloat32")(sizes, vec(cutlass.TFloat32, n, 4), OUT)  # which callers see as float32


@sg.family(
    dtype=[cutlass.Int4, cutlass.Float4E2M1FN, cutlass.Float6E2M3FN, cutlass.Float6E3M2FN],
)
def packed(dtype):
    return sg.kernel(sizes, vec(dtype, sg.dim("m"), 64), OUT)


# Not a family: some tensors fit several of these.
layouts = {
    "rank1": vec(cutlass.Float32, n),
    "rank8": vec(cutlass.Float32, 1, 2, 1, 2, 1, 2, 1, n),
    "column": vec(cutlass.Float32, n, 4, order=(0, 1)),
    "strided": vec(cutlass.Float32, n, 4, strides=(sg.dim("ld", bits=64), 1)),
    "broadcast": vec(cutlass.Float32, n, 4, strides=(0, 1)),
    "apart": sg.strided(cutlass.Float32, n, 4, vector=4, device="cpu"),
    "apart_in_columns": sg.strided(cutlass.Float32, n, 4, vector=4, unit=0, device="cpu"),
    "apart_in_all": sg.strided(cutlass.Float32, n, 4, unit=None, device="cpu"),
    "aligned": vec(cutlass.Float32, n, 4, align=64),
    "divisible": vec(cutlass.Float32, sg.dim("d", divisible_by=8), 4),
    "wide": vec(cutlass.Float32, sg.dim("w", bits=64)),
    "shared": vec(cutlass.Float32, n, n),
}
for name, layout in layouts.items():
    sg.export(name=f"layout_{name}")(sizes, layout, OUT)


@cute.jit
def zero_rank(x: cute.Tensor, out: cute.Tensor):
    out[0] = x[()].to(f64) if cutlass.const_expr(False) else f64(1.0)


sg.export(zero_rank, sg.tensor(cutlass.Float32, device="cpu"), OUT)


# c11: methods ----------------------------------------------------------------------------------------------


class Kernels:
    def __init__(self, k):
        self.k = k

    @cute.jit
    def __call__(self, x: cutlass.Float32, out: cute.Tensor):
        """Of the object."""
        out[0] = x.to(f64) * self.k

    @cute.jit
    def method(self, x: cutlass.Float32, out: cute.Tensor):
        out[0] = x.to(f64) + self.k

    @staticmethod
    @cute.jit
    def static(x: cutlass.Float32, out: cute.Tensor):
        out[0] = x.to(f64)


sg.export(name="called")(Kernels(3), cutlass.Float32, OUT)
sg.export(name="bound")(Kernels(3).method, cutlass.Float32, OUT)
sg.export(name="unbound")(Kernels.method, Kernels(4), cutlass.Float32, OUT)
sg.export(name="static_method")(Kernels.static, cutlass.Float32, OUT)


@cute.jit
def unusual_self(this, cls: cutlass.Float32, out: cute.Tensor):
    out[0] = f64(this)
    out[1] = cls.to(f64)


sg.export(unusual_self, 5, out=OUT)


# c12: names ------------------------------------------------------------------------------------------------


@cute.jit
def cpp_names(
    int: cutlass.Int32,
    new: cutlass.Int32,
    class_: cutlass.Int32,
    template: cutlass.Int32,
    NULL: cutlass.Int32,
    operator: cutlass.Int32,
    this: cutlass.Int32,
    out: cute.Tensor,
):
    out[0] = int.to(f64)
    out[1] = new.to(f64)
    out[2] = class_.to(f64)
    out[3] = template.to(f64)
    out[4] = NULL.to(f64)
    out[5] = operator.to(f64)
    out[6] = this.to(f64)


@cute.jit
def soft_names(
    match: cutlass.Int32,
    type: cutlass.Int32,
    case: cutlass.Int32,
    print: cutlass.Int32,
    Tensor: cutlass.Int32,
    tvm: cutlass.Int32,
    out: cute.Tensor,
):
    out[0] = match.to(f64)
    out[1] = type.to(f64)
    out[2] = case.to(f64)
    out[3] = print.to(f64)
    out[4] = Tensor.to(f64)
    out[5] = tvm.to(f64)


@cute.jit
def unicode_names(größe: cutlass.Int32, λ: cutlass.Int32, out: cute.Tensor):
    out[0] = größe.to(f64)
    out[1] = λ.to(f64)


for function in (cpp_names, soft_names, unicode_names):
    sg.export(function, out=OUT)


# c13: variadic, results, nothing ---------------------------------------------------------------------------


@cute.jit
def varargs(out: cute.Tensor, *rest):
    for i in cutlass.range_constexpr(len(rest)):
        out[i] = rest[i][0].to(f64)


@cute.jit
def varkw(out: cute.Tensor, **extra):
    out[0] = extra["first"][0].to(f64)
    out[1] = extra["second"].to(f64)


@cute.jit
def nothing():
    pass


sg.export(varargs, OUT, vec(), vec(cutlass.Int32))
sg.export(varkw, OUT, first=vec(), second=cutlass.Float32)
sg.export(nothing)


# c14: docstrings -------------------------------------------------------------------------------------------


@cute.jit
def hostile_doc(out: cute.Tensor):
    out[0] = f64(1.0)


hostile_doc.__doc__ = 'Quotes """ \'\'\' \\n */ // ??/ {{ x }} {% raw %} %} \u202e ü\x00\x07\n\nends "\\'
sg.export(hostile_doc, OUT)

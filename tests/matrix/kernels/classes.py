"""Classes of every kind that a kernel may take, and defaults of every kind: what callers leave out."""

import collections
import dataclasses
from typing import Any, ClassVar, Generic, NamedTuple, Optional, TypeVar

import cutlass
import numpy as np
from cutlass import cute

import stubgen as sg

f32 = cutlass.Float32
Kind = TypeVar("Kind")


@dataclasses.dataclass(kw_only=True)
class KeywordOnly:
    y: f32
    x: f32 = 1.0


@dataclasses.dataclass(frozen=True)
class Mixed:
    y: f32 = dataclasses.field(kw_only=True, default=2.0)
    x: f32 = 7.0
    w: f32 = dataclasses.field(kw_only=True)


@dataclasses.dataclass
class AfterSentinel:
    x: f32
    _: dataclasses.KW_ONLY
    y: f32 = 3.0


@dataclasses.dataclass
class NotANamedTuple:
    x: f32
    y: f32


Collected = collections.namedtuple("Collected", ["x", "y"], defaults=[3.0])
Renamed = collections.namedtuple("Renamed", ["x", "def"], rename=True)


@dataclasses.dataclass
class Base:
    x: f32
    y: f32 = 1.0


@dataclasses.dataclass
class Child(Base):
    z: f32 = 2.0


class Undecorated(Child):
    extra: f32 = 5.0


@dataclasses.dataclass
class Shared(Generic[Kind]):
    x: f32
    COUNT: ClassVar[int] = 3
    y: f32 = dataclasses.field(default_factory=lambda: f32(5.0))


class WithMethods(NamedTuple):
    x: f32
    y: f32 = 1.0

    def total(self):
        return self.x + self.y


class Extended(WithMethods):
    pass


class Holder:
    class Nested(NamedTuple):
        x: f32
        y: f32


@dataclasses.dataclass
class Fields:
    """Its fields are called like types."""

    float: f32
    Tensor: f32


class Optionals(NamedTuple):
    x: Optional[f32] = None
    y: f32 = f32(2.0)


@dataclasses.dataclass(frozen=True)
class Settings:
    x: f32 = 1.0
    y: f32 = dataclasses.field(kw_only=True, default=2.0)
    steps: cutlass.Constexpr[int] = 3


@cute.jit
def both(p, out: cute.Tensor):
    out[0] = out.element_type(p.x)
    out[1] = out.element_type(p.y)


@cute.jit
def three(p, out: cute.Tensor):
    out[0] = out.element_type(p.x)
    out[1] = out.element_type(p.y)
    out[2] = out.element_type(p.w)


@cute.jit
def items(p: Any, out: cute.Tensor):
    for index in cutlass.range_constexpr(2):
        out[index] = out.element_type(p[index])


@cute.jit
def named_like_types(p: Fields, out: cute.Tensor):
    out[0] = out.element_type(p.float)
    out[1] = out.element_type(p.Tensor)


@cute.jit
def with_optionals(out: cute.Tensor, p: Optionals = Optionals(None, f32(3.0))):
    out[0] = out.element_type(p.y)


@cute.jit
def with_settings(out: cute.Tensor, p: Settings = Settings(5.0, y=6.0)):
    out[0] = out.element_type(p.x)
    out[1] = out.element_type(p.y)
    out[2] = out.element_type(p.steps)


@cute.jit
def left_out(
    x: cute.Tensor,
    bias: Optional[cute.Tensor] = None,
    eps: f32 = 0.25,
    lens: Optional[cute.Tensor] = None,
    out: Optional[cute.Tensor] = None,
    scale: f32 = 2.0,
    *,
    more: f32 = 3.0,
):
    out[0] = out.element_type(x[0])
    out[1] = out.element_type(eps)
    out[2] = out.element_type(scale)
    out[3] = out.element_type(more)


@cute.jit
def numbers(
    out: cute.Tensor,
    truth: cutlass.Boolean = 1,
    whole: cutlass.Int32 = 2.0,
    single: f32 = np.float32(1.5),
    double: f32 = np.float64(2.5),
    byte: cutlass.Int8 = np.int8(3),
    real: float = 4,
    lie: cutlass.Boolean = np.bool_(False),
):
    for index, value in enumerate((truth, whole, single, double, byte, real, lie)):
        out[index] = out.element_type(value)


@cute.jit
def of_any_width(
    out: cute.Tensor, a: int, b: float, c: bool, d: cutlass.Float64, e: cutlass.Int64, g: cutlass.Boolean
):
    for index, value in enumerate((a, b, c, d, e, g)):
        out[index] = out.element_type(value)


@cute.jit
def some(x: cute.Tensor, bias: Optional[cute.Tensor], out: cute.Tensor, scale: f32 = 2.0):
    out[0] = out.element_type(x[0])
    if cutlass.const_expr(bias is not None):
        out[1] = out.element_type(bias[0])
    out[2] = out.element_type(scale)


@cute.jit
def tied(
    x: cute.Tensor,
    bias: Optional[cute.Tensor] = None,
    lens: Optional[cute.Tensor] = None,
    out: Optional[cute.Tensor] = None,
):
    out[0] = out.element_type(x[0])
    if cutlass.const_expr(lens is not None):
        out[1] = out.element_type(lens[0])


out = sg.tensor(cutlass.Float64, sg.dim("n"), device="cpu")
x = sg.tensor(f32, sg.dim("m"), device="cpu")
one, two = f32(1.0), f32(2.0)

sg.export(name="keyword_only")(both, KeywordOnly(x=one, y=two), out)
sg.export(name="mixed_fields")(three, Mixed(one, w=two), out)
sg.export(name="after_sentinel")(both, AfterSentinel(one), out)
sg.export(name="not_a_namedtuple")(both, NotANamedTuple(one, two), out)
sg.export(name="collected")(both, Collected(one), out)
sg.export(name="renamed")(items, Renamed(one, two), out)
sg.export(name="child")(both, Child(one), out)
sg.export(name="undecorated")(both, Undecorated(one), out)
sg.export(name="shared")(both, Shared(one), out)
sg.export(name="with_methods")(both, WithMethods(one), out)
sg.export(name="extended")(both, Extended(one), out)
sg.export(name="in_a_class")(both, Holder.Nested(one, two), out)
sg.export(named_like_types, Fields(one, two), out)
sg.export(with_optionals, out)
sg.export(with_settings, out)
sg.export(left_out, x, out=out)
sg.export(numbers, out)
sg.export(of_any_width, out, int, float, bool, float, int, bool)
sg.export(name="of_any_width_by_annotation")(of_any_width, out)


@sg.family(with_bias=[False, True])
def sometimes(with_bias):
    return sg.kernel(some, x, x if with_bias else None, out)


@sg.family(kind=["none", "bias", "both"])
def together(kind):
    bias = sg.tensor(f32, sg.dim("k"), device="cpu")
    return sg.kernel(tied, x, None if kind == "none" else bias, bias if kind == "both" else None, out)

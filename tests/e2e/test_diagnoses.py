"""What authors get wrong, and the DSL would answer with an internal error: found before compiling.

Modules say themselves what they expect, like those of ``test_bad_input``: ``#! CS220 parameter words`` at the
end of a line expects one problem there, about that parameter (``-`` for none), with those words in it.
"""

# ruff: noqa: E501  # expectations stand on the lines that they are about

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_stubgen

HEADER = """\
import collections
import dataclasses
import decimal
import enum
import functools
from typing import Any, NamedTuple, Optional, Tuple, Type

import cutlass
import numpy as np
import torch
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

f32 = cutlass.Float32
i32 = cutlass.Int32
i64 = cutlass.Int64
n = sg.dim("n")
v = sg.tensor(f32, n, device="cpu")
g = sg.tensor(f32, n)
env = sg.env_stream()


@cute.kernel
def fill(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    a[thread] = 1.0


@cute.jit
def one(x):
    pass


@cute.jit
def two(a: cute.Tensor, x):
    pass
"""

KINDS = """
@cute.jit
def points(p: cute.Pointer):
    pass


class Points:
    @cute.jit
    def run(self, a: cute.Tensor, p: cute.Pointer):
        pass


p = sg.pointer(f32)
sg.export(points, v)  #! CS311 p p of points is a tensor, but annotated cute.Pointer
sg.export(name="points_at_number")(points, 3)  #! CS311 p is 3, but annotated cute.Pointer
sg.export(name="method")(Points().run, v, v)  #! CS311 p p of method is a tensor, but annotated cute.Pointer
sg.export(name="two_of_pointer")(two, p, v)  #! CS311 a is a
sg.export(name="two_of_number")(two, 1.5, v)  #! CS311 a is 1.5, but annotated cute.Tensor
sg.export(name="two_of_type")(two, f32, v)  #! CS311 a a of two_of_type is a Float32, but annotated cute.Tensor
"""

STREAMS = """
class Pair(NamedTuple):
    a: cute.Tensor
    s: CUstream


@dataclasses.dataclass
class Both:
    a: cute.Tensor
    s: CUstream


@cute.jit
def union(a: cute.Tensor, stream: CUstream | None = None):
    pass


@cute.jit
def pointer(p: cute.Pointer, stream: CUstream):
    pass


sg.export(name="s1")(two, g, (g, env))  #! CS220 x x[1] of s1 is an environment stream inside a tuple
sg.export(name="s2")(two, g, Pair(g, env))  #! CS220 x x.s of s2 is an environment stream inside a Pair
sg.export(name="s3")(two, g, Both(g, env))  #! CS220 x give the stream a parameter of its own
sg.export(name="s4")(two, v, env)  #! CS221 x x of s4 is an environment stream, but no argument is a GPU tensor
sg.export(name="s5")(pointer, sg.pointer(f32), env)  #! CS221 stream let the caller pass the stream: sg.stream()
sg.export(name="s6")(one, env)  #! CS221 x is an environment stream
sg.export(name="s7")(union, g, env)  #! CS222 stream is a stream, but annotated CUstream | None; annotate it CUstream
sg.export(name="s8")(union, g, sg.stream())  #! CS222 stream annotate it CUstream alone
sg.export(name="s9")(pointer, sg.pointer(f32))  #! CS210 stream no argument is given for stream of (p, stream)
"""

CONTAINERS = """
class Fixed(NamedTuple):
    a: cute.Tensor
    k: cutlass.Constexpr[int]


@dataclasses.dataclass
class Data:
    a: Any
    k: cutlass.Constexpr[Any] = None


class Holder(NamedTuple):
    data: Any


@cute.jit
def varying(t: Tuple[cute.Tensor, ...]):
    pass


@cute.jit
def both_of(t: Tuple[cute.Tensor, cute.Tensor]):
    pass


class Nested(NamedTuple):
    parts: Tuple[cute.Tensor, cute.Tensor]


@cute.jit
def shape(a: cute.Tensor, s: cute.Shape):
    pass


@cute.jit
def ints(a: cute.Tensor, s: cute.IntTuple):
    pass


sg.export(name="c1")(one, Fixed(v, 4))  #! CS224 x Fixed, a NamedTuple with the Constexpr field k; make Fixed a
sg.export(name="c2")(one, (v, Fixed(v, 4)))  #! CS224 x x[1] of c2
sg.export(name="c3")(one, Holder(Data(v)))  #! CS225 x x.data of c3 is a dataclass, Data, inside the NamedTuple Holder
sg.export(name="c4")(one, Data(Holder((Data(v),))))  #! CS225 x x.a.data[0] of c4
sg.export(name="c5")(one, Data(v, "fast"))  #! CS226 x whose Constexpr field k is 'fast'; give a Constexpr field None
sg.export(name="c6")(one, Data(v, f32))  #! CS226 x whose Constexpr field k is Float32
sg.export(name="c7")(one, Data(v, 2**70))  #! CS226 x whose Constexpr field k is 118
sg.export(name="c8")(varying, (v, v, v))  #! CS228 t has 3 items, but its annotation is Tuple[
sg.export(name="c9")(varying, (v,))  #! CS228 t annotate it tuple for any number of items
sg.export(name="e1")(both_of, (v,))  #! CS312 t t of e1 has 1 item, but its annotation, Tuple[Tensor, Tensor], has 2 items; give 2 items, or change
sg.export(name="e2")(both_of, (v, v, v))  #! CS312 t t of e2 has 3 items
sg.export(name="e3")(one, (v, Nested((v, v, v))))  #! CS312 x x[1].parts of e3 has 3 items
sg.export(name="d1")(shape, v, (4, n))  #! CS227 s s of d1 holds the size n; give cutlass.Int32
sg.export(name="d2")(shape, v, (4, None))  #! CS227 s holds None
sg.export(name="d3")(shape, v, 12)  #! CS227 s is 12, which is no tuple; give a tuple, such as (12,)
sg.export(name="d4")(ints, v, 12)  #! CS227 s is 12, which is no tuple
sg.export(name="d5")(shape, v, ((4, 2), 3))  #! CS227 s has a fixed extent, which a nested one cannot have
sg.export(name="d6")(shape, v, (((4, i32), i32), i32))  #! CS227 s is nested more than once; flatten it
"""

VALUES = """
class Colour(enum.Enum):
    RED = 1


@cute.jit
def text(a: cute.Tensor, mode: str = "fast"):
    pass


@cute.jit
def kind(a: cute.Tensor, dtype: Type[cutlass.Numeric]):
    pass


@cute.jit
def scaled(a: cute.Tensor, s: f32, k: int = 3):
    pass


@cute.jit
def narrow(a: cute.Tensor, s: cutlass.Int4):
    pass


sg.export(name="v1")(two, v, {"x": v})  #! CS229 x is a dict, which no compiled function can be called with; give
sg.export(name="v2")(two, v, "text")  #! CS229 x is 'text', which no compiled function can be called with; annotate
sg.export(name="v3")(two, v, (v, [{}]))  #! CS229 x x[1][0] of v3 is a dict
sg.export(name="v4")(two, v, object())  #! CS229 x is an object
sg.export(name="v5")(two, v, len)  #! CS229 x is len
sg.export(name="v6")(two, v, Colour.RED)  #! CS229 x is a Colour
sg.export(name="v7")(text, v)  #! CS229 mode mode of v7 is 'fast'
sg.export(name="v8")(kind, v, f32)  #! CS229 dtype dtype of v8 is the type Float32, which no compiled function can be called with
sg.export(name="v9")(two, v, 2**70)  #! CS229 x give one that fits into 64 bits
sg.export(name="w1")(scaled, v, "x")  #! CS230 s s of w1 is 'x', but annotated Float32; give the type Float32
sg.export(name="w2")(scaled, v, i64)  #! CS230 s is a Int64, but annotated Float32
sg.export(name="w3")(scaled, v, n)  #! CS230 s is the size n
sg.export(name="w4")(scaled, v, None)  #! CS230 s is None
sg.export(name="w5")(scaled, v, f32, 2.5)  #! CS230 k is 2.5, but annotated int
sg.export(name="w6")(two, v, cutlass.Int4)  #! CS231 x is a Int4, which cannot be passed by value; pass a wider type
sg.export(name="w7")(two, v, cutlass.Float8E4M3FN)  #! CS231 x is a Float8E4M3FN
sg.export(name="w8")(two, v, cutlass.Int128)  #! CS231 x is a Int128
sg.export(name="w9")(narrow, v, 1)  #! CS231 s is a Int4
sg.export(name="y1")(one, sg.tensor(cutlass.Float8E4M3, n))  #! CS232 x is a tensor of Float8E4M3, which tvm-ffi
sg.export(name="y2")(one, sg.tensor(cutlass.Int128, n))  #! CS232 x choose another element type
sg.export(name="y3")(one, sg.tensor(cutlass.Float8E4M3B11FNUZ, n))  #! CS232 x is a tensor of Float8E4M3B11FNUZ
"""

CLASSES = """
@dataclasses.dataclass
class Computed:
    a: cute.Tensor
    k: f32 = dataclasses.field(init=False, default=1.0)


@dataclasses.dataclass
class Late:
    a: cute.Tensor

    def __post_init__(self):
        self.b = self.a


@dataclasses.dataclass
class Initial:
    a: cute.Tensor
    k: dataclasses.InitVar[int] = 3

    def __post_init__(self, k):
        pass


@dataclasses.dataclass
class Backwards:
    a: cute.Tensor
    b: cute.Tensor

    def __init__(self, b, a):
        self.a, self.b = a, b


@dataclasses.dataclass(init=False)
class Unwritten:
    a: cute.Tensor


@dataclasses.dataclass
class Built:
    a: cute.Tensor

    def __new__(cls, a):
        return super().__new__(cls)


@dataclasses.dataclass(slots=True)
class Slotted:
    a: cute.Tensor


@dataclasses.dataclass
class Simple:
    a: cute.Tensor


class Swapped(NamedTuple("Swapped", [("a", Any), ("b", Any)])):
    def __new__(cls, b, a):
        return super().__new__(cls, a, b)


class Holding(NamedTuple):
    inner: Any


Plain = collections.namedtuple("Plain", ["a", "b"])


@cute.jit
def plain_pair(p: Plain):
    pass


grown = Simple(v)
grown.extra = v
unwritten = Unwritten()
unwritten.a = v

sg.export(name="k1")(one, Computed(v))  #! CS245 x x of k1 is a Computed, a dataclass whose field k has init=False; let callers give it
sg.export(name="k2")(one, Late(v))  #! CS245 x x of k2 is a Late, a dataclass with __post_init__; do in a function, or in the kernel
sg.export(name="k3")(one, Initial(v))  #! CS245 x is a Initial, a dataclass with the InitVar k; make it a field
sg.export(name="k4")(one, Backwards(v, v))  #! CS245 x is a Backwards, a dataclass with its own __init__; let dataclasses write
sg.export(name="k5")(one, unwritten)  #! CS245 x is a Unwritten, a dataclass with its own __init__
sg.export(name="k6")(one, Built(v))  #! CS245 x is a Built, a dataclass with its own __new__
sg.export(name="k7")(one, Slotted(v))  #! CS245 x a dataclass with slots, which the DSL cannot read; take slots=True away
sg.export(name="k8")(one, grown)  #! CS245 x a dataclass whose object has extra, which is no field
sg.export(name="k9")(one, Swapped(v, v))  #! CS245 x is a Swapped, a NamedTuple with its own __new__
sg.export(name="l1")(one, (v, [Slotted(v)]))  #! CS245 x x[1][0] of l1 is a Slotted
sg.export(name="l2")(one, Simple(Late(v)))  #! CS245 x x.a of l2 is a Late
sg.export(name="l3")(one, Holding(Swapped(v, v)))  #! CS245 x x.inner of l3 is a Swapped
sg.export(plain_pair, Plain(v, v))  #! CS247 p p of plain_pair is annotated Plain, a NamedTuple whose field a has no type
"""

HELPERS = """
@cute.jit
def streamed(a: cute.Tensor, stream: CUstream):
    pass


@cute.jit
def number(a: cute.Tensor, s: f32):
    pass


sg.export(name="h1")(streamed, g, sg.env_stream)  #! CS229 stream stream of h1 is the function stubgen.env_stream, which no compiled function can be called with; call it: stubgen.env_stream()
sg.export(name="h2")(streamed, g, sg.stream)  #! CS229 stream call it: stubgen.stream()
sg.export(name="h3")(streamed, g, CUstream)  #! CS229 stream describe the stream: stubgen.env_stream(), or stubgen.stream()
sg.export(name="h4")(two, sg.tensor, 1)  #! CS229 a a of h4 is the function stubgen.tensor
sg.export(name="h5")(two, v, (sg.dim, 1))  #! CS229 x x[0] of h5 is the function stubgen.dim, which no compiled function can be called with; call it: stubgen.dim("n")
sg.export(name="h6")(number, v, sg.pointer)  #! CS229 s is the function stubgen.pointer
sg.export(name="h7")(two, np.zeros(3), 1)  #! CS229 a is an array that exists, of numpy.ndarray, which no compiled function can be called with; describe the arrays that callers pass: stubgen.tensor(
sg.export(name="h8")(two, v, torch.zeros(3))  #! CS229 x is an array that exists, of torch.Tensor
sg.export(name="h9")(two, cute.Tensor, 1)  #! CS229 a is the type cutlass.cute.typing.Tensor, which no compiled function can be called with; describe the tensor: stubgen.tensor(
sg.export(name="i1")(two, v, cute.Pointer)  #! CS229 x describe the pointer: stubgen.pointer(cutlass.Float32)
sg.export(name="i2")(two, v, np.float32)  #! CS229 x is the type numpy.float32, which no compiled function can be called with; give cutlass.Float32
sg.export(name="i3")(two, v, torch.bfloat16)  #! CS229 x give cutlass.BFloat16
sg.export(name="i4")(number, v, np.float32)  #! CS230 s is the type numpy.float32, but annotated Float32; give the type Float32
sg.export(name="i5")(number, v, int)  #! CS230 s is a Int32, but annotated Float32
sg.export(name="i6")(two, v, decimal.Decimal(1))  #! CS229 x is a Decimal, which no compiled function can be called with; give an int, a float
sg.export(name="i7")(two, v, 1j)  #! CS229 x is a complex
sg.export(name="i8")(two, sg.tensor(f32, sg.dim), 1)  #! CS210 a dim is no extent; give an integer or stubgen.dim
"""

OPTIONS = """
sg.export(options="--gpu-arch sm_100a", name="o1")(two, v, 1)  #! CS246 - o1 has options='--gpu-arch sm_100a': it chooses the architecture, which the package does; name architectures with archs =
sg.export(options="--opt-level 2 --gpu-arch=sm_90a", name="o2")(two, v, 1)  #! CS246 - it chooses the architecture
sg.export(options="--host-target linux-aarch64", name="o3")(two, v, 1)  #! CS246 - set host = "aarch64" in [tool.cute-stubgen]
sg.export(options="--nonsense", name="o4")(two, v, 1)  #! CS246 - unrecognized arguments: --nonsense; write options as cute.compile takes them
sg.export(options="opt-level=2", name="o5")(two, v, 1)  #! CS246 - unrecognized arguments: opt-level=2
sg.export(options="--opt-level 9", name="o6")(two, v, 1)  #! CS246 - the level is none of 0, 1, 2 and 3; write "--opt-level 2"
sg.export(options="--opt-level", name="o7")(two, v, 1)  #! CS246 - the level is none of
sg.export(options="--opt-level x", name="o8")(two, v, 1)  #! CS246 - invalid int value: 'x'
sg.export(options="--ptxas-options '", name="o9")(two, v, 1)  #! CS246 - no closing quotation
sg.export(options=["--opt-level", "2"], name="p1")(two, v, 1)  #! CS246 - p1 has options=a list: it is no text; write it as text
sg.export(options=cute.OptLevel(2), name="p2")(two, v, 1)  #! CS246 - p2 has options=an OptLevel: it is no text
sg.export(options=None, name="p3")(two, v, 1)  #! CS246 - p3 has options=None
sg.export(name="p4")(cute.compile[cute.OptLevel(2)], v, 1)  #! CS233 - the function is cute.compile; give the function itself, and options as text
"""

FUNCTIONS = """
def wrapping(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        return function(*arguments, **named)

    return wrapper


@wrapping
@cute.jit
def wrapped(a: cute.Tensor):
    pass


@cute.jit
@wrapping
def wrapped_inside(a: cute.Tensor):
    pass


@cute.jit
def generator(a: cute.Tensor):
    yield a


@cute.jit
async def asynchronous(a: cute.Tensor):
    pass


@cute.jit
async def both_at_once(a: cute.Tensor):
    yield a


class Calls:
    @cute.jit
    def __call__(self, a: cute.Tensor):
        pass

    @cute.jit
    def run(self, a: cute.Tensor):
        pass

    @wrapping
    @cute.jit
    def wrapped(self, a: cute.Tensor):
        pass

    @cute.jit
    def generates(self, a: cute.Tensor):
        yield a


class WrappedCall:
    @wrapping
    @cute.jit
    def __call__(self, a: cute.Tensor):
        pass


sg.export(name="u1")(wrapped, v)  #! CS233 - wrapped is wrapped by another decorator, which the DSL would leave out; export the function without it
sg.export(name="u2")(wrapped_inside, v)  #! CS233 - wrapped_inside is wrapped by another decorator
sg.export(name="u3")(Calls().wrapped, v)  #! CS233 - Calls.wrapped is wrapped by another decorator
sg.export(name="u4")(WrappedCall(), v)  #! CS233 - an object of WrappedCall is wrapped by another decorator
sg.export(name="u5")(functools.lru_cache(two), v, v)  #! CS233 - two is wrapped by another decorator
sg.export(name="u6")(generator, v)  #! CS233 - generator is a generator; write it as a function that does all when called
sg.export(name="u7")(Calls().generates, v)  #! CS233 - Calls.generates is a generator
sg.export(name="u8")(asynchronous, v)  #! CS233 - asynchronous is an async function
sg.export(name="u9")(both_at_once, v)  #! CS233 - both_at_once is an asynchronous generator
sg.export(name="x1")(Calls.run, v)  #! CS233 - Calls.run is a method, and no object is given for it; export it of an object: sg.export(Calls(...).run, ...)
sg.export(name="x2")(Calls.run, a=v)  #! CS233 - Calls.run is a method, and no object is given
sg.export(name="x3")(Calls.__call__, v)  #! CS233 - export it of an object: sg.export(Calls(...), ...)
sg.export(name="x4")("two", v)  #! CS233 - x4 cannot be compiled: 'two' is a string; give the function itself, without quotes
sg.export("two", v)  #! CS233 - this export cannot be compiled: 'two' is a string
sg.export(3, v)  #! CS233 - this export cannot be compiled: an object of int is no @cute.jit function


class Methods:
    @classmethod
    @cute.jit
    def of_class(cls, a: cute.Tensor):
        pass

    @cute.jit
    def odd(this, a: cute.Tensor):
        pass


def plain(a):
    pass


@cute.jit
def with_self(self: cute.Tensor):
    pass


@cute.jit
def internal(a: cute.Tensor, __i_target_func: cute.Tensor):
    pass


@cute.jit
def more(a: cute.Tensor, s: f32 = 1.0, *rest):
    pass


sg.export(name="f1")(Methods.of_class, v)  #! CS233 - Methods.of_class is a classmethod; make it a staticmethod
sg.export(name="f2")(functools.partial(two, v), v)  #! CS233 - is a functools.partial; export the function itself
sg.export(name="f3")(plain, v)  #! CS233 - plain is no @cute.jit function; decorate
sg.export(name="f4")(lambda a: None, v)  #! CS233 - <lambda> is no @cute.jit function
sg.export(name="f5")(Methods().odd, v)  #! CS234 this the first parameter of f5 is called this, but it is a method
sg.export(name="f6")(with_self, v)  #! CS234 self is called self, but it is a function; call it another name
sg.export(name="f7")(internal, v, v)  #! CS235 __i_target_func a name that tvm-ffi uses itself
sg.export(name="f8")(more, v, f32, v)  #! CS236 rest f8 has *rest after s, which has a default; make s keyword-only


@sg.family(x=[1])  #! CS210 - member__1: the arguments do not fit (a, x): got an unexpected keyword argument
def member(x):
    return sg.kernel(two, v, unknown=3)
"""

CALLED = """
sg.export(two(v, v))  #! CS217 - declare kernels without calling them: sg.export(add, a, b), not sg.export(add(a, b))
"""

LAUNCHES = """
@cute.jit
def launches(a: cute.Tensor, stream: CUstream = None):
    fill(a).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


sg.export(launches, g)  #! CS223 stream launches a kernel on the stream None; give a stream: stream=sg.env_stream()
sg.export(name="with_none")(launches, g, None)  #! CS223 stream with_none launches a kernel on the stream None
"""

WARNED = """
@cute.jit
def scaled(a: cute.Tensor, s: f32 = 1.0):
    a[0] = s


@cute.jit
def returns(a: cute.Tensor):
    return a[0]


@cute.jit
def inner(t: tuple, stream: CUstream):
    fill(t[0]).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


sg.export(scaled, v, 2.5)  #! CS601 s 2.5 given for s of scaled is not compiled in: it stays a run-time parameter
sg.export(name="same")(scaled, v, 1.0)
sg.export(name="type")(scaled, v, f32)
sg.export(returns, v)  #! CS602 - returns returns a value, which the compiled function drops; write results
sg.export(inner, (g,), env)  #! CS603 - inner runs on the GPU but takes no GPU tensor as an argument of its own
"""

WORKS = """
class Numbers(NamedTuple):
    a: cute.Tensor
    i: int
    f: float
    b: bool
    t: tuple = (1, 2.5)


class Colour(enum.IntEnum):
    RED = 1


@cute.jit
def größe(länge: cute.Tensor, wort: cutlass.Constexpr[str] = "größer"):
    länge[0] = 1.0


@cute.jit
def floating(a: cute.Tensor, s: float, k: int):
    a[0] = s


@cute.jit
def defaulted(a: cute.Tensor, numbers: tuple = (1, 2.5)):
    a[0] = numbers[1]


@cute.jit
def pair(t: Tuple[cute.Tensor, ...]):
    t[0][0] = 1.0


sg.export(name="groesse")(größe, v)
sg.export(name="numbers")(one, Numbers(v, 1, 2.0, True))
sg.export(name="colour")(two, v, Colour.RED)
sg.export(name="int_for_float")(floating, v, 2, 3)
sg.export(name="types_for_plain")(floating, v, f32, i32)
sg.export(defaulted, v)
sg.export(pair, (v, v))
sg.export(name="fp4")(one, sg.pointer(cutlass.Float4E2M1FN))
"""


LIBRARY = """
@cute.jit
def total(out: cute.Tensor, parts: Tuple[cute.Tensor, ...]):
    out[0] = 0.0
    for part in cutlass.range_constexpr(len(parts)):
        out[0] = out[0] + parts[part][0]


@cute.jit
def launched(a: cute.Tensor, stream: CUstream | None = None):
    fill(a).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)


@cute.jit
def moded(a: cute.Tensor, mode: str = "fast"):
    a[1] = 1.0 if cutlass.const_expr(mode == "fast") else 2.0


def plain(a):
    a[2] = 3.0


class Object:
    @cute.jit
    def __call__(self, out: cute.Tensor, parts: Tuple[cute.Tensor, ...]):
        total(out, parts)
"""

OF_LIBRARY = """
import somelib

three = (v, v, v)
sg.export(somelib.total, v, three)  #! CS228 parts for any number of items, or with the type of each; total is a library's, so do that in a @cute.jit function of your own that calls it
sg.export(name="object")(somelib.Object(), v, three)  #! CS228 parts Object.__call__ is a library's, so do that
sg.export(somelib.launched, g, env)  #! CS222 stream have the default None; launched is a library's
sg.export(somelib.moded, v)  #! CS229 mode to have the value compiled in; moded is a library's
sg.export(name="dict")(somelib.moded, {})  #! CS229 a make it a dataclass or a NamedTuple  #! CS229 mode moded is a library's
sg.export(somelib.plain, v)  #! CS233 - decorate what is to be compiled with @cute.jit; plain is a library's
"""

AROUND_LIBRARY = """
import somelib


@cute.jit
def total(out: cute.Tensor, parts: tuple):
    somelib.total(out, parts)
    somelib.moded(out, "slow")
    somelib.plain(out)


@cute.jit
def launched(a: cute.Tensor, stream: CUstream):
    somelib.launched(a, stream)


sg.export(total, v, (v, v, v))
sg.export(launched, g, env)
"""

METHODS = """
class Methods:
    @cute.kernel
    def kernel(self, a: cute.Tensor, p: cute.Pointer):
        pass

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, stream: CUstream):
        self.kernel(a, b).launch(grid=(1, 1, 1), block=(32, 1, 1), stream=stream)  #! CS301 - object does not compile: expects p to be Pointer, but got Tensor

    @cute.jit
    def layout(self, a: cute.Tensor, b: cute.Layout):
        pass


@cute.jit
def atom(a: cute.Tensor, b: cute.CopyAtom):
    pass


sg.export(name="object")(Methods(), g, g, env)
sg.export(name="bound")(Methods().layout, g, g)  #! CS301 - bound does not compile: expects b to be Layout, but got FakeTensor
sg.export(name="function")(atom, g, 3)  #! CS301 - function does not compile: expects b to be CopyAtom, but got int
"""


def project(folder: Path, **modules: str) -> Path:
    (folder / "kernels").mkdir()
    (folder / "pyproject.toml").write_text("[tool.cute-stubgen]\n")
    for name, text in modules.items():
        (folder / "kernels" / f"{name}.py").write_text(HEADER + text, encoding="utf-8")
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    done = run_stubgen("generate", "--json", *arguments, cwd=folder, env=env)
    assert "bug in the DSL" not in done.stdout + done.stderr
    assert "internal DSL problem" not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def assert_as_announced(folder: Path, found: list[dict[str, Any]]) -> None:
    expected = [
        (f"{file.relative_to(folder).as_posix()}:{number}", *match.groups())
        for file in sorted(folder.glob("kernels/*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for match in re.finditer(r"#! (CS\d+) (\S+) ([^#]+)", line)
    ]
    told = [
        (f"{p['file']}:{p['line']}", p["code"], p["parameter"] or "-", f"{p['message']}; {p['remedy']}")
        for p in found
    ]
    assert sorted(item[:3] for item in told) == sorted(item[:3] for item in expected)
    for *key, words in expected:
        here = [text for *other, text in told if other == key]
        assert any(words.strip() in text for text in here), (words, here)


def test_every_internal_error_is_diagnosed_before_compiling(tmp_path: Path) -> None:
    modules = {
        "kinds": KINDS,
        "streams": STREAMS,
        "containers": CONTAINERS,
        "values": VALUES,
        "classes": CLASSES,
        "helpers": HELPERS,
        "options": OPTIONS,
        "functions": FUNCTIONS,
        "called": CALLED,
    }
    folder = project(tmp_path, **modules)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert status == 1
    assert_as_announced(folder, said["problems"])


def test_arguments_are_called_by_name_and_not_by_a_number_that_counts_self(tmp_path: Path) -> None:
    folder = project(tmp_path, methods=METHODS)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert status == 1
    assert_as_announced(folder, said["problems"])
    assert not re.search(r"#\d", str([problem["message"] for problem in said["problems"]]))


def test_advice_about_functions_of_libraries_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project(tmp_path, of_library=OF_LIBRARY)
    (folder / "site-packages").mkdir()
    (folder / "site-packages" / "somelib.py").write_text(HEADER + LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(folder / "site-packages"), prepend=os.pathsep)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert status == 1
    assert_as_announced(folder, said["problems"])
    remarks = {p["message"]: p["remedy"] for p in said["problems"]}
    assert "library" not in next(text for message, text in remarks.items() if "is a dict" in message)
    (folder / "kernels" / "of_library.py").write_text(HEADER + AROUND_LIBRARY)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert status == 0, said
    call = """
import torch
from cute_kernels import of_library
out, *parts = (torch.full((4,), float(x)) for x in range(4))
of_library.total(out, tuple(parts))
assert out.tolist() == [6, 2, 3, 0], out
"""
    subprocess.run([sys.executable, "-c", call], cwd=folder / "generated", check=True)


def test_launching_on_no_stream_is_found_when_it_happens(tmp_path: Path) -> None:
    folder = project(tmp_path, launches=LAUNCHES)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert status == 1
    assert_as_announced(folder, said["problems"])


def test_warnings_leave_the_run_successful(tmp_path: Path) -> None:
    folder = project(tmp_path, warned=WARNED)
    status, said, _ = run(folder, "--arch", "sm_90a")
    assert (status, said["kernels"]) == (0, 5)
    assert_as_announced(folder, said["warnings"])
    env = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    done = run_stubgen("generate", "--arch", "sm_90a", cwd=folder, env=env)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == len(said["warnings"])
    assert "kernels/warned.py" in warnings[0]


def test_what_can_be_made_to_work_works(tmp_path: Path) -> None:
    folder = project(tmp_path, works=WORKS)
    status, said, errors = run(folder)
    assert status == 0, said or errors
    assert (said["kernels"], said["warnings"]) == (8, [])


NAMED_ALIKE = """\
from typing import NamedTuple

import cutlass
from cutlass import cute

import stubgen as sg


class Pair(NamedTuple):
    a: cutlass.Int32


@cute.jit
def first(p: Pair, out: cute.Tensor):
    out[0] = p.a


One = Pair


class Pair(NamedTuple):
    b: cutlass.Int32


@cute.jit
def second(p: Pair, out: cute.Tensor):
    out[0] = p.b


@cute.jit
def both(p: One, q: Pair, out: cute.Tensor):
    out[0] = p.a + q.b


out = sg.tensor(cutlass.Int32, 1, device="cpu")
sg.export(first, One(0), out)
"""


CALL_ALIKE = """\
import torch
from alike_aot import alike
from alike_aot.kwargs import alike as by_keyword

out = torch.zeros(1, dtype=torch.int32)
by_keyword.first(alike.Pair(a=3), out)
assert out.item() == 3
by_keyword.second(out=out, p=alike.SecondPair(b=4))
assert out.item() == 4
"""


def test_classes_of_one_name_that_differ_are_both_in_the_module(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "alike.py").write_text(f"{NAMED_ALIKE}sg.export(second, Pair(0), out)\n")
    (tmp_path / "pyproject.toml").write_text('[tool.cute-stubgen]\npackage = "alike_aot"\n')
    done = run_stubgen("generate", "-C", tmp_path)
    assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, "-c", CALL_ALIKE], cwd=tmp_path / "generated", check=True)


def test_names_that_would_hide_one_another_in_the_module_are_refused(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for code, export in (
        ("CS214", "sg.export(both, One(0), Pair(0), out)"),
        ("CS218", 'sg.export(name="Pair")(first, One(0), out)'),
    ):
        (kernels / "alike.py").write_text(f"{NAMED_ALIKE}{export}\n")
        done = run_stubgen("generate", "-C", tmp_path, "--json")
        (found,) = json.loads(done.stdout)["problems"]
        line = NAMED_ALIKE.count("\n") + 1
        assert (found["code"], found["file"], found["line"]) == (code, "kernels/alike.py", line)
        assert "rename" in found["remedy"]
        assert not (tmp_path / "generated").exists()

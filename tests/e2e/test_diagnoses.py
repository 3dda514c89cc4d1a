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
sg.export(points, 3, name="points_at_number")  #! CS311 p is 3, but annotated cute.Pointer
sg.export(Points().run, v, v, name="method")  #! CS311 p p of method is a tensor, but annotated cute.Pointer
sg.export(two, p, v, name="two_of_pointer")  #! CS311 a is a
sg.export(two, 1.5, v, name="two_of_number")  #! CS311 a is 1.5, but annotated cute.Tensor
sg.export(two, f32, v, name="two_of_type")  #! CS311 a a of two_of_type is a Float32, but annotated cute.Tensor
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


sg.export(two, g, (g, env), name="s1")  #! CS220 x x[1] of s1 is an environment stream inside a tuple
sg.export(two, g, Pair(g, env), name="s2")  #! CS220 x x.s of s2 is an environment stream inside a Pair
sg.export(two, g, Both(g, env), name="s3")  #! CS220 x give the stream a parameter of its own
sg.export(two, v, env, name="s4")  #! CS221 x x of s4 is an environment stream, but no argument is a GPU tensor
sg.export(pointer, sg.pointer(f32), env, name="s5")  #! CS221 stream let the caller pass the stream: sg.stream()
sg.export(one, env, name="s6")  #! CS221 x is an environment stream
sg.export(union, g, env, name="s7")  #! CS222 stream is a stream, but annotated CUstream | None; annotate it CUstream
sg.export(union, g, sg.stream(), name="s8")  #! CS222 stream annotate it CUstream alone
sg.export(pointer, sg.pointer(f32), name="s9")  #! CS210 stream no argument is given for stream of (p, stream)
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


sg.export(one, Fixed(v, 4), name="c1")  #! CS224 x Fixed, a NamedTuple with the Constexpr field k; make Fixed a
sg.export(one, (v, Fixed(v, 4)), name="c2")  #! CS224 x x[1] of c2
sg.export(one, Holder(Data(v)), name="c3")  #! CS225 x x.data of c3 is a dataclass, Data, inside the NamedTuple Holder
sg.export(one, Data(Holder((Data(v),))), name="c4")  #! CS225 x x.a.data[0] of c4
sg.export(one, Data(v, "fast"), name="c5")  #! CS226 x whose Constexpr field k is 'fast'; give a Constexpr field None
sg.export(one, Data(v, f32), name="c6")  #! CS226 x whose Constexpr field k is Float32
sg.export(one, Data(v, 2**70), name="c7")  #! CS226 x whose Constexpr field k is 118
sg.export(varying, (v, v, v), name="c8")  #! CS228 t has 3 items, but its annotation is Tuple[
sg.export(varying, (v,), name="c9")  #! CS228 t annotate it tuple for any number of items
sg.export(both_of, (v,), name="e1")  #! CS312 t t of e1 has 1 item, but its annotation, Tuple[Tensor, Tensor], has 2 items; give 2 items, or change
sg.export(both_of, (v, v, v), name="e2")  #! CS312 t t of e2 has 3 items
sg.export(one, (v, Nested((v, v, v))), name="e3")  #! CS312 x x[1].parts of e3 has 3 items
sg.export(shape, v, (4, n), name="d1")  #! CS227 s s of d1 holds the size n; give cutlass.Int32
sg.export(shape, v, (4, None), name="d2")  #! CS227 s holds None
sg.export(shape, v, 12, name="d3")  #! CS227 s is 12, which is no tuple; give a tuple, such as (12,)
sg.export(ints, v, 12, name="d4")  #! CS227 s is 12, which is no tuple
sg.export(shape, v, ((4, 2), 3), name="d5")  #! CS227 s has a fixed extent, which a nested one cannot have
sg.export(shape, v, (((4, i32), i32), i32), name="d6")  #! CS227 s is nested more than once; flatten it
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


sg.export(two, v, {"x": v}, name="v1")  #! CS229 x is a dict, which no compiled function can be called with; give
sg.export(two, v, "text", name="v2")  #! CS229 x is 'text', which no compiled function can be called with; annotate
sg.export(two, v, (v, [{}]), name="v3")  #! CS229 x x[1][0] of v3 is a dict
sg.export(two, v, object(), name="v4")  #! CS229 x is an object
sg.export(two, v, len, name="v5")  #! CS229 x is len
sg.export(two, v, Colour.RED, name="v6")  #! CS229 x is a Colour
sg.export(text, v, name="v7")  #! CS229 mode mode of v7 is 'fast'
sg.export(kind, v, f32, name="v8")  #! CS229 dtype dtype of v8 is the type Float32, which no compiled function can be called with
sg.export(two, v, 2**70, name="v9")  #! CS229 x give one that fits into 64 bits
sg.export(scaled, v, "x", name="w1")  #! CS230 s s of w1 is 'x', but annotated Float32; give the type Float32
sg.export(scaled, v, i64, name="w2")  #! CS230 s is a Int64, but annotated Float32
sg.export(scaled, v, n, name="w3")  #! CS230 s is the size n
sg.export(scaled, v, None, name="w4")  #! CS230 s is None
sg.export(scaled, v, f32, 2.5, name="w5")  #! CS230 k is 2.5, but annotated int
sg.export(two, v, cutlass.Int4, name="w6")  #! CS231 x is a Int4, which cannot be passed by value; pass a wider type
sg.export(two, v, cutlass.Float8E4M3FN, name="w7")  #! CS231 x is a Float8E4M3FN
sg.export(two, v, cutlass.Int128, name="w8")  #! CS231 x is a Int128
sg.export(narrow, v, 1, name="w9")  #! CS231 s is a Int4
sg.export(one, sg.tensor(cutlass.Float8E4M3, n), name="y1")  #! CS232 x is a tensor of Float8E4M3, which tvm-ffi
sg.export(one, sg.tensor(cutlass.Int128, n), name="y2")  #! CS232 x choose another element type
sg.export(one, sg.tensor(cutlass.Float8E4M3B11FNUZ, n), name="y3")  #! CS232 x is a tensor of Float8E4M3B11FNUZ
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

sg.export(one, Computed(v), name="k1")  #! CS245 x x of k1 is a Computed, a dataclass whose field k has init=False; let callers give it
sg.export(one, Late(v), name="k2")  #! CS245 x x of k2 is a Late, a dataclass with __post_init__; do in a function, or in the kernel
sg.export(one, Initial(v), name="k3")  #! CS245 x is a Initial, a dataclass with the InitVar k; make it a field
sg.export(one, Backwards(v, v), name="k4")  #! CS245 x is a Backwards, a dataclass with its own __init__; let dataclasses write
sg.export(one, unwritten, name="k5")  #! CS245 x is a Unwritten, a dataclass with its own __init__
sg.export(one, Built(v), name="k6")  #! CS245 x is a Built, a dataclass with its own __new__
sg.export(one, Slotted(v), name="k7")  #! CS245 x a dataclass with slots, which the DSL cannot read; take slots=True away
sg.export(one, grown, name="k8")  #! CS245 x a dataclass whose object has extra, which is no field
sg.export(one, Swapped(v, v), name="k9")  #! CS245 x is a Swapped, a NamedTuple with its own __new__
sg.export(one, (v, [Slotted(v)]), name="l1")  #! CS245 x x[1][0] of l1 is a Slotted
sg.export(one, Simple(Late(v)), name="l2")  #! CS245 x x.a of l2 is a Late
sg.export(one, Holding(Swapped(v, v)), name="l3")  #! CS245 x x.inner of l3 is a Swapped
sg.export(plain_pair, Plain(v, v))  #! CS247 p p of plain_pair is annotated Plain, a NamedTuple whose field a has no type
"""

HELPERS = """
@cute.jit
def streamed(a: cute.Tensor, stream: CUstream):
    pass


@cute.jit
def number(a: cute.Tensor, s: f32):
    pass


sg.export(streamed, g, sg.env_stream, name="h1")  #! CS229 stream stream of h1 is the function stubgen.env_stream, which no compiled function can be called with; call it: stubgen.env_stream()
sg.export(streamed, g, sg.stream, name="h2")  #! CS229 stream call it: stubgen.stream()
sg.export(streamed, g, CUstream, name="h3")  #! CS229 stream describe the stream: stubgen.env_stream(), or stubgen.stream()
sg.export(two, sg.tensor, 1, name="h4")  #! CS229 a a of h4 is the function stubgen.tensor
sg.export(two, v, (sg.dim, 1), name="h5")  #! CS229 x x[0] of h5 is the function stubgen.dim, which no compiled function can be called with; call it: stubgen.dim("n")
sg.export(number, v, sg.pointer, name="h6")  #! CS229 s is the function stubgen.pointer
sg.export(two, np.zeros(3), 1, name="h7")  #! CS229 a is an array that exists, of numpy.ndarray, which no compiled function can be called with; describe the arrays that callers pass: stubgen.tensor(
sg.export(two, v, torch.zeros(3), name="h8")  #! CS229 x is an array that exists, of torch.Tensor
sg.export(two, cute.Tensor, 1, name="h9")  #! CS229 a is the type cutlass.cute.typing.Tensor, which no compiled function can be called with; describe the tensor: stubgen.tensor(
sg.export(two, v, cute.Pointer, name="i1")  #! CS229 x describe the pointer: stubgen.pointer(cutlass.Float32)
sg.export(two, v, np.float32, name="i2")  #! CS229 x is the type numpy.float32, which no compiled function can be called with; give cutlass.Float32
sg.export(two, v, torch.bfloat16, name="i3")  #! CS229 x give cutlass.BFloat16
sg.export(number, v, np.float32, name="i4")  #! CS230 s is the type numpy.float32, but annotated Float32; give the type Float32
sg.export(number, v, int, name="i5")  #! CS230 s is a Int32, but annotated Float32
sg.export(two, v, decimal.Decimal(1), name="i6")  #! CS229 x is a Decimal, which no compiled function can be called with; give an int, a float
sg.export(two, v, 1j, name="i7")  #! CS229 x is a complex
sg.export(two, sg.tensor(f32, sg.dim), 1, name="i8")  #! CS210 a dim is no extent; give an integer or stubgen.dim
"""

OPTIONS = """
sg.export(two, v, 1, options="--gpu-arch sm_100a", name="o1")  #! CS246 - o1 has options='--gpu-arch sm_100a': it chooses the architecture, which the package does; name architectures with archs =
sg.export(two, v, 1, options="--opt-level 2 --gpu-arch=sm_90a", name="o2")  #! CS246 - it chooses the architecture
sg.export(two, v, 1, options="--host-target linux-aarch64", name="o3")  #! CS246 - set host = "aarch64" in [tool.cute-stubgen]
sg.export(two, v, 1, options="--nonsense", name="o4")  #! CS246 - unrecognized arguments: --nonsense; write options as cute.compile takes them
sg.export(two, v, 1, options="opt-level=2", name="o5")  #! CS246 - unrecognized arguments: opt-level=2
sg.export(two, v, 1, options="--opt-level 9", name="o6")  #! CS246 - the level is none of 0, 1, 2 and 3; write "--opt-level 2"
sg.export(two, v, 1, options="--opt-level", name="o7")  #! CS246 - the level is none of
sg.export(two, v, 1, options="--opt-level x", name="o8")  #! CS246 - invalid int value: 'x'
sg.export(two, v, 1, options="--ptxas-options '", name="o9")  #! CS246 - no closing quotation
sg.export(two, v, 1, options=["--opt-level", "2"], name="p1")  #! CS246 - p1 has options=a list: it is no text; write it as text
sg.export(two, v, 1, options=cute.OptLevel(2), name="p2")  #! CS246 - p2 has options=an OptLevel: it is no text
sg.export(two, v, 1, options=None, name="p3")  #! CS246 - p3 has options=None
sg.export(cute.compile[cute.OptLevel(2)], v, 1, name="p4")  #! CS233 - the function is cute.compile; give the function itself, and options as text
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


sg.export(wrapped, v, name="u1")  #! CS233 - wrapped is wrapped by another decorator, which the DSL would leave out; export the function without it
sg.export(wrapped_inside, v, name="u2")  #! CS233 - wrapped_inside is wrapped by another decorator
sg.export(Calls().wrapped, v, name="u3")  #! CS233 - Calls.wrapped is wrapped by another decorator
sg.export(WrappedCall(), v, name="u4")  #! CS233 - an object of WrappedCall is wrapped by another decorator
sg.export(functools.lru_cache(two), v, v, name="u5")  #! CS233 - two is wrapped by another decorator
sg.export(generator, v, name="u6")  #! CS233 - generator is a generator; write it as a function that does all when called
sg.export(Calls().generates, v, name="u7")  #! CS233 - Calls.generates is a generator
sg.export(asynchronous, v, name="u8")  #! CS233 - asynchronous is an async function
sg.export(both_at_once, v, name="u9")  #! CS233 - both_at_once is an asynchronous generator
sg.export(Calls.run, v, name="x1")  #! CS233 - Calls.run is a method, and no object is given for it; export it of an object: sg.export(Calls(...).run, ...)
sg.export(Calls.run, a=v, name="x2")  #! CS233 - Calls.run is a method, and no object is given
sg.export(Calls.__call__, v, name="x3")  #! CS233 - export it of an object: sg.export(Calls(...), ...)
sg.export("two", v, name="x4")  #! CS233 - x4 cannot be compiled: 'two' is a string; give the function itself, without quotes
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


sg.export(Methods.of_class, v, name="f1")  #! CS233 - Methods.of_class is a classmethod; make it a staticmethod
sg.export(functools.partial(two, v), v, name="f2")  #! CS233 - is a functools.partial; export the function itself
sg.export(plain, v, name="f3")  #! CS233 - plain is no @cute.jit function; decorate
sg.export(lambda a: None, v, name="f4")  #! CS233 - <lambda> is no @cute.jit function
sg.export(Methods().odd, v, name="f5")  #! CS234 this the first parameter of f5 is called this, but it is a method
sg.export(with_self, v, name="f6")  #! CS234 self is called self, but it is a function; call it another name
sg.export(internal, v, v, name="f7")  #! CS235 __i_target_func a name that tvm-ffi uses itself
sg.export(more, v, f32, v, name="f8")  #! CS236 rest f8 has *rest after s, which has a default; make s keyword-only


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
sg.export(launches, g, None, name="with_none")  #! CS223 stream with_none launches a kernel on the stream None
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
sg.export(scaled, v, 1.0, name="same")
sg.export(scaled, v, f32, name="type")
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


sg.export(größe, v, name="groesse")
sg.export(one, Numbers(v, 1, 2.0, True), name="numbers")
sg.export(two, v, Colour.RED, name="colour")
sg.export(floating, v, 2, 3, name="int_for_float")
sg.export(floating, v, f32, i32, name="types_for_plain")
sg.export(defaulted, v)
sg.export(pair, (v, v))
sg.export(one, sg.pointer(cutlass.Float4E2M1FN), name="fp4")
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
sg.export(somelib.Object(), v, three, name="object")  #! CS228 parts Object.__call__ is a library's, so do that
sg.export(somelib.launched, g, env)  #! CS222 stream have the default None; launched is a library's
sg.export(somelib.moded, v)  #! CS229 mode to have the value compiled in; moded is a library's
sg.export(somelib.moded, {}, name="dict")  #! CS229 a make it a dataclass or a NamedTuple  #! CS229 mode moded is a library's
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


sg.export(Methods(), g, g, env, name="object")
sg.export(Methods().layout, g, g, name="bound")  #! CS301 - bound does not compile: expects b to be Layout, but got FakeTensor
sg.export(atom, g, 3, name="function")  #! CS301 - function does not compile: expects b to be CopyAtom, but got int
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
        ("CS218", 'sg.export(first, One(0), out, name="Pair")'),
    ):
        (kernels / "alike.py").write_text(f"{NAMED_ALIKE}{export}\n")
        done = run_stubgen("generate", "-C", tmp_path, "--json")
        (found,) = json.loads(done.stdout)["problems"]
        line = NAMED_ALIKE.count("\n") + 1
        assert (found["code"], found["file"], found["line"]) == (code, "kernels/alike.py", line)
        assert "rename" in found["remedy"]
        assert not (tmp_path / "generated").exists()

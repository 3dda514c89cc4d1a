"""A call of every function of ``kernels/table.py``, with what ``out`` must begin with afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm_ffi


@dataclass
class Arg:
    """An argument, as Python passes it by position, by keyword, and as C++ passes it."""

    value: Any
    cpp: str | None
    record: str | None = None
    """Class that the items are passed in by keyword."""

    def by_position(self) -> Any:
        if isinstance(self.value, tuple):
            return tuple(v.by_position() if isinstance(v, Arg) else v for v in self.value)
        return self.value

    def by_keyword(self, module: Any) -> Any:
        if not isinstance(self.value, tuple):
            return self.value
        items = [v.by_keyword(module) if isinstance(v, Arg) else v for v in self.value]
        return getattr(module, self.record)(*items) if self.record else tuple(items)


@dataclass
class TableCall:
    name: str
    arguments: dict[str, Arg]
    expected: list[float]


C_TYPES = {"float32": "float", "float64": "double", "int32": "std::int32_t", "int64": "std::int64_t"}


def t(value: float, dtype: str = "float32", shape: tuple[int, ...] = (1,)) -> Arg:
    """A tensor of one value."""
    extents = ", ".join(map(str, shape))
    array = np.full(shape, value, dtype)
    return Arg(array, f"make<{C_TYPES[dtype]}>({value}, {{{extents}}}, false)")


def f(value: float) -> Arg:
    return Arg(value, f"{float(value)}f")


def d(value: float) -> Arg:
    return Arg(value, f"{float(value)}")


def i(value: int) -> Arg:
    return Arg(value, str(value))


def none() -> Arg:
    return Arg(None, None)


def group(*items: Arg) -> Arg:
    shown = [item.cpp for item in items if item.cpp is not None]
    return Arg(items, f"group({', '.join(shown)})" if shown else "tvm::ffi::Tuple<>()")


def record(name: str, *items: Arg) -> Arg:
    shown = [item.cpp for item in items if item.cpp is not None]
    return Arg(items, f"matrix::{name}{{{', '.join(shown)}}}", name)


def shape(*extents: int) -> Arg:
    return Arg(extents, f"tvm::ffi::Shape{{{', '.join(map(str, extents))}}}")


def pointer(value: float, dtype: str = "float32") -> Arg:
    return Arg(np.full(16, value, dtype), f"make<{C_TYPES[dtype]}>({value}, {{16}}, false).data_ptr()")


_CPP_NAMES = ("int", "new", "class_", "template", "NULL", "operator", "this")
_SOFT_NAMES = ("match", "type", "case", "print", "Tensor", "tvm")
_DEFAULTS = {
    "flag": Arg(False, "false"),
    "i8": i(-5),
    "u64": i(7),
    "f16": f(2.5),
    "bf16": f(3.5),
    "box": f(4.5),
    "un": i(6),
    "pi": i(8),
    "pf": f(9.5),
}
_CONSTANTS = (Arg(8, None), Arg(True, None), Arg(1e-5, None), none())

CALLS = [
    TableCall("posonly", {"src": t(5), "s": f(1.5)}, [5, 1.5]),
    TableCall("mixed", {"src": t(5), "s": f(2.5), "t": i(7)}, [5, 2.5, 7]),
    TableCall("defaults", _DEFAULTS, [0, -5, 2.5, 3.5, 4.5, 6, 8, 9.5]),
    TableCall("constants", {"x": f(1.5)}, [16, 2.5, 2]),
    TableCall("only_constexpr", {}, []),
    TableCall("optionals_none", {"x": t(3), "bias": none(), "scale": none(), "lens": none()}, [3]),
    TableCall("optionals_bias", {"x": t(3), "bias": t(4), "scale": none(), "lens": none()}, [3, 4]),
    TableCall(
        "optionals_lens",
        {"x": t(3), "bias": none(), "scale": none(), "lens": t(9, "int32")},
        [3, -1, -1, 9],
    ),
    TableCall(
        "optionals_all",
        {"x": t(3), "bias": t(4), "scale": f(0.5), "lens": t(9, "int32")},
        [3, 4, 0.5, 9],
    ),
    TableCall("nested", {"t": group(t(1), group(t(2), f(3)))}, [1, 2, 3]),
    TableCall("bare", {"t": group(t(1), t(2))}, [1, 2]),
    TableCall("listed", {"t": group(t(1), t(2), t(3))}, [1, 2, 3]),
    TableCall("empty_tuple", {"e": Arg((), None)}, [0]),
    TableCall(
        "widths",
        {
            "t": Arg(
                (1, 2**40, 3, 4.5, True),
                "group(std::int32_t{1}, std::int64_t{1099511627776}, std::int32_t{3}, 4.5, true)",
            )
        },
        [1, 2**40, 3, 4.5, 1],
    ),
    TableCall("named", {"p": record("Affine", t(5), f(2.5), none())}, [5, 2.5]),
    TableCall("named_nested", {"o": record("Outer", record("Pair", i(3), i(4)), d(5.5))}, [3, 4, 5.5]),
    TableCall("data", {"c": record("Config", t(5), f(2.5), *_CONSTANTS)}, [5, 2.5, 8]),
    TableCall(
        "data_in_tuple",
        {
            "t": Arg(
                (record("Inner", i(3)), t(4)), "group(group(std::int32_t{3}), make<float>(4, {1}, false))"
            )
        },
        [3, 4],
    ),
    TableCall(
        "data_nested",
        {"h": record("Holder", record("Inner", i(3)), group(i(4), f(5.5)), t(6))},
        [3, 4, 5.5, 6],
    ),
    TableCall("data_absent", {"c": none()}, [1]),
    TableCall("union_data", {"c": record("Inner", i(3))}, [3]),
    TableCall("shape_static", {"s": shape(4, 8)}, [4, 8]),
    TableCall("shape_dynamic", {"s": shape(5, 2**40)}, [5, 2**40]),
    TableCall("shape_mixed", {"s": shape(4, 5, 6)}, [4, 5, 6]),
    TableCall("shape_default_kept", {"s": shape(4, 8), "c": shape(1, 2)}, [4, 2]),
    TableCall("shape_default_dropped", {"s": shape(4, 16), "c": shape(9, 2)}, [4, 2]),
    TableCall("pointer_one", {"p": pointer(5), "q": none()}, [5]),
    TableCall("pointer_two", {"p": pointer(5), "q": pointer(6, "int64")}, [5, 6]),
    TableCall("zero_rank", {"x": Arg(np.array(3, np.float32), "make<float>(3, {}, false)")}, [1]),
    TableCall("called", {"x": f(2.5)}, [7.5]),
    TableCall("bound", {"x": f(2.5)}, [5.5]),
    TableCall("unbound", {"x": f(2.5)}, [6.5]),
    TableCall("static_method", {"x": f(2.5)}, [2.5]),
    TableCall("unusual_self", {"this": i(3), "cls": f(4.5)}, [3, 4.5]),
    TableCall("cpp_names", {n: i(k + 1) for k, n in enumerate(_CPP_NAMES)}, [1, 2, 3, 4, 5, 6, 7]),
    TableCall("soft_names", {n: i(k + 1) for k, n in enumerate(_SOFT_NAMES)}, [1, 2, 3, 4, 5, 6]),
    TableCall("unicode_names", {"größe": i(1), "λ": i(2)}, [1, 2]),
    TableCall("varargs", {"_vararg_1": t(1), "_vararg_2": t(2, "int32")}, [1, 2]),
    TableCall("varkw", {"first": t(1), "second": f(2.5)}, [1, 2.5]),
    TableCall("nothing", {}, []),
    TableCall("hostile_doc", {}, [1]),
]


@dataclass
class SizesCall:
    """A call of a function that writes the sizes of its one tensor; the tensor is described, not made."""

    name: str
    dtype: str
    """tvm-ffi's name."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    expected: list[float]
    torch: str | None = None
    """torch's name of the dtype; ``None`` if torch has none, and only C++ can make such a tensor."""
    variant: str = ""
    """Key of the variant that is meant, if it is a family."""

    @property
    def cpp(self) -> str:
        """The tensor in C++, from nothing but its description."""
        kind = tvm_ffi.dtype(self.dtype)
        extents, strides = (", ".join(map(str, numbers)) for numbers in (self.shape, self.strides))
        return f"raw({{{kind.type_code}, {kind.bits}, {kind.lanes}}}, {{{extents}}}, {{{strides}}})"


def _dtype(name: str, torch: str | None = None) -> SizesCall:
    label = name.replace("_", "")
    return SizesCall("dtype", name, (3, 4), (4, 1), [3, 4], torch or name, variant=label)


def _layout(name: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> SizesCall:
    return SizesCall(f"layout_{name}", "float32", shape, strides, list(map(float, shape)), "float32")


SIZES = [
    SizesCall("dtype", "bool", (3, 4), (4, 1), [3, 4], "bool", variant="boolean"),
    SizesCall("tfloat32", "float32", (3, 4), (4, 1), [3, 4], "float32"),
    *(_dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *map(_dtype, ("float16", "bfloat16", "float32", "float64")),
    *map(_dtype, ("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu")),
    # Two float4 in a byte: 32 of the tensor's elements are 64 of the kernel's.
    SizesCall(
        "packed", "float4_e2m1fnx2", (2, 32), (32, 1), [2, 64], "float4_e2m1fn_x2", variant="float4e2m1fn"
    ),
    SizesCall("packed", "int4", (2, 64), (64, 1), [2, 64], variant="int4"),
    SizesCall("packed", "float6_e2m3fn", (2, 64), (64, 1), [2, 64], variant="float6e2m3fn"),
    SizesCall("packed", "float6_e3m2fn", (2, 64), (64, 1), [2, 64], variant="float6e3m2fn"),
    _layout("rank1", (5,), (1,)),
    _layout("rank8", (1, 2, 1, 2, 1, 2, 1, 3), (24, 12, 12, 6, 6, 3, 3, 1)),
    _layout("column", (5, 4), (1, 5)),
    _layout("strided", (5, 4), (9, 1)),
    _layout("broadcast", (5, 4), (0, 1)),
    _layout("apart", (5, 4), (12, 1)),
    _layout("apart_in_columns", (5, 4), (1, 8)),
    _layout("apart_in_all", (5, 4), (7, 2)),
    _layout("aligned", (5, 4), (4, 1)),
    _layout("divisible", (16, 4), (4, 1)),
    _layout("wide", (5,), (1,)),
    _layout("shared", (3, 3), (3, 1)),
]

ALL: list[TableCall | SizesCall] = [*CALLS, *SIZES]

"""What the kernels of ``pool.py`` take, and which values each accepts.

This is the reference that dispatch is compared with. It is written from what the compiled functions check,
and uses nothing of the tool; ``test_property.py`` calls every kernel to see that it is right.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
import tvm_ffi


@dataclass(frozen=True)
class Dim:
    """A size that is known only at run time; the same name is the same size."""

    name: str
    divisible_by: int = 1
    bits: int = 32


Size: TypeAlias = "int | Dim"


@dataclass(frozen=True)
class Tensor:
    """A tensor on the host."""

    dtype: str
    shape: tuple[Size, ...]
    order: tuple[int, ...] | None = None
    strides: tuple[Size, ...] | None = None
    align: int | None = None


@dataclass(frozen=True)
class Scalar:
    """A number; only integers are divisible."""

    dtype: str
    divisible_by: int = 1


@dataclass(frozen=True)
class Nothing:
    """An argument that is absent."""


@dataclass(frozen=True)
class Pointer:
    """An address."""


@dataclass(frozen=True)
class Shape:
    """A tuple of integers; ``None`` for one that is known only at run time."""

    extents: tuple[int | None, ...]


@dataclass(frozen=True)
class Tuple:
    """A tuple of other things."""

    items: tuple[Slot, ...]


@dataclass(frozen=True)
class Pair:
    """A NamedTuple of a tensor and a number."""

    x: Slot
    factor: Slot


@dataclass(frozen=True)
class Constants:
    """A dataclass of a tensor and constants."""

    x: Slot
    constants: tuple[bool | int | float | None, bool | int | float | None]


Slot: TypeAlias = "Tensor | Scalar | Nothing | Pointer | Shape | Tuple | Pair | Constants"

# ---------------------------------------------------------------------------------------------------------
# The kernels

n, m, k = Dim("n"), Dim("m"), Dim("k")
n4, n6, n8, n12 = (Dim("n", divisible_by) for divisible_by in (4, 6, 8, 12))
long, long8 = Dim("n", bits=64), Dim("n", 8, bits=64)
ld, ld8, long_ld, other_ld = Dim("ld"), Dim("ld", 8), Dim("ld", bits=64), Dim("other_ld")
vector = Tensor("float32", (n,))

FIRST: list[Slot] = [
    *(Tensor(dtype, (n,)) for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "uint32")),
    *(Tensor(dtype, (n,)) for dtype in ("int8", "uint8", "bool")),
    *(Tensor("float32", (size,)) for size in (1, 4, 8, 24, n4, n6, n8, n12)),
    *(Tensor("float32", (n,), align=align) for align in (16, 64)),
    Tensor("float32", (n8,), align=16),
    Tensor("uint8", (long,)),
    Tensor("uint8", (long8,)),
    Tensor("float32", ()),
    Tensor("float64", ()),
    # Matrices.
    *(Tensor("float32", shape) for shape in ((n, m), (4, 8), (n, 8), (4, m), (n, n), (n, 1), (1, n), (8, 8))),
    *(Tensor("float32", shape, order=(0, 1)) for shape in ((n, m), (4, 8), (n, n))),
    *(
        Tensor("float32", (n, m), strides=strides)
        for strides in (
            (ld, 1), (ld8, 1), (long_ld, 1), (m, 1), (8, 1), (ld, other_ld), (ld, ld), (1, ld), (0, 1)
        )
    ),
    Tensor("float32", (4, 8), strides=(16, 1)),
    Tensor("float32", (n, n), strides=(ld, 1)),
    Tensor("float64", (n, m)),
    Tensor("float64", (n, 4)),
    *(Tensor("float32", shape) for shape in ((n, m, k), (n, n, m), (n, m, m), (n, m, n), (n, n, n))),
    Tensor("float32", (2, m, k)),
    # Numbers and others.
    *(Scalar(dtype) for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint32", "bool")),
    *(Scalar(dtype) for dtype in ("float32", "float64")),
    Scalar("int32", 4),
    Scalar("int32", 6),
    Nothing(),
    Pointer(),
    Shape((4, 8)),
    Shape((4, None)),
    Shape((None, None)),
    Shape((2, 3, 4)),
    Tuple((vector, Scalar("float32"))),
    Tuple((vector, Scalar("int32"))),
    Tuple((Tensor("float64", (n,)), Scalar("float32"))),
    Tuple((Nothing(), Scalar("float32"))),
    Tuple((vector, vector)),
    Tuple((vector, Tensor("float32", (m,)))),
    Tuple((vector, vector, Scalar("int32"))),
    Tuple((Tuple((vector, Scalar("int8"))), Scalar("float32"))),
    Tuple((Tuple((vector, Scalar("int32"))), Scalar("float32"))),
    Pair(Tensor("float32", (n,), align=16), Scalar("float32")),
    *(
        Constants(vector, constants)
        for constants in (
            (8, True), (8, False), (4, True), (1, True), (True, True), (1e-5, True), (1e-6, True),
            (1.0, True), (None, True), (1, 1),
        )
    ),
]  # fmt: skip
"""Each with no second argument."""

PAIRS: list[tuple[Slot, Slot]] = [
    *(
        (x, y)
        for x in (vector, Tensor("float32", (n8,)), Tensor("float32", (8,)), Tensor("float16", (n,)))
        for y in (
            vector,
            Tensor("float32", (m,)),
            Tensor("float32", (8,)),
            Scalar("float32"),
            Scalar("int32"),
        )
    ),
    *(
        (Tensor("float32", (n, m), strides=(ld, 1)), Tensor("float32", (n, m), strides=(second, 1)))
        for second in (ld, other_ld)
    ),
]

COPIES = 3
COPIED: list[tuple[Slot, Slot]] = [
    (x, Nothing())
    for x in (vector, Tensor("float16", (n,)), Tensor("float32", (8,)), Tensor("float32", (n, m)), Nothing())
]
"""Kernels of which there are several, told apart by a selector."""

TABLE: list[tuple[Slot, Slot]] = [*((x, Nothing()) for x in FIRST), *PAIRS, *(COPIES - 1) * COPIED]
"""What the kernel of each number takes."""

# ---------------------------------------------------------------------------------------------------------
# What they accept


@dataclass
class View:
    """A tensor, as a compiled function sees it."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int


@dataclass
class _Sizes:
    """What the names of one call stand for."""

    known: dict[str, int] = field(default_factory=dict)

    def fits(self, size: Size, value: int, *, free: bool = False) -> bool:
        """Return whether a number fits; ``free`` for a stride that nothing is reached by."""
        if isinstance(size, int):
            return free or value == size
        if size.name in self.known:
            return free or self.known[size.name] == value
        self.known[size.name] = value
        limit = 2 ** (size.bits - 1)
        return -limit <= value < limit and (free or value % 2**64 % size.divisible_by == 0)


def accepts(slots: tuple[Slot, ...], values: tuple[Any, ...]) -> bool:
    """Return whether a kernel accepts a call."""
    sizes = _Sizes()
    return len(slots) == len(values) and all(_fits(s, v, sizes) for s, v in zip(slots, values, strict=True))


def _fits(slot: Slot, value: Any, sizes: _Sizes) -> bool:
    match slot:
        case Tensor():
            return isinstance(value, View) and _tensor_fits(slot, value, sizes)
        case Scalar(dtype="float32" | "float64"):
            return isinstance(value, int | float)
        case Scalar(dtype=dtype, divisible_by=divisible_by):
            low, high = _range(dtype)
            fits = isinstance(value, int) and low <= value <= high
            return fits and value % 2**64 % divisible_by == 0  # divided without the sign
        case Nothing():
            return value is None
        case Pointer():
            return value is None or type(value) in (int, ctypes.c_void_p)
        case Shape(extents=extents):
            return (
                isinstance(value, tuple | tvm_ffi.Shape)
                and len(value) == len(extents)
                and all(
                    type(v) is int and ((e is None and -(2**31) <= v < 2**31) or e == v)
                    for e, v in zip(extents, value, strict=True)
                )
            )
        case Tuple(items=items):
            return _items_fit(items, value, sizes)
        case Pair(x=x, factor=factor):
            return _items_fit((x, factor), value, sizes)
        case Constants(x=x, constants=constants):
            return (
                type(value) is tuple
                and len(value) == 3
                and _fits(x, value[0], sizes)
                and all(_is_constant(c, v) for c, v in zip(constants, value[1:], strict=True))
            )


def _items_fit(items: tuple[Slot, ...], value: Any, sizes: _Sizes) -> bool:
    return (
        type(value) is tuple
        and len(value) == len(items)
        and all(_fits(item, v, sizes) for item, v in zip(items, value, strict=True))
    )


def _is_constant(constant: bool | int | float | None, value: Any) -> bool:
    if type(constant) is int:
        return isinstance(value, int) and value == constant
    return type(value) is type(constant) and value == constant


def _range(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    bits = int(dtype.lstrip("uint"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _tensor_fits(slot: Tensor, value: View, sizes: _Sizes) -> bool:
    itemsize = {"float64": 8, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1, "bool": 1}.get(
        slot.dtype, 4
    )
    if value.dtype != slot.dtype or len(value.shape) != len(slot.shape):
        return False
    if value.address % (slot.align or itemsize):
        return False
    shape_fits = [sizes.fits(size, extent) for size, extent in zip(slot.shape, value.shape, strict=True)]
    places = zip(_strides(slot), value.strides, value.shape, strict=True)
    strides_fit = [
        stride is None or sizes.fits(stride, given, free=extent == 1) for stride, given, extent in places
    ]
    return all(shape_fits) and all(strides_fit)


def _strides(slot: Tensor) -> list[Size | None]:
    """Return what is demanded of each stride; ``None`` for nothing.

    Outside of an extent that is known only at run time, all that is left of a compact layout is what divides
    the extents.
    """
    if slot.strides is not None:
        return list(slot.strides)
    rank = len(slot.shape)
    order = slot.order or tuple(reversed(range(rank)))
    found: list[Size | None] = [None] * rank
    fixed, known = 1, True
    for position in range(rank):
        index = order.index(position)
        divisor = Dim(f"the stride {index} of {id(slot)}", fixed, 64)
        found[index] = fixed if known else divisor
        extent = slot.shape[index]
        known = known and isinstance(extent, int)
        fixed *= extent if isinstance(extent, int) else extent.divisible_by
    return found


def view(value: np.ndarray | torch.Tensor) -> View:
    """Return what a compiled function sees of a tensor."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return View(dtype, tuple(value.shape), value.stride(), value.data_ptr())
    strides = tuple(stride // value.itemsize for stride in value.strides)
    return View(str(value.dtype), value.shape, strides, value.ctypes.data)


def viewed(value: Any) -> Any:
    """Replace the tensors in a value, at any depth."""
    if isinstance(value, np.ndarray | torch.Tensor):
        return view(value)
    return tuple(map(viewed, value)) if type(value) is tuple else value

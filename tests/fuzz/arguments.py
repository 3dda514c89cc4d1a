"""Draws argument lists for compiled host functions, right ones and wrong ones, from their description alone.

A drawn :class:`Call` is plain data: nothing of it is built before :meth:`Given.build`, so that a list that
crashes the process can be drawn again in another one, and shown. All tensors of a call lie in one piece of
memory with guard bytes around each, which is given as bytes, once to the call and once to its reference.
"""

from __future__ import annotations

import ctypes
import fractions
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
import tvm_ffi

from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Kernel,
    NoneSlot,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from tests.fuzz.producers import Capsule

GUARD = 64
EXTENTS = (0, 1, 1, 2, 3, 4, 4, 5, 8, 17, 33)
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "bool", "complex64")


def sources(text: str) -> list[str]:
    """Split a text into expressions, which semicolons and line ends divide."""
    return [source.strip() for source in re.split(r"[;\n]", text) if source.strip()]


NUMBERS = sources(
    """
    0; 1; -1; 127; 128; -129; 255; 256; 2**15; 2**31; -2**31 - 1; 2**32; 2**53 + 1; 2**63 - 1; 2**63; -2**63
    -2**63 - 1; 2**64; 10**30; True; False; 0.5; -0.0; 3.0; math.nan; math.inf; -math.inf; 1e300; 5e-324; 1j
    np.int8(3); np.uint64(2**64 - 1); np.bool_(1); np.float16(1.5); np.float64(0.1); np.longdouble(2)
    fractions.Fraction(1, 3); np.array(2.0); torch.tensor(2); torch.tensor(1.5); np.complex64(1)
    np.datetime64('2020'); ctypes.c_int(3)
    """
)
JUNK = sources(
    r"""
    None; ''; 'text'; '\ud800'; b'bytes'; bytearray(8); memoryview(bytes(8)); object(); ...
    []; [1.0, 2.0]; (); (None,); ((((),),),); {}; {'x': 1.0}; set(); range(4); int; len; lambda: None
    ValueError('an error'); NotImplemented; torch.float32; np.dtype('f4'); torch.device('cpu')
    torch.ones(4, device='meta'); torch.ones(4).to_sparse(); np.ones(4, '>f4'); np.ones(4, object)
    np.ones(4, 'U3'); np.ones(4, 'f4,i4'); np.ones(4, 'M8[s]'); np.float32(1.0)
    tvm_ffi.Shape([4]); tvm_ffi.Array([1, 2]); tvm_ffi.device('cpu', 0); tvm_ffi.dtype('float32')
    tvm_ffi.convert(len); type('T', (tuple,), {'__len__': lambda s: 9})()
    Broken(None); Broken(5); Broken(ValueError('its own'))
    """
)
_NAMES = {
    "np": np,
    "torch": torch,
    "math": math,
    "tvm_ffi": tvm_ffi,
    "ctypes": ctypes,
    "fractions": fractions,
}


class Broken:
    """Says that it is a tensor, and gives something else."""

    def __init__(self, given: object) -> None:
        self.given = given

    def __dlpack__(self, **_: object) -> object:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Given:
    """What a call passes in one place."""

    def build(self, memory: np.ndarray, records: Any) -> Any:
        """Return the object that is passed."""
        raise NotImplementedError


@dataclass
class Value(Given):
    """Anything that needs none of the memory, as Python source."""

    source: str

    def build(self, memory: np.ndarray, records: Any) -> Any:
        return eval(self.source, {**_NAMES, "Broken": Broken})  # it is from this module

    def __str__(self) -> str:
        return self.source


@dataclass
class Tensor(Given):
    """A tensor in the memory of the call."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    """Of the element with index zero, in bytes."""
    maker: str = "numpy"

    @property
    def itemsize(self) -> int:
        return getattr(torch, self.dtype).itemsize

    @property
    def span(self) -> tuple[int, int]:
        """The bytes from the first to the last, relative to :attr:`offset`."""
        if 0 in self.shape:
            return 0, 0
        ends = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        low, high = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0)
        return low * self.itemsize, (high + 1) * self.itemsize

    def view(self, memory: np.ndarray) -> np.ndarray:
        strides = [stride * self.itemsize for stride in self.strides]
        dtype = self.dtype if hasattr(np, self.dtype) else f"uint{8 * self.itemsize}"
        return np.ndarray(self.shape, dtype, memory, self.offset, strides)

    def build(self, memory: np.ndarray, records: Any) -> Any:
        match self.maker:
            case "numpy" if hasattr(np, self.dtype):
                return self.view(memory)
            case "read-only numpy":
                view = self.view(memory)
                view.flags.writeable = False
                return view
            case "masked numpy":
                return np.ma.masked_array(self.view(memory))
            case "tvm_ffi":
                return tvm_ffi.from_dlpack(self._torch(memory))
            case "torch" | "numpy":
                return self._torch(memory)
            case "torch.nn.Parameter":
                return torch.nn.Parameter(self._torch(memory), requires_grad=self.dtype.startswith("float"))
        return Capsule(memory.ctypes.data + self.offset, self, self.maker)

    def _torch(self, memory: np.ndarray) -> torch.Tensor:
        dtype = getattr(torch, self.dtype)
        if 0 in self.shape:
            return torch.empty(0, dtype=dtype).as_strided(self.shape, self.strides)
        size = self.span[1]
        data = torch.frombuffer(memory, dtype=torch.uint8, offset=self.offset, count=size)
        return data.view(dtype).as_strided(self.shape, self.strides)

    def __str__(self) -> str:
        return f"{self.maker}<{self.dtype} {self.shape} strides {self.strides} at byte {self.offset}>"


@dataclass
class Pointer(Given):
    """The address of a tensor's first element."""

    tensor: Tensor
    form: str = "int"

    def build(self, memory: np.ndarray, records: Any) -> Any:
        address = memory.ctypes.data + self.tensor.offset
        match self.form:
            case "c_void_p":
                return ctypes.c_void_p(address)
            case "tensor":
                return self.tensor.build(memory, records)
        return address

    def __str__(self) -> str:
        return f"{self.form} to {self.tensor}"


@dataclass
class Tuple(Given):
    """Several of them, as a tuple, a list, or an object of one of the package's classes."""

    items: list[Given]
    maker: str = "tuple"

    def build(self, memory: np.ndarray, records: Any) -> Any:
        items = [item.build(memory, records) for item in self.items]
        if self.maker in ("tuple", "list"):
            return tuple(items) if self.maker == "tuple" else items
        return getattr(records, self.maker)(*items)

    def __str__(self) -> str:
        return f"{'' if self.maker == 'tuple' else self.maker}({', '.join(map(str, self.items))})"


@dataclass
class Call:
    """One call with everything that it passes."""

    kernel: Kernel
    """What is called; for a family, one of its variants, with the name and the parameters of the family."""
    by_keyword: bool
    positional: list[Given]
    named: dict[str, Given]
    suspects: set[str] = field(default_factory=set)
    """Parameters that were given something else than what they take; an error may name any of them."""
    malformed: bool = False
    """There are too few or too many of them, or unknown ones: it must be refused."""
    memory_size: int = 0

    @property
    def given(self) -> dict[str, Given | None]:
        """What each parameter gets; ``None`` where it has its default."""
        names = [parameter.name for parameter in self.kernel.parameters]
        found = dict(zip(names, self.positional, strict=False)) | self.named
        return {name: found.get(name) for name in names}

    def __str__(self) -> str:
        shown = [*map(str, self.positional), *(f"{name}={value}" for name, value in self.named.items())]
        module = f"{'kwargs.' if self.by_keyword else ''}{self.kernel.module}"
        return f"{module}.{self.kernel.name}({', '.join(shown)})"


def tensors(given: Given | None) -> Iterator[Tensor]:
    """Return all tensors in it."""
    match given:
        case Tensor():
            yield given
        case Pointer():
            yield given.tensor
        case Tuple():
            for item in given.items:
                yield from tensors(item)


class Drawing:
    """Draws one call."""

    def __init__(self, rng: random.Random, kernel: Kernel, records: tuple[Record, ...]) -> None:
        self.rng = rng
        self.kernel = kernel
        self.records = records
        self.sizes: dict[str, int] = {}
        self.used = GUARD

    def call(self) -> Call:
        """Draw a call: one third are right, the others have one or two faults."""
        by_keyword = self.rng.random() < 0.5
        values = {p.name: self.right(p.slot, by_keyword) for p in self.kernel.parameters}
        suspects: set[str] = set()
        faults = min(len(values), self.rng.choice((0, 1, 1, 1, 2)))
        for name in self.rng.sample(list(values), faults):
            slot = next(p.slot for p in self.kernel.parameters if p.name == name)
            values[name] = self.wrong(slot, values[name], list(values.values()))
            suspects.add(name)
        call = (
            self.keyword_call(values) if by_keyword else Call(self.kernel, False, list(values.values()), {})
        )
        call.suspects = suspects
        if self.rng.random() < 0.08:
            self.malform(call)
        call.memory_size = self.used + GUARD
        return call

    def keyword_call(self, values: dict[str, Given]) -> Call:
        """Pass some by position and some by keyword, in any order; leave out some of those with defaults."""
        parameters = list(self.kernel.parameters)
        by_position = [p for p in parameters if p.kind != "keyword_only"]
        count = self.rng.randint(0, len(by_position))
        positional = [values[p.name] for p in by_position[:count]]
        rest = [p for p in parameters if p not in by_position[:count]]
        kept = [p for p in rest if p.default is None or self.rng.random() < 0.7]
        self.rng.shuffle(kept)
        return Call(self.kernel, True, positional, {p.name: values[p.name] for p in kept})

    def malform(self, call: Call) -> None:
        """Break the list as a whole."""
        call.malformed = True
        match self.rng.choice(("excess", "unknown", "twice", "missing")):
            case "excess":
                call.positional += [self.junk()] * (len(self.kernel.parameters) + 1 - len(call.positional))
            case "unknown":
                names = {"unknown", "self", "args", "__i_target_func", ""} - {
                    p.name for p in call.kernel.parameters
                }
                call.named[self.rng.choice(sorted(names))] = self.junk()
            case "twice" if call.positional:
                call.named[self.kernel.parameters[0].name] = self.junk()
            case "missing" if call.positional and not call.by_keyword:
                del call.positional[self.rng.randrange(len(call.positional)) :]
            case _:
                required = {p.name for p in self.kernel.parameters if p.default is None}
                missing = [name for name in call.named if name in required]
                call.malformed = bool(missing)
                if missing:
                    del call.named[self.rng.choice(missing)]

    # What fits

    def right(self, slot: Slot, by_keyword: bool, *, inside: bool = False) -> Given:
        """Draw something that the slot takes, as an argument or inside of one."""
        match slot:
            case TensorSlot():
                shape = tuple(map(self.extent, slot.shape))
                return self.place(slot.dtype, shape, self.strides(slot, shape), slot.alignment)
            case ScalarSlot():
                return Value(self.scalar(slot))
            case ShapeSlot():
                return Value(f"({''.join(f'{self.extent(e)}, ' for e in slot.extents)})")
            case ConstantSlot():
                return Value(repr(slot.value))
            case PointerSlot():
                dtype = slot.dtype or "float32"
                length = self.rng.choice(EXTENTS)
                target = self.place(dtype, (length,), (1,), slot.alignment)
                forms = ["int", "c_void_p", *(["tensor"] if by_keyword and slot.dtype and not inside else [])]
                return Pointer(target, self.rng.choice(forms))
            case TupleSlot():
                maker = slot.record if by_keyword and slot.record else self.rng.choice(("tuple", "list"))
                return Tuple([self.right(item, by_keyword, inside=True) for item in slot.items], maker)
            case NoneSlot():
                return Value("None")
            case ChoiceSlot():
                return Value(repr(self.rng.choice(slot.values)))
        raise NotImplementedError(f"host functions with {slot}")

    def extent(self, extent: Extent) -> int:
        if isinstance(extent, int):
            return extent
        return self.sizes.setdefault(extent.name, self.rng.choice(EXTENTS) * extent.divisible_by)

    def strides(self, slot: TensorSlot, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return each dimension its fixed stride, or room for all that are already laid out."""
        declared = slot.strides or _row_major(slot.shape, self.extent)
        room = 1
        strides = [0] * len(shape)
        for index in sorted(range(len(shape)), key=lambda i: (not isinstance(declared[i], int), -i)):
            stride = declared[index]
            if isinstance(stride, Symbol):
                step = stride.divisible_by
                drawn = math.ceil(room / step) * step + step * self.rng.choice((0, 0, 1))
                stride = self.sizes.setdefault(stride.name, drawn)
            strides[index] = stride
            room = max(room, stride * max(1, shape[index]))
        return tuple(strides)

    def place(
        self, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], alignment: int | None = None
    ) -> Tensor:
        """Put a tensor into the memory, with a guard before it and after it."""
        tensor = Tensor(dtype, shape, strides, 0, self.rng.choice(("numpy", "torch", "tvm_ffi")))
        if 0 in shape:
            tensor.maker = "torch"  # NumPy exports empty arrays with strides of zero
        low, high = tensor.span
        unit = max(alignment or 1, tensor.itemsize)
        tensor.offset = math.ceil((self.used - low) / unit) * unit
        self.used = tensor.offset + high + GUARD
        return tensor

    def scalar(self, slot: ScalarSlot) -> str:
        if slot.dtype == "bool":
            return self.rng.choice(("True", "False"))
        if slot.dtype.startswith(("float", "bfloat")):
            return self.rng.choice((str(self.rng.randint(-80, 80) / 8), "-0.0", "math.inf", "2.0**40", "3"))
        low, high = integer_range(slot.dtype)
        value = self.rng.choice((self.rng.randint(0, 9), low, high, self.rng.randint(low, high)))
        return repr(value // slot.divisible_by * slot.divisible_by)

    # What does not, or might not

    def junk(self) -> Value:
        return Value(self.rng.choice(self.rng.choice((NUMBERS, JUNK))))

    def wrong(self, slot: Slot, right: Given, others: list[Given]) -> Given:
        """Draw something else than what was right."""
        if isinstance(right, Tuple) and self.rng.random() < 0.75:
            return self.wrong_tuple(slot, right, others)
        if isinstance(right, Tensor) and self.rng.random() < 0.75:
            return self.wrong_tensor(right, others)
        if isinstance(right, Pointer) and self.rng.random() < 0.5:
            return Pointer(self.wrong_tensor(right.tensor, others), right.form)
        if isinstance(slot, ScalarSlot) and self.rng.random() < 0.6:
            return Value(self.rng.choice(NUMBERS))
        if isinstance(slot, ChoiceSlot) and self.rng.random() < 0.7:
            return Value(
                self.rng.choice(("'cub'", "'cubes'", "''", "'\\0'", "2", "0", "1.0", "None", "b'cube'"))
            )
        if isinstance(slot, ShapeSlot) and self.rng.random() < 0.7:
            items = [Value(self.rng.choice(("0", "1", "4", *NUMBERS))) for _ in slot.extents]
            return Tuple(items, self.rng.choice(("tuple", "list")))
        return self.rng.choice(others) if self.rng.random() < 0.1 else self.junk()

    def wrong_tuple(self, slot: Slot, right: Tuple, others: list[Given]) -> Given:
        assert isinstance(slot, TupleSlot)
        items = list(right.items)
        index = self.rng.randrange(len(items)) if items else 0
        match self.rng.choice(
            ("item", "item", "item", "longer", "shorter", "nested", "flat", "class", "order")
        ):
            case "item" if items:
                items[index] = self.wrong(slot.items[index], items[index], others)
            case "longer":
                items.append(self.junk())
            case "shorter" if items:
                del items[index]
            case "nested" if items:
                items[index] = Tuple([items[index]])
            case "flat" if items and isinstance(items[index], Tuple):
                items[index : index + 1] = items[index].items  # type: ignore[attr-defined]
            case "class" if self.records and items:
                record = self.rng.choice(self.records)
                return Tuple([items[i % len(items)] for i in range(len(record.fields))], record.name)
            case _:
                self.rng.shuffle(items)
        # A class of the package takes neither fewer nor more.
        return Tuple(items, right.maker if len(items) == len(right.items) else "tuple")

    def wrong_tensor(self, right: Tensor, others: list[Given]) -> Given:
        """Change one thing about a tensor; some changes leave it right."""
        shape, strides = right.shape, right.strides
        index = self.rng.randrange(len(shape)) if shape else 0
        change = self.rng.choice(
            (
                "dtype",
                "rank",
                "extent",
                "extent",
                "stride",
                "stride",
                "order",
                "alignment",
                "alias",
                "overlap",
                "maker",
            )
        )
        match change:
            case "dtype":
                return self.place(self.rng.choice(DTYPES), shape, strides)
            case "rank" if shape and self.rng.random() < 0.5:
                return self.place(right.dtype, shape[:-1], strides[:-1])
            case "rank":
                return self.place(right.dtype, (*shape, self.rng.choice((1, 2))), (*strides, 1))
            case "extent" if shape:
                other = max(0, shape[index] + self.rng.choice((-1, 1, 1, 4, -shape[index])))
                shape = (*shape[:index], other, *shape[index + 1 :])
                return self.place(right.dtype, shape, _row_major(shape))
            case "stride" if shape:
                other = self.rng.choice((2, 3, -1, -1, 0, 0, 7) if hasattr(np, right.dtype) else (2, 3, 0, 7))
                changed = self.place(right.dtype, shape, (*strides[:index], other, *strides[index + 1 :]))
                changed.maker = self.rng.choice(("numpy", "numpy", "torch" if other >= 0 else "numpy"))
                return changed
            case "order":
                return self.place(right.dtype, shape, tuple(reversed(strides)))
            case "alignment":
                moved = self.place(right.dtype, shape, strides)
                moved.offset += self.rng.randrange(1, 8)
                self.used += 8
                moved.maker = self.rng.choice(("numpy", "torch"))
                return moved
            case "alias" | "overlap":
                same = [t for other in others for t in tensors(other) if t.dtype == right.dtype]
                taken = self.rng.choice(same or [right])
                shift = self.rng.choice((-2, -1, 1, 2)) * taken.itemsize if change == "overlap" else 0
                shift = shift if taken.offset + taken.span[0] + shift >= GUARD // 2 else 0
                return replace(taken, offset=taken.offset + shift)
        makers = ("read-only numpy", "masked numpy", "torch.nn.Parameter", *Capsule.KINDS)
        return replace(right, maker=self.rng.choice(makers))


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest; tvm-ffi's integers end at 63 bits."""
    bits = int(dtype.lstrip("uint"))
    return (0, 2 ** min(bits, 63) - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _row_major(shape: tuple[Extent, ...], size: Callable[[Extent], int] = lambda e: e) -> tuple[int, ...]:  # type: ignore[assignment,return-value]
    products = itertools.accumulate(
        (size(extent) for extent in reversed(shape[1:])), lambda a, b: a * b, initial=1
    )
    return tuple(reversed(list(products))) if shape else ()

"""Decides by itself whether arguments fit a compiled function, and what its reference gets for them."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    TensorSlot,
    TupleSlot,
)
from tests.fuzz.arguments import Given, Pointer, Tensor, Tuple, integer_range
from tests.fuzz.producers import Capsule

TAKEN = ("numpy", "masked numpy", "torch", "torch.nn.Parameter", "tvm_ffi", *Capsule.RIGHT)
"""Whose tensors may fit."""


class MisfitError(Exception):
    """An argument that the function must not accept."""

    path = ""
    """Of the item below the argument, as an error names it: ``.scale``, ``[1][0]``."""


class Oracle:
    """Looks at the arguments of one call, which share the sizes that have names."""

    def __init__(self, memory: np.ndarray, *, by_keyword: bool) -> None:
        self.memory = memory
        self.by_keyword = by_keyword
        self.sizes: dict[str, int] = {}

    def argument(self, slot: Slot, given: Given, value: Any) -> Any:
        """Return what the reference takes for an argument.

        Parameters
        ----------
        slot
            What the function takes.
        given
            What was drawn for it.
        value
            The object that was made of that, which is looked at where it is no tensor.
        """
        match slot:
            case TensorSlot():
                return self.tensor(slot, given)
            case ScalarSlot():
                return self.scalar(slot, value)
            case ShapeSlot():
                self.require(len(value) == len(slot.extents), "rank")
                self.require(
                    not any(isinstance(v, bool | np.bool_) for v in value), "sizes, which no bool is"
                )
                return tuple(
                    self.extent(e, self.integer(v)) for e, v in zip(slot.extents, value, strict=True)
                )
            case NoneSlot():
                self.require(value is None, "None")
                return None
            case ConstantSlot():
                kind = numbers.Integral if type(slot.value) is int else type(slot.value)
                self.require(isinstance(value, kind) and value == slot.value, f"the constant {slot.value}")
                return slot.value
            case ChoiceSlot(values=values):
                return self.choice(values, value)
            case PointerSlot():
                return self.pointer(slot, given, value)
            case TupleSlot():
                is_record = self.by_keyword and hasattr(value, "__dataclass_fields__")
                self.require(is_record or isinstance(value, tuple | list), "a tuple")
                items = given.items if isinstance(given, Tuple) else [given] * len(slot.items)
                passed = given_values(value)
                self.require(len(items) == len(passed) == len(slot.items), "length of tuple")
                return [
                    self.item(f".{slot.fields[index]}" if slot.fields else f"[{index}]", *place)
                    for index, place in enumerate(zip(slot.items, items, passed, strict=True))
                ]
        raise NotImplementedError(slot)

    def item(self, path: str, slot: Slot, given: Given, value: Any) -> Any:
        try:
            return self.argument(slot, given, value)
        except MisfitError as misfit:
            misfit.path = path + misfit.path
            raise

    def require(self, condition: bool, what: str) -> None:
        if not condition:
            raise MisfitError(what)

    def tensor(self, slot: TensorSlot, given: Given) -> np.ndarray:
        self.require(isinstance(given, Tensor), "a tensor")
        assert isinstance(given, Tensor)
        self.require(given.maker != "capsule without memory" or 0 in given.shape, "memory")
        unusual = [
            *Capsule.RIGHT,
            *(m for m in ("numpy", "torch", "tvm_ffi", "masked numpy", "torch.nn.Parameter")),
        ]
        self.require(given.maker in unusual, "device, lanes, or extents")
        self.require(given.dtype == slot.dtype, "dtype")
        self.require(len(given.shape) == len(slot.shape), "rank")
        sign = -1 if given.maker == "capsule of negative extents" else 1
        for extent, value in zip(slot.shape, given.shape, strict=True):
            self.extent(extent, sign * value)
        shape = tuple(max(0, sign * extent) for extent in given.shape)
        strides = given.strides
        if given.maker == "capsule without strides":
            strides = tuple(math.prod(given.shape[i + 1 :]) for i in range(len(strides)))
        for index, stride in enumerate(slot.strides or ()):
            if given.shape[index] != 1:
                self.extent(stride, strides[index])
        aligned = given.offset % (slot.alignment or 1) == 0 or given.maker == "capsule without memory"
        without_address = 0 in shape and given.maker in ("torch", "torch.nn.Parameter", "tvm_ffi")
        self.require(aligned or without_address, "alignment")
        return Tensor(given.dtype, shape, strides, given.offset).view(self.memory)

    def pointer(self, slot: PointerSlot, given: Given, value: Any) -> np.ndarray:
        if not isinstance(given, Pointer):
            self.require(value is None, "an address")  # others are not drawn: nobody knows where they lead
            return np.zeros(0)
        if given.form == "tensor":
            self.require(given.tensor.maker in TAKEN, "device, lanes, or no permission to write")
            without = given.tensor.maker == "capsule without memory" and 0 not in given.tensor.shape
            self.require(not without, "memory")
            self.require(given.tensor.dtype == slot.dtype, "dtype")
            self.require(is_aligned(given, slot) or 0 in given.tensor.shape, "alignment")
        known = Tensor(slot.dtype or "uint8", (reachable(given),), (1,), given.tensor.offset)
        return known.view(self.memory)

    def scalar(self, slot: ScalarSlot, value: Any) -> Any:
        if slot.dtype == "bool":
            self.require(self.integer(value) in (0, 1), "a bool")
            return bool(value)
        if slot.dtype.startswith(("float", "bfloat")):
            self.require(isinstance(value, numbers.Real), "a real number")
            self.require(not isinstance(value, numbers.Integral) or -(2**63) <= int(value) < 2**63, "64 bits")
            single = "float32" if slot.dtype == "bfloat16" else slot.dtype
            found = np.dtype(single).type(float(value))
            self.require(not np.isinf(found) or math.isinf(value), "range")
            return found
        number = self.integer(value)
        low, high = integer_range(slot.dtype)
        if slot.dtype == "uint64" and -(2**63) <= number < 0:
            number += 2**64  # it travels as 64 bits with a sign, and C++ passes large ones so
            high = 2**64 - 1
        self.require(low <= number <= high, "range")
        self.require(number % slot.divisible_by == 0, "divisibility")
        return np.dtype(slot.dtype).type(number)

    def choice(self, values: tuple[ChoiceValue, ...], value: Any) -> ChoiceValue:
        """A bool may come as the number 0 or 1, as in any other place."""
        for choice in values:
            same = isinstance(
                value, numbers.Integral | np.bool_ if isinstance(choice, bool) else type(choice)
            )
            if same and value == choice:
                return choice
        raise MisfitError(f"one of {values}")

    def integer(self, value: Any) -> int:
        self.require(isinstance(value, numbers.Integral), "an integer")
        return int(value)

    def extent(self, extent: Extent, value: int) -> int:
        if isinstance(extent, int):
            self.require(value == extent, f"extent {extent}")
            return value
        self.require(self.sizes.setdefault(extent.name, value) == value, f"one size {extent.name}")
        self.require(value % extent.divisible_by == 0, "divisibility")
        self.require(-(2 ** (extent.bits - 1)) <= value < 2 ** (extent.bits - 1), "bits")
        return value


def given_values(value: Any) -> list[Any]:
    """Return the items of a tuple, list, NamedTuple or dataclass."""
    if hasattr(value, "__dataclass_fields__"):
        return [getattr(value, name) for name in value.__dataclass_fields__]
    return list(value)


def is_aligned(given: Given | None, slot: PointerSlot) -> bool:
    """Return whether an address has the alignment that the function was compiled for."""
    return not isinstance(given, Pointer) or given.tensor.offset % (slot.alignment or 1) == 0


def reachable(given: Given | None) -> int:
    """Tell how many elements lie behind something that is passed as a pointer."""
    if isinstance(given, Pointer) and given.tensor.strides in ((1,), ()):
        return math.prod(given.tensor.shape)
    return 0

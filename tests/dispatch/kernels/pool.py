"""Host kernels of every kind of argument; each says which one it is."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import cutlass
import slots
from cutlass import cute

import stubgen as sg

TYPES = {
    "float16": cutlass.Float16,
    "bfloat16": cutlass.BFloat16,
    "float32": cutlass.Float32,
    "float64": cutlass.Float64,
    "bool": cutlass.Boolean,
    **{f"int{bits}": getattr(cutlass, f"Int{bits}") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": getattr(cutlass, f"Uint{bits}") for bits in (8, 32)},
}


class Pair(NamedTuple):
    """A tensor and a number."""

    x: cute.Tensor
    factor: cutlass.Float32


@dataclass
class Constants:
    """A tensor and constants."""

    x: cute.Tensor
    first: cutlass.Constexpr[Any]
    second: cutlass.Constexpr[Any]


class Number:
    """Writes its number.

    Parameters
    ----------
    number
        The number.
    """

    def __init__(self, number: int):
        self.number = number

    @cute.jit
    def __call__(self, x, y, out: cute.Tensor):
        """out[0] = the number."""
        out[0] = cutlass.Int64(self.number)


class NumberOfShape(Number):
    """The same for a shape."""

    @cute.jit
    def __call__(self, x: cute.Shape, y, out: cute.Tensor):
        """out[0] = the number."""
        out[0] = cutlass.Int64(self.number)


class NumberOfPointer(Number):
    """The same for a pointer."""

    @cute.jit
    def __call__(self, x: cute.Pointer, y, out: cute.Tensor):
        """out[0] = the number."""
        out[0] = cutlass.Int64(self.number)


class Declared:
    """Turns what one kernel takes into what declarations are written in."""

    def __init__(self):
        self.dims = {}

    def size(self, size):
        if isinstance(size, int):
            return size
        if size.name not in self.dims:
            self.dims[size.name] = sg.dim(size.name, divisible_by=size.divisible_by, bits=size.bits)
        return self.dims[size.name]

    def argument(self, slot):
        match slot:
            case slots.Tensor(dtype, shape, order, strides, align):
                strides = None if strides is None else tuple(map(self.size, strides))
                shape = map(self.size, shape)
                return sg.tensor(
                    TYPES[dtype], *shape, order=order, strides=strides, align=align, device="cpu"
                )
            case slots.Scalar(dtype, 1):
                return TYPES[dtype]
            case slots.Scalar(_, divisible_by):
                return sg.dim("number", divisible_by=divisible_by)
            case slots.Nothing():
                return None
            case slots.Pointer():
                return sg.pointer(cutlass.Float32, device="cpu")
            case slots.Shape(extents):
                return tuple(cutlass.Int32(1) if extent is None else extent for extent in extents)
            case slots.Tuple(items):
                return tuple(map(self.argument, items))
            case slots.Pair(x, factor):
                return Pair(self.argument(x), self.argument(factor))
            case slots.Constants(x, constants):
                return Constants(self.argument(x), *constants)


OF = {slots.Shape: NumberOfShape, slots.Pointer: NumberOfPointer}

for number, (x, y) in enumerate(slots.TABLE):
    declared = Declared()
    sg.export(name=f"kernel{number}")(
        OF.get(type(x), Number)(number),
        declared.argument(x),
        declared.argument(y),
        sg.tensor(cutlass.Int64, 1, device="cpu"),
    )

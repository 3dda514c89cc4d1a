"""The C that says why a compiled function refused its arguments, and what it is told of each function.

The checks of compiled functions know an argument by its number and say nothing of what was passed. So each
function, where it fails, hands its arguments and a description of itself to one function of the library,
which walks along both until it finds the difference. Nothing of it runs in a call that succeeds.

A description is a line of words: the function's name, its variant, its architecture, the number of its
parameters, their names, and for each what it takes.

===========  ==============================================================================================
``tensor``   dtype, device, alignment in bytes, rank, extents, then ``row-major``, or ``strides`` and strides
``scalar``   dtype, divisor, the least number that is too large for a float, as the bits of a double
``shape``    rank, extents
``tuple``    number of items; for each the name of its field, or ``-``, and what it takes
``none``, ``pointer``, ``stream``
``bool``, ``int``, ``float``  the constant that the function was compiled with; of a float its bits, too
===========  ==============================================================================================

A size is an integer, or ``name:bits:divisor`` for one that is known only at run time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from typing_extensions import assert_never

from stubgen.abi.signatures import float_limit
from stubgen.abi.symbols import EXPLAIN, NEAREST
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Kernel,
    Library,
    NoneSlot,
    OneOfSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)
from stubgen.render.templates import fill


def refusals() -> str:
    """Return the C of the function that explains errors; it is the same in all libraries."""
    return fill("native/refusals.c.j2", name=EXPLAIN, nearest=NEAREST)


def descriptions(library: Library) -> dict[str, str]:
    """Return what each compiled function is described by, builds for one architecture by their own names."""
    found: dict[str, str] = {}
    for kernel in library.kernels:
        for arch in kernel.archs:
            found[kernel.build_name(library.package, arch)] = description(kernel, arch)
        if not kernel.archs:
            found[kernel.name] = description(kernel)
    return found


def description(kernel: Kernel, arch: str = "-") -> str:
    """Return what describes one compiled function."""
    variant = kernel.variant
    names = [parameter.name for parameter in kernel.parameters]
    words = [
        variant.family if variant else kernel.name,
        variant.key if variant else "-",
        arch,
        str(len(names)),
        *names,
        *(word for parameter in kernel.parameters for word in _slot(parameter.slot)),
    ]
    return " ".join(words)


def _slot(slot: Slot) -> Iterator[str]:
    match slot:
        case TensorSlot(dtype=dtype, shape=shape, strides=strides):
            yield from ("tensor", dtype, slot.device or "-", str(slot.alignment or 1), str(len(shape)))
            yield from _extents(shape)
            yield "row-major" if strides is None else "strides"
            yield from _extents(strides or ())
        case ScalarSlot(dtype=dtype, divisible_by=divisor):
            yield from ("scalar", dtype, str(divisor), _bits(float_limit(dtype)))
        case ShapeSlot(extents=extents):
            yield from ("shape", str(len(extents)), *_extents(extents))
        case NoneSlot():
            yield "none"
        case ConstantSlot(value=value):
            yield from (
                type(value).__name__,
                repr(value),
                *([_bits(value)] if isinstance(value, float) else ()),
            )
        case PointerSlot():
            yield "pointer"
        case StreamSlot():
            yield "stream"
        case TupleSlot(items=items, fields=fields):
            yield from ("tuple", str(len(items)))
            for name, item in zip(fields or ["-"] * len(items), items, strict=True):
                yield name
                yield from _slot(item)
        case ChoiceSlot() | OneOfSlot():
            raise TypeError("compiled functions have no such argument, families have")
        case _:
            assert_never(slot)


def _extents(extents: Iterable[Extent]) -> Iterator[str]:
    for extent in extents:
        yield str(extent) if isinstance(extent, int) else f"{extent.name}:{extent.bits}:{extent.divisible_by}"


def _bits(value: float) -> str:
    """Return the bits of a double, as an integer that reads the same in every locale."""
    return str(struct.unpack("<Q", struct.pack("<d", value))[0])

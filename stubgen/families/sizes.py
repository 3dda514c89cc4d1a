"""Names for the sizes of a family: what differs in one variant is not called the same in its documentation.

A size that its author does not name has a number, and so has a second one of the same name; the compiler
counts in each variant anew. Here they are counted once for all variants, by where they are used first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from stubgen.model.library import Extent, Kernel, Parameter, ShapeSlot, Slot, Symbol, TensorSlot, TupleSlot

_Place: TypeAlias = "tuple[int, ...]"
"""The parameter, the items of tuples in it, 0 for the shape or 1 for the strides, and the dimension."""

_NUMBERED = re.compile(r"(?P<base>[ns]|\w+_)\d+")


def parameters_alike(variants: Sequence[Kernel]) -> list[tuple[Parameter, ...]]:
    """Return the parameters of each variant, with one name for each size wherever it has the same place."""
    first = [_first_places(kernel.parameters) for kernel in variants]
    places: dict[str, dict[_Place, None]] = {}
    for names in first:
        for name, place in names.items():
            numbered = _NUMBERED.fullmatch(name)
            if numbered is not None:
                places.setdefault(numbered["base"], {})[place] = None
    written = {name for names in first for name in names if _NUMBERED.fullmatch(name) is None}
    called = {
        (base, place): f"{base}{number}"
        for base, found in places.items()
        if not _agree(base, first)
        for place, number in zip(sorted(found), _free_numbers(base, written), strict=False)
    }
    return [
        tuple(_renamed_parameter(parameter, _renaming(names, called)) for parameter in kernel.parameters)
        for kernel, names in zip(variants, first, strict=True)
    ]


def _agree(base: str, variants: Sequence[Mapping[str, _Place]]) -> bool:
    """Return whether the numbers behind a name mean the same in all variants already."""
    pairs = {
        (name, place)
        for names in variants
        for name, place in names.items()
        if (numbered := _NUMBERED.fullmatch(name)) and numbered["base"] == base
    }
    return len(pairs) == len({name for name, _ in pairs}) == len({place for _, place in pairs})


def _free_numbers(base: str, written: set[str]) -> Iterator[int]:
    number = 2 if base.endswith("_") else 0  # the first of a name has no number
    while True:
        if f"{base}{number}" not in written:
            yield number
        number += 1


def _renaming(names: Mapping[str, _Place], called: Mapping[tuple[str, _Place], str]) -> dict[str, str]:
    bases = {name: numbered["base"] for name in names if (numbered := _NUMBERED.fullmatch(name))}
    return {name: called.get((base, names[name]), name) for name, base in bases.items()}


def _first_places(parameters: Sequence[Parameter]) -> dict[str, _Place]:
    first: dict[str, _Place] = {}
    for index, parameter in enumerate(parameters):
        for name, place in _places(parameter.slot, (index,)):
            first.setdefault(name, place)
    return first


def _places(slot: Slot, path: _Place) -> Iterator[tuple[str, _Place]]:
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            for what, extents in enumerate((shape, strides or ())):
                yield from _named(extents, (*path, what))
        case ShapeSlot(extents=extents):
            yield from _named(extents, (*path, 0))
        case TupleSlot(items=items):
            for index, item in enumerate(items):
                yield from _places(item, (*path, index))
        case _:
            return


def _named(extents: Sequence[Extent], path: _Place) -> Iterator[tuple[str, _Place]]:
    for dimension, extent in enumerate(extents):
        if isinstance(extent, Symbol):
            yield extent.name, (*path, dimension)


def _renamed_parameter(parameter: Parameter, names: Mapping[str, str]) -> Parameter:
    return msgspec.structs.replace(parameter, slot=_renamed(parameter.slot, names)) if names else parameter


def _renamed(slot: Slot, names: Mapping[str, str]) -> Slot:
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            renamed = None if strides is None else _extents(strides, names)
            return msgspec.structs.replace(slot, shape=_extents(shape, names), strides=renamed)
        case ShapeSlot(extents=extents):
            return ShapeSlot(_extents(extents, names))
        case TupleSlot(items=items):
            return msgspec.structs.replace(slot, items=tuple(_renamed(item, names) for item in items))
        case _:
            return slot


def _extents(extents: Sequence[Extent], names: Mapping[str, str]) -> tuple[Extent, ...]:
    return tuple(
        msgspec.structs.replace(extent, name=names.get(extent.name, extent.name))
        if isinstance(extent, Symbol)
        else extent
        for extent in extents
    )

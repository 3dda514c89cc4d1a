"""A header that describes every kernel in constants, for programs that read them while they are compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import assert_never

from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Kernel,
    Library,
    NoneSlot,
    OneOfSlot,
    Parameter,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)
from stubgen.render import cpp_types
from stubgen.render.templates import fill

_OWN_NAMES = frozenset({"Extent", "Family", "Kernel", "Kind", "Parameter", "View", "detail", "dynamic"})
"""What the header defines beside the kernels."""


@dataclass(frozen=True)
class _DescribedKernel:
    """A kernel, ready to be put into the header."""

    scope: str
    """Namespace of its arrays."""
    name: str
    arrays: list[str]
    literal: str
    """The initializer of its ``Kernel``."""


@dataclass(frozen=True)
class _DescribedFamily:
    """A family, ready to be put into the header."""

    name: str
    identifier: str
    variants: list[_DescribedKernel]


@dataclass(frozen=True)
class _Single:
    """A kernel that is no variant."""

    identifier: str
    kernel: _DescribedKernel


def cpp_description(library: Library) -> dict[str, str]:
    """Return the header, by path relative to the output folder."""
    functions = [function for module in library.modules for function in module.functions]
    names = cpp_types.parameter_names([function.name for function in functions], _OWN_NAMES)
    identifiers = dict(zip((function.name for function in functions), names, strict=True))
    singles = [
        _Single(identifiers[f.name], _kernel(f, library.package)) for f in functions if isinstance(f, Kernel)
    ]
    families = [
        _DescribedFamily(
            family.name,
            identifiers[family.name],
            [_kernel(variant, library.package) for variant in module.variants(family)],
        )
        for module in library.modules
        for family in module.families
    ]
    text = fill("cpp/description.hpp.j2", package=library.package, singles=singles, families=families)
    return {f"{library.package}/include/{library.package}/description.hpp": text}


def _kernel(kernel: Kernel, package: str) -> _DescribedKernel:
    scope = f"{package}::description::detail::{kernel.name}"
    arrays = [line for index, p in enumerate(kernel.parameters) for line in _arrays(index, p.slot)]
    parameters = [_parameter(index, p) for index, p in enumerate(kernel.parameters)]
    if parameters:
        arrays.append("inline constexpr Parameter parameters[] = {")
        arrays += [f"    {parameter}," for parameter in parameters]
        arrays.append("};")
    if kernel.archs:
        archs = ", ".join(cpp_types.string(arch) for arch in kernel.archs)
        arrays.append(f"inline constexpr std::string_view archs[] = {{{archs}}};")
    name = kernel.variant.key if kernel.variant else kernel.name
    views = [
        _view(f"detail::{kernel.name}::parameters", len(parameters)),
        _view(f"detail::{kernel.name}::archs", len(kernel.archs)),
    ]
    literal = f"{{{cpp_types.string(name)}, {', '.join(views)}}}"
    return _DescribedKernel(scope, kernel.name, arrays, literal)


def _view(array: str, size: int) -> str:
    return f"{{{array}, {size}}}" if size else "{}"


def _arrays(index: int, slot: Slot) -> Iterator[str]:
    """Yield the arrays that a parameter refers to."""
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            if shape:
                yield _extents(f"shape{index}", shape)
            if strides:
                yield _extents(f"strides{index}", strides)
        case ShapeSlot(extents=extents) if extents:
            yield _extents(f"shape{index}", extents)
        case _:
            return


def _extents(name: str, extents: Sequence[Extent]) -> str:
    return f"inline constexpr Extent {name}[] = {{{', '.join(map(_extent, extents))}}};"


def _extent(extent: Extent) -> str:
    if isinstance(extent, int):
        return f"{{{extent}, {{}}, 1}}"
    return f"{{dynamic, {cpp_types.string(extent.name)}, {extent.divisible_by}}}"


def _parameter(index: int, parameter: Parameter) -> str:
    kind, dtype, device, alignment = _facts(parameter.slot)
    shape, strides = "{}", "{}"
    match parameter.slot:
        case TensorSlot(shape=extents, strides=found):
            shape = _view(f"shape{index}", len(extents))
            strides = _view(f"strides{index}", len(found or ()))
        case ShapeSlot(extents=extents):
            shape = _view(f"shape{index}", len(extents))
        case _:
            pass
    texts = [cpp_types.string(parameter.name), f"Kind::{kind}", cpp_types.string(dtype)]
    return f"{{{', '.join([*texts, shape, strides, cpp_types.string(device), str(alignment)])}}}"


def _facts(slot: Slot) -> tuple[str, str, str, int]:
    """Return kind, element type, device and alignment of what fits a slot."""
    match slot:
        case TensorSlot():
            return "tensor", slot.dtype, slot.device or "", slot.alignment or 1
        case ScalarSlot(dtype=dtype):
            kind = "boolean" if dtype == "bool" else "integer" if "int" in dtype else "floating"
            return kind, dtype, "", 1
        case PointerSlot():
            return "pointer", slot.dtype or "", slot.device or "", slot.alignment or 1
        case StreamSlot():
            return "stream", "", "", 1
        case ShapeSlot():
            return "shape", "", "", 1
        case TupleSlot():
            return "tuple", "", "", 1
        case NoneSlot():
            return "none", "", "", 1
        case ConstantSlot():
            return "constant", "", "", 1
        case ChoiceSlot() | OneOfSlot():
            raise TypeError("kernels have no choices: families have")
        case _:
            assert_never(slot)

"""Describes a library in plain data: what ``cute-stubgen describe`` prints and the binary says of itself."""

from __future__ import annotations

import msgspec

from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import gaps
from stubgen.model.effects import Effects
from stubgen.model.library import (
    Default,
    Family,
    Kernel,
    Library,
    Module,
    Parameter,
    ParameterKind,
    Slot,
    Versions,
)
from stubgen.render import documentation, python_types, type_trees


class ParameterDescription(msgspec.Struct, frozen=True):
    """One parameter of a function."""

    name: str
    type: str
    """In Python."""
    accepts: str
    """What the type cannot say: dtypes, extents, devices."""
    slot: Slot
    """The same as data."""
    kind: ParameterKind
    """How keyword functions take it."""
    default: Default | None = None
    """Of keyword functions."""


class VariantDescription(msgspec.Struct, frozen=True):
    """One variant of a family."""

    key: str
    labels: dict[str, str]
    archs: tuple[str, ...]
    values: dict[str, ChoiceValue] = {}
    """By axis, what a caller passes to choose it, where the axis is a selector."""


class FunctionDescription(msgspec.Struct, frozen=True):
    """A public function."""

    name: str
    module: str
    summary: str
    signature: str
    parameters: tuple[ParameterDescription, ...]
    archs: tuple[str, ...]
    """None for a function that only runs on the host."""
    variants: tuple[VariantDescription, ...] = ()
    """Of a family."""
    gaps: tuple[dict[str, str], ...] = ()
    """Combinations of a family's axes that no variant is built for."""
    arch_gaps: dict[str, tuple[str, ...]] = {}
    """Of the variants that not all of the family's architectures have, those they lack."""
    effects: Effects = Effects()
    """What it writes to, returns, and is differentiated by, as far as its declaration says so."""


class Description(msgspec.Struct, frozen=True):
    """A library."""

    package: str
    build_id: str
    """Of what callers rely on: that of a library and of the text that belongs to it are the same."""
    versions: Versions
    archs: tuple[str, ...]
    functions: tuple[FunctionDescription, ...]


def describe(library: Library) -> Description:
    """Describe a library."""
    return Description(
        package=library.package,
        build_id=library.build_id,
        versions=library.versions,
        archs=tuple(dict.fromkeys(arch for kernel in library.kernels for arch in kernel.archs)),
        functions=tuple(
            describe_function(function, module) for module in library.modules for function in module.functions
        ),
    )


def describe_function(function: Kernel | Family, module: Module) -> FunctionDescription:
    """Describe a function of a module; a variant too."""
    items = ", ".join(python_types.positional_items(function.parameters))
    variants = module.variants(function) if isinstance(function, Family) else ()
    return FunctionDescription(
        name=function.name,
        module=module.name,
        summary=(function.doc.splitlines() or [""])[0],
        signature=f"{function.name}({items}) -> None",
        parameters=tuple(map(_parameter, function.parameters)),
        archs=function.archs,
        variants=tuple(
            VariantDescription(
                kernel.variant.key, dict(kernel.variant.labels), kernel.archs, dict(kernel.variant.values)
            )
            for kernel in variants
            if kernel.variant
        ),
        gaps=tuple(gaps(function, variants)) if isinstance(function, Family) else (),
        arch_gaps={
            kernel.variant.key: lacking
            for kernel in variants
            if kernel.variant and (lacking := tuple(a for a in function.archs if a not in kernel.archs))
        },
        effects=function.effects,
    )


def _parameter(parameter: Parameter) -> ParameterDescription:
    slot = parameter.slot
    shown = type_trees.text(python_types.type_of(slot, records=False))
    accepts = documentation.describe(slot)
    return ParameterDescription(parameter.name, shown, accepts, slot, parameter.kind, parameter.default)

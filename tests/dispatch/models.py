"""Libraries of variants that nobody compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import families
from stubgen.model.library import (
    Frozen,
    Kernel,
    Library,
    Module,
    Parameter,
    Place,
    Slot,
    Symbol,
    TensorSlot,
    Variant,
    Versions,
)

PACKAGE = "package"


def tensor(dtype: str, *shape: int | str | Symbol, device: str = "cpu", **details: object) -> TensorSlot:
    """Make the slot of a compact row-major tensor; a text names a size."""
    extents = tuple(Symbol(extent) if isinstance(extent, str) else extent for extent in shape)
    strides: list[int | Symbol] = []
    stride: int | None = 1
    for extent in reversed(extents):
        strides.insert(0, Symbol(f"s{len(strides)}", 64) if stride is None else stride)
        stride = stride * extent if stride is not None and isinstance(extent, int) else None
    return TensorSlot(dtype, extents, **{"strides": tuple(strides), "device": device, **details})  # type: ignore[arg-type]


def variant(
    family: str,
    slots: dict[str, Slot],
    labels: dict[str, str],
    *,
    values: dict[str, ChoiceValue] | None = None,
    archs: tuple[str, ...] = (),
    priority: int = 0,
    frozen: Sequence[Frozen] = (),
    line: int = 1,
) -> Kernel:
    """Make a variant from its slots by parameter name and its labels by axis."""
    return Kernel(
        name=f"{family}__{'_'.join(labels.values())}",
        module="module",
        parameters=tuple(Parameter(name, slot) for name, slot in slots.items()),
        abi="",
        place=Place("kernels/module.py", line),
        archs=archs,
        frozen=tuple(frozen),
        variant=Variant(family, labels, values if values is not None else dict(labels), priority),
    )


def library(kernels: Iterable[Kernel]) -> Library:
    """Make a library of one module with the families that kernels are variants of."""
    own = tuple(kernels)
    module = Module("module", "kernels/module.py", own, families(own))
    return Library(PACKAGE, (module,), Versions("", "", "", ""), {})

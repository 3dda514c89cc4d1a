"""Functions without side effects: what callers pass, what is made for them, and how both reach the kernel.

PyTorch and JAX need the same: the shape and the dtype of every output, told from the inputs alone. The
declaration holds both already: an output's extents are those of inputs, by name, and so is its dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import assert_never

from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Family,
    Kernel,
    Module,
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

Function: TypeAlias = Kernel | Family
_Row: TypeAlias = Mapping[str, Slot]
"""What one variant takes, by parameter."""

ABSENT = -1
"""The place of an argument that is ``None``."""


class NotDerivableError(Exception):
    """An output cannot be made from what callers pass; the text says why."""

    def __init__(self, output: str, reason: str) -> None:
        super().__init__(reason)
        self.output = output


@dataclass(frozen=True)
class Like:
    """An extent or the dtype of an input."""

    parameter: str
    dimension: int = 0


@dataclass(frozen=True)
class Output:
    """A tensor that the function makes and returns."""

    name: str
    shape: tuple[int | Like, ...]
    dtype: str | Like
    chosen_by: str | None
    """The parameter by which callers choose another dtype, where inputs leave a choice."""


@dataclass(frozen=True)
class Functional:
    """A function without side effects."""

    parameters: tuple[Parameter, ...]
    """What callers pass."""
    outputs: tuple[Output, ...]
    changed: tuple[str, ...]
    """Parameters whose tensors the kernel reads and writes."""
    beside: tuple[str, ...]
    """The inputs that lie on the device that outputs are made on."""
    order: tuple[int, ...]
    """Of each argument of the kernel the place among parameters, choices of dtypes and outputs."""

    @property
    def choices(self) -> tuple[str, ...]:
        """Parameters by which callers choose dtypes."""
        return tuple(output.chosen_by for output in self.outputs if output.chosen_by)


def functional(function: Function, module: Module) -> Functional:
    """Return the function without side effects of one that declares what it returns.

    Optional tensors that are written but not returned are left absent.

    Raises
    ------
    NotDerivableError
        An output's shape, dtype or layout does not follow from the inputs.
    """
    effects = function.effects
    rows = [{p.name: p.slot for p in kernel.parameters} for kernel in variants(function, module)]
    left_out = {
        name
        for name in effects.mutates
        if name not in effects.returns and any(isinstance(row.get(name), NoneSlot) for row in rows)
    }
    hidden = {*effects.returns, *left_out}
    parameters = tuple(p for p in function.parameters if p.name not in hidden)
    rows = [row for row in rows if all(isinstance(row[name], NoneSlot) for name in left_out)]
    outputs = tuple(_output(name, rows, parameters, function) for name in effects.returns)
    made = len(parameters) + sum(output.chosen_by is not None for output in outputs)
    places = {p.name: index for index, p in enumerate(parameters)}
    places |= {output.name: made + index for index, output in enumerate(outputs)}
    return Functional(
        parameters,
        outputs,
        tuple(name for name in effects.mutates if name not in hidden),
        _beside(rows, parameters, effects.returns),
        tuple(places.get(p.name, ABSENT) for p in function.parameters),
    )


def tensors(function: Function) -> tuple[str, ...]:
    """Name the parameters that take tensors."""
    return tuple(p.name for p in function.parameters if tensor_slots(p.slot))


def tensor_slots(slot: Slot) -> tuple[TensorSlot, ...]:
    """Return the tensors that a parameter may take; those inside of tuples are no parameters."""
    alternatives = slot.alternatives if isinstance(slot, OneOfSlot) else (slot,)
    return tuple(item for item in alternatives if isinstance(item, TensorSlot))


def devices(function: Function) -> set[str]:
    """Return the kinds of device that a function's tensors lie on."""
    return {slot.device or "cuda" for p in function.parameters for slot in tensor_slots(p.slot)}


def why_no_value(parameter: Parameter) -> str | None:
    """Say what keeps a parameter from being a tensor, a number, a bool or a string, or ``None`` for these."""
    slot = parameter.slot
    what: str | None
    match slot:
        case PointerSlot():
            what = "a pointer"
        case StreamSlot():
            what = "a CUDA stream"
        case ShapeSlot():
            what = "a shape"
        case TupleSlot(record=record):
            what = record or "a tuple"
        case ChoiceSlot(values=values):
            kinds = {type(value) for value in values if value is not None}
            what = None if len(kinds) == 1 else "one of values of several types"
        case OneOfSlot(alternatives=alternatives):
            found = {_kind(item) for item in alternatives if not isinstance(item, NoneSlot)}
            what = None if len(found) == 1 and None not in found else "one of several kinds of values"
        case TensorSlot() | ScalarSlot() | NoneSlot() | ConstantSlot():
            what = None
        case _:
            assert_never(slot)
    return what and f"{parameter.name} is {what}"


def is_optional(slot: Slot) -> bool:
    """Return whether ``None`` may be passed."""
    match slot:
        case NoneSlot():
            return True
        case OneOfSlot(alternatives=alternatives):
            return any(isinstance(item, NoneSlot) for item in alternatives)
        case ChoiceSlot(values=values):
            return None in values
        case _:
            return False


def takes_row_major(slots: Iterable[TensorSlot]) -> bool:
    """Return whether one of some tensors may be row-major without gaps."""
    return any(map(_is_row_major, slots))


def _kind(slot: Slot) -> str | None:
    match slot:
        case TensorSlot():
            return "tensor"
        case ScalarSlot(dtype=dtype):
            return "bool" if dtype == "bool" else "int" if "int" in dtype else "float"
        case _:
            return None


def variants(function: Function, module: Module) -> tuple[Kernel, ...]:
    """Return the variants of a family, or the kernel itself."""
    return module.variants(function) if isinstance(function, Family) else (function,)


# ---------------------------------------------------------------------------------------------------------
# Outputs


def _output(name: str, rows: Sequence[_Row], inputs: Sequence[Parameter], function: Function) -> Output:
    slots = [row[name] for row in rows]
    found = [slot for slot in slots if isinstance(slot, TensorSlot)]
    if not rows or len(found) < len(slots):
        raise NotDerivableError(name, "it is absent in some variants")
    if len({len(slot.shape) for slot in found}) > 1:
        raise NotDerivableError(name, "its rank differs from variant to variant")
    if not all(map(_is_row_major, found)):
        raise NotDerivableError(name, "it is not row-major")
    rank = len(found[0].shape)
    names = [p.name for p in inputs]
    shape = tuple(_extent(name, i, [slot.shape[i] for slot in found], rows, names) for i in range(rank))
    dtypes = [slot.dtype for slot in found]
    if len(set(dtypes)) == 1:
        return Output(name, shape, dtypes[0], None)
    shown = _where(rows, names, lambda slot, row: _tensor(slot) == _tensor(row[name]))
    if shown:
        return Output(name, shape, Like(shown[0]), None)
    usual = _usual_dtype(name, rows, names)
    if usual is None:
        raise NotDerivableError(name, f"no input has its dtype, {' or '.join(dict.fromkeys(dtypes))}")
    return Output(name, shape, Like(usual), _unused(f"{name}_dtype", function))


def _extent(
    name: str, dimension: int, extents: Sequence[Extent], rows: Sequence[_Row], inputs: Sequence[str]
) -> int | Like:
    """Find out where an extent is seen before the call."""
    first = extents[0]
    if isinstance(first, int) and all(extent == first for extent in extents):
        return first
    for other in inputs:
        found = [row[other] for row in rows]
        if not all(isinstance(slot, TensorSlot) for slot in found):
            continue
        shapes = [slot.shape for slot in found if isinstance(slot, TensorSlot)]
        for index in range(min(map(len, shapes))):
            if all(shape[index] == extent for shape, extent in zip(shapes, extents, strict=True)):
                return Like(other, index)
    shown = first if isinstance(first, int) else first.name
    raise NotDerivableError(name, f"no input has its size {shown}, dimension {dimension}")


def _where(rows: Sequence[_Row], inputs: Sequence[str], holds: Callable[[Slot, _Row], bool]) -> list[str]:
    """Name the inputs that are a tensor in every variant, of which something holds in each."""
    return [
        name
        for name in inputs
        if all(isinstance(row.get(name), TensorSlot) and holds(row[name], row) for row in rows)
    ]


def _tensor(slot: Slot) -> str | None:
    return slot.dtype if isinstance(slot, TensorSlot) else None


def _usual_dtype(name: str, rows: Sequence[_Row], inputs: Sequence[str]) -> str | None:
    """Find an input whose dtype the output may have, whatever is passed."""
    offered: dict[tuple[object, ...], set[str | None]] = {}
    for row in rows:
        offered.setdefault(_dtypes(row, inputs), set()).add(_tensor(row[name]))
    found = _where(rows, inputs, lambda slot, row: _tensor(slot) in offered[_dtypes(row, inputs)])
    return found[0] if found else None


def _dtypes(row: _Row, inputs: Sequence[str]) -> tuple[object, ...]:
    return tuple(_tensor(row[name]) if name in row else None for name in inputs)


def _beside(rows: Sequence[_Row], inputs: Sequence[Parameter], returned: Sequence[str]) -> tuple[str, ...]:
    """Find the inputs that lie where outputs have to."""
    wanted = {slot.device for row in rows for name in returned for slot in tensor_slots(row[name])}
    names = [parameter.name for parameter in inputs]
    found = _where(rows, names, lambda slot, _: isinstance(slot, TensorSlot) and {slot.device} >= wanted)
    if not found:
        raise NotDerivableError(returned[0] if returned else "", "no input shows the device to make it on")
    return tuple(found)


def _is_row_major(slot: TensorSlot) -> bool:
    """Return whether a tensor may be row-major without gaps."""
    expected: int | None = 1
    for extent, stride in zip(reversed(slot.shape), reversed(slot.strides or ()), strict=False):
        if isinstance(stride, int) and stride != expected and extent != 1:
            return False
        expected = expected * extent if isinstance(extent, int) and expected is not None else None
    return True


def _unused(name: str, function: Function) -> str:
    while any(parameter.name == name for parameter in function.parameters):
        name += "_"
    return name

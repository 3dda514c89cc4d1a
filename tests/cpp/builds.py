"""Models that differ in one thing, to put their texts beside a library of another build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from stubgen.model.effects import Effects
from stubgen.model.library import (
    ChoiceSlot,
    Default,
    Family,
    Kernel,
    Library,
    Module,
    Place,
    ScalarSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)

Change = Callable[[Library], Library]
replace: Any = msgspec.structs.replace

KERNELS = '''
from dataclasses import dataclass

import cutlass
from cutlass import cute

import stubgen as sg


@dataclass
class Scales:
    """Two factors."""

    alpha: cutlass.Float32
    beta: cutlass.Float32 = cutlass.Float32(3.0)


@cute.jit
def subtract(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, factor: cutlass.Float32 = 1.0):
    """out = x - factor * y."""
    for i in range(out.shape[0]):
        out[i] = x[i] - factor * y[i]


@cute.jit
def scaled(x: cute.Tensor, scales: Scales, out: cute.Tensor):
    """out = alpha * x - beta."""
    for i in range(out.shape[0]):
        out[i] = scales.alpha * x[i] - scales.beta


@cute.jit
def _picked(x: cute.Tensor, mode: cutlass.Constexpr[str], out: cute.Tensor):
    """out = x, or -x."""
    for i in range(out.shape[0]):
        if cutlass.const_expr(mode == "negate"):
            out[i] = -x[i]
        else:
            out[i] = x[i]


vector = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
sg.export(mutates=("out",))(subtract, x=vector, y=vector, out=vector)
sg.export(mutates=("out",))(scaled, vector, Scales(cutlass.Float32(1.0)), vector)


@sg.family(mode=["keep", "negate"])
def picked(mode):
    return sg.kernel(mutates=("out",))(_picked, x=vector, mode=mode, out=vector)
'''
"""Of the package ``mixed``."""


def kernel(change: Callable[[Kernel], Kernel], name: str = "subtract") -> Change:
    """Change one kernel."""

    def of(module: Module) -> Module:
        kernels = tuple(change(k) if k.name == name else k for k in module.kernels)
        return replace(module, kernels=kernels)

    return lambda library: replace(library, modules=tuple(map(of, library.modules)))


def module(change: Callable[[Module], Module]) -> Change:
    """Change the one module."""
    return lambda library: replace(library, modules=tuple(map(change, library.modules)))


def fields(**values: Any) -> Change:
    """Set fields of a kernel."""
    return kernel(lambda k: replace(k, **values))


def parameter(index: int, **values: Any) -> Change:
    """Set fields of a parameter."""

    def change(k: Kernel) -> Kernel:
        changed = list(k.parameters)
        changed[index] = replace(changed[index], **values)
        return replace(k, parameters=tuple(changed))

    return kernel(change)


def tensor(index: int, **values: Any) -> Change:
    """Set fields of a tensor's slot."""
    plain = TensorSlot("float32", (Symbol("n"),), device="cpu")
    return parameter(index, slot=replace(plain, **values))


def order(*places: int) -> Change:
    """Put the parameters in another order, or leave some out."""
    return kernel(lambda k: replace(k, parameters=tuple(k.parameters[i] for i in places)))


def family(change: Callable[[Family], Family]) -> Change:
    """Change the family."""
    return module(lambda m: replace(m, families=tuple(map(change, m.families))))


def values(*choices: Any) -> Change:
    """Return the selector other values."""

    def change(f: Family) -> Family:
        changed = tuple(
            replace(p, slot=replace(p.slot, values=choices)) if isinstance(p.slot, ChoiceSlot) else p
            for p in f.parameters
        )
        return replace(f, parameters=changed)

    return family(change)


def renamed_value(library: Library) -> Library:
    """Call a selector's value otherwise."""

    def change(k: Kernel) -> Kernel:
        if k.variant is None or k.variant.values["mode"] != "negate":
            return k
        return replace(k, variant=replace(k.variant, values={"mode": "minus"}))

    changed = module(lambda m: replace(m, kernels=tuple(map(change, m.kernels))))(library)
    return values("keep", "minus")(changed)


def record(**given: Any) -> Change:
    """Set fields of the record."""
    return module(lambda m: replace(m, records=tuple(replace(r, **given) for r in m.records)))


def tuples(change: Callable[[TupleSlot], TupleSlot]) -> Change:
    """Change the slots that hold a record."""

    def of(k: Kernel) -> Kernel:
        slots = (change(p.slot) if isinstance(p.slot, TupleSlot) else p.slot for p in k.parameters)
        pairs = zip(k.parameters, slots, strict=True)
        return replace(k, parameters=tuple(replace(p, slot=slot) for p, slot in pairs))

    return module(lambda m: replace(m, kernels=tuple(map(of, m.kernels))))


def record_fields(library: Library, *places: int) -> Library:
    """Put the fields of the record, and of the tuple that it is passed as, in another order."""

    def turned(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(items[place] for place in places)

    changed = module(
        lambda m: replace(m, records=tuple(replace(r, fields=turned(r.fields)) for r in m.records))
    )(library)
    return tuples(lambda slot: replace(slot, items=turned(slot.items), fields=turned(slot.fields)))(changed)


def record_renamed(library: Library, name: str) -> Library:
    """Call the record otherwise."""
    return tuples(lambda slot: replace(slot, record=name))(record(name=name)(library))


def twice(m: Module) -> Module:
    """Add a function."""
    first = m.kernels[0]
    return replace(m, kernels=(*m.kernels, replace(first, name="added")))


def renamed_key(m: Module) -> Module:
    """Call a variant otherwise."""
    kernels = tuple(
        replace(k, variant=replace(k.variant, labels={"mode": "other"}))
        if k.variant and k.variant.key == "negate"
        else k
        for k in m.kernels
    )
    return replace(m, kernels=kernels)


n, other = Symbol("n"), Symbol("other")
NOTICED: dict[str, Change] = {
    "parameters swapped": order(1, 0, 2, 3),
    "parameter renamed": parameter(1, name="z"),
    "which is written": order(2, 1, 0, 3),
    "parameter added": kernel(
        lambda k: replace(k, parameters=(*k.parameters, replace(k.parameters[3], name="more")))
    ),
    "parameter removed": order(0, 1, 2),
    "dtype of a tensor": tensor(0, dtype="int32"),
    "rank": tensor(0, shape=(n, other)),
    "static size": tensor(0, shape=(4,)),
    "another size shared": tensor(0, shape=(other,)),
    "width of a size": tensor(0, shape=(replace(n, bits=64),)),
    "divisibility": tensor(0, shape=(replace(n, divisible_by=8),)),
    "strides": tensor(0, strides=(other,)),
    "alignment": tensor(0, alignment=16),
    "device": tensor(0, device="cuda"),
    "dtype of a number": parameter(3, slot=ScalarSlot("float64")),
    "unsigned number": parameter(3, slot=ScalarSlot("uint64")),
    "default": parameter(3, default=Default(2.0)),
    "no default": parameter(3, default=None),
    "by keyword only": parameter(3, kind="keyword_only"),
    "fields of a record swapped": lambda library: record_fields(library, 1, 0),
    "record renamed": lambda library: record_renamed(library, "Factors"),
    "record of another kind": record(kind="namedtuple"),
    "selector's values in another order": values("negate", "keep"),
    "selector's value renamed": renamed_value,
    "selector's value added": values("keep", "negate", "more"),
    "variant renamed": module(renamed_key),
    "function renamed": fields(name="minus"),
    "function added": module(twice),
    "function removed": module(lambda m: replace(m, kernels=m.kernels[1:])),
    "module renamed": module(lambda m: replace(m, name="others")),
    "writes to more": fields(effects=Effects(mutates=("x", "out"))),
    "runs on the current stream": fields(env_streams=("stream",)),
    "has a module for PyTorch": lambda library: replace(library, frameworks=("torch",)),
}

UNNOTICED: dict[str, Change] = {
    "docs of a function": fields(doc="Something else."),
    "docs of a record": record(doc="Something else."),
    "docs of a module": module(lambda m: replace(m, doc="Something else.", source="kernels/moved.py")),
    "line": fields(place=Place("kernels/ops.py", 7), source=Place("kernels/other.py", 1)),
    "options": fields(options="--opt-level 2"),
    "architectures": fields(archs=("sm_100a",)),
    "functions in another order": module(lambda m: replace(m, kernels=m.kernels[::-1])),
    "name of a size": kernel(
        lambda k: replace(
            k,
            parameters=tuple(
                replace(p, slot=replace(p.slot, shape=(other,))) if isinstance(p.slot, TensorSlot) else p
                for p in k.parameters
            ),
        )
    ),
    "versions": lambda library: replace(library, versions=replace(library.versions, toolchain="another")),
    "version of the package": lambda library: replace(library, version="7.0"),
    "stated signature": fields(abi="subtract(a, b)"),
}

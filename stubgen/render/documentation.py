"""What types cannot say, in words: the same lines for docstrings and for header comments."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stubgen.model import (
    ConstantSlot,
    Extent,
    Frozen,
    Kernel,
    NoneSlot,
    Parameter,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.render.layout import wrapped

_NUMBERED = re.compile(r"s\d+$")
_BITS = {"bool": 8, "bfloat16": 16}


def kernel_doc(kernel: Kernel, *, width: int) -> list[str]:
    """Document a kernel: the author's docstring, the arguments, and what was fixed at compile time.

    Parameters
    ----------
    kernel
        What to document.
    width
        Columns that a line may take; the author's own lines are left as they are.
    """
    own = kernel.doc.splitlines() or [f"{kernel.name}, compiled ahead of time."]
    documented, left = _merged(own, {p.name: describe(p.slot) for p in kernel.parameters})
    sections = [documented, _arguments(left, width), notes(kernel, width=width)]
    lines: list[str] = []
    for section in filter(None, sections):
        lines += ["", *section] if lines else section
    return lines


def _merged(lines: list[str], facts: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """Put what is known of each argument into the author's own Parameters section, if there is one.

    Returns
    -------
        The lines, and the arguments that found no place in them.
    """
    merged: list[str] = []
    left = dict(facts)
    inside = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and not following.strip("-") and line.strip():
            inside = line.strip() == "Parameters"
        names = [name.strip() for name in line.split(",")]
        kinds = {left.get(name) for name in names}
        if inside and line[:1].strip() and len(kinds) == 1 and None not in kinds:
            merged.append(f"{line.rstrip()} : {kinds.pop()}")
            left = {name: fact for name, fact in left.items() if name not in names}
        else:
            merged.append(line)
    return merged, left


def _arguments(facts: dict[str, str], width: int) -> list[str]:
    return [
        line for name, fact in facts.items() for line in wrapped(f"{name}: {fact}", width=width, hanging=4)
    ]


def notes(
    kernel: Kernel,
    *,
    width: int,
    hidden: Iterable[Frozen] = (),
    stream: str = "Runs on the current stream of the framework that the tensors come from.",
) -> list[str]:
    """Tell what concerns a kernel as a whole.

    Parameters
    ----------
    kernel
        What to document.
    width
        Columns that a line may take.
    hidden
        Arguments that a surface passes itself, because only one value fits.
    stream
        What to say of kernels that take their stream from the environment.
    """
    sentences: list[str] = []
    sizes = _size_facts(kernel.parameters)
    if sizes:
        sentences.append(f"Sizes: {', '.join(sizes)}.")
    fixed = [f"{item.name}={item.value}" for item in (*kernel.frozen, *hidden)]
    if fixed:
        sentences.append(f"Compiled with {', '.join(fixed)}.")
    if kernel.env_streams:
        sentences.append(stream)
    if kernel.arch is not None:
        sentences.append(f"Built for {kernel.arch}.")
    if kernel.source is not None:
        # Without the line: it would change in the stubs whenever anything above it does.
        sentences.append(f"Source: {kernel.source.file}")
    return [line for sentence in sentences for line in wrapped(sentence, width=width)]


def describe(slot: Slot) -> str:
    """Describe what fits a slot, in one line."""
    match slot:
        case TensorSlot():
            return _tensor(slot)
        case ScalarSlot(dtype=dtype):
            return dtype
        case NoneSlot():
            return "None"
        case ConstantSlot(value=value):
            return f"{value!r}, fixed"
        case PointerSlot():
            return _pointer(slot)
        case StreamSlot():
            return "CUDA stream"
        case ShapeSlot(extents=extents):
            return f"integers {_extents(extents)}"
        case TupleSlot(items=items, fields=fields):
            shown = list(map(describe, items))
            if fields:
                shown = [f"{field}: {text}" for field, text in zip(fields, shown, strict=True)]
            return f"({'; '.join(shown)})"


def _tensor(slot: TensorSlot) -> str:
    parts = [slot.dtype, f"shape {_extents(slot.shape)}"]
    if slot.strides is not None and not _row_major(slot.shape, slot.strides):
        parts.append(f"strides {_extents(slot.strides)}")
    parts.append(_device(slot.device))
    if slot.alignment is not None and slot.alignment * 8 > max(8, _element_bits(slot.dtype)):
        parts.append(f"{slot.alignment}-byte aligned")
    return ", ".join(parts)


def _pointer(slot: PointerSlot) -> str:
    parts = [f"address of {slot.dtype}" if slot.dtype else "address"]
    if slot.device is not None:
        parts.append(_device(slot.device))
    if slot.alignment is not None and slot.alignment > 1:
        parts.append(f"{slot.alignment}-byte aligned")
    return ", ".join(parts)


def _device(device: str) -> str:
    return device.upper()


def _extents(extents: tuple[Extent, ...]) -> str:
    inner = ", ".join(str(e) if isinstance(e, int) else e.name for e in extents)
    return f"({inner},)" if len(extents) == 1 else f"({inner})"


def _row_major(shape: tuple[Extent, ...], strides: tuple[Extent, ...]) -> bool:
    """Tell whether fixed strides follow from the shape, and so need no mention."""
    expected: int | None = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if expected is None or stride != expected:
            return False
        expected = expected * extent if isinstance(extent, int) else None
    return True


def _element_bits(dtype: str) -> int:
    if dtype in _BITS:
        return _BITS[dtype]
    digits = "".join(c for c in dtype.partition("_")[0] if c.isdigit())
    return int(digits or 8)


def _size_facts(parameters: tuple[Parameter, ...]) -> list[str]:
    """List what sizes have to be divisible by, and which may be large; each once.

    Strides that the DSL numbers have 64 bits unless somebody asks otherwise, and are not listed for that.
    """
    symbols: dict[str, Symbol] = {}
    for parameter in parameters:
        for symbol in _symbols(parameter.slot):
            symbols.setdefault(symbol.name, symbol)
    multiples = [
        f"{s.name} is a multiple of {s.divisible_by}" for s in symbols.values() if s.divisible_by > 1
    ]
    wide = [f"{s.name} has 64 bits" for s in symbols.values() if s.bits == 64 and not _NUMBERED.match(s.name)]
    return [*multiples, *wide]


def _symbols(slot: Slot) -> list[Symbol]:
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            return [e for e in (*shape, *(strides or ())) if isinstance(e, Symbol)]
        case ShapeSlot(extents=extents):
            return [e for e in extents if isinstance(e, Symbol)]
        case TupleSlot(items=items):
            return [symbol for item in items for symbol in _symbols(item)]
        case _:
            return []

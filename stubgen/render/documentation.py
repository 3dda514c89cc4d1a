"""What types cannot say, in words: the same lines for docstrings and for header comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from typing_extensions import assert_never

from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Extent,
    Family,
    Frozen,
    Kernel,
    NoneSlot,
    OneOfSlot,
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
from stubgen.render.python_types import quoted

_NUMBERED = re.compile(r"s\d+$")
_BITS = {"bool": 8, "bfloat16": 16}


def function_doc(kernel: Kernel | Family, variants: Sequence[Kernel] = (), *, width: int) -> list[str]:
    """Document a function: the author's docstring, the arguments, and what was fixed at compile time.

    Parameters
    ----------
    kernel
        What to document.
    variants
        Those of a family, which are listed.
    width
        Columns that a line may take; the author's own lines are left as they are.
    """
    own = kernel.doc.splitlines() or [f"{kernel.name}, compiled ahead of time."]
    documented, left = _merged(own, {p.name: describe(p.slot) for p in kernel.parameters})
    sections = [documented, _arguments(left, width), variant_table(variants), notes(kernel, width=width)]
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


_LISTED_VARIANTS = 64
"""Of a family with more, the axes are shown and not each variant."""


def variant_table(variants: Sequence[Kernel]) -> list[str]:
    """List the variants of a family: keys, places on the axes, and architectures where those differ."""
    found = [v.variant for v in variants if v.variant is not None]
    axes = list(found[0].labels) if found else []
    if not axes:
        return []
    if len(found) > _LISTED_VARIANTS:
        return ["Variants", "--------", f"{len(found)}, along {', '.join(axes)}."]
    rows = [["Variant", *axes], *([v.key, *v.labels.values()] for v in found)]
    if len({kernel.archs for kernel in variants}) > 1:
        rows[0].append("built for")
        for row, kernel in zip(rows[1:], variants, strict=True):
            row.append(", ".join(kernel.archs))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "  ".join("-" * w for w in widths), *lines[1:]]


def notes(
    kernel: Kernel | Family,
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
        sentences.append(f"Sizes: {'; '.join(sizes)}.")
    if kernel.effects.mutates:
        sentences.append(f"Writes to {_enumerated(list(kernel.effects.mutates), 'and')}.")
    fixed = [f"{item.name}={item.value}" for item in (*kernel.frozen, *hidden)]
    if fixed:
        sentences.append(f"Compiled with {', '.join(fixed)}.")
    if kernel.env_streams:
        sentences.append(stream)
    if kernel.archs:
        sentences.append(f"Built for {', '.join(kernel.archs)}.")
    if kernel.source is not None:
        # Without the line: it would change in the stubs whenever anything above it does.
        sentences.append(f"Source: {kernel.source.file}")
    return [line for sentence in sentences for line in wrapped(sentence, width=width)]


def conditions(parameters: Sequence[Parameter]) -> str:
    """Tell what tensors have to fulfil beyond dtypes and shapes, in one line; empty if that is nothing."""
    strides = {p.name: dict.fromkeys(map(_shown_strides, _tensors_in(p.slot))) for p in parameters}
    told = [
        f"{name} has strides {' or '.join(text or 'of a row-major tensor' for text in found)}"
        for name, found in strides.items()
        if any(found)
    ]
    by_alignment: dict[int, list[str]] = {}
    for parameter in parameters:
        for tensor in _tensors_in(parameter.slot):
            names = by_alignment.setdefault(tensor.alignment or 1, []) if _is_aligned(tensor) else []
            if parameter.name not in names:
                names.append(parameter.name)
    told += [f"{_enumerated(names, 'and')} aligned to {n} bytes" for n, names in by_alignment.items()]
    return "; ".join([*_multiples(_symbols_of(parameters)), *told])


def _tensors_in(slot: Slot) -> list[TensorSlot]:
    match slot:
        case TensorSlot():
            return [slot]
        case TupleSlot(items=items) | OneOfSlot(alternatives=items):
            return [tensor for item in items for tensor in _tensors_in(item)]
        case _:
            return []


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
        case TupleSlot():
            return _tuples([slot])
        case ChoiceSlot(values=values):
            return _enumerated([_choice(value) for value in values], "or")
        case OneOfSlot(alternatives=alternatives):
            return _one_of(alternatives)
        case _:
            assert_never(slot)


def _choice(value: ChoiceValue) -> str:
    return quoted(value) if isinstance(value, str) else repr(value)


def _enumerated(items: Sequence[str], word: str) -> str:
    *first, last = items
    return f"{', '.join(first)} {word} {last}" if first else last


def _one_of(alternatives: Iterable[Slot], joint: str = "; or ") -> str:
    """Describe alternatives in one line; what tensors of one rank, or tuples, have in common is said once."""
    tensors: dict[tuple[int, str | None], list[TensorSlot]] = {}
    tuples: dict[tuple[int, tuple[str, ...]], list[TupleSlot]] = {}
    others: dict[str, None] = {}
    for slot in alternatives:
        match slot:
            case TensorSlot():
                tensors.setdefault((len(slot.shape), slot.device), []).append(slot)
            case TupleSlot():
                tuples.setdefault((len(slot.items), slot.fields), []).append(slot)
            case _:
                others[describe(slot)] = None
    return joint.join([*map(_tensors, tensors.values()), *map(_tuples, tuples.values()), *others])


def _tuples(slots: Sequence[TupleSlot]) -> str:
    """Describe tuples of one length as one, item by item."""
    shown = [_one_of(column, " or ") for column in zip(*(slot.items for slot in slots), strict=True)]
    fields = slots[0].fields
    if fields:
        shown = [f"{field}: {text}" for field, text in zip(fields, shown, strict=True)]
    return f"({'; '.join(shown)})"


def _tensors(slots: Sequence[TensorSlot]) -> str:
    if len(slots) == 1:
        return _tensor(slots[0])
    parts = [" | ".join(dict.fromkeys(slot.dtype for slot in slots))]
    parts.append(f"shape {_extents_of([slot.shape for slot in slots])}")
    strides = list(dict.fromkeys(text for slot in slots if (text := _shown_strides(slot))))
    if strides:
        all_have = all(_shown_strides(slot) for slot in slots)
        parts.append(f"strides {' | '.join(strides if all_have else ['row-major', *strides])}")
    parts.append(_device(slots[0].device))
    aligned = list(dict.fromkeys(slot.alignment for slot in slots if _is_aligned(slot)))
    if aligned and all(map(_is_aligned, slots)):
        parts.append(f"{' | '.join(map(str, aligned))}-byte aligned")
    return ", ".join(parts)


def _extents_of(shapes: Sequence[tuple[Extent, ...]]) -> str:
    """Show shapes of one rank as one, such as ``(m, 1024 | 4096)``."""
    texts = [" | ".join(dict.fromkeys(map(_extent, column))) for column in zip(*shapes, strict=True)]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _tensor(slot: TensorSlot) -> str:
    parts = [slot.dtype, f"shape {_extents(slot.shape)}"]
    strides = _shown_strides(slot)
    if strides:
        parts.append(f"strides {strides}")
    parts.append(_device(slot.device))
    if _is_aligned(slot):
        parts.append(f"{slot.alignment}-byte aligned")
    return ", ".join(parts)


def _shown_strides(slot: TensorSlot) -> str:
    """Return the strides as text, empty where they go without saying."""
    if slot.strides is None or _row_major(slot.shape, slot.strides):
        return ""
    return _extents(slot.strides)


def _is_aligned(slot: TensorSlot) -> bool:
    """Return whether a tensor has to be aligned to more than its elements."""
    return slot.alignment is not None and slot.alignment * 8 > max(8, _element_bits(slot.dtype))


def _pointer(slot: PointerSlot) -> str:
    parts = [f"address of {slot.dtype}" if slot.dtype else "address"]
    if slot.device is not None:
        parts.append(_device(slot.device))
    if slot.alignment is not None and slot.alignment > 1:
        parts.append(f"{slot.alignment}-byte aligned")
    return ", ".join(parts)


def _device(device: str | None) -> str:
    return device.upper() if device else "device and strides unknown"


def _extents(extents: tuple[Extent, ...]) -> str:
    inner = ", ".join(map(_extent, extents))
    return f"({inner},)" if len(extents) == 1 else f"({inner})"


def _extent(extent: Extent) -> str:
    return str(extent) if isinstance(extent, int) else extent.name


def _row_major(shape: tuple[Extent, ...], strides: tuple[Extent, ...]) -> bool:
    """Return whether fixed strides follow from the shape, and so need no mention."""
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
    symbols = _symbols_of(parameters)
    wide = list(dict.fromkeys(s.name for s in symbols if s.bits == 64 and not _NUMBERED.match(s.name)))
    has = "has" if len(wide) == 1 else "have"
    return [*_multiples(symbols), *([f"{_enumerated(wide, 'and')} {has} 64 bits"] if wide else [])]


def _symbols_of(parameters: Sequence[Parameter]) -> list[Symbol]:
    """Return the sizes of some parameters, each once for every divisor that it has in some variant."""
    found: dict[tuple[str, int], Symbol] = {}
    for parameter in parameters:
        for symbol in _symbols(parameter.slot):
            found.setdefault((symbol.name, symbol.divisible_by), symbol)
    return list(found.values())


def _multiples(symbols: Sequence[Symbol]) -> list[str]:
    divisors: dict[str, list[int]] = {}
    for symbol in symbols:
        divisors.setdefault(symbol.name, []).append(symbol.divisible_by)
    alike: dict[str, list[str]] = {}
    for name, found in divisors.items():
        numbers = [str(divisor) for divisor in found if divisor > 1]
        if numbers:
            where = " in some variants" if 1 in found else ""
            alike.setdefault(_enumerated(numbers, "or") + where, []).append(name)
    return [
        f"{_enumerated(names, 'and')} {'is a multiple' if len(names) == 1 else 'are multiples'} of {shown}"
        for shown, names in alike.items()
    ]


def _symbols(slot: Slot) -> list[Symbol]:
    match slot:
        case TensorSlot(shape=shape, strides=strides):
            return [e for e in (*shape, *(strides or ())) if isinstance(e, Symbol)]
        case ShapeSlot(extents=extents):
            return [e for e in extents if isinstance(e, Symbol)]
        case TupleSlot(items=items) | OneOfSlot(alternatives=items):
            return [symbol for item in items for symbol in _symbols(item)]
        case _:
            return []

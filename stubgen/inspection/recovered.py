"""Makes a model of what the texts in a library tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from stubgen import __version__
from stubgen.abi import signature_texts
from stubgen.declare.labels import ChoiceValue
from stubgen.families.sizes import parameters_alike
from stubgen.inspection.recovery import Findings, FoundFamily, RecoveredFunction, RecoveredSelection, Unknown
from stubgen.inspection.texts import SelectorValue, Stated, StatedParameter
from stubgen.model.library import (
    Axis,
    ChoiceSlot,
    Family,
    Kernel,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Origin,
    Parameter,
    Place,
    Slot,
    Variant,
    Versions,
    tvm_ffi_symbol,
)
from stubgen.model.names import kernel_name_error
from stubgen.model.supported import TVM_FFI

T = TypeVar("T")

_MODULE = "kernels"
_AXIS = "variant"

_DOC = """\
Functions of {file}, as far as the texts in it tell.

It has no metadata of cute-stubgen. Names, order, types and shapes are right. Unknown are the strides,
alignment and devices of tensors, what sizes have to be divisible by and how wide they are, defaults,
parameters that can only be given by keyword or by position, fields of tuples, what was fixed when the
functions were compiled, and which of them run on the current stream.
"""


def library(findings: Findings, package: str, file: str) -> tuple[Library, tuple[Unknown, ...]]:
    """Make the model of a library.

    Parameters
    ----------
    findings
        What was found in it.
    package
        The name to give to the package.
    file
        The library's file name.

    Returns
    -------
        The model, and the functions that are not in it.
    """
    maker = _Maker(findings, package, Place(file, 1))
    module = Module(_MODULE, file, maker.kernels, maker.families, doc=_DOC.format(file=file))
    versions = Versions(__version__, "unknown", TVM_FFI.oldest, "unknown")
    origin = Origin(file, findings.package, is_partial=True)
    modules = (module,) if maker.kernels else ()
    return Library(package, modules, versions, {}, origin=origin), maker.unknown


class _Maker:
    """Makes kernels and families of what was found."""

    def __init__(self, findings: Findings, given: str, place: Place) -> None:
        self._package, self._given = findings.package, given
        self._place = place
        unknown = list(findings.unknown)
        variants: dict[str, Variant] = {}
        families: list[Family] = []
        for found in findings.families:
            made = self._family(found)
            if made is None:
                unknown.append(Unknown(found.name, "how it chooses among its variants cannot be made out"))
            else:
                families.append(made[0])
                variants |= made[1]
        kernels: list[Kernel] = []
        for function in findings.functions:
            reason = kernel_name_error(function.name)
            kernel = self._kernel(function, variants.get(function.name))
            if reason or kernel is None:
                unknown.append(Unknown(function.name, reason or f"it states {function.stated.text}"))
            else:
                kernels.append(kernel)
        self.kernels = tuple(kernels)
        self.families = tuple(families)
        self.unknown = tuple(unknown)

    def _kernel(self, found: RecoveredFunction, variant: Variant | None) -> Kernel | None:
        slots = found.stated.slots
        if slots is None:
            return None
        parameters = tuple(
            Parameter(parameter.name, slot)
            for parameter, slot in zip(found.stated.parameters, slots, strict=True)
        )
        return Kernel(
            name=found.name,
            module=_MODULE,
            parameters=parameters,
            abi=found.stated.text,
            place=self._place,
            archs=found.archs,
            variant=variant,
            entry=self._entry(found.name),
        )

    def _entry(self, name: str) -> str:
        """Return the symbol of a function; those of other tools have only the one for tvm-ffi."""
        if self._package == self._given:
            return ""
        return tvm_ffi_symbol(name if self._package is None else f"{self._package}__{name}")

    # -----------------------------------------------------------------------------------------------------

    def _family(self, found: FoundFamily) -> tuple[Family, dict[str, Variant]] | None:
        """Put a family together again; ``None`` unless it states of itself what the library does."""
        kernels = [kernel for v in found.variants if (kernel := self._kernel(v, None))]
        own = [[p.name for p in kernel.parameters] for kernel in kernels]
        if kernel_name_error(found.name) or len(kernels) != len(found.variants) or own != own[:1] * len(own):
            return None
        choices = [p for p in found.stated.parameters if p.name not in own[0]]
        if len(choices) + len(own[0]) != len(found.stated.parameters) or not all(map(_is_choice, choices)):
            return None
        variants = _variants(found, [choice.name for choice in choices])
        if variants is None:
            return None
        first = next(iter(variants.values()))
        family = Family(
            name=found.name,
            module=_MODULE,
            parameters=_parameters(found.stated, kernels),
            variants=tuple(variants),
            axes=tuple(Axis(n, _each_once(v.labels[n] for v in variants.values())) for n in first.labels),
            place=self._place,
            archs=_each_once(arch for kernel in kernels for arch in kernel.archs),
            entry=self._entry(found.name),
        )
        return (family, variants) if signature_texts.stated(family) == found.stated.text else None


def _parameters(stated: Stated, kernels: Sequence[Kernel]) -> tuple[Parameter, ...]:
    names = [parameter.name for parameter in kernels[0].parameters]
    alike = parameters_alike(kernels)
    columns = {n: _each_once(own[i].slot for own in alike) for i, n in enumerate(names)}
    return tuple(
        Parameter(p.name, _merged(columns[p.name]) if p.name in columns else ChoiceSlot(p.name, _choice(p)))
        for p in stated.parameters
    )


def _merged(alternatives: tuple[Slot, ...]) -> Slot:
    return alternatives[0] if len(alternatives) == 1 else OneOfSlot(alternatives)


def _is_choice(parameter: StatedParameter) -> bool:
    return all(isinstance(found, SelectorValue | NoneSlot) for found in parameter.alternatives)


def _choice(parameter: StatedParameter) -> tuple[ChoiceValue, ...]:
    return tuple(a.value if isinstance(a, SelectorValue) else None for a in parameter.alternatives)


def _each_once(items: Iterable[T]) -> tuple[T, ...]:
    """Return items in their order without repetition; unlike a set, tells True from 1."""
    found: dict[tuple[type, object], T] = {}
    for item in items:
        found.setdefault((type(item), item), item)
    return tuple(found.values())


# ---------------------------------------------------------------------------------------------------------
# Variants


def _variants(found: FoundFamily, choices: Sequence[str]) -> dict[str, Variant] | None:
    """Return by name what makes each variant of a family; ``None`` if it is not clear how one is chosen."""
    keys = {variant.name: variant.name.removeprefix(f"{found.name}__") for variant in found.variants}
    values = {name: _chosen(found.choices[name], choices) for name in keys if name in found.choices}
    if choices and any(values.get(name) is None for name in keys):
        return None
    parts: dict[str, list[str]] = {axis: [] for axis in choices}
    for name in keys if choices else ():
        words = _words(found.choices[name].label, len(choices))
        if words is None:
            return None
        for axis, word in zip(choices, words, strict=True):
            parts[axis].append(word)
    labels = _labels(list(keys.values()), parts)
    if labels is None:
        return None
    return {
        name: Variant(found.name, label, values.get(name) or {})
        for name, label in zip(keys, labels, strict=True)
    }


def _chosen(selection: RecoveredSelection, choices: Sequence[str]) -> dict[str, ChoiceValue] | None:
    """Return the value of each selector."""
    stated = {p.name: p for p in selection.stated.parameters if p.name in choices and _is_choice(p)}
    values = {name: _choice(parameter) for name, parameter in stated.items()}
    if values.keys() != set(choices) or any(len(value) != 1 for value in values.values()):
        return None
    return {name: values[name][0] for name in choices}


def _words(label: str, count: int) -> list[str] | None:
    """Take apart what stands for several choices."""
    words = label.split("_")
    if count == 1:
        return [label]
    return words if len(words) == count else None


def _labels(keys: Sequence[str], parts: dict[str, list[str]]) -> list[dict[str, str]] | None:
    """Find the choices in the names of variants, which the labels on all axes make together.

    Parameters
    ----------
    keys
        What the variants are called.
    parts
        By selector, the label of each variant.

    Returns
    -------
        By axis the labels of each variant: the selectors, and what stands between them.
    """
    left = [[key] if key else [] for key in keys]
    labels: list[list[tuple[str, str]]] = [[] for _ in keys]
    for axis, words in parts.items():
        cut = _cut([rest[0] if rest else "" for rest in left], words)
        if cut is None:
            return None
        for index, (before, after) in enumerate(cut):
            labels[index] += [(_between(len(labels[index])), before)] if before is not None else []
            labels[index].append((axis, words[index]))
            left[index] = [after] if after is not None else []
    for index, rest in enumerate(left):
        labels[index] += [(_between(len(labels[index])), rest[0])] if rest else []
    found = [dict(label) for label in labels]
    same = all(label.keys() == found[0].keys() for label in found)
    whole = all("_".join(label.values()) == key for label, key in zip(found, keys, strict=True))
    return found if same and whole else None


def _between(number: int) -> str:
    return f"{_AXIS}{number}" if number else _AXIS


def _cut(texts: Sequence[str], words: Sequence[str]) -> list[tuple[str | None, str | None]] | None:
    """Cut each text at its word, at the same place in all: as many words before it, or after it."""
    most = max(text.count("_") for text in texts) + 1
    for count in (*range(most), *range(-1, -most - 1, -1)):
        cut = [_cut_at(text, word, count) for text, word in zip(texts, words, strict=True)]
        whole = [pair for pair in cut if pair is not None]
        if len(whole) == len(cut) and len({tuple(part is None for part in pair) for pair in whole}) == 1:
            return whole
    return None


def _cut_at(text: str, word: str, count: int) -> tuple[str | None, str | None] | None:
    words, own = text.split("_"), word.split("_")
    start = count if count >= 0 else len(words) + count + 1 - len(own)
    if start < 0 or words[start : start + len(own)] != own:
        return None
    before, after = words[:start], words[start + len(own) :]
    return "_".join(before) if before else None, "_".join(after) if after else None

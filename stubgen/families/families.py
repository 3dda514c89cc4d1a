"""Makes one public function of the variants of a family: its parameters, selectors and decision tree."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from stubgen.abi.signatures import admits
from stubgen.declare.labels import ChoiceValue
from stubgen.families import constraints, sizes, tree
from stubgen.model.archs import share_a_device
from stubgen.model.library import Axis, ChoiceSlot, Family, Frozen, Kernel, OneOfSlot, Parameter, Variant
from stubgen.problems.problem import Problem, StubgenError, problem

_Item = TypeVar("_Item")


def families(kernels: Sequence[Kernel]) -> tuple[Family, ...]:
    """Return the family that each group of variants belongs to, in the order of their declarations.

    Raises
    ------
    StubgenError
        What :func:`judged_families` tells.
    """
    found, problems = judged_families(kernels)
    if problems:
        raise StubgenError(*problems)
    return found


def judged_families(kernels: Sequence[Kernel]) -> tuple[tuple[Family, ...], tuple[Problem, ...]]:
    """Return the families, and what is wrong with them.

    Returns
    -------
        Those whose variants take the same parameters, and all problems: CS237 for variants that do not; CS238
        for two that accept the same call.
    """
    members: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        if kernel.variant is not None:
            members.setdefault(kernel.variant.family, []).append(kernel)
    found: list[Family] = []
    problems: list[Problem] = []
    for variants in members.values():
        wrong = list(_unlike(variants))
        if not wrong:
            family = _family(variants)
            wrong = list(_ambiguities(family, variants))
            found.append(family)
        problems += wrong
    return tuple(found), tuple(problems)


@dataclass(frozen=True)
class Selection:
    """The variants that are left once a caller has chosen; all of a family that leaves no choice."""

    values: tuple[ChoiceValue, ...]
    """Of the family's selectors, in the order of its parameters."""
    labels: tuple[str, ...]
    variants: tuple[Kernel, ...]


def selections(family: Family, variants: Sequence[Kernel]) -> tuple[Selection, ...]:
    """Return every choice that has variants, in their order."""
    axes = [p.slot.axis for p in family.parameters if isinstance(p.slot, ChoiceSlot)]
    groups: dict[tuple[str, ...], list[Kernel]] = {}
    for kernel in variants:
        groups.setdefault(tuple(variant_of(kernel).labels[axis] for axis in axes), []).append(kernel)
    return tuple(
        Selection(tuple(variant_of(group[0]).values[axis] for axis in axes), labels, tuple(group))
        for labels, group in groups.items()
    )


def decision_tree(variants: Sequence[Kernel]) -> tree.Tree:
    """Find out how a call tells the variants of a selection apart."""
    return tree.decision_tree(
        [tree.DispatchVariant(_pattern(k), k.archs, variant_of(k).priority) for k in variants]
    )


def variant_of(kernel: Kernel) -> Variant:
    """Return what makes a kernel a variant; it has to be one."""
    assert kernel.variant is not None
    return kernel.variant


def gaps(family: Family, variants: Sequence[Kernel]) -> Iterator[dict[str, str]]:
    """Yield the labels of every combination of the axes that no variant is built for."""
    built = {tuple(variant_of(kernel).labels.values()) for kernel in variants}
    for labels in itertools.product(*(axis.labels for axis in family.axes)):
        if labels not in built:
            yield {axis.name: label for axis, label in zip(family.axes, labels, strict=True)}


# ---------------------------------------------------------------------------------------------------------
# The public function


def _family(variants: Sequence[Kernel]) -> Family:
    first = variants[0]
    selectors = _selectors(variants)
    return Family(
        name=variant_of(first).family,
        module=first.module,
        parameters=_parameters(variants, selectors),
        variants=tuple(kernel.name for kernel in variants),
        axes=_axes(variants),
        place=first.place,
        doc=first.doc,
        source=first.source,
        frozen=tuple(f for f in first.frozen if all(f in kernel.frozen for kernel in variants)),
        env_streams=first.env_streams,
        archs=_union(kernel.archs for kernel in variants),
        effects=first.effects,
    )


def _axes(variants: Sequence[Kernel]) -> tuple[Axis, ...]:
    labels: dict[str, dict[str, None]] = {}
    for kernel in variants:
        for axis, label in variant_of(kernel).labels.items():
            labels.setdefault(axis, {})[label] = None
    return tuple(Axis(axis, tuple(found)) for axis, found in labels.items())


def _unlike(variants: Sequence[Kernel]) -> Iterator[Problem]:
    """Find variants whose callers would have to pass something else."""
    first = variants[0]
    expected = [parameter.name for parameter in first.parameters]
    for kernel in variants[1:]:
        names = [parameter.name for parameter in kernel.parameters]
        if names != expected:
            yield problem(
                "CS237",
                place=kernel.place,
                kernel=kernel.name,
                family=variant_of(kernel).family,
                parameters=", ".join(names),
                other=first.name,
                expected=", ".join(expected),
            )


def _parameters(variants: Sequence[Kernel], selectors: Sequence[Axis]) -> tuple[Parameter, ...]:
    merged = [_merged(column) for column in zip(*sizes.parameters_alike(variants), strict=True)]
    appended: list[Parameter] = []
    inserted: list[tuple[int, int, Parameter]] = []
    for axis in selectors:
        values = _each_once(variant_of(kernel).values[axis.name] for kernel in variants)
        slot = ChoiceSlot(axis.name, values)
        own = _parameter_of(axis.name, variants)
        if own is None:
            appended.append(Parameter(_unused(axis.name, merged), slot, "keyword_only"))
        else:
            default = own.default if own.default and admits(slot, own.default.value) else None
            order = variants[0].frozen.index(own)
            inserted.append((own.position, order, Parameter(own.name, slot, own.kind, default)))
    for position, _, parameter in sorted(inserted, key=lambda item: item[:2], reverse=True):
        merged.insert(position, parameter)
    return (*merged, *appended)


def _unused(name: str, parameters: Sequence[Parameter]) -> str:
    """Return an axis under another name if it is called like a parameter."""
    while any(parameter.name == name for parameter in parameters):
        name += "_"
    return name


def _merged(column: Sequence[Parameter]) -> Parameter:
    """Return the parameter of the family for those of its variants."""
    alternatives = _each_once(parameter.slot for parameter in column)
    slot = alternatives[0] if len(alternatives) == 1 else OneOfSlot(alternatives)
    defaults = _each_once(parameter.default for parameter in column if parameter.default)
    return msgspec.structs.replace(column[0], slot=slot, default=defaults[0] if len(defaults) == 1 else None)


def _parameter_of(axis: str, variants: Sequence[Kernel]) -> Frozen | None:
    """Find the constexpr parameter whose value is what an axis chooses.

    That of the same name, or else the only one that differs from variant to variant just as the axis does.
    """
    found = [
        frozen[0]
        for frozen in zip(*(kernel.frozen for kernel in variants), strict=False)
        if len({item.name for item in frozen}) == 1 and _follows(axis, [f.value for f in frozen], variants)
    ]
    named = [frozen for frozen in found if frozen.name == axis]
    return named[0] if named else found[0] if len(found) == 1 else None


def _follows(axis: str, values: Sequence[str], variants: Sequence[Kernel]) -> bool:
    pairs = {(variant_of(k).labels[axis], value) for k, value in zip(variants, values, strict=True)}
    return len(pairs) == len({label for label, _ in pairs}) == len({value for _, value in pairs})


# ---------------------------------------------------------------------------------------------------------
# Selectors


def _selectors(variants: Sequence[Kernel]) -> tuple[Axis, ...]:
    """Find the axes that no argument shows: callers have to choose on them.

    Variants that accept the same calls on the same GPU differ in such axes only. Where they differ in
    several, those are taken that other variants need anyway.
    """
    groups: dict[tuple[object, ...], list[Kernel]] = {}
    for kernel in variants:
        groups.setdefault(_pattern(kernel).identity, []).append(kernel)
    differing = sorted(
        {_difference(first, second) for group in groups.values() for first, second in _alike(group)},
        key=lambda axes: (len(axes), sorted(axes)),
    )
    chosen: set[str] = set()
    for axes in differing:
        if not axes & chosen:
            chosen |= axes
    return tuple(axis for axis in _axes(variants) if axis.name in chosen)


def _alike(group: Sequence[Kernel]) -> Iterator[tuple[Kernel, Kernel]]:
    """Yield enough pairs of a group to know all axes on which it has to be told apart."""
    for first, second in itertools.combinations(group, 2):
        if share_a_device(first.archs, second.archs):
            yield first, second


def _difference(first: Kernel, second: Kernel) -> frozenset[str]:
    ours, theirs = variant_of(first).labels, variant_of(second).labels
    return frozenset(axis for axis, label in ours.items() if theirs.get(axis) != label)


# ---------------------------------------------------------------------------------------------------------
# Overlaps


def _pattern(kernel: Kernel) -> constraints.Pattern:
    return constraints.pattern(parameter.slot for parameter in kernel.parameters)


def _ambiguities(family: Family, variants: Sequence[Kernel]) -> Iterator[Problem]:
    for selection in selections(family, variants):
        for found in decision_tree(selection.variants).ambiguities:
            first, second = selection.variants[found.first], selection.variants[found.second]
            yield problem(
                "CS238",
                place=second.place,
                kernel=second.name,
                family=family.name,
                other=first.name,
                reason=_reason(found, first, second),
            )


def _reason(found: tree.Ambiguity, first: Kernel, second: Kernel) -> str:
    patterns = _pattern(first), _pattern(second)
    names = [parameter.name for parameter in first.parameters]
    told = [
        f"{_place(feature, names)} may be {_demand(patterns[0], feature)} or {_demand(patterns[1], feature)}"
        for feature in found.features
    ]
    for kernel, group in _lonely_groups(first, second):
        told.append(f"only {kernel.name} wants {' = '.join(_place(size, names) for size in group)}")
    return "; ".join(told) or "their arguments are the same"


def _lonely_groups(first: Kernel, second: Kernel) -> Iterator[tuple[Kernel, tuple[constraints.Feature, ...]]]:
    """Yield the sizes that have to be the same for one of two kernels only."""
    for kernel, other in ((first, second), (second, first)):
        for group in sorted(_pattern(kernel).equal - _pattern(other).equal):
            yield kernel, group


def _place(feature: constraints.Feature, names: Sequence[str]) -> str:
    name = names[feature.path[0]] + "".join(f"[{index}]" for index in feature.path[1:])
    match feature.what:
        case "extent":
            return f"{name}.shape[{feature.index}]"
        case "stride":
            return f"{name}.strides[{feature.index}]"
        case "integer" | "float" | "kind":
            return name
        case what:
            return f"the {what} of {name}"


def _demand(pattern: constraints.Pattern, feature: constraints.Feature) -> str:
    return constraints.described(pattern.constraints.get(feature))


# ---------------------------------------------------------------------------------------------------------


def _each_once(items: Iterable[_Item]) -> tuple[_Item, ...]:
    """Return items in their order without repetition; unlike a set, tells True from 1."""
    found: dict[tuple[type, object], _Item] = {}
    for item in items:
        found.setdefault((type(item), item), item)
    return tuple(found.values())


def _union(sets: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in sets for name in names))

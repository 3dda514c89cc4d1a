"""What changed for callers between two libraries, and whether their code still works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from stubgen.families.constraints import Pattern, pattern
from stubgen.families.families import variant_of
from stubgen.model import archs
from stubgen.model.library import (
    ChoiceSlot,
    Family,
    Framework,
    Kernel,
    Library,
    Module,
    Parameter,
    Record,
    Slot,
)
from stubgen.render import documentation, python_types
from stubgen.render.cpp_types import is_hidden

Surface: TypeAlias = Literal["Python", "keywords", "C", "C++", "PyTorch", "JAX"]
"""Who sees a change: callers by position, callers by keyword, those of the two headers, and of frameworks."""

EVERYONE: tuple[Surface, ...] = ("Python", "keywords", "C", "C++")
_HEADERS: tuple[Surface, ...] = ("C", "C++")
_FRAMEWORKS: dict[Framework, Surface] = {"torch": "PyTorch", "jax": "JAX"}


class Change(msgspec.Struct, frozen=True):
    """One thing that callers can see."""

    function: str
    """With its module, such as ``norm.rmsnorm``; or the package, or a class of it."""
    what: str
    breaking: bool
    surfaces: tuple[Surface, ...] = EVERYONE


class Difference(msgspec.Struct, frozen=True):
    """All changes between two libraries."""

    changes: tuple[Change, ...]

    @property
    def verdict(self) -> Literal["identical", "compatible", "breaking"]:
        """Whether code that calls the old library can call the new one."""
        if not self.changes:
            return "identical"
        return "breaking" if any(change.breaking for change in self.changes) else "compatible"


def difference(old: Library, new: Library) -> Difference:
    """Compare two libraries, as far as those who call them are concerned."""
    changes = [*_package(old, new)]
    before, after = _functions(old), _functions(new)
    for name in before.keys() | after.keys():
        if name not in after:
            changes.append(Change(name, "was removed", breaking=True))
        elif name not in before:
            changes.append(Change(name, "was added", breaking=False))
        else:
            changes += _Comparison(name, *before[name], *after[name]).changes()
            changes += _effects(name, before[name][0], after[name][0], old, new)
    changes += _records(old, new)
    return Difference(tuple(sorted(changes, key=lambda c: (not c.breaking, c.function, c.what))))


def _package(old: Library, new: Library) -> Iterator[Change]:
    if old.package != new.package:
        yield Change(old.package, f"is called {new.package} now", breaking=True)
    for framework, surface in _FRAMEWORKS.items():
        if framework in old.frameworks and framework not in new.frameworks:
            yield Change(new.package, f"has no module for {surface} any more", True, (surface,))
        elif framework in new.frameworks and framework not in old.frameworks:
            yield Change(new.package, f"has a module for {surface}", False, (surface,))


def _functions(library: Library) -> dict[str, tuple[Kernel | Family, Module]]:
    return {
        f"{module.name}.{function.name}": (function, module)
        for module in library.modules
        for function in module.functions
    }


class _Comparison:
    """Compares one function with its successor."""

    def __init__(
        self,
        name: str,
        old: Kernel | Family,
        old_module: Module,
        new: Kernel | Family,
        new_module: Module,
    ) -> None:
        self._name = name
        self._old, self._new = old, new
        self._old_variants = _variants(old, old_module)
        self._new_variants = _variants(new, new_module)

    def changes(self) -> Iterator[Change]:
        """Yield what callers notice."""
        old, new = self._old.parameters, self._new.parameters
        if len(old) != len(new):
            yield self._changed(f"takes ({_names(new)}) where it took ({_names(old)})", breaking=True)
            return
        names = [p.name for p in old], [p.name for p in new]
        if names[0] != names[1] and sorted(names[0]) == sorted(names[1]):
            yield self._changed(f"has its parameters in another order: {_names(new)}", breaking=True)
            by_name = {parameter.name: parameter for parameter in new}
            told = _told((parameter, by_name[parameter.name]) for parameter in old)
            if told:
                yield self._changed(f"takes other arguments: {told}", breaking=True)
            return
        for before, after in zip(old, new, strict=True):
            yield from self._named(before, after)
            yield from self._keywords(before, after)
            yield from self._headers(before, after)
        yield from self._accepted()
        yield from self._architectures()
        yield from self._keys()

    def _changed(self, what: str, *, breaking: bool, surfaces: Sequence[Surface] = EVERYONE) -> Change:
        return Change(self._name, what, breaking, tuple(surfaces))

    def _named(self, before: Parameter, after: Parameter) -> Iterator[Change]:
        if before.name != after.name:
            what = f"calls its parameter {before.name} {after.name} now"
            yield self._changed(what, breaking=True, surfaces=("keywords",))

    def _keywords(self, before: Parameter, after: Parameter) -> Iterator[Change]:
        if after.kind not in (before.kind, "positional_or_keyword"):
            kinds = [kind.replace("_", " ") for kind in (after.kind, before.kind)]
            what = f"takes {after.name} {kinds[0]} where it took it {kinds[1]}"
            yield self._changed(what, breaking=True, surfaces=("keywords",))
        if before.default == after.default:
            return
        defaulted: tuple[Surface, ...] = ("keywords", "C++")
        if after.default is None:
            yield self._changed(
                f"has no default for {after.name} any more", breaking=True, surfaces=defaulted
            )
        elif before.default is None:
            shown = python_types.literal(after.default)
            what = f"has a default for {after.name}, {shown}"
            yield self._changed(what, breaking=False, surfaces=defaulted)
        else:
            shown = (
                f"{python_types.literal(after.default)} where it was {python_types.literal(before.default)}"
            )
            what = f"has another default for {after.name}: {shown}"
            yield self._changed(what, breaking=True, surfaces=defaulted)

    def _headers(self, before: Parameter, after: Parameter) -> Iterator[Change]:
        """Find what makes the headers' functions take more or fewer arguments."""
        if is_hidden(before.slot) != is_hidden(after.slot):
            shown = "passes" if is_hidden(after.slot) else "has to be given"
            what = f"{shown} {after.name}" + (" itself now" if is_hidden(after.slot) else " now")
            yield self._changed(what, breaking=True, surfaces=_HEADERS)

    def _accepted(self) -> Iterator[Change]:
        """Compare the calls that are accepted, variant by variant."""
        lost = [v for v in self._old_variants if not any(map(v.is_in, self._new_variants))]
        gained = [v for v in self._new_variants if not any(map(v.is_in, self._old_variants))]
        if not lost and not gained:
            return
        told = _told(zip(self._old.parameters, self._new.parameters, strict=True))
        if lost:
            shown = f": {told}" if told else ""
            keys = f" ({', '.join(v.key for v in lost if v.key)})" if lost[0].key else ""
            yield self._changed(f"accepts less than it did{keys}{shown}", breaking=True)
        else:
            keys = f" ({', '.join(v.key for v in gained if v.key)})" if gained[0].key else ""
            yield self._changed(
                f"accepts more than it did{keys}{f': {told}' if told else ''}", breaking=False
            )

    def _architectures(self) -> Iterator[Change]:
        lost = [
            device
            for device in archs.DEVICES
            if archs.best(self._old.archs, device) and not archs.best(self._new.archs, device)
        ]
        gained = [
            device
            for device in archs.DEVICES
            if archs.best(self._new.archs, device) and not archs.best(self._old.archs, device)
        ]
        if bool(self._old.archs) != bool(self._new.archs):
            where = "on a GPU" if self._new.archs else "on the host"
            yield self._changed(f"runs {where} now", breaking=True)
            return
        if lost:
            shown = ", ".join(f"sm_{device}" for device in lost)
            yield self._changed(f"does not run on {shown} any more", breaking=True)
        if gained:
            shown = ", ".join(f"sm_{device}" for device in gained)
            yield self._changed(f"runs on {shown} too", breaking=False)

    def _keys(self) -> Iterator[Change]:
        """Compare the names by which single variants are called."""
        old, new = ({v.key for v in vs if v.key} for vs in (self._old_variants, self._new_variants))
        if lost := sorted(old - new):
            what = f"has no {_counted_variants(lost)} any more"
            yield self._changed(what, breaking=True, surfaces=("Python", "C++"))
        if gained := sorted(new - old):
            what = f"has {'a ' if len(gained) == 1 else ''}{_counted_variants(gained)}"
            yield self._changed(what, breaking=False, surfaces=("Python", "C++"))


def _effects(
    name: str, before: Kernel | Family, after: Kernel | Family, old: Library, new: Library
) -> Iterator[Change]:
    """Compare what functions of frameworks return and change, where both libraries have them."""
    surfaces: tuple[Surface, ...] = tuple(
        surface for f, surface in _FRAMEWORKS.items() if f in old.frameworks and f in new.frameworks
    )
    if not surfaces:
        return
    for verb, was, now in (
        ("writes to", before.effects.mutates, after.effects.mutates),
        ("returns", before.effects.returns, after.effects.returns),
    ):
        if was != now:
            told = f"{verb} {', '.join(now) or 'nothing'}, not {', '.join(was) or 'nothing'}"
            yield Change(name, told, breaking=True, surfaces=surfaces)
    if before.effects.backward != after.effects.backward:
        gradient = after.effects.backward
        told = f"has its gradient from {gradient.function}" if gradient else "has no gradient any more"
        yield Change(name, told, breaking=gradient is None, surfaces=surfaces)


class _Accepted:
    """The calls that one variant accepts, its selectors included."""

    def __init__(self, key: str, choices: dict[int, object], found: Pattern) -> None:
        self.key = key
        self._choices = choices
        self._pattern = found

    def is_in(self, other: _Accepted) -> bool:
        """Return whether another variant accepts all of them."""
        return self._choices == other._choices and self._pattern.relation(other._pattern) in (
            "equal",
            "subset",
        )


def _variants(function: Kernel | Family, module: Module) -> list[_Accepted]:
    if isinstance(function, Kernel):
        return [_Accepted("", {}, pattern(p.slot for p in function.parameters))]
    found: list[_Accepted] = []
    for kernel in module.variants(function):
        variant = variant_of(kernel)
        choices = {
            index: variant.values[p.slot.axis]
            for index, p in enumerate(function.parameters)
            if isinstance(p.slot, ChoiceSlot)
        }
        slots: list[Slot] = [parameter.slot for parameter in kernel.parameters]
        found.append(_Accepted(variant.key, dict(choices), pattern(slots)))
    return found


def _counted_variants(keys: Sequence[str]) -> str:
    return f"variant{'s' if len(keys) > 1 else ''} {', '.join(keys)}"


def _told(pairs: Iterable[tuple[Parameter, Parameter]]) -> str:
    """Say what each parameter takes that takes something else now."""
    return "; ".join(
        f"{after.name} is {documentation.describe(after.slot)} where it was "
        f"{documentation.describe(before.slot)}"
        for before, after in pairs
        if before.slot != after.slot
    )


def _names(parameters: Sequence[Parameter]) -> str:
    return ", ".join(parameter.name for parameter in parameters)


def _records(old: Library, new: Library) -> Iterator[Change]:
    """Compare the classes of the packages."""
    before, after = _by_name(old), _by_name(new)
    surfaces: tuple[Surface, ...] = ("keywords", "C", "C++")
    for name, record in before.items():
        if name not in after:
            yield Change(name, "was removed", breaking=True, surfaces=surfaces)
        elif [f.name for f in record.fields] != [f.name for f in after[name].fields]:
            fields = ", ".join(field.name for field in after[name].fields)
            yield Change(name, f"has other fields: {fields}", breaking=True, surfaces=surfaces)
        elif record.kind != after[name].kind:
            yield Change(name, f"is a {after[name].kind} now", breaking=True, surfaces=("keywords",))
        elif record.fields != after[name].fields:
            yield Change(name, "has other defaults", breaking=True, surfaces=("keywords", "C++"))
    for name in after.keys() - before.keys():
        yield Change(name, "was added", breaking=False, surfaces=surfaces)


def _by_name(library: Library) -> dict[str, Record]:
    return {f"{module.name}.{record.name}": record for module in library.modules for record in module.records}

"""Families in C++: enums for choices that are words, calls that choose and calls that have chosen.

The template form names the choice as its argument. It calls the function behind that choice directly, so it
costs nothing, and a choice that has no variant is a compile error.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import selections
from stubgen.model.library import ChoiceSlot, Family, Kernel, Parameter
from stubgen.render import cpp_types
from stubgen.render.native.dispatcher import choice_symbol

_PLAIN_TYPES: dict[type, str] = {bool: "bool", int: "std::int64_t", float: "double"}


@dataclass(frozen=True)
class Choice:
    """A selector, as C++ shows it."""

    parameter: str
    """Name of the family's parameter, as its author spells it."""
    type: str
    slot: ChoiceSlot
    enumerators: tuple[str, ...] = ()
    """For each value, if the type is an enum of the header's own."""

    @property
    def is_enum(self) -> bool:
        """Whether the header has to define the type."""
        return bool(self.enumerators)

    @property
    def can_be_template_argument(self) -> bool:
        """Whether C++17 lets a template be chosen by it."""
        return self.type != "double"

    def expression(self, value: ChoiceValue) -> str:
        """Return a value as C++ writes it."""
        if self.is_enum:
            return f"{self.type}::{self.enumerators[self.slot.index(value)]}"
        return _passed(value)

    @property
    def passed(self) -> list[tuple[str, str]]:
        """For an enum, each enumerator and what the compiled function takes for it."""
        return [(self.expression(value), _passed(value)) for value in self.slot.values]


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that nothing else in the library's namespace has, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def choices(family: Family, taken: set[str]) -> list[Choice]:
    """Return the selectors of a family; types that the header defines get names that are not taken."""
    return [
        _choice(family, parameter, parameter.slot, taken)
        for parameter in family.choices
        if isinstance(parameter.slot, ChoiceSlot)
    ]


def _choice(family: Family, parameter: Parameter, slot: ChoiceSlot, taken: set[str]) -> Choice:
    plain = {_PLAIN_TYPES.get(type(value), "") for value in slot.values}
    if len(plain) == 1 and "" not in plain:
        return Choice(parameter.name, plain.pop(), slot)
    name = free_name(_camel_case(f"{family.name}_{parameter.name}"), taken)
    return Choice(parameter.name, name, slot, _enumerators(slot.values))


def _enumerators(values: Sequence[ChoiceValue]) -> tuple[str, ...]:
    """Name the values in an enum; they are numbered where words are the same, as ``none_2``."""
    words: list[str] = []
    for value in values:
        numbered = (f"{_word(value)}_{number}" for number in itertools.count(2))
        words.append(next(word for word in itertools.chain([_word(value)], numbered) if word not in words))
    return tuple(cpp_types.parameter_names(words))


def template_cases(
    family: Family, variants: Sequence[Kernel], found: Sequence[Choice], names: Sequence[str], package: str
) -> list[tuple[str, str]]:
    """Return for each choice that has variants the condition on the template's arguments, and its symbol."""
    cases: list[tuple[str, str]] = []
    for selection in selections(family, variants):
        tests = [
            f"{name} == {choice.expression(value)}"
            for name, choice, value in zip(names, found, selection.values, strict=True)
        ]
        cases.append((" && ".join(tests), choice_symbol(selection, family, package)))
    return cases


def _word(value: ChoiceValue) -> str:
    """Return the identifier that stands for a value in an enum."""
    if value is None:
        return "none"
    text = str(value).lower() if isinstance(value, str) else repr(value).lower().replace("-", "minus_")
    word = re.sub("[^a-z0-9]+", "_", text).strip("_")
    return word if word[:1].isalpha() else f"value_{word}".rstrip("_")


def _passed(value: ChoiceValue) -> str:
    match value:
        case None:
            return "nullptr"
        case bool():
            return "true" if value else "false"
        case str():
            return cpp_types.string(value)
        case int():
            return cpp_types.number("std::int64_t", value)
        case float():
            return cpp_types.number("double", value)


def _camel_case(name: str) -> str:
    camel = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    [spelled] = cpp_types.parameter_names([camel])
    return spelled

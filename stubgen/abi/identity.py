"""The build id: text and binary that belong together have the same, and no others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from stubgen.model.library import Default, Family, Kernel, Library, Module, Record, Symbol

_CONVENTION = 1
"""How text and binary talk to each other; raised when that changes, as when arguments are packed anew."""

_UNNOTICED: dict[type, frozenset[str]] = {
    Kernel: frozenset(
        {"abi", "archs", "doc", "entry", "env_streams", "frozen", "options", "place", "source"}
    ),
    Family: frozenset({"archs", "axes", "doc", "entry", "env_streams", "frozen", "place", "source"}),
    Module: frozenset({"doc", "source"}),
    Record: frozenset({"doc"}),
}
"""For each class of the model, the fields that callers cannot notice, or that follow from others."""


def build_id(library: Library) -> str:
    """Return the id of what callers rely on.

    That is: which modules, functions, variants and records there are and what they are called; for each
    parameter, in order, its name, how it is passed, its default, and the whole of its slot; selectors' values
    and fields of records in order; what functions write to and return; whether they run on the current
    stream. Compiled checks would refuse some of it, such as another rank, but not before a call.

    It is not: documentation, sources and line numbers, architectures, options, constants that were compiled
    in, names of sizes, the order of modules and functions, versions, and the name of the package.

    Parameters
    ----------
    library
        Whose own ``build_id`` does not matter.
    """
    modules = sorted(library.modules, key=lambda module: module.name)
    facts = [_CONVENTION, sorted(library.frameworks), [_facts(module, {}) for module in modules]]
    packed = msgspec.msgpack.encode(facts, order="deterministic")
    return hashlib.sha256(packed).hexdigest()[:12]


def _by_name(items: Sequence[Kernel | Family | Record]) -> list[Any]:
    return [_facts(item, {}) for item in sorted(items, key=lambda item: item.name)]


def _facts(value: Any, sizes: dict[str, int]) -> Any:
    """Return what callers notice of a part of the model as plain data; functions number their sizes."""
    match value:
        case Symbol(name=name, bits=bits, divisible_by=divisible_by):
            return [sizes.setdefault(name, len(sizes)), bits, divisible_by]
        case Module():
            return [value.name, _by_name(value.kernels), _by_name(value.families), _by_name(value.records)]
        case Default(value=default):
            return [default]
        case msgspec.Struct():
            kind = type(value)
            fields = [name for name in value.__struct_fields__ if name not in _UNNOTICED.get(kind, ())]
            facts = [kind.__name__, *(_facts(getattr(value, name), sizes) for name in fields)]
            return [*facts, bool(value.env_streams)] if isinstance(value, (Kernel, Family)) else facts
        case [*items]:
            return [_facts(item, sizes) for item in items]
        case {**named}:
            return {name: _facts(item, sizes) for name, item in named.items()}
        case _:
            return value

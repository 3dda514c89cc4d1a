"""Types of Python as values: put together as trees, and printed last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

OWN_NAMES = ("Pointer", "Stream", "Tensor")
"""Types that the generated package defines, in its module ``_types``."""


@dataclass(frozen=True)
class Name:
    """A type with a name: one of Python's, of the package's own, or a class of the author's."""

    name: str


@dataclass(frozen=True)
class Own(Name):
    """A type that the package defines for arguments of all kernels; one of :data:`OWN_NAMES`."""


@dataclass(frozen=True)
class Tuple:
    """A tuple of known length."""

    items: tuple[Type, ...]


@dataclass(frozen=True)
class Literal:
    """One of some values."""

    values: tuple[str, ...]
    """As Python source."""


@dataclass(frozen=True)
class Union:
    """Any of some types; made by :func:`union` alone."""

    parts: tuple[Type, ...]


Type: TypeAlias = "Name | Own | Tuple | Literal | Union"

NONE, BOOL = Name("None"), Name("bool")
POINTER, STREAM, TENSOR = map(Own, OWN_NAMES)


def union(types: Iterable[Type]) -> Type:
    """Join types, each once and ``None`` last; literals become one.

    >>> text(union([NONE, union([POINTER, TENSOR]), TENSOR]))
    'Pointer | Tensor | None'
    >>> text(union([Literal(("8",)), Name("int"), Literal(("16",))]))
    'Literal[8, 16] | int'
    >>> text(union([Literal(("False",)), Literal(("True",))]))
    'bool'
    """
    parts = list(dict.fromkeys(part for kind in types for part in _parts(kind)))
    literals = [part for part in parts if isinstance(part, Literal)]
    if len(literals) > 1:
        values = tuple(dict.fromkeys(value for literal in literals for value in literal.values))
        joined = BOOL if set(values) == {"True", "False"} else Literal(values)
        parts = [joined if part == literals[0] else part for part in parts if part not in literals[1:]]
    parts = sorted(dict.fromkeys(parts), key=lambda part: part == NONE)
    return parts[0] if len(parts) == 1 else Union(tuple(parts))


def _parts(kind: Type) -> tuple[Type, ...]:
    return kind.parts if isinstance(kind, Union) else (kind,)


def text(kind: Type, *, tensor: str = TENSOR.name) -> str:
    """Write a type as Python source.

    Parameters
    ----------
    kind
        What to write.
    tensor
        What tensors are called, as frameworks have their own.
    """
    match kind:
        case Name(name=name) | Own(name=name):
            return tensor if kind == TENSOR else name
        case Tuple(items=items):
            inner = ", ".join(text(item, tensor=tensor) for item in items)
            return f"tuple[{inner}]" if inner else "tuple[()]"
        case Literal(values=values):
            return f"Literal[{', '.join(values)}]"
        case Union(parts=parts):
            return " | ".join(text(part, tensor=tensor) for part in parts)


def nodes(kind: Type) -> Iterator[Type]:
    """Yield a type and all that it is made of."""
    yield kind
    inner = kind.items if isinstance(kind, Tuple) else kind.parts if isinstance(kind, Union) else ()
    for part in inner:
        yield from nodes(part)


def imports(types: Iterable[Type]) -> tuple[list[str], bool]:
    """Return what a file with these types imports: the package's own types, and whether ``Literal``."""
    used = {node for kind in types for node in nodes(kind)}
    own = sorted(node.name for node in used if isinstance(node, Own))
    return own, any(isinstance(node, Literal) for node in used)

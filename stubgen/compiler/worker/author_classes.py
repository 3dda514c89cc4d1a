"""The NamedTuples and dataclasses of authors, which a package defines anew for its users.

What a class means to its author is what it makes of the values that it is given. The package's own class has
the fields and their defaults, and nothing else. So only classes are taken whose objects are their fields.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

from stubgen.compiler.worker.plain_values import as_default
from stubgen.model.library import Default, Field, Record
from stubgen.model.names import can_name_class, can_name_field
from stubgen.model.text import docstring


class Misfit(NamedTuple):
    """Why a class of the author's cannot be defined anew."""

    reason: str
    instead: str


def is_record(value: Any) -> bool:
    """Return whether a value is an object of a NamedTuple or dataclass."""
    if isinstance(value, type) or hasattr(value, "_struct_type"):  # native structs are pointers to callers
        return False
    return _is_namedtuple(type(value)) or dataclasses.is_dataclass(value)


def _is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def field_names(value: Any) -> tuple[str, ...] | None:
    """Return the names of a record's fields, in the order of the compiled function; ``None`` for all else."""
    return _names(type(value)) if is_record(value) else None


def _names(cls: Any) -> tuple[str, ...]:
    return tuple(cls._fields if _is_namedtuple(cls) else (field.name for field in dataclasses.fields(cls)))


def items(value: Any, count: int) -> tuple[Any, ...]:
    """Return what is in a tuple or record, in order; ``None`` for each if that are not as many as given."""
    names = field_names(value)
    if isinstance(value, tuple | list):
        inner: tuple[Any, ...] = tuple(value)
    else:
        inner = tuple(getattr(value, name) for name in names or ())
    return inner if len(inner) == count else (None,) * count


def can_be_shown(cls: type, names: Iterable[str]) -> bool:
    """Return whether a generated module can define a class of that name with these fields.

    Where it cannot, callers pass a plain tuple.
    """
    return can_name_class(cls.__name__) and all(
        can_name_field(name) and not (_is_namedtuple(cls) and name.startswith("_")) for name in names
    )


def record(cls: Any) -> Record:
    """Describe the class that a package has in place of the author's."""
    if _is_namedtuple(cls):
        defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
        fields = tuple(Field(n, as_default(defaults[n]) if n in defaults else None) for n in cls._fields)
        return Record(cls.__name__, "namedtuple", fields, doc=_own_doc(cls))
    fields = tuple(Field(f.name, _default(f), f.kw_only is True) for f in dataclasses.fields(cls))
    return Record(cls.__name__, "dataclass", fields, doc=_own_doc(cls))


def _default(field: dataclasses.Field[Any]) -> Default | None:
    if field.default_factory is not dataclasses.MISSING:
        return as_default(field.default_factory())
    return None if field.default is dataclasses.MISSING else as_default(field.default)


def records_in(values: Iterable[Any]) -> dict[str, Record]:
    """Describe every record in some arguments, at any depth, by name."""
    records: dict[str, Record] = {}
    for value in values:
        names = field_names(value)
        if names is not None:
            described = record(type(value))
            records[described.name] = described
            records |= records_in(getattr(value, name) for name in names)
        elif isinstance(value, tuple | list):
            records |= records_in(value)
    return records


def _own_doc(cls: type) -> str:
    """Return the docstring that the author wrote, and not the one that Python makes up."""
    doc = docstring(cls.__doc__)
    return "" if doc.startswith(f"{cls.__name__}(") else doc


# ---------------------------------------------------------------------------------------------------------
# What a record must be


def misfit(value: Any) -> Misfit | None:
    """Return why a record's class makes more of its arguments than fields, or ``None`` if it does not."""
    cls = type(value)
    if _is_namedtuple(cls):
        return _namedtuple_misfit(cls)
    return _dataclass_misfit(cls) or _object_misfit(value)


def _namedtuple_misfit(cls: type) -> Misfit | None:
    owner = _owner(cls, "_fields")
    own = next((name for name in ("__new__", "__init__") if _owner(cls, name) not in (owner, object)), None)
    if own is None:
        return None
    return Misfit(f"a NamedTuple with its own {own}", f"take {own} away, and do in a function what it does")


def _dataclass_misfit(cls: Any) -> Misfit | None:
    # What dataclasses write comes from no file.
    init: Any = getattr(cls, "__init__")  # noqa: B009  # a checker takes cls.__init__ for an object's
    written = getattr(getattr(init, "__code__", None), "co_filename", "") == "<string>"
    own = next((name for name in ("__new__", "__init__") if _owner(cls, name) is not object), "__init__")
    if own == "__new__" or not written:
        return Misfit(f"a dataclass with its own {own}", "let dataclasses write what makes its objects")
    names = _names(cls)
    init_only = next((n for n in list(inspect.signature(init).parameters)[1:] if n not in names), None)
    if init_only is not None:
        return Misfit(f"a dataclass with the InitVar {init_only}", "make it a field, or take it away")
    left_out = next((field.name for field in dataclasses.fields(cls) if not field.init), None)
    if left_out is not None:
        return Misfit(
            f"a dataclass whose field {left_out} has init=False",
            "let callers give it, make it a ClassVar, or compute it in the kernel",
        )
    if hasattr(cls, "__post_init__"):
        return Misfit("a dataclass with __post_init__", "do in a function, or in the kernel, what it does")
    return None


def _object_misfit(value: Any) -> Misfit | None:
    """Find what the DSL, which reads the attributes of an object, stumbles over."""
    if not hasattr(value, "__dict__"):
        return Misfit("a dataclass with slots, which the DSL cannot read", "take slots=True away")
    extra = next((name for name in vars(value) if name not in _names(type(value))), None)
    if extra is None:
        return None
    return Misfit(
        f"a dataclass whose object has {extra}, which is no field", f"make {extra} a field, or leave it out"
    )


def _owner(cls: type, name: str) -> type | None:
    """Return the class that defines an attribute, in the order in which Python looks for it."""
    return next((owner for owner in cls.__mro__ if name in vars(owner)), None)

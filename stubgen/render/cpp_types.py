"""Slots as C++ types."""

from __future__ import annotations

from stubgen import names
from stubgen.model import (
    ConstantSlot,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)

_FFI = "::tvm::ffi"


def parameter_type(slot: Slot) -> str | None:
    """Give the type of a parameter, or ``None`` for a slot that takes one value and so is hidden."""
    match slot:
        case NoneSlot() | ConstantSlot():
            return None
        case TensorSlot():
            return f"{_FFI}::TensorView"
        case ShapeSlot():
            return f"const {_FFI}::Shape&"
        case TupleSlot():
            return f"const {_element_type(slot)}&"
        case _:
            return _element_type(slot)


def _element_type(slot: Slot) -> str:
    """Give the type inside a tuple, which owns what it holds: a view there does not compile."""
    match slot:
        case TensorSlot():
            return f"{_FFI}::Tensor"
        case ScalarSlot(dtype=dtype):
            return scalar_type(dtype)
        case PointerSlot() | StreamSlot():
            return "void*"
        case ShapeSlot():
            return f"{_FFI}::Shape"
        case NoneSlot():
            return f"{_FFI}::Any"
        case ConstantSlot(value=bool()):
            return "bool"
        case ConstantSlot(value=int()):
            return "std::int64_t"
        case ConstantSlot():
            return "double"
        case TupleSlot(items=items):
            return f"{_FFI}::Tuple<{', '.join(map(_element_type, items))}>"


def scalar_type(dtype: str) -> str:
    """Give the type of a number by tvm-ffi's name for it; small floats travel as ``float``."""
    if dtype == "bool":
        return "bool"
    if dtype.startswith(("int", "uint")):
        return f"std::{dtype}_t"
    return "double" if dtype == "float64" else "float"


def parameter_names(written: list[str]) -> list[str]:
    """Spell parameter names so that they are valid in C and C++ and differ from one another."""
    taken = set(written)
    spelled: list[str] = []
    for name in written:
        own = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
        while names.is_reserved_in_c(own) or (own != name and own in taken):
            own = own.lstrip("_") + "_" if own.startswith("_") else own + "_"
        taken.add(own)
        spelled.append(own)
    return spelled

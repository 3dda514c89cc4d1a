"""Slots as C++ types."""

from __future__ import annotations

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


_RESERVED = frozenset(
    # C and C++ keywords, alternative tokens, and macros of the standard headers that headers include.
    """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break
    case catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit
    const_cast continue contract_assert co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch synchronized template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    NULL EOF INFINITY NAN EDOM ERANGE EILSEQ assert errno stdin stdout stderr signals slots linux unix i386
    """.split()
)


def is_reserved(name: str) -> bool:
    """Tell whether C or C++ keeps a name for itself."""
    return (
        name in _RESERVED
        or name.startswith("__")
        or (name.startswith("_") and name[1:2].isupper())
        or name.startswith(("INT", "UINT"))
    )


def parameter_names(names: list[str]) -> list[str]:
    """Spell parameter names so that they are valid in C and C++ and differ from one another."""
    taken = set(names)
    spelled: list[str] = []
    for name in names:
        ascii_name = "".join(
            c if c.isascii() else f"u{ord(c):x}" for c in name
        )
        if ascii_name != name or is_reserved(ascii_name):
            while is_reserved(ascii_name) or ascii_name in taken:
                ascii_name = ascii_name.lstrip("_") + "_" if is_reserved(ascii_name) else ascii_name + "_"
            taken.add(ascii_name)
        spelled.append(ascii_name)
    return spelled

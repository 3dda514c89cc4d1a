"""Slots as C++ types, values as C++ expressions."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping
from typing import cast

from typing_extensions import assert_never

from stubgen.model import names
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    NoneSlot,
    OneOfSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    TensorSlot,
    TupleSlot,
)

HEADERS = {
    "TVMFFIAny": "tvm/ffi/c_api.h",
    "std::int": "cstdint",
    "std::numeric_limits": "limits",
    "std::uint": "cstdint",
    "tvm::ffi::Any": "tvm/ffi/any.h",
    "tvm::ffi::Optional": "tvm/ffi/optional.h",
    "std::nullopt": "optional",
    "std::optional": "optional",
    "tvm::ffi::Function": "tvm/ffi/function.h",
    "tvm::ffi::Shape": "tvm/ffi/container/shape.h",
    "tvm::ffi::Tensor": "tvm/ffi/container/tensor.h",
    "tvm::ffi::Tuple": "tvm/ffi/container/tuple.h",
}
"""What generated code uses, by how it begins, and the header that it comes from."""


def is_hidden(slot: Slot) -> bool:
    """Return whether only one value fits a slot, so that callers need not pass it."""
    match slot:
        case NoneSlot() | ConstantSlot():
            return True
        case TupleSlot(items=items):
            return all(map(is_hidden, items))
        case _:
            return False


def parameter_type(slot: Slot, structs: Mapping[TupleSlot, str]) -> str:
    """Return the type of a parameter; ``structs`` names those of records."""
    match slot:
        case TensorSlot():
            return "tvm::ffi::TensorView"
        case ScalarSlot(dtype=dtype):
            return parameter_of(scalar_type(dtype))
        case ShapeSlot() | TupleSlot():
            return f"const {member_type(slot, structs)}&"
        case OneOfSlot(alternatives=alternatives):
            return _common_type([a for a in alternatives if not isinstance(a, NoneSlot)], alternatives)
        case PointerSlot() | StreamSlot() | NoneSlot() | ConstantSlot() | ChoiceSlot():
            return member_type(slot, structs)
        case _:
            assert_never(slot)


def _common_type(given: list[Slot], alternatives: tuple[Slot, ...]) -> str:
    """Return a type that takes whatever one of several slots takes; the dispatcher looks at what it holds."""
    types = {parameter_type(slot, {}) for slot in given}
    if types == {parameter_of("std::uint64_t")}:
        common = types.pop()
    elif types <= _INTEGERS:
        common = parameter_of("std::int64_t")
    elif types <= _INTEGERS | {parameter_of("float"), parameter_of("double")}:
        common = parameter_of("double")
    elif types <= {"tvm::ffi::TensorView", "void*"} and len(types) == 1:
        common = types.pop()
    else:
        return "const tvm::ffi::Any&"
    if len(given) == len(alternatives) or common == "void*":
        return common
    return f"std::optional<{common}>"  # takes what converts to a view, which tvm-ffi's own does not


_COMMON = ("std::int64_t", "std::uint64_t", "double")
"""The types of numbers that take what one of several slots takes."""


def parameter_of(number: str) -> str:
    """Return the type of a parameter that takes a number of a type, and nothing that would be narrowed.

    >>> parameter_of("float")
    'Number<float>'
    """
    return f"Number<{number}>"


_INTEGERS = frozenset(
    parameter_of(f"std::{sign}int{bits}_t") for sign in ("", "u") for bits in (8, 16, 32, 64)
)


_IN_LITERALS = {byte: f"\\{byte:03o}" for byte in range(256) if not 32 <= byte < 127 or chr(byte) in '"\\?'}
"""Everything but plain ASCII as octal: three digits always, so that what follows does not belong to it."""


def string(text: str | bytes) -> str:
    """Return a string literal of C or C++."""
    data = text.encode() if isinstance(text, str) else text
    return f'"{data.decode("latin-1").translate(_IN_LITERALS)}"'


def member_type(slot: Slot, structs: Mapping[TupleSlot, str]) -> str:
    """Return the type of a member of a struct, which owns what it holds."""
    if isinstance(slot, TupleSlot) and slot in structs:
        return structs[slot]
    return _element_type(slot, hidden=False)


def stored_type(slot: TupleSlot) -> str:
    """Return the type of the tuple that a compiled function takes, with all that callers do not see."""
    return _element_type(slot, hidden=True)


def _element_type(slot: Slot, *, hidden: bool) -> str:
    """Return the type inside a tuple, with or without hidden slots; a view there does not compile."""
    match slot:
        case TensorSlot():
            return "tvm::ffi::Tensor"
        case ScalarSlot(dtype="uint64") if hidden:
            return "std::int64_t"  # with the same bits: tvm-ffi has no other integer
        case ScalarSlot(dtype=dtype):
            return scalar_type(dtype)
        case PointerSlot() | StreamSlot():
            return "void*"
        case ShapeSlot():
            return "tvm::ffi::Shape"
        case NoneSlot():
            return "tvm::ffi::Any"
        case ConstantSlot(value=bool()):
            return "bool"
        case ConstantSlot(value=int()):
            return "std::int64_t"
        case ConstantSlot():
            return "double"
        case TupleSlot(items=items):
            inner = [_element_type(item, hidden=hidden) for item in items if hidden or not is_hidden(item)]
            return f"tvm::ffi::Tuple<{', '.join(inner)}>"
        case ChoiceSlot() | OneOfSlot():
            raise TypeError("only parameters of families are choices, never what is inside of them")
        case _:
            assert_never(slot)


def scalar_type(dtype: str) -> str:
    """Return the type of a number by tvm-ffi's name for it; small floats travel as ``float``."""
    if dtype == "bool":
        return "bool"
    if "int" in dtype:
        return f"std::{dtype}_t"
    return "double" if dtype == "float64" else "float"


def default(slot: Slot, value: object) -> str | None:
    """Return a default that a slot admits as an expression, or ``None`` if C++ has none for it.

    >>> default(ScalarSlot("float32"), 1), default(ShapeSlot((4, 8)), (4, 8)), default(StreamSlot(), None)
    ('1.0f', '{4, 8}', 'nullptr')
    """
    match slot, value:
        case ScalarSlot(dtype=dtype), bool() | int() | float():
            return number(scalar_type(dtype), value)
        case ShapeSlot(), tuple():
            extents = cast("tuple[int, ...]", value)
            return f"{{{', '.join(number('std::int64_t', extent) for extent in extents)}}}"
        case ((PointerSlot() | StreamSlot()), None):
            return "nullptr"
        case OneOfSlot(), None:
            return "nullptr" if parameter_type(slot, {}) == "void*" else "std::nullopt"
        case OneOfSlot(), bool() | int() | float():
            kind = parameter_type(slot, {})
            return next((number(bare, value) for bare in _COMMON if kind == parameter_of(bare)), None)
        case _:
            return None


def constant(slot: ConstantSlot) -> str:
    """Return the value of a constant slot as an expression."""
    return number(_element_type(slot, hidden=True), slot.value)


def number(kind: str, value: float) -> str:
    """Return a number of some type as an expression."""
    if kind == "bool":
        return "true" if value else "false"
    if kind in {"float", "double"}:
        return _floating(kind, float(value))
    number = int(value)
    if number == -(2**63):  # the minus is an operator, and 2**63 no int64
        return "std::numeric_limits<std::int64_t>::min()"
    return f"{number}u" if number >= 2**63 else str(number)


def _floating(kind: str, value: float) -> str:
    if kind == "float":
        value = _rounded(value)
    if math.isnan(value):
        return f"std::numeric_limits<{kind}>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<{kind}>::infinity()"
    return f"{_shortest(value)}f" if kind == "float" else repr(value)


def _rounded(value: float) -> float:
    """Round to float32; what is too large becomes infinite, as it does in the compiled function."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _shortest(value: float) -> str:
    """Write a float32 with as few digits as identify it."""
    texts = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 10))
    return next((text for text in texts if _rounded(float(text)) == value), repr(value))


def parameter_names(written: list[str], taken: Collection[str] = ()) -> list[str]:
    """Spell names so that they are valid in C and C++ and differ from one another and from those taken."""
    others = {*written, *taken}
    spelled: list[str] = []
    for name in written:
        own = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
        while _is_unusable(own) or own in taken or (own != name and own in others):
            own = (own.lstrip("_") or "argument") + "_" if own.startswith("_") else own + "_"
        others.add(own)
        spelled.append(own)
    return spelled


def _is_unusable(name: str) -> bool:
    return names.is_reserved_in_c(name) or names.looks_like_macro(name)

"""What the library says of itself: C for tvm-ffi's questions, and the model for tools that do not load it.

tvm-ffi asks a function ``__tvm_ffi__metadata_<name>`` for JSON, and ``__tvm_ffi__doc_<name>`` for the
docstring. The model lies in a section of its own: a tool finds it without running anything, and whoever does
not want to ship it can remove it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from typing_extensions import assert_never

from stubgen.model import jsontext
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Family,
    Kernel,
    Library,
    Module,
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
from stubgen.model.section import to_section
from stubgen.render.cpp_types import string
from stubgen.render.description import describe_function
from stubgen.render.templates import fill

_BYTES_A_LINE = 64


@dataclass(frozen=True)
class _Text:
    """A text that a function of the library gives."""

    symbol: str
    literal: str
    size: int


def metadata(library: Library) -> dict[str, str]:
    """Return the C of a library's metadata, by what it is about.

    Each module's texts are apart, and the model is, so that a change in one leaves the objects of the others.
    """
    of_modules = {
        f"metadata-{module.name}": fill("native/metadata.c.j2", texts=list(_texts(module, library)))
        for module in library.modules
    }
    return {**of_modules, "model": _model(library)}


def _model(library: Library) -> str:
    # Literals, because compilers take ten times as long over an array's numbers.
    section = to_section(library)
    lines = (section[i : i + _BYTES_A_LINE] for i in range(0, len(section), _BYTES_A_LINE))
    return fill("native/model.c.j2", size=len(section), lines=list(map(string, lines)))


def exports(library: Library) -> tuple[str, ...]:
    """Return the symbols of the functions that answer for others."""
    names = [*(kernel.name for kernel in library.kernels), *(family.name for family in library.families)]
    return tuple(f"__tvm_ffi__{kind}_{name}" for name in names for kind in ("metadata", "doc"))


def _texts(module: Module, library: Library) -> Iterator[_Text]:
    functions: tuple[Kernel | Family, ...] = (*module.kernels, *module.families)
    for function in functions:
        yield _text(f"__tvm_ffi__metadata_{function.name}", _metadata(function, module, library))
        yield _text(f"__tvm_ffi__doc_{function.name}", function.doc)


def _text(symbol: str, text: str) -> _Text:
    data = text.encode()
    return _Text(symbol, string(data), len(data))


def _metadata(function: Kernel | Family, module: Module, library: Library) -> str:
    described = jsontext.plain(describe_function(function, module))
    arguments = [_schema(parameter.slot) for parameter in function.parameters]
    return json.dumps(
        {
            # Text in text, as tvm-ffi's own macros have it.
            "type_schema": json.dumps({"type": "ffi.Function", "args": [{"type": "None"}, *arguments]}),
            "package": library.package,
            **described,
            "source": function.source.file if function.source else module.source,
            "versions": msgspec.to_builtins(library.versions),
        }
    )


def _schema(slot: Slot) -> dict[str, object]:
    """Return a slot in the words of tvm-ffi's type schemas."""
    match slot:
        case TensorSlot():
            return {"type": "DLTensor*"}
        case ScalarSlot(dtype=dtype):
            return {"type": "bool" if dtype == "bool" else "int" if "int" in dtype else "float"}
        case NoneSlot():
            return {"type": "None"}
        case ConstantSlot(value=value):
            return {"type": type(value).__name__}
        case PointerSlot() | StreamSlot():
            return {"type": "ctypes.c_void_p"}
        case ShapeSlot():
            return {"type": "ffi.Shape"}
        case TupleSlot(items=items):
            return {"type": "tuple", "args": list(map(_schema, items))}
        case ChoiceSlot(values=values):
            names = {"str": "ffi.String", "NoneType": "None"}
            return _union([{"type": names.get(type(v).__name__, type(v).__name__)} for v in values])
        case OneOfSlot(alternatives=alternatives):
            return _union(list(map(_schema, alternatives)))
        case _:
            assert_never(slot)


def _union(schemas: list[dict[str, object]]) -> dict[str, object]:
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    return distinct[0] if len(distinct) == 1 else {"type": "Union", "args": distinct}

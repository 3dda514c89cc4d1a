"""The C++17 headers: one for each module, and one for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stubgen.model import (
    ConstantSlot,
    Kernel,
    Library,
    Module,
    NoneSlot,
    Parameter,
    ScalarSlot,
    Slot,
    TupleSlot,
)
from stubgen.render import cpp_comments, cpp_types
from stubgen.render.cpp_structs import Member, ModuleStructs, Struct, library_structs
from stubgen.render.layout import cpp_call, cpp_declaration, cpp_head
from stubgen.render.templates import fill


@dataclass(frozen=True)
class _Struct:
    """A struct, ready to be put into a header."""

    name: str
    comment: list[str]
    members: list[_Member]


@dataclass(frozen=True)
class _Member:
    """A member of a struct, ready to be put into it."""

    comment: list[str]
    declaration: str


@dataclass(frozen=True)
class _Function:
    """A function, ready to be put into a header."""

    entry_point: str
    comment: list[str]
    head: str
    call: str


def cpp_headers(library: Library) -> dict[str, str]:
    """Give every C++ header, by path relative to the output folder."""
    root = f"{library.package}/include"
    structs = library_structs(library)
    headers = {f"{library.package}/{m.name.replace('.', '/')}.hpp": m for m in library.modules}
    return {
        **{f"{root}/{path}": _header(library, m, structs[m.name]) for path, m in headers.items()},
        f"{root}/{library.package}.hpp": fill("umbrella.hpp.j2", headers=headers),
    }


def _header(library: Library, module: Module, structs: ModuleStructs) -> str:
    shown = [_struct(struct) for struct in structs.structs]
    functions = [_function(kernel, structs, library.package) for kernel in module.kernels]
    return fill(
        "module.hpp.j2",
        package=library.package,
        module=module,
        comment=cpp_comments.file_comment(module.doc or f"Kernels of {module.source}."),
        structs=shown,
        functions=functions,
        includes=_includes(
            [text for f in functions for text in (f.entry_point, f.head, f.call)]
            + [member.declaration for struct in shown for member in struct.members]
        ),
    )


def _includes(code: list[str]) -> list[list[str]]:
    """Give what a header has to include for the code in it: the standard library first, then tvm-ffi."""
    text = "\n".join(code)
    headers = sorted({header for use, header in cpp_types.HEADERS.items() if use in text})
    groups = [[h for h in headers if "/" not in h], [h for h in headers if "/" in h]]
    return [group for group in groups if group]


# ---------------------------------------------------------------------------------------------------------
# Structs


def _struct(struct: Struct) -> _Struct:
    comment, told = cpp_comments.struct_comment(struct)
    members = [_Member(told.get(member.name, []), _declaration(member)) for member in struct.members]
    return _Struct(struct.name, comment, members)


def _declaration(member: Member) -> str:
    default = f" = {member.default}" if member.default else ""
    return f"{member.type} {member.name}{default};"


# ---------------------------------------------------------------------------------------------------------
# Functions


def _function(kernel: Kernel, structs: ModuleStructs, package: str) -> _Function:
    symbol = kernel.linker_symbol(package)
    spelled = cpp_types.parameter_names([p.name for p in kernel.parameters], set(structs.names.values()))
    arguments = [
        _argument(parameter.slot, name, structs.of)
        for parameter, name in zip(kernel.parameters, spelled, strict=True)
    ]
    return _Function(
        entry_point=cpp_declaration(f"int {symbol}(void*, const TVMFFIAny*, std::int32_t, TVMFFIAny*);"),
        comment=cpp_comments.function_comment(
            kernel, {p.name: name for p, name in zip(kernel.parameters, spelled, strict=True)}, structs.of
        ),
        head=cpp_head(f"inline void {kernel.name}", _parameters(kernel.parameters, spelled, structs)),
        call=cpp_call("tvm::ffi::Function::InvokeExternC", ["nullptr", symbol, *arguments]),
    )


def _parameters(parameters: tuple[Parameter, ...], names: list[str], structs: ModuleStructs) -> list[str]:
    """Write the parameters that are not hidden; C++ has defaults only where none follows without one."""
    items: list[str] = []
    defaulted = True
    for parameter, name in reversed(list(zip(parameters, names, strict=True))):
        if cpp_types.is_hidden(parameter.slot):
            continue
        default = parameter.default and cpp_types.default(parameter.slot, parameter.default.value)
        defaulted = defaulted and default is not None
        kind = cpp_types.parameter_type(parameter.slot, structs.names)
        items.append(f"{kind} {name} = {default}" if defaulted else f"{kind} {name}")
    return list(reversed(items))


def _argument(slot: Slot, text: str, structs: Mapping[TupleSlot, Struct]) -> str:
    """Write what the compiled function gets for a slot, hidden values included."""
    match slot:
        case NoneSlot():
            return "nullptr"
        case ConstantSlot():
            return cpp_types.constant(slot)
        case ScalarSlot(dtype="uint64"):
            # tvm-ffi refuses the upper half of the range; the compiled function takes it as negative.
            return f"static_cast<std::int64_t>({text})"
        case TupleSlot() if slot in structs:
            at = {m.index: f"{text}.{m.name}" for m in structs[slot].members}
            return _rebuilt(slot, at, structs)
        case TupleSlot(items=items) if _hides(slot):
            visible = [index for index, item in enumerate(items) if not cpp_types.is_hidden(item)]
            return _rebuilt(slot, {index: f"{text}.get<{n}>()" for n, index in enumerate(visible)}, {})
        case _:
            return text


def _rebuilt(slot: TupleSlot, at: Mapping[int, str], structs: Mapping[TupleSlot, Struct]) -> str:
    items = [_argument(item, at.get(index, ""), structs) for index, item in enumerate(slot.items)]
    return f"{cpp_types.stored_type(slot)}({', '.join(items)})"


def _hides(slot: Slot) -> bool:
    """Tell whether something in a tuple is hidden, or the whole of it."""
    return cpp_types.is_hidden(slot) or (isinstance(slot, TupleSlot) and any(map(_hides, slot.items)))

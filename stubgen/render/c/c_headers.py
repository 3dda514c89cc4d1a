"""The C headers: one for each module, one for what these share, and one that includes all modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from stubgen.model.library import Family, Kernel, Library, Module, TupleSlot
from stubgen.render.c import c_values
from stubgen.render.c.c_values import CallerValue, Packing
from stubgen.render.cpp import cpp_comments
from stubgen.render.cpp.cpp_structs import ModuleStructs, Struct, library_structs
from stubgen.render.header_parts import HeaderMember, HeaderStruct
from stubgen.render.layout import c_array, cpp_call, cpp_declaration, cpp_head
from stubgen.render.native import linkage
from stubgen.render.templates import fill

_HEADERS = {"INFINITY": "math.h", "NAN": "math.h"}
"""What generated code may use beyond the header that all share, and where that comes from."""

_TRUE_OF_ALL = (
    "Every function returns 0, or another value if an argument does not fit or CUDA reports an error; then "
    "{package}_take_error tells which.",
    "Nothing is allocated and no argument is kept.",
    "A DLTensor needs its strides set, as DLPack demands since version 1.2.",
)


@dataclass(frozen=True)
class _CFunction:
    """A function, ready to be put into a header."""

    entry_point: str
    comment: list[str]
    head: str
    body: list[str]


def c_headers(library: Library) -> dict[str, str]:
    """Return every C header, by path relative to the output folder."""
    package = library.package
    structs = library_structs(library)
    headers = {f"{package}/{m.name.replace('.', '/')}.h": m for m in library.modules}
    files = {
        **{path: _header(library, m, structs[m.name]) for path, m in headers.items()},
        f"{package}.h": fill("c/umbrella.h.j2", headers=headers),
    }
    files = {f"{package}/include/{path}": text for path, text in files.items()}
    return {**files, **shared_headers(library)}


def shared_headers(library: Library) -> dict[str, str]:
    """Return the headers that those of modules include, C and C++, by path relative to the output folder."""
    folder = f"{library.package}/include/{library.package}"
    return {
        f"{folder}/runtime.h": _runtime("c/runtime.h.j2", library),
        f"{folder}/runtime.hpp": _runtime("cpp/runtime.hpp.j2", library),
    }


def _runtime(template: str, library: Library) -> str:
    registered_as = library.registered_as
    register = linkage.register_symbol(registered_as) if registered_as else None
    return fill(
        template,
        package=library.package,
        register=register,
        registered_as=registered_as,
        build=linkage.build(library),
    )


def _header(library: Library, module: Module, structs: ModuleStructs) -> str:
    package = library.package
    functions = list(_functions(module, structs, package))
    code = "\n".join(line for function in functions for line in function.body)
    facts = [fact.format(package=package) for fact in _TRUE_OF_ALL]
    return fill(
        "c/module.h.j2",
        package=package,
        build=linkage.build(library),
        module=module,
        comment=cpp_comments.file_comment(module.doc or f"Kernels of {module.source}.", facts),
        structs=[_struct(slot, struct, structs.of, package) for slot, struct in _once(structs.of)],
        functions=functions,
        includes=sorted({"stdint.h", *(header for use, header in _HEADERS.items() if use in code)}),
    )


# ---------------------------------------------------------------------------------------------------------
# Structs


def _once(structs: Mapping[TupleSlot, Struct]) -> list[tuple[TupleSlot, Struct]]:
    """Return each struct with one of the places that take it, in the order of their definitions."""
    slots: dict[str, TupleSlot] = {}
    for slot, struct in structs.items():
        slots.setdefault(struct.name, slot)
    return [(slot, structs[slot]) for slot in slots.values()]


def _struct(
    slot: TupleSlot, struct: Struct, structs: Mapping[TupleSlot, Struct], package: str
) -> HeaderStruct:
    comment, told = cpp_comments.struct_comment(struct)
    fields = {struct.fields[member.index]: told.get(member.name, []) for member in struct.members}
    members = [
        HeaderMember(fields.get(value.path, []), f"{value.declaration(package, structs)};")
        for value in c_values.members(slot, structs)
    ]
    return HeaderStruct(f"{package}_{struct.name}", comment, members)


# ---------------------------------------------------------------------------------------------------------
# Functions


def _functions(module: Module, structs: ModuleStructs, package: str) -> Iterator[_CFunction]:
    """Return the public functions of a module, and behind each family its variants."""
    for function in module.functions:
        variants = module.variants(function) if isinstance(function, Family) else ()
        yield _function(function, structs, package, variants)
        for variant in variants:
            yield _function(variant, structs, package)


def _function(
    function: Kernel | Family, structs: ModuleStructs, package: str, variants: Sequence[Kernel] = ()
) -> _CFunction:
    symbol = function.linker_symbol(package)
    parts = [part for p in function.parameters for part in c_values.taken_apart(p, structs.of)]
    values = c_values.arguments(parts)
    declared = [value.declaration(package, structs.of) for value in values]
    return _CFunction(
        entry_point=cpp_declaration(f"int {symbol}(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);"),
        comment=cpp_comments.function_comment(
            msgspec.structs.replace(function, parameters=tuple(parts)),
            {part.name: part.name for part in parts} | {value.path: value.name for value in values},
            structs.of,
            variants,
        ),
        head=cpp_head(f"static inline int {package}_{function.name}", declared or ["void"]),
        body=_body(function, symbol, values, structs, package),
    )


def _body(
    function: Kernel | Family, symbol: str, values: list[CallerValue], structs: ModuleStructs, package: str
) -> list[str]:
    packing = Packing(package, c_values.texts(values, structs.of))
    packed = [packing.value(p.name, p.slot) for p in function.parameters]
    passed, count = ("ffi_arguments", len(packed)) if packed else ("NULL", 0)
    array = [c_array(f"const TVMFFIAny {passed}[]", packed)] if packed else []
    call = cpp_call(f"return {package}__call", [symbol, passed, str(count)])
    return [*packing.statements, *array, call]

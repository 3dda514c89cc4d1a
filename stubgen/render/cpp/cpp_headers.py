"""The C++17 headers: one for each module, and one for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import variant_of
from stubgen.model.library import (
    ConstantSlot,
    Family,
    Kernel,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Parameter,
    ScalarSlot,
    Slot,
    TupleSlot,
)
from stubgen.render import cpp_types
from stubgen.render.cpp import cpp_comments, cpp_families
from stubgen.render.cpp.cpp_structs import Member, ModuleStructs, Struct, library_structs
from stubgen.render.header_parts import HeaderMember, HeaderStruct
from stubgen.render.layout import cpp_call, cpp_declaration, cpp_head
from stubgen.render.native import linkage
from stubgen.render.templates import fill


@dataclass(frozen=True)
class _CppFunction:
    """A function, ready to be put into a header."""

    entry_point: str
    comment: list[str]
    head: str
    call: str


@dataclass(frozen=True)
class _Enum:
    """An enum for a selector of a family, ready to be put into a header."""

    name: str
    comment: str
    enumerators: str
    passed: list[tuple[str, str]]
    """Each enumerator, and what the compiled function takes for it."""


@dataclass(frozen=True)
class _CppFamily(_CppFunction):
    """A family, ready to be put into a header."""

    name: str = ""
    enums: list[_Enum] = field(default_factory=list[_Enum])
    variants: list[_CppFunction] = field(default_factory=list[_CppFunction])
    namespace: str = ""
    """Of the variants."""
    template: str = ""
    """Its parameter list; empty if callers have nothing to choose, or nothing that C++ can choose by."""
    entry: str = ""
    """The variable in it that holds the function that is called."""
    template_head: str = ""
    template_call: str = ""
    cases: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """For each choice that has variants, the condition and the symbol."""


def cpp_headers(library: Library) -> dict[str, str]:
    """Return every C++ header, by path relative to the output folder."""
    root = f"{library.package}/include"
    structs = library_structs(library)
    headers = {f"{library.package}/{m.name.replace('.', '/')}.hpp": m for m in library.modules}
    taken = {"StreamGuard", *(function.name for m in library.modules for function in m.functions)}
    taken |= {name for module in structs.values() for name in module.names.values()}
    detail = cpp_families.free_name("detail", taken)
    return {
        **{
            f"{root}/{path}": _header(library, m, structs[m.name], taken, detail)
            for path, m in headers.items()
        },
        f"{root}/{library.package}.hpp": fill("cpp/umbrella.hpp.j2", headers=headers),
    }


def _header(library: Library, module: Module, structs: ModuleStructs, taken: set[str], detail: str) -> str:
    shown = [_struct(struct) for struct in structs.structs]
    functions = [
        _family(function, module, structs, library.package, taken, detail)
        if isinstance(function, Family)
        else _function(function, structs, library.package)
        for function in module.functions
    ]
    families = [function for function in functions if isinstance(function, _CppFamily)]
    every = [*functions, *(variant for family in families for variant in family.variants)]
    return fill(
        "cpp/module.hpp.j2",
        package=library.package,
        build=linkage.build(library),
        module=module,
        comment=cpp_comments.file_comment(module.doc or f"Kernels of {module.source}."),
        structs=shown,
        functions=functions,
        families=families,
        detail=detail,
        includes=_includes(
            [text for f in every for text in (f.entry_point, f.head, f.call)]
            + [text for f in families for text in (f.template, "tvm::ffi::Any" if f.enums else "")]
            + [member.declaration for struct in shown for member in struct.members]
        ),
    )


def _includes(code: list[str]) -> list[list[str]]:
    """Return what a header has to include for the code in it: the standard library first, then tvm-ffi."""
    text = "\n".join(code)
    headers = sorted({header for use, header in cpp_types.HEADERS.items() if use in text})
    groups = [[h for h in headers if "/" not in h], [h for h in headers if "/" in h]]
    return [group for group in groups if group]


# ---------------------------------------------------------------------------------------------------------
# Structs


def _struct(struct: Struct) -> HeaderStruct:
    comment, told = cpp_comments.struct_comment(struct)
    members = [HeaderMember(told.get(member.name, []), _declaration(member)) for member in struct.members]
    return HeaderStruct(struct.name, comment, members)


def _declaration(member: Member) -> str:
    default = f" = {member.default}" if member.default else ""
    return f"{member.type} {member.name}{default};"


# ---------------------------------------------------------------------------------------------------------
# Functions


def _function(kernel: Kernel, structs: ModuleStructs, package: str) -> _CppFunction:
    symbol = kernel.linker_symbol(package)
    spelled = _spelled(kernel, structs)
    comment = cpp_comments.function_comment(kernel, _by_name(kernel, spelled), structs.of)
    return _called(package, kernel.name, symbol, kernel.parameters, spelled, structs, comment)


def _family(
    family: Family, module: Module, structs: ModuleStructs, package: str, taken: set[str], detail: str
) -> _CppFamily:
    variants = module.variants(family)
    symbol = family.linker_symbol(package)
    choices = cpp_families.choices(family, taken)
    spelled = _spelled(family, structs, {choice.type for choice in choices})
    entry = cpp_families.free_name("entry", set(spelled))
    comment = cpp_comments.function_comment(family, _by_name(family, spelled), structs.of, variants)
    types = {choice.parameter: choice for choice in choices}
    own = _called(package, family.name, symbol, family.parameters, spelled, structs, comment, types, detail)
    kept = [index for index, p in enumerate(family.parameters) if p.name not in types]
    by_template = bool(choices) and all(choice.can_be_template_argument for choice in choices)
    names = [spelled[index] for index, p in enumerate(family.parameters) if p.name in types]
    left = [family.parameters[index] for index in kept], [spelled[index] for index in kept]
    return _CppFamily(
        own.entry_point,
        own.comment,
        own.head,
        own.call,
        name=family.name,
        namespace=cpp_families.free_name(f"{family.name}_variants", taken),
        enums=[_enum(choice, family) for choice in choices if choice.is_enum],
        variants=[_variant(family, kernel, structs, package) for kernel in variants],
        template=", ".join(f"{c.type} {name}" for c, name in zip(choices, names, strict=True))
        if by_template
        else "",
        entry=entry,
        template_head=cpp_head(f"inline void {family.name}", _parameters(tuple(left[0]), left[1], structs)),
        template_call=cpp_call(
            "tvm::ffi::Function::InvokeExternC",
            [f"{package}__self", entry, *_arguments(left[0], left[1], structs)],
        ),
        cases=cpp_families.template_cases(family, variants, choices, names, package) if by_template else [],
    )


def _variant(family: Family, kernel: Kernel, structs: ModuleStructs, package: str) -> _CppFunction:
    key = variant_of(kernel).key
    name = f"_{key}" if key[0].isdigit() else key
    [name] = cpp_types.parameter_names([name])
    comment = cpp_comments.variant_comment(family, kernel)
    spelled = _spelled(kernel, structs)
    symbol = kernel.linker_symbol(package)
    return _called(package, name, symbol, kernel.parameters, spelled, structs, comment)


def _enum(choice: cpp_families.Choice, family: Family) -> _Enum:
    return _Enum(
        choice.type,
        f"/// What `{choice.parameter}` of {family.name} may be.",
        ", ".join(choice.enumerators),
        choice.passed,
    )


def _spelled(function: Kernel | Family, structs: ModuleStructs, types: Collection[str] = ()) -> list[str]:
    """Spell the parameters so that none hides a type that is used beside it."""
    taken = {*structs.names.values(), *types, "Number"}
    return cpp_types.parameter_names([p.name for p in function.parameters], taken)


def _by_name(function: Kernel | Family, spelled: list[str]) -> dict[str, str]:
    return {p.name: name for p, name in zip(function.parameters, spelled, strict=True)}


def _called(
    package: str,
    name: str,
    symbol: str,
    parameters: tuple[Parameter, ...],
    spelled: list[str],
    structs: ModuleStructs,
    comment: list[str],
    choices: Mapping[str, cpp_families.Choice] | None = None,
    detail: str = "",
) -> _CppFunction:
    arguments = _arguments(parameters, spelled, structs, choices, detail)
    return _CppFunction(
        entry_point=cpp_declaration(f"int {symbol}(void*, const TVMFFIAny*, std::int32_t, TVMFFIAny*);"),
        comment=comment,
        head=cpp_head(f"inline void {name}", _parameters(parameters, spelled, structs, choices)),
        call=cpp_call("tvm::ffi::Function::InvokeExternC", [f"{package}__self", symbol, *arguments]),
    )


def _parameters(
    parameters: tuple[Parameter, ...],
    names: list[str],
    structs: ModuleStructs,
    choices: Mapping[str, cpp_families.Choice] | None = None,
) -> list[str]:
    """Write the parameters that are not hidden; C++ has defaults only where none follows without one."""
    items: list[str] = []
    defaulted = True
    for parameter, name in reversed(list(zip(parameters, names, strict=True))):
        if cpp_types.is_hidden(parameter.slot):
            continue
        choice = (choices or {}).get(parameter.name)
        value = parameter.default
        if choice is not None:
            kind = choice.type if choice.is_enum else cpp_types.parameter_of(choice.type)
            default = value and choice.expression(cast("ChoiceValue", value.value))
        else:
            kind = cpp_types.parameter_type(parameter.slot, structs.names)
            if kind == "tvm::ffi::TensorView":
                # A view is 48 bytes, and copying three costs 1 ns of a call that takes 7.
                kind = f"const {kind}&"
            default = value and cpp_types.default(parameter.slot, value.value)
        defaulted = defaulted and default is not None
        items.append(f"{kind} {name} = {default}" if defaulted else f"{kind} {name}")
    return list(reversed(items))


def _arguments(
    parameters: Sequence[Parameter],
    names: Sequence[str],
    structs: ModuleStructs,
    choices: Mapping[str, cpp_families.Choice] | None = None,
    detail: str = "",
) -> list[str]:
    """Write what the compiled function gets."""
    passed: list[str] = []
    for parameter, name in zip(parameters, names, strict=True):
        choice = (choices or {}).get(parameter.name)
        if choice is not None and choice.is_enum:
            passed.append(f"{detail}::passed({name})")
        elif choice is not None:
            passed.append(f"{name}.passed()")
        else:
            passed.append(_parameter_passed(parameter.slot, name, structs))
    return passed


def _parameter_passed(slot: Slot, name: str, structs: ModuleStructs) -> str:
    """Write what the compiled function gets for a parameter, which is wrapped if it is a number."""
    kind = cpp_types.parameter_type(slot, structs.names)
    if kind.startswith("Number<"):
        return f"{name}.passed()"
    if kind.startswith("std::optional<Number<"):
        return f"{name} ? {name}->passed() : tvm::ffi::AnyView()"
    return _argument(slot, name, structs.of)


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
        case OneOfSlot() if (kind := cpp_types.parameter_type(slot, {})).startswith("std::optional<"):
            return f"{kind.replace('std::optional', 'tvm::ffi::Optional', 1)}({text})"
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
    """Return whether something in a tuple is hidden, or the whole of it."""
    return cpp_types.is_hidden(slot) or (isinstance(slot, TupleSlot) and any(map(_hides, slot.items)))

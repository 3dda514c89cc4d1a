"""The generated Python package: runtime, positional and keyword modules, and their stubs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

from stubgen.model.library import Family, Kernel, Library, Module, Parameter, PointerSlot
from stubgen.model.supported import TVM_FFI
from stubgen.render import documentation, python_types, type_trees
from stubgen.render.layout import WIDTH, call_like, docstring
from stubgen.render.native.linkage import MOST_LEVELS
from stubgen.render.project.requirements import tvm_ffi_releases
from stubgen.render.python import overloads, records
from stubgen.render.templates import fill
from stubgen.render.type_trees import Type

_INDENT = " " * 4


def python_package(library: Library) -> dict[str, str]:
    """Return every Python file of the package, by path relative to the output folder."""
    root = library.package
    oldest, too_new = tvm_ffi_releases()
    files = {
        f"{root}/py.typed": "",
        f"{root}/_types.py": fill("python/types.py.j2", package=root),
        f"{root}/_runtime.py": fill(
            "python/runtime.py.j2",
            package=root,
            requirement=TVM_FFI.requirement,
            oldest=oldest,
            too_new=too_new,
            registered_as=library.registered_as,
            shared_runtime=library.shared_runtime,
            machine=library.machine,
            has_frameworks=bool(library.frameworks),
            build_id=library.build_id,
            levels=MOST_LEVELS,
        ),
        **({f"{root}/_calls.py": fill("python/calls.py.j2")} if library.registered_as else {}),
        **_package_files(library, root, kwargs=False),
        **_package_files(library, f"{root}/kwargs", kwargs=True),
    }
    for module in library.modules:
        path = module.name.replace(".", "/")
        files[f"{root}/{path}.py"] = _module_file("python/module.py.j2", library, module, _positional)
        files[f"{root}/{path}.pyi"] = _module_file("python/module.pyi.j2", library, module, _positional)
        files[f"{root}/kwargs/{path}.py"] = _module_file("python/kwargs.py.j2", library, module, _keyword)
        files[f"{root}/kwargs/{path}.pyi"] = _module_file("python/kwargs.pyi.j2", library, module, _keyword)
    return files


# ---------------------------------------------------------------------------------------------------------
# Packages


@dataclass(frozen=True)
class _ModuleEntry:
    """A line of a package's table of contents."""

    name: str
    summary: str


def _package_files(library: Library, path: str, *, kwargs: bool) -> dict[str, str]:
    """Return ``__init__`` files: of the package itself, and of every folder that modules lie in."""
    template = "python/kwargs_init" if kwargs else "python/init"
    entries = [_ModuleEntry(m.name, (m.doc.splitlines() or [""])[0]) for m in library.modules]
    context = {
        "package": library.package,
        "registered_as": library.registered_as,
        "doc": docstring(_contents(library.package, entries), ""),
        "children": _children(entries, ""),
        "own_names": type_trees.OWN_NAMES,
    }
    files = {
        f"{path}/__init__.py": fill(f"{template}.py.j2", **context),
        f"{path}/__init__.pyi": fill(f"{template}.pyi.j2", **context),
    }
    for folder in sorted(_folders(entries)):
        inner = {"package": library.package, "children": _children(entries, folder + ".")}
        text = fill("python/folder_init.py.j2", **inner)
        for suffix in (".py", ".pyi"):
            files[f"{path}/{folder.replace('.', '/')}/__init__{suffix}"] = text
    return files


def _contents(package: str, entries: list[_ModuleEntry]) -> list[str]:
    """Return the package's docstring, with a line for each module; the summaries are the users' own words."""
    shown = [entry for entry in entries if "." not in entry.name]
    width = max((len(entry.name) for entry in shown), default=0)
    return [
        "CuTe DSL kernels, compiled ahead of time.",
        "",
        "Functions take their arguments by position, at the cost of a native call. "
        f"The package ``{package}.kwargs``",
        "has the same functions with keywords and defaults.",
        *([""] if shown else []),
        *(f"{entry.name.ljust(width)}  {entry.summary}".rstrip() for entry in shown),
    ]


def _folders(entries: list[_ModuleEntry]) -> set[str]:
    return {
        entry.name.rsplit(".", depth)[0] for entry in entries for depth in range(1, entry.name.count(".") + 1)
    }


def _children(entries: list[_ModuleEntry], prefix: str) -> list[str]:
    names = {e.name[len(prefix) :].split(".")[0] for e in entries if e.name.startswith(prefix)}
    return sorted(names)


# ---------------------------------------------------------------------------------------------------------
# Modules


@dataclass(frozen=True)
class _PythonFunction:
    """A function, ready to be put into a file."""

    name: str
    decorator: str
    signature: str
    doc: str
    overloads: list[str] = dataclass_field(default_factory=list[str])
    """Signatures for a stub that needs several."""
    uses: list[Type] = dataclass_field(default_factory=list[Type])
    """The types in all that is shown of it."""


@dataclass(frozen=True)
class _VariantType:
    """Variants of a family that take the same in Python."""

    name: str
    prototype: str
    signature: str
    method: str
    doc: str


@dataclass(frozen=True)
class _PythonFamily(_PythonFunction):
    """A family, ready to be put into a positional module."""

    class_name: str = ""
    class_doc: str = ""
    method_doc: str = ""
    methods: list[str] = dataclass_field(default_factory=list[str])
    """Signatures of ``__call__``: several are overloads."""
    types: list[_VariantType] = dataclass_field(default_factory=list[_VariantType])
    keys: list[tuple[str, _VariantType]] = dataclass_field(default_factory=list[tuple[str, _VariantType]])
    """Every variant's key and type."""


def _module_file(
    template: str,
    library: Library,
    module: Module,
    surface: Callable[[Module, Kernel | Family], _PythonFunction],
) -> str:
    functions = [surface(module, function) for function in module.functions]
    families = [function for function in functions if isinstance(function, _PythonFamily)]
    classes = [records.python_class(record, module) for record in module.records]
    used = [kind for function in functions for kind in function.uses]
    if surface is _positional:
        used += [kind for cls in classes for kind in cls.types]
    own, literal = type_trees.imports(used)
    depth = module.name.count(".")
    return fill(
        template,
        package=library.package,
        build_id=library.build_id,
        module=module,
        doc=docstring(module.doc.splitlines() or [f"Kernels of {module.source}."], ""),
        functions=functions,
        families=families,
        overloaded=any(f.overloads for f in functions) or any(len(f.methods) > 1 for f in families),
        classes=classes,
        mixed_fields=any(map(records.has_mixed_fields, module.records)),
        record_kinds=sorted({r.kind for r in module.records}),
        own_names=own,
        literal=literal,
        public=[*(f.name for f in functions), *(c.name for c in classes)],
        up="." * (depth + 1),
        parent=module.name.rpartition(".")[0],
        stem=module.name.rpartition(".")[2],
    )


def _positional(module: Module, function: Kernel | Family) -> _PythonFunction:
    if isinstance(function, Family):
        return _family(module, function)
    return _PythonFunction(
        function.name,
        "@_native",
        _positional_signature(function.name, function.parameters),
        _function_docstring(module, function),
        uses=python_types.types_of(function.parameters, records=False),
    )


def _positional_signature(name: str, parameters: Iterable[Parameter], *first: str) -> str:
    return call_like(f"def {name}", [*first, *python_types.positional_items(parameters)], " -> None:")


def _family(module: Module, family: Family) -> _PythonFamily:
    variants = module.variants(family)
    class_name = _class_names(module)[family.name]
    types = _variant_types(family, class_name, overloads.by_signature(variants))
    signatures = overloads.overloads(family, variants)
    shown = [family.parameters, *signatures, *(kernel.parameters for kernel in variants)]
    count = f"{len(variants)} variant{'s' if len(variants) > 1 else ''}"
    return _PythonFamily(
        name=family.name,
        decorator="@_family",
        signature=_positional_signature(family.name, family.parameters),
        doc=_function_docstring(module, family),
        class_name=class_name,
        class_doc=docstring([f"{family.name}, in {count}."], _INDENT),
        method_doc=textwrap.indent(_function_docstring(module, family), _INDENT),
        methods=[_method(parameters) for parameters in signatures],
        uses=[kind for parameters in shown for kind in python_types.types_of(parameters, records=False)],
        types=list(dict.fromkeys(types.values())),
        keys=[(kernel.variant.key, types[kernel.name]) for kernel in variants if kernel.variant],
    )


def _variant_types(family: Family, class_name: str, groups: list[list[Kernel]]) -> dict[str, _VariantType]:
    """Return the type of each variant, by name; they are numbered if there are several."""
    found: dict[str, _VariantType] = {}
    for number, group in enumerate(groups, 1):
        parameters = group[0].parameters
        suffix = str(number) if len(groups) > 1 else ""
        prototype = f"_{family.name}_variant{suffix}"
        kind = _VariantType(
            name=f"{class_name}Variant{suffix}",
            prototype=prototype,
            signature=_positional_signature(prototype, parameters),
            method=_method(parameters),
            doc=docstring([f"One variant of {family.name}."], _INDENT),
        )
        found.update((kernel.name, kind) for kernel in group)
    return found


def _method(parameters: Sequence[Parameter]) -> str:
    """Return the head of a ``__call__`` that takes these; one of them may be called ``self``."""
    own = "self"
    while any(parameter.name == own for parameter in parameters):
        own = f"_{own}"
    return textwrap.indent(_positional_signature("__call__", parameters, own), _INDENT)


def _class_names(module: Module) -> dict[str, str]:
    """Name the private class of each family in a stub; its own with ``Variants`` behind it too."""
    names: dict[str, str] = {}
    for family in module.families:
        words = re.split(r"(?<=[^_])_(?=[^_])", family.name)
        name = "_" + "".join(word[:1].upper() + word[1:] for word in words)
        while any(_meet(name, other) for other in names.values()):
            name += "_"
        names[family.name] = name
    return names


def _meet(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return short == long or re.fullmatch(r"Variants?\d*", long.removeprefix(short)) is not None


def _keyword(module: Module, function: Kernel | Family) -> _PythonFunction:
    parameters = function.parameters
    dataclasses = {record.name for record in module.records if record.kind == "dataclass"}
    unpacked = [p.name for p in parameters if python_types.holds_dataclass(p.slot, dataclasses)]
    pointers = {
        index: (p.slot.dtype, p.slot.alignment or 1, p.slot.device or "cuda")
        for index, p in enumerate(parameters)
        if isinstance(p.slot, PointerSlot) and p.slot.dtype is not None
    }
    extra = [f"unpack={unpacked!r}".replace("'", '"')] if unpacked else []
    extra += [f"pointers={pointers!r}".replace("'", '"')] if pointers else []
    narrowed = (
        overloads.overloads(function, module.variants(function)) if isinstance(function, Family) else []
    )
    signatures = _keyword_overloads(function, narrowed) if isinstance(function, Family) else []
    return _PythonFunction(
        function.name,
        call_like("@_keywords", [f"_positional.{function.name}", *extra], ""),
        _keyword_signature(function.name, parameters, python_types.first_by_keyword(parameters)),
        _function_docstring(module, function),
        signatures if len(signatures) > 1 else [],
        [t for shown in (parameters, *narrowed) for t in python_types.types_of(shown, records=True)],
    )


def _keyword_overloads(family: Family, narrowed: Iterable[Sequence[Parameter]]) -> list[str]:
    """Return the signatures of a family, two for variants that take by position what they can do without."""
    own = python_types.first_by_keyword(family.parameters)
    signatures: list[str] = []
    for parameters in narrowed:
        first = python_types.first_by_keyword(parameters)
        if first is not None and (own is None or first < own):
            signatures.append(_keyword_signature(family.name, parameters, first))
        signatures.append(_keyword_signature(family.name, parameters, own))
    return list(dict.fromkeys(signatures))


def _keyword_signature(name: str, parameters: Sequence[Parameter], by_keyword: int | None) -> str:
    return call_like(f"def {name}", python_types.keyword_items(parameters, by_keyword), " -> None:")


def _function_docstring(module: Module, function: Kernel | Family) -> str:
    variants = module.variants(function) if isinstance(function, Family) else ()
    lines = documentation.function_doc(function, variants, width=WIDTH - len(_INDENT))
    return docstring(lines, _INDENT)

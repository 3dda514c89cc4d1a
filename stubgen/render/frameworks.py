"""The generated modules for PyTorch and JAX."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import msgspec

from stubgen.frameworks import eligibility, functional
from stubgen.frameworks.functional import Function, Functional, Like, NotDerivableError, Output
from stubgen.model.effects import Effects
from stubgen.model.library import (
    ChoiceSlot,
    Framework,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Parameter,
    ScalarSlot,
    Slot,
    TensorSlot,
)
from stubgen.render import documentation, python_types, type_trees
from stubgen.render.layout import WIDTH, call_like, docstring
from stubgen.render.templates import fill
from stubgen.render.type_trees import Type

_INDENT = " " * 4


@dataclass(frozen=True)
class _Shown:
    """A function, ready to be put into a file."""

    name: str
    decorator: str
    signature: str
    doc: str
    body: str = ""
    before: str = ""
    """What has to be defined before it."""
    uses: tuple[Type, ...] = ()
    """The types in its signature, and in what is before it."""
    returns_arrays: bool = True
    chooses_dtype: bool = False
    """Whether callers may choose an output's."""
    fixes_dtype: bool = False
    """Whether an output has one that no input shows."""


def framework_packages(library: Library) -> dict[str, str]:
    """Return every file of the packages for frameworks, by path relative to the output folder."""
    files: dict[str, str] = {}
    if "torch" in library.frameworks:
        files |= _torch(library)
    if "jax" in library.frameworks:
        files |= _jax(library)
    return files


def _torch(library: Library) -> dict[str, str]:
    shown = list(eligibility.shown(library, "torch"))
    operators = [_operator(module, function) for module, function in shown]
    pure = [
        _torch_functional(module, function, made, library)
        for module, function, made in _functionals(shown)
        if made.outputs
    ]
    folder = f"{library.package}/torch"
    return {
        f"{folder}/_direct.py": fill("torch/direct.py.j2", **_context(library)),
        f"{folder}/_runtime.py": fill("torch/runtime.py.j2", **_context(library)),
        **_files(f"{folder}/__init__", "torch/init", library, operators, _doc(library, "torch", _TORCH)),
        **_files(f"{folder}/functional", "torch/functional", library, pure, _doc(library, None, _FUNCTIONAL)),
    }


def _jax(library: Library) -> dict[str, str]:
    shown = list(eligibility.shown(library, "jax"))
    pure = [
        _jax_function(module, function, made, library)
        for module, function, made in _functionals(shown)
        if made.outputs or made.changed
    ]
    folder = f"{library.package}/jax"
    return {
        f"{folder}/_runtime.py": fill("jax/runtime.py.j2", **_context(library)),
        **_files(f"{folder}/__init__", "jax/init", library, pure, _doc(library, "jax", _JAX)),
    }


def _context(library: Library) -> dict[str, object]:
    return {"package": library.package, "built_as": library.registered_as, "build_id": library.build_id}


def _files(
    path: str, template: str, library: Library, functions: Sequence[_Shown], doc: str
) -> dict[str, str]:
    """Return a module and its stub."""
    used = [kind for function in functions for kind in function.uses]
    takes_arrays = any(node == type_trees.TENSOR for kind in used for node in type_trees.nodes(kind))
    context = {
        **_context(library),
        "doc": doc,
        "functions": functions,
        "literal": type_trees.imports(used)[1],
        "arrays": takes_arrays or any(f.returns_arrays for f in functions),
        "dtype": any(f.chooses_dtype for f in functions),
        "fixed": any(f.fixes_dtype for f in functions),
    }
    return {f"{path}{suffix}": fill(f"{template}{suffix}.j2", **context) for suffix in (".py", ".pyi")}


def _functionals(shown: Iterable[tuple[Module, Function]]) -> Iterable[tuple[Module, Function, Functional]]:
    """Yield those that have a form without side effects."""
    for module, function in shown:
        try:
            yield module, function, functional.functional(function, module)
        except NotDerivableError:  # an error where it was asked for
            continue


# ---------------------------------------------------------------------------------------------------------
# Module docstrings

_TORCH = """\
The functions of {package} as PyTorch operators, ``torch.ops.{package}.*``.

Each is the native function still, at the cost of a native call, and an operator where PyTorch has to see it:
in programs that are traced, under modes, and with tensors that are not plain. Those of
``{package}.torch.functional`` make and return their outputs."""

_FUNCTIONAL = """\
The functions of {package}, as PyTorch operators that make and return their outputs."""

_JAX = """\
The functions of {package} for JAX: under ``jax.jit`` or outside, they make and return their outputs.

Numbers, bools and strings are static: part of what is compiled. The memory of an array that a kernel changes
in place is reused where it is donated, and copied otherwise."""

_MISSING = {
    "torch": "Not here, for arguments that operators cannot have:",
    "jax": "Not here, for arguments that JAX cannot pass:",
}


def _doc(library: Library, framework: Framework | None, text: str) -> str:
    lines = text.format(package=library.package).splitlines()
    missing = list(eligibility.left_out(library, framework)) if framework else []
    if framework and missing:
        width = max(len(name) for name, _ in missing)
        rows = [f"{name.ljust(width)}  {reason}" for name, reason in missing]
        lines += ["", _MISSING[framework], "", *rows]
    return docstring(lines, "")


def _function_doc(module: Module, function: Function, made: Functional | None) -> str:
    variants = functional.variants(function, module)
    width = WIDTH - len(_INDENT)
    if made is not None:  # what it writes to, it returns
        function = msgspec.structs.replace(function, effects=Effects())
    lines = documentation.function_doc(function, variants if variants != (function,) else (), width=width)
    for sentence in _told(made) if made else ():
        lines += ["", sentence]
    return docstring(lines, _INDENT)


def _told(made: Functional) -> Iterable[str]:
    names = [*(output.name for output in made.outputs), *made.changed]
    yield f"Returns {' and '.join(names)}."
    for output in made.outputs:
        if output.chosen_by and isinstance(output.dtype, Like):
            yield f"{output.chosen_by}: dtype of {output.name}; that of {output.dtype.parameter} by default."


# ---------------------------------------------------------------------------------------------------------
# PyTorch


def _operator(module: Module, function: Function) -> _Shown:
    """Show a function that writes to what it is passed."""
    items = python_types.positional_items(function.parameters)
    schema = _schema(function.parameters, function.effects.mutates, returned=0)
    return _Shown(
        function.name,
        call_like(f"{function.name} = _function", [f'"{module.name}.{function.name}"', f'"{schema}"'], ""),
        call_like(f"def {function.name}", items, " -> None:"),
        _function_doc(module, function, None),
        uses=tuple(python_types.types_of(function.parameters, records=False)),
        returns_arrays=False,
    )


def _torch_functional(module: Module, function: Function, made: Functional, library: Library) -> _Shown:
    schema = _schema(made.parameters, made.changed, returned=len(made.outputs), choices=made.choices)
    arguments = [f'"{function.name}"', f'"{schema}"', repr(made.order)]
    before = ""
    of_gradients: tuple[Type, ...] = ()
    if function.effects.backward is not None:
        before, gradients, of_gradients = _gradients(function, made, library, "Tensor")
        arguments.append(f"gradients={gradients}")
    return _Shown(
        function.name,
        call_like("@_functional", arguments, ""),
        _pure_signature(function.name, made, "Tensor"),
        _function_doc(module, function, made),
        _pure_body(made, _torch_empty),
        before,
        **_imported(made, of_gradients),
    )


def _schema(
    parameters: Sequence[Parameter], changed: Sequence[str], *, returned: int, choices: Sequence[str] = ()
) -> str:
    """Return the schema of an operator, such as ``(Tensor x, Tensor(a1!) out, Scalar eps) -> ()``."""
    items = [
        f"{_schema_type(p.slot, f'a{index}!' if p.name in changed else '')} {p.name}"
        for index, p in enumerate(parameters)
    ]
    items += [f"ScalarType? {name}" for name in choices]
    result = "Tensor" if returned == 1 else f"({', '.join(['Tensor'] * returned)})"
    return f"({', '.join(items)}) -> {result}"


def _schema_type(slot: Slot, alias: str) -> str:
    optional = "?" if functional.is_optional(slot) else ""
    if isinstance(slot, OneOfSlot):
        slot = next(item for item in slot.alternatives if not isinstance(item, NoneSlot))
    match slot:
        case ScalarSlot(dtype=dtype):
            # Of a float, an operator's schema could not take one that torch's compiler has as a symbol.
            kind = "bool" if dtype == "bool" else "SymInt" if "int" in dtype else "Scalar"
        case ChoiceSlot(values=values):
            kind = next(type(value).__name__ for value in values if value is not None)
        case TensorSlot() | NoneSlot():
            kind = f"Tensor({alias})" if alias else "Tensor"
        case _:
            raise TypeError(f"no operator takes a {type(slot).__name__}")
    return kind + optional


def _gradients(
    function: Function, made: Functional, library: Library, array: str
) -> tuple[str, str, tuple[Type, ...]]:
    """Show a function that computes gradients, and the argument that names it, the outputs and the inputs.

    Its types come last.
    """
    backward = function.effects.backward
    assert backward is not None
    other_module, other = next(
        (m, f) for m in library.modules for f in m.functions if f.name == backward.function
    )
    target = functional.functional(other, other_module)
    takes = {taker: f"grad_{output}" for output, taker in backward.grads.items()}
    passed = {p.name: takes.get(p.name, p.name) for p in target.parameters}
    types = python_types.types_of(target.parameters, records=False)
    items = [
        f"{passed[p.name]}: {type_trees.text(kind, tensor=array)}"
        for p, kind in zip(target.parameters, types, strict=True)
    ]
    result = _result(array, len(target.outputs))
    name = f"_{function.name}_gradients"
    head = call_like(f"def {name}", items, f" -> {result}:")
    call = call_like(f"return {other.name}", [f"{p}={value}" for p, value in passed.items()], "")
    doc = f'    """Return the gradients of {function.name}."""'
    given = {gradient: name for name, gradient in backward.gives.items()}
    inputs = tuple(given.get(output.name) for output in target.outputs)
    outputs = tuple(output.name for output in made.outputs)
    names = [str(part).replace("'", '"') for part in (outputs, inputs)]
    argument = f"({', '.join([*names, name])})"
    return f"{head}\n{doc}\n{textwrap.indent(call, _INDENT)}", argument, tuple(types)


def _torch_empty(output: Output, made: Functional) -> str:
    """Return the expression that makes an output."""
    dtype = output.dtype
    base = made.beside[0]
    if isinstance(dtype, Like) and dtype.parameter in made.beside:
        base = dtype.parameter
    options = ""
    if isinstance(dtype, str):
        options = f", dtype=_torch.{_TORCH_DTYPES.get(dtype, dtype)}"
    elif output.chosen_by:
        usual = "" if dtype.parameter == base else f" or {dtype.parameter}.dtype"
        options = f", dtype={output.chosen_by}{usual}"
    elif dtype.parameter != base:
        options = f", dtype={dtype.parameter}.dtype"
    return f"{base}.new_empty({_shape(output, made)}{options})"


_TORCH_DTYPES = {"float4_e2m1fnx2": "float4_e2m1fn_x2"}


# ---------------------------------------------------------------------------------------------------------
# JAX


def _jax_function(module: Module, function: Function, made: Functional, library: Library) -> _Shown:
    platform = "gpu" if "cuda" in functional.devices(function) else "cpu"
    arguments = [f'"{module.name}.{function.name}"', repr(made.order), f'"{platform}"']
    if made.changed:
        arguments.append(f"changes={made.changed!r}".replace("'", '"'))
    before = ""
    of_gradients: tuple[Type, ...] = ()
    if function.effects.backward is not None:
        before, gradients, of_gradients = _gradients(function, made, library, "Array")
        arguments.append(f"gradients={gradients}")
    return _Shown(
        function.name,
        call_like("@_function", arguments, ""),
        _pure_signature(function.name, made, "Array"),
        _function_doc(module, function, made),
        _pure_body(made, _jax_shape),
        before,
        **_imported(made, of_gradients),
    )


def _jax_shape(output: Output, made: Functional) -> str:
    dtype = output.dtype
    if isinstance(dtype, str):
        text = f"_numpy.{_JAX_DTYPES.get(dtype, dtype)}"
    else:
        text = f"{dtype.parameter}.dtype"
        if output.chosen_by:
            text = f"{output.chosen_by} or {text}"
    return f"_shaped({_shape(output, made)}, {text})"


_JAX_DTYPES = {"bool": "bool_"}


# ---------------------------------------------------------------------------------------------------------
# Both


def _pure_signature(name: str, made: Functional, array: str) -> str:
    by_keyword = python_types.first_by_keyword(made.parameters)
    items = python_types.keyword_items(made.parameters, by_keyword, array)
    if made.choices and "*" not in items:
        items.append("*")
    items += [f"{choice}: _dtype | None = None" for choice in made.choices]
    count = len(made.outputs) + (len(made.changed) if array == "Array" else 0)
    return call_like(f"def {name}", items, f" -> {_result(array, count)}:")


class _Imported(TypedDict):
    """What a function asks of the file that it is in; fields of :class:`_Shown`."""

    uses: tuple[Type, ...]
    chooses_dtype: bool
    fixes_dtype: bool


def _imported(made: Functional, of_gradients: tuple[Type, ...]) -> _Imported:
    return _Imported(
        uses=(*python_types.types_of(made.parameters, records=True), *of_gradients),
        chooses_dtype=bool(made.choices),
        fixes_dtype=any(isinstance(output.dtype, str) for output in made.outputs),
    )


def _result(array: str, count: int) -> str:
    return array if count == 1 else f"tuple[{', '.join([array] * count)}]"


def _pure_body(made: Functional, make: Callable[[Output, Functional], str]) -> str:
    expressions = [make(output, made) for output in made.outputs]
    if len(expressions) == 1:
        return f"    return {expressions[0]}"
    if not expressions:
        return "    return _shaped()"
    line = f"    return {', '.join(expressions)}"
    return line if len(line) <= WIDTH else textwrap.indent(call_like("return ", expressions, ""), _INDENT)


def _shape(output: Output, made: Functional) -> str:
    """Return the expression of an output's shape; ``x.shape`` if it is all of an input's."""
    places = output.shape
    first = places[0] if places else None
    if isinstance(first, Like) and all(
        place == Like(first.parameter, index) for index, place in enumerate(places)
    ):
        slot = next(p.slot for p in made.parameters if p.name == first.parameter)
        if {len(tensor.shape) for tensor in functional.tensor_slots(slot)} == {len(places)}:
            return f"{first.parameter}.shape"
    inner = ", ".join(
        str(place) if isinstance(place, int) else f"{place.parameter}.shape[{place.dimension}]"
        for place in places
    )
    return f"({inner},)" if len(places) == 1 else f"({inner})"

"""Random kernels: a grammar of declarations, each with a call that proves where every argument arrived.

A drawn :class:`Case` is a host function that writes what it reads of each argument to its own element of
``out``, the declaration that exports it, and one call with the values that must be found there, in Python and
in C++.
"""

from __future__ import annotations

import itertools
import keyword
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

# What a scalar type is called in Python, numpy and C++, and the values that are exact in float64.
INTEGERS = {
    "Int8": (-(2**7), 2**7 - 1),
    "Int16": (-(2**15), 2**15 - 1),
    "Int32": (-(2**31), 2**31 - 1),
    "Int64": (-(2**53), 2**53),
    "Uint8": (0, 2**8 - 1),
    "Uint16": (0, 2**16 - 1),
    "Uint32": (0, 2**32 - 1),
    "Uint64": (0, 2**53),
}
FLOATS = ("Float16", "BFloat16", "Float32", "Float64")
TENSORS = {"Float32": "float", "Float64": "double", "Int32": "std::int32_t", "Int64": "std::int64_t"}


@dataclass
class Part:
    """One argument, or a part of one."""

    annotation: str
    declared: str
    """Source of what the declaration passes."""
    value: Any
    """What a call passes."""
    cpp: str | None
    """The same in C++; ``None`` if C++ hides it."""
    reads: list[tuple[str, float]]
    """What to read, ``@`` standing for the part, and the number that must be found."""
    definitions: list[str] = field(default_factory=list)
    """Source of the classes that it needs."""
    record: str | None = None
    """Name of its class, if it is passed as an object by keyword."""
    default: str | None = None
    """Source of a default that the compiled function admits, and that equals the value."""
    items: list[Part] = field(default_factory=list)
    """The parts of a tuple or record."""

    def given(self, package: Any, *, records: bool) -> Any:
        """Return the value that a call passes; records as objects of the package's classes, or as tuples."""
        if not self.items:
            return self.value
        values = [item.given(package, records=records) for item in self.items]
        return getattr(package, self.record)(*values) if self.record and records else tuple(values)


@dataclass
class Parameter:
    """A parameter of a case."""

    name: str
    part: Part
    kind: str
    """``positional``, ``either`` or ``keyword``."""


@dataclass
class Case:
    """A function, its declaration, and a call of it."""

    name: str
    parameters: list[Parameter]
    constants: list[tuple[str, str, float]]
    """Constexpr parameters: name, value, and the number that is read of it."""
    string_annotations: bool

    @property
    def expected(self) -> list[float]:
        """What ``out`` must hold after the call."""
        reads = [number for p in self.parameters for _, number in p.part.reads]
        return [*reads, *(number for _, _, number in self.constants)]


# ---------------------------------------------------------------------------------------------------------
# Parts


def _integer(kind: str) -> st.SearchStrategy[int]:
    low, high = INTEGERS[kind]
    return st.integers(low, high) | st.sampled_from([low, high, 0, 1])


def _float(kind: str) -> st.SearchStrategy[float]:
    # Eighths of small integers are exact in every type, bfloat16 included.
    return st.integers(-127, 127).map(lambda i: i / 8)


@st.composite
def scalars(draw: st.DrawFn) -> Part:
    kind = draw(st.sampled_from([*INTEGERS, *FLOATS, "Boolean"]))
    value: Any
    if kind == "Boolean":
        value = draw(st.booleans())
        cpp = str(value).lower()
    elif kind in INTEGERS:
        value = draw(_integer(kind))
        suffix = "ull" if kind == "Uint64" else "ll"
        cpp = f"static_cast<std::{kind.lower()}_t>({value}{suffix})" if value != -(2**63) else "INT64_MIN"
    else:
        value = draw(_float(kind))
        cpp = f"{value}" if kind == "Float64" else f"{value}f"
    declared = draw(st.sampled_from([f"cutlass.{kind}", f"cutlass.{kind}(0)"]))
    return Part(f"cutlass.{kind}", declared, value, cpp, [("@.to(f64)", float(value))], default=repr(value))


@st.composite
def plain_scalars(draw: st.DrawFn) -> Part:
    """Parameters annotated with Python's own types, or not at all."""
    kind = draw(st.sampled_from(["int", "float", ""]))
    value: Any = draw(_float("")) if kind == "float" else draw(_integer("Int32"))
    cpp = f"{value}f" if kind == "float" else f"static_cast<std::int32_t>({value}ll)"
    declared = "0.0" if kind == "float" else "0"
    return Part(kind, declared, value, cpp, [("f64(@)", float(value))], default=repr(value))


@st.composite
def tensors(draw: st.DrawFn) -> Part:
    dtype = draw(st.sampled_from(list(TENSORS)))
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    symbolic = [draw(st.booleans()) for _ in shape]
    column = len(shape) == 2 and draw(st.booleans())
    extents = [
        f'sg.dim("d{i}_{extent}", bits={draw(st.sampled_from([32, 64]))})' if dynamic else str(extent)
        for i, (extent, dynamic) in enumerate(zip(shape, symbolic, strict=True))
    ]
    options = ", order=(0, 1)" if column else ""
    options += draw(st.sampled_from(["", ", align=8"]))
    first = draw(st.integers(-100, 100))
    values = np.full(shape, first, order="F" if column else "C").astype(dtype.lower())
    index = ", ".join("0" * len(shape))
    reads = [(f"@[{index}].to(f64)", float(first))]
    reads += [(f"f64(cute.size(@, mode=[{i}]))", float(extent)) for i, extent in enumerate(shape)]
    cpp = f"make<{TENSORS[dtype]}>({first}, {{{', '.join(map(str, shape))}}}, {str(column).lower()})"
    return Part(
        "cute.Tensor",
        f"sg.tensor(cutlass.{dtype}, {', '.join(extents)}{options}, device='cpu')",
        values,
        cpp,
        reads,
    )


@st.composite
def shapes(draw: st.DrawFn) -> Part:
    extents = draw(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=4))
    kinds = [draw(st.sampled_from(["fixed", "Int32", "Int64"])) for _ in extents]
    declared = [str(e) if k == "fixed" else f"cutlass.{k}" for e, k in zip(extents, kinds, strict=True)]
    kind = draw(st.sampled_from(["Shape", "Stride", "Coord", "Tile"]))
    return Part(
        f"cute.{kind}",
        f"({', '.join(declared)},)",
        tuple(extents),
        f"tvm::ffi::Shape{{{', '.join(map(str, extents))}}}",
        [(f"f64(@[{i}])", float(e)) for i, e in enumerate(extents)],
    )


@st.composite
def pointers(draw: st.DrawFn) -> Part:
    dtype = draw(st.sampled_from(list(TENSORS)))
    value = draw(st.integers(-100, 100))
    memory = np.array([value], dtype=dtype.lower())
    return Part(
        draw(st.sampled_from(["cute.Pointer", "Optional[cute.Pointer]"])),
        f"sg.pointer(cutlass.{dtype}, device='cpu')",
        memory,
        f"make<{TENSORS[dtype]}>({value}, {{1}}, false).data_ptr()",
        [("cute.make_tensor(@, cute.make_layout(1))[0].to(f64)", float(value))],
    )


def absent() -> st.SearchStrategy[Part]:
    kinds = [
        "Optional[cute.Tensor]",
        "cute.Tensor | None",
        "Optional[cutlass.Float32]",
        "Optional[cute.Pointer]",
    ]
    return st.sampled_from(kinds).map(lambda a: Part(a, "None", None, None, [], default="None"))


def leaves() -> st.SearchStrategy[Part]:
    return st.one_of(scalars(), plain_scalars(), tensors(), shapes(), pointers(), absent())


_numbers = itertools.count()


@st.composite
def tuples(draw: st.DrawFn, items: st.SearchStrategy[Part]) -> Part:
    parts = draw(st.lists(items, min_size=1, max_size=3))
    annotation = f"Tuple[{', '.join(p.annotation for p in parts)}]"
    return _grouped(annotation, parts, "({},)")


@st.composite
def records(draw: st.DrawFn, items: st.SearchStrategy[Part]) -> Part:
    parts = draw(st.lists(items, min_size=1, max_size=4))
    # The DSL cannot compile a NamedTuple that holds a dataclass (CS2xx); a dataclass may hold either.
    named = draw(st.booleans()) and not any("@dataclass" in d for p in parts for d in p.definitions)
    name = f"R{next(_numbers)}"
    fields = [f"f{i}: {p.annotation}" for i, p in enumerate(parts)]
    body = "\n    ".join(fields)
    if named:
        source = f"class {name}(NamedTuple):\n    {body}\n"
    else:
        source = f"@dataclass\nclass {name}:\n    {body}\n"
    part = _grouped(name, parts, name + "({})")
    part.reads = [
        (read.replace("@", f"@.f{i}", 1), number) for i, p in enumerate(parts) for read, number in p.reads
    ]
    shown = [p.cpp for p in parts if p.cpp is not None]
    part.cpp = f"NAMESPACE::{name}{{{', '.join(shown)}}}" if shown else None
    part.definitions.append(source)
    part.record = name
    return part


def _grouped(annotation: str, parts: list[Part], form: str) -> Part:
    cpp = [p.cpp for p in parts if p.cpp is not None]
    return Part(
        annotation,
        form.format(", ".join(p.declared for p in parts)),
        None,
        f"group({', '.join(cpp)})" if cpp else None,
        [(read.replace("@", f"@[{i}]", 1), number) for i, p in enumerate(parts) for read, number in p.reads],
        [definition for p in parts for definition in p.definitions],
        items=parts,
    )


def parts() -> st.SearchStrategy[Part]:
    inner = st.one_of(scalars(), tensors(), absent())
    return st.one_of(
        leaves(),
        leaves(),
        leaves(),
        tuples(st.one_of(inner, tuples(inner))),
        records(st.one_of(inner, records(inner))),
    )


# ---------------------------------------------------------------------------------------------------------
# Cases

_NAMES = [
    *("x", "y", "alpha", "beta", "src", "dst", "n", "eps", "self_", "this", "cls", "args", "out_", "result"),
    *(
        "int",
        "float",
        "new",
        "delete",
        "class_",
        "namespace",
        "template",
        "NULL",
        "EOF",
        "operator",
        "register",
    ),
    *("match", "case", "type", "print", "len", "Tensor", "Literal", "tvm", "ffi", "std", "inspect", "native"),
    *("größe", "λ", "имя", "_private", "INT_MAX", "nullptr", "assert_", "target", "function", "wrapper"),
]


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=0, max_size=6, unique=True))
    kinds = sorted(draw(st.sampled_from(["positional", "either", "either", "keyword"])) for _ in names)
    order = {"positional": 0, "either": 1, "keyword": 2}
    kinds.sort(key=order.__getitem__)
    parameters = [Parameter(n, draw(parts()), k) for n, k in zip(names, kinds, strict=True)]
    _drop_defaults(draw, parameters)
    constants = draw(
        st.lists(
            st.sampled_from(
                [("16", 16.0), ("True", 1.0), ("-3", -3.0), ("cutlass.Float32", 0.0), ("'fast'", 0.0)]
            ),
            max_size=2,
        )
    )
    return Case(
        name,
        parameters,
        [(f"c{i}", value, number) for i, (value, number) in enumerate(constants)],
        draw(st.booleans()),
    )


def _drop_defaults(draw: st.DrawFn, parameters: list[Parameter]) -> None:
    """Keep some defaults; by position none may be followed by a parameter without one."""
    required = False
    for parameter in reversed(parameters):
        keep = parameter.part.default is not None and draw(st.booleans())
        if parameter.kind != "keyword" and (required or not keep):
            required, keep = True, False
        if not keep:
            parameter.part.default = None


def assemble(cases_: list[Case]) -> str:
    """Return the source of a kernel module that declares these cases."""
    assert not any(keyword.iskeyword(n) for n in _NAMES)
    header = (
        '"""Drawn by tests/matrix/grammar.py."""\n\n'
        "from dataclasses import dataclass\nfrom typing import NamedTuple, Optional, Tuple\n\n"
        "import cutlass\nimport stubgen as sg\nfrom cutlass import cute\n\nf64 = cutlass.Float64\n\n\n"
    )
    return header + "\n\n".join(map(_source, cases_))


def _source(case: Case) -> str:
    definitions = dict.fromkeys(d for p in case.parameters for d in p.part.definitions)
    lines = [*definitions, "@cute.jit", f"def {case.name}({', '.join(_signature(case))}):"]
    index = 0
    for parameter in case.parameters:
        for read, _ in parameter.part.reads:
            lines.append(f"    OUT_[{index}] = {read.replace('@', parameter.name, 1)}")
            index += 1
    for name, _, number in case.constants:
        read = f"f64({name})" if number else "f64(0.0)"
        lines.append(f"    OUT_[{index}] = {read}")
        index += 1
    if index == 0:
        lines.append("    pass")
    declared = [f"{name}={value}" for name, value, _ in case.constants]
    declared += [f"{p.name}={p.part.declared}" for p in case.parameters if p.kind != "positional"]
    positional = [p.part.declared for p in case.parameters if p.kind == "positional"]
    out = f"sg.tensor(f64, {max(1, index)}, device='cpu')"
    lines.append("")
    lines.append(f"sg.export({', '.join([case.name, *positional, *declared, f'OUT_={out}'])})")
    return "\n".join(lines) + "\n\n"


def _signature(case: Case) -> list[str]:
    """Constants and ``OUT_`` come last, by keyword, but for the first constant, which comes first of all."""

    def written(p: Parameter) -> str:
        quote = '"' if case.string_annotations and p.part.annotation else ""
        annotation = f": {quote}{p.part.annotation}{quote}" if p.part.annotation else ""
        default = f" = {p.part.default}" if p.part.default is not None else ""
        return f"{p.name}{annotation}{default}"

    by_kind = {
        k: [written(p) for p in case.parameters if p.kind == k] for k in ("positional", "either", "keyword")
    }
    items = [*by_kind["positional"], *(["/"] if by_kind["positional"] else []), *by_kind["either"], "*"]
    return [
        *items,
        *by_kind["keyword"],
        *(f"{n}: cutlass.Constexpr" for n, _, _ in case.constants),
        "OUT_: cute.Tensor",
    ]

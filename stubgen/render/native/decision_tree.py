"""The decision tree of a family as C: nested switches, with tests at the leaves."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from stubgen.families import families
from stubgen.families.constraints import Constraint, Feature, Integers, Layout, Path, Value, Values
from stubgen.families.tree import Leaf, LeafVariant, Node, Switch
from stubgen.model.library import Kernel

_TYPE_INDEXES = {
    "none": ("kTVMFFINone",),
    "int": ("kTVMFFIInt",),
    "bool": ("kTVMFFIBool",),
    "float": ("kTVMFFIFloat",),
    "pointer": ("kTVMFFIOpaquePtr",),
    "tensor": ("kTVMFFIDLTensorPtr", "kTVMFFITensor"),
    "shape": ("kTVMFFIShape",),
    "array": ("kTVMFFIArray",),
}
"""By kind, what the compiled functions accept for it."""

_DEVICE_TYPES = {"cpu": "kDLCPU", "cuda": "kDLCUDA"}

_DTYPE_CODES = {
    "int": "kDLInt",
    "uint": "kDLUInt",
    "float": "kDLFloat",
    "bfloat": "kDLBfloat",
    "bool": "kDLBool",
    "float8_e3m4": "kDLFloat8_e3m4",
    "float8_e4m3": "kDLFloat8_e4m3",
    "float8_e4m3b11fnuz": "kDLFloat8_e4m3b11fnuz",
    "float8_e4m3fn": "kDLFloat8_e4m3fn",
    "float8_e4m3fnuz": "kDLFloat8_e4m3fnuz",
    "float8_e5m2": "kDLFloat8_e5m2",
    "float8_e5m2fnuz": "kDLFloat8_e5m2fnuz",
    "float8_e8m0fnu": "kDLFloat8_e8m0fnu",
    "float6_e2m3fn": "kDLFloat6_e2m3fn",
    "float6_e3m2fn": "kDLFloat6_e3m2fn",
    "float4_e2m1fn": "kDLFloat4_e2m1fn",
}
"""DLPack's names; those of the small floats hold their width."""


def decision_tree(variants: Sequence[Kernel], package: str) -> str:
    """Return the body of the function that finds one of some variants for a call."""
    return _Writer(variants, package).text()


class _Writer:
    """Writes the decision tree of some variants as nested switches."""

    def __init__(self, variants: Sequence[Kernel], package: str) -> None:
        self._variants = variants
        self._package = package
        self._root = families.decision_tree(variants).root
        self._builds = any(kernel.has_device_code for kernel in variants)

    def text(self) -> str:
        lines = ["const int device = device_of_call(args, num_args);"] if self._builds else []
        if self._builds:
            lines += ["const struct kernel* unbuilt = NULL;", "TVMFFISafeCallType build;"]
        lines += self._node(self._root)
        return textwrap.indent("\n".join(lines), "  ")

    def _node(self, node: Node) -> Iterator[str]:
        match node:
            case Switch():
                yield from self._switch(node)
            case Leaf(candidates=candidates):
                for candidate in candidates:
                    yield from self._candidate(candidate)

    def _switch(self, switch: Switch) -> Iterator[str]:
        yield f"switch ({_read(switch.feature)}) {{"
        for values, node in switch.branches:
            yield from _cases(switch.feature, values)
            yield from _indented(self._node(node), 4)
            yield "    break;"
        otherwise = list(self._node(switch.otherwise))
        if otherwise:
            yield "  default:"
            yield from _indented(otherwise, 4)
        yield "}"

    def _candidate(self, candidate: LeafVariant) -> Iterator[str]:
        kernel = self._variants[candidate.variant]
        tests = [test for feature, constraint in candidate.tests for test in _tests(feature, constraint)]
        tests += [test for group in candidate.equal for test in _same(group)]
        if not tests:
            yield from self._call(kernel)
            return
        yield f"if ({' && '.join(tests)}) {{"
        yield from _indented(self._call(kernel), 2)
        yield "}"

    def _call(self, kernel: Kernel) -> Iterator[str]:
        arguments = "(self, args, num_args, result)"
        if kernel.has_device_code:
            yield f"build = build_for(&kernel_{kernel.name}, device);"
            yield f"if (build != NULL) return build{arguments};"
            yield f"if (unbuilt == NULL) unbuilt = &kernel_{kernel.name};"
        else:
            yield f"return {kernel.linker_symbol(self._package)}{arguments};"


def _cases(feature: Feature, values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        for label in _labels(feature, value):
            yield f"  case {label}:"


def _labels(feature: Feature, value: Value) -> tuple[str, ...]:
    """Return what a value reads as in C."""
    match feature.what:
        case "kind":
            return _TYPE_INDEXES[str(value)]
        case "dtype":
            return (_dtype(str(value)),)
        case "device":
            return (_DEVICE_TYPES[str(value)],)
        case _:
            return (int64(int(value)),)


def _read(feature: Feature) -> str:
    """Return the expression that reads a feature; it has a value that is no other's where there is none."""
    where = _argument(feature.path)
    match feature.what:
        case "kind" if len(feature.path) > 1:
            return f"type_of_item({_argument(feature.path[:-1])}, {feature.path[-1]})"
        case "integer" if len(feature.path) > 1:
            return f"integer_of_item({_argument(feature.path[:-1])}, {feature.path[-1]})"
        case "kind":
            return f"type_of({where})"
        case "dtype":
            return f"dtype_of({where})"
        case "rank":
            return f"rank_of({where})"
        case "device":
            return f"device_type_of({where})"
        case "extent":
            return f"extent_of({where}, {feature.index})"
        case "stride":
            return f"stride_of({where}, {feature.index})"
        case "integer":
            return f"integer_of({where})"
        case what:
            raise TypeError(f"{what} is tested, not read")


def _tests(feature: Feature, constraint: Constraint) -> Iterator[str]:
    where = _argument(feature.path)
    match constraint:
        case Values(values=values) if feature.what == "float":
            tests = [f"is_float({where}, {double(float(value))})" for value in sorted(values)]
            yield _any_of(tests)
        case Values(values=values):
            labels = [label for value in sorted(values, key=str) for label in _labels(feature, value)]
            read = _read(feature)
            yield _any_of([f"{read} == {label}" for label in labels])
        case Integers(multiple_of=multiple_of) if feature.what == "address":
            yield f"is_aligned({where}, {multiple_of})"
        case Integers():
            yield from _integers(_read(feature), constraint)
        case Layout():
            yield from _layout(where, constraint)


def _integers(read: str, constraint: Integers) -> Iterator[str]:
    yield from _range(read, constraint)
    if constraint.multiple_of > 1:
        yield f"is_multiple({read}, {constraint.multiple_of})"


def _range(read: str, constraint: Integers) -> Iterator[str]:
    if constraint.low is not None:
        yield f"{read} >= {int64(constraint.low)}"
    if constraint.high is not None:
        yield f"{read} <= {int64(constraint.high)}"


def _layout(where: str, layout: Layout) -> Iterator[str]:
    if layout.row_major:
        yield f"is_row_major({where})"
    for index, stride in enumerate(layout.strides):
        match stride:
            case int():
                yield f"is_stride({where}, {index}, {int64(stride)})"
            case Integers(multiple_of=multiple_of):
                yield from _range(f"stride_of({where}, {index})", stride)
                if multiple_of > 1:
                    yield f"is_stride_multiple({where}, {index}, {multiple_of})"
            case None:
                pass


def _same(group: Sequence[Feature]) -> Iterator[str]:
    """Test that sizes are the same number, in the way of the compiled functions: all as the first is."""
    first = _read(group[0])
    for feature in group[1:]:
        if feature.what == "stride":
            yield f"is_stride({_argument(feature.path)}, {feature.index}, {first})"
        else:
            yield f"{_read(feature)} == {first}"


def _any_of(tests: Sequence[str]) -> str:
    return tests[0] if len(tests) == 1 else f"({' || '.join(tests)})"


def _argument(path: Path) -> str:
    text = f"&args[{path[0]}]"
    for index in path[1:]:
        text = f"item({text}, {index})"
    return text


def _dtype(name: str) -> str:
    """Return the expression for an element type.

    >>> _dtype("bfloat16"), _dtype("float4_e2m1fnx2"), _dtype("bool")
    ('DTYPE(kDLBfloat, 16, 1)', 'DTYPE(kDLFloat4_e2m1fn, 4, 2)', 'DTYPE(kDLBool, 8, 1)')
    """
    element, _, lanes = (
        name.rpartition("x") if name.rpartition("x")[2].isdigit() and "x" in name else (name, "", "1")
    )
    code = element if element in _DTYPE_CODES else element.rstrip("0123456789")
    digits = element.partition("_")[0].lstrip("abcdefghijklmnopqrstuvwxyz") or "8"
    return f"DTYPE({_DTYPE_CODES[code]}, {digits}, {lanes})"


def int64(value: int) -> str:
    """Return an integer as C writes it."""
    if value == -(2**63):
        return "INT64_MIN"
    return str(value) if -(2**31) < value < 2**31 else f"INT64_C({value})"


def double(value: float) -> str:
    """Return a number as C writes it."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return json.dumps(value)


def _indented(lines: Iterable[str], columns: int) -> Iterator[str]:
    for line in lines:
        yield " " * columns + line

"""Types and values as C, C++ and Python write them, and how lines are fitted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Default,
    NoneSlot,
    OneOfSlot,
    Parameter,
    ParameterKind,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TupleSlot,
)
from stubgen.render import cpp_types, layout, python_types, type_trees
from stubgen.render.c import c_values
from stubgen.render.c.c_values import CallerValue, Packing
from stubgen.render.type_trees import Literal, Name, Tuple, Type
from tests.dispatch.models import tensor

N = Symbol("n")
X = tensor("float32", N)
F32, F64, I8, I32, I64, U64, BOOL = (
    ScalarSlot(dtype) for dtype in ("float32", "float64", "int8", "int32", "int64", "uint64", "bool")
)
NONE, POINTER, STREAM = NoneSlot(), PointerSlot(), StreamSlot()
PAIR = TupleSlot((F32, TupleSlot((NONE, I32))))
VIEW, ANY = "tvm::ffi::TensorView", "const tvm::ffi::Any&"


def one_of(*slots: Slot) -> OneOfSlot:
    return OneOfSlot(slots)


# ---------------------------------------------------------------------------------------------------------
# Types


@pytest.mark.parametrize(
    ("slot", "c", "cpp", "python"),
    [
        (X, "const DLTensor*", VIEW, "Tensor"),
        (BOOL, "bool", "Number<bool>", "bool"),
        (I8, "int64_t", "Number<std::int8_t>", "int"),
        (ScalarSlot("uint16"), "int64_t", "Number<std::uint16_t>", "int"),
        (U64, "uint64_t", "Number<std::uint64_t>", "int"),
        (ScalarSlot("bfloat16"), "float", "Number<float>", "float"),
        (F64, "double", "Number<double>", "float"),
        (POINTER, "void*", "void*", "Pointer"),
        (STREAM, "void*", "void*", "Stream"),
        (ShapeSlot((4, N)), "const int64_t*", "const tvm::ffi::Shape&", "tuple[Literal[4], int]"),
        (ShapeSlot(()), "const int64_t*", "const tvm::ffi::Shape&", "tuple[()]"),
        (NONE, "TVMFFIAny", "tvm::ffi::Any", "None"),
        (ConstantSlot(True), "TVMFFIAny", "bool", "Literal[True]"),
        (ConstantSlot(7), "TVMFFIAny", "std::int64_t", "Literal[7]"),
        (ConstantSlot(0.5), "TVMFFIAny", "double", "float"),
        (ChoiceSlot("a", ("x", None)), "const char*", None, "Literal['x'] | None"),
        (ChoiceSlot("a", ("x",)), "const char*", None, "Literal['x']"),
        (ChoiceSlot("a", (None,)), "TVMFFIAny", None, "None"),
        (ChoiceSlot("a", (True, False)), "bool", None, "bool"),
        (ChoiceSlot("a", (True,)), "bool", None, "Literal[True]"),
        (ChoiceSlot("a", (1, 2)), "int64_t", None, "Literal[1, 2]"),
        (ChoiceSlot("a", (0.5, 2.0)), "double", None, "float"),
        (ChoiceSlot("a", (1, True)), "TVMFFIAny", None, "Literal[1, True]"),
        (ChoiceSlot("a", (1, "x", 0.5, None)), "TVMFFIAny", None, "Literal[1, 'x'] | float | None"),
        (one_of(X, tensor("int8", N)), "const DLTensor*", VIEW, "Tensor"),
        (one_of(X, NONE), "const DLTensor*", f"std::optional<{VIEW}>", "Tensor | None"),
        (one_of(I8, I32), "int64_t", "Number<std::int64_t>", "int"),
        (one_of(I8, U64, NONE), "TVMFFIAny", "std::optional<Number<std::int64_t>>", "int | None"),
        (one_of(I8, I64, NONE), "const int64_t*", "std::optional<Number<std::int64_t>>", "int | None"),
        (one_of(I8, F32), "double", "Number<double>", "int | float"),
        (one_of(NONE, F32, F64), "const double*", "std::optional<Number<double>>", "float | None"),
        (one_of(BOOL, NONE), "const bool*", ANY, "bool | None"),
        (one_of(BOOL, I8), "TVMFFIAny", ANY, "bool | int"),
        (one_of(POINTER, NONE), "void*", "void*", "Pointer | None"),
        (one_of(POINTER, STREAM), "void*", "void*", "Pointer | Stream"),
        (one_of(POINTER, X), "TVMFFIAny", ANY, "Pointer | Tensor"),
        (one_of(ShapeSlot((4,)), ShapeSlot((N,))), "const int64_t*", ANY, "tuple[Literal[4]] | tuple[int]"),
        (one_of(ShapeSlot((4,)), ShapeSlot((4, 8))), "TVMFFIAny", ANY, None),
        (one_of(PAIR, NONE), "TVMFFIAny", ANY, None),
    ],
    ids=str,
)
def test_each_slot_has_a_type(slot: Slot, c: str, cpp: str | None, python: str | None) -> None:
    if not isinstance(slot, OneOfSlot) or not any(isinstance(a, TupleSlot) for a in slot.alternatives):
        declared = CallerValue("x", "x", slot).declaration("pkg", {})
        if not (isinstance(slot, OneOfSlot) and U64 in slot.alternatives):
            assert declared == f"{c} x"
    if cpp is not None:
        assert cpp_types.parameter_type(slot, {}) == cpp
    if python is not None:
        assert type_trees.text(python_types.type_of(slot, records=True)).replace('"', "'") == python


@pytest.mark.parametrize(
    ("slot", "member", "stored"),
    [
        (X, "tvm::ffi::Tensor", "tvm::ffi::Tensor"),
        (U64, "std::uint64_t", "std::int64_t"),
        (F32, "float", "float"),
        (STREAM, "void*", "void*"),
        (ShapeSlot((4,)), "tvm::ffi::Shape", "tvm::ffi::Shape"),
        (PAIR, "tvm::ffi::Tuple<float, tvm::ffi::Tuple<std::int32_t>>", None),
        (TupleSlot((NONE,)), "tvm::ffi::Tuple<>", None),
    ],
    ids=str,
)
def test_what_a_struct_owns(slot: Slot, member: str, stored: str | None) -> None:
    assert cpp_types.member_type(slot, {}) == member
    if stored is not None:
        assert cpp_types.stored_type(TupleSlot((slot,))) == f"tvm::ffi::Tuple<{stored}>"


def test_what_is_stored_has_everything_that_is_hidden() -> None:
    whole = TupleSlot((ConstantSlot(True), ConstantSlot(1), ConstantSlot(0.5), NONE, PAIR))
    assert cpp_types.stored_type(whole) == (
        "tvm::ffi::Tuple<bool, std::int64_t, double, tvm::ffi::Any, "
        "tvm::ffi::Tuple<float, tvm::ffi::Tuple<tvm::ffi::Any, std::int32_t>>>"
    )
    named = {PAIR: "Pair"}
    assert cpp_types.member_type(PAIR, named) == "Pair"
    assert cpp_types.parameter_type(PAIR, named) == "const Pair&"
    with pytest.raises(TypeError, match="only parameters of families are choices"):
        cpp_types.member_type(ChoiceSlot("a", (1,)), {})


@pytest.mark.parametrize(
    ("slot", "hidden"),
    [
        *(
            (NONE, True),
            (ConstantSlot(1), True),
            (TupleSlot(()), True),
            (TupleSlot((NONE, TupleSlot(()))), True),
        ),
        *((X, False), (PAIR, False), (TupleSlot((NONE, F32)), False), (one_of(NONE), False)),
    ],
    ids=str,
)
def test_what_callers_need_not_pass(slot: Slot, hidden: bool) -> None:
    assert cpp_types.is_hidden(slot) == hidden


# ---------------------------------------------------------------------------------------------------------
# Values in C++


@pytest.mark.parametrize(
    ("slot", "value", "text"),
    [
        (BOOL, True, "true"),
        (BOOL, False, "false"),
        (I8, True, "1"),
        (I32, -5, "-5"),
        (I64, -(2**63), "std::numeric_limits<std::int64_t>::min()"),
        (U64, 2**63, f"{2**63}u"),
        (U64, 2**63 - 1, str(2**63 - 1)),
        (F32, 1, "1.0f"),
        (F32, 0.1, "0.1f"),
        (F32, 1 / 3, "0.33333334f"),
        (F32, 16777217.0, "16777216.0f"),
        (F32, 1e-45, "1e-45f"),
        (F32, 1e39, "std::numeric_limits<float>::infinity()"),
        (F32, -1e39, "-std::numeric_limits<float>::infinity()"),
        (F64, 0.1, "0.1"),
        (F64, 1 / 3, "0.3333333333333333"),
        (F64, -math.inf, "-std::numeric_limits<double>::infinity()"),
        (F64, math.nan, "std::numeric_limits<double>::quiet_NaN()"),
        (ShapeSlot((4, N)), (4, -(2**63)), "{4, std::numeric_limits<std::int64_t>::min()}"),
        (ShapeSlot(()), (), "{}"),
        (POINTER, None, "nullptr"),
        (STREAM, None, "nullptr"),
        (POINTER, 0, None),
        (STREAM, 1, None),
        (NONE, None, None),
        (PAIR, (1.0, (None, 1)), None),
        (one_of(X, NONE), None, "std::nullopt"),
        (one_of(POINTER, NONE), None, "nullptr"),
        (one_of(I8, I32), 3, "3"),
        (one_of(I8, F32), 3, "3.0"),
        (one_of(I8, NONE), 3, None),
        (one_of(BOOL, I8), True, None),
        (one_of(ShapeSlot((4,)), NONE), (4,), None),
    ],
    ids=str,
)
def test_a_default_is_an_expression_of_its_type(slot: Slot, value: object, text: str | None) -> None:
    assert cpp_types.default(slot, value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (7, "7"), (0.5, "0.5"), (-(2**63), "std::numeric_limits<std::int64_t>::min()")],
)
def test_a_constant_is_an_expression_of_its_type(value: float, text: str) -> None:
    assert cpp_types.constant(ConstantSlot(value)) == text


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain ~", '"plain ~"'),
        ('a"b\\c?', '"a\\042b\\134c\\077"'),
        ("\n\0\x7f\x1f", '"\\012\\000\\177\\037"'),
        ("ü", '"\\303\\274"'),
        ("", '""'),
    ],
)
def test_a_string_is_ascii(text: str, literal: str) -> None:
    assert cpp_types.string(text) == literal


@pytest.mark.parametrize(
    ("written", "taken", "spelled"),
    [
        (["x", "int", "int_"], [], ["x", "int__", "int_"]),
        (["x", "y"], ["x"], ["x_", "y"]),
        (["größe", "gru00f6uxdfe"], [], ["gruf6udfe", "gru00f6uxdfe"]),
        (["_Big", "__x", "_", "_x"], [], ["Big_", "x_", "_", "_x"]),
        (["___"], [], ["argument_"]),
        (["M_PI", "NULL"], ["NULL_"], ["M_PI_", "NULL__"]),
        (["ä", "ue4"], [], ["ue4_", "ue4"]),
    ],
)
def test_parameters_are_spelled_apart(written: list[str], taken: list[str], spelled: list[str]) -> None:
    assert cpp_types.parameter_names(written, taken) == spelled


# ---------------------------------------------------------------------------------------------------------
# What C passes


def packed(slot: Slot) -> tuple[str, list[str]]:
    """Return the expression of an argument, and the statements before it."""
    parts = list(c_values.taken_apart(Parameter("x", slot), {}))
    packing = Packing("p", c_values.texts(c_values.arguments(parts), {}))
    return packing.value("x", slot), packing.statements


@pytest.mark.parametrize(
    ("slot", "expression"),
    [
        (X, "p__tensor(x)"),
        (BOOL, "p__bool(x)"),
        (I8, "p__int(x)"),
        (ScalarSlot("uint32"), "p__int(x)"),
        (U64, "p__uint64(x)"),
        (F32, "p__double(x)"),
        (F64, "p__double(x)"),
        (POINTER, "p__pointer(x)"),
        (STREAM, "p__pointer(x)"),
        (NONE, "p__none()"),
        (ConstantSlot(True), "p__bool(true)"),
        (ConstantSlot(False), "p__bool(false)"),
        (ConstantSlot(-7), "p__int(-7)"),
        (ConstantSlot(-(2**63)), "p__int(INT64_MIN)"),
        (ConstantSlot(0.5), "p__double(0.5)"),
        (ConstantSlot(math.inf), "p__double(INFINITY)"),
        (ConstantSlot(-math.inf), "p__double(-INFINITY)"),
        (ConstantSlot(math.nan), "p__double(NAN)"),
        (ChoiceSlot("a", ("x",)), "p__string(x)"),
        (ChoiceSlot("a", (True, False)), "p__bool(x)"),
        (ChoiceSlot("a", (1, 2)), "p__int(x)"),
        (ChoiceSlot("a", (0.5,)), "p__double(x)"),
        (ChoiceSlot("a", (1, "x")), "x"),
        (one_of(X, NONE), "p__tensor(x)"),
        (one_of(I8, NONE), "p__optional_int(x)"),
        (one_of(F32, I8, NONE), "p__optional_double(x)"),
        (one_of(BOOL, NONE), "p__optional_bool(x)"),
        (one_of(POINTER, NONE), "p__optional_pointer(x)"),
        (one_of(POINTER, X), "x"),
    ],
    ids=str,
)
def test_each_argument_is_packed(slot: Slot, expression: str) -> None:
    assert packed(slot) == (expression, [])


def test_tuples_and_shapes_are_put_together_on_the_stack() -> None:
    assert packed(ShapeSlot((4, N))) == (
        "p__object(&ffi_shape_1.header)",
        ["  p__shape ffi_shape_1 = p__make_shape(x, 2);"],
    )
    assert packed(one_of(ShapeSlot((4,)), ShapeSlot((N,)), NONE)) == (
        "p__object(&ffi_shape_1.header)",
        ["  p__shape ffi_shape_1 = p__make_shape(x, 1);"],
    )
    assert packed(TupleSlot(())) == (
        "p__object(&ffi_tuple_1.header)",
        ["  p__tuple ffi_tuple_1 = p__make_tuple(NULL, 0);"],
    )
    assert packed(TupleSlot((F32, ShapeSlot((N,)), TupleSlot((NONE, I32))))) == (
        "p__object(&ffi_tuple_3.header)",
        [
            "  p__shape ffi_shape_1 = p__make_shape(x_1, 1);",
            "  TVMFFIAny ffi_items_2[] = {p__none(), p__int(x_2_1)};",
            "  p__tuple ffi_tuple_2 = p__make_tuple(ffi_items_2, 2);",
            "  TVMFFIAny ffi_items_3[] = {\n      p__double(x_0),\n      p__object(&ffi_shape_1.header),\n"
            "      p__object(&ffi_tuple_2.header),\n  };",
            "  p__tuple ffi_tuple_3 = p__make_tuple(ffi_items_3, 3);",
        ],
    )


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"x": F32, "y": F32}, ["x", "y"]),
        ({"gone": NONE, "x": F32}, ["x"]),
        ({"a": PAIR}, ["a_0", "a_1_1"]),
        ({"a_0": F32, "a": TupleSlot((F32, F32))}, ["a_0", "a_0_", "a_1"]),
        ({"a": TupleSlot((F32,)), "a_0": F32}, ["a_0_", "a_0"]),
        ({"ffi_x": F32, "DLTensor": F32, "TVMFFIAny": F32}, ["ffi_x_", "DLTensor_", "TVMFFIAny_"]),
        ({"bool": F32, "true": F32, "false": F32, "x": F32}, ["bool_", "true_", "false_", "x"]),
        ({"INT64_MIN": F32, "INFINITY": F32, "NAN": F32}, ["INT64_MIN_", "INFINITY_", "NAN_"]),
    ],
    ids=str,
)
def test_what_is_passed_has_names_that_differ(parameters: dict[str, Slot], names: list[str]) -> None:
    parts = [p for n, s in parameters.items() for p in c_values.taken_apart(Parameter(n, s), {})]
    assert [value.name for value in c_values.arguments(parts)] == names


# ---------------------------------------------------------------------------------------------------------
# Python


INT, OPTIONAL = Name("int"), type_trees.union([Name("int"), type_trees.NONE])


def literal(*values: str) -> Literal:
    return Literal(values)


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ([type_trees.NONE, INT], "int | None"),
        ([literal("1"), INT, literal("2", "1")], "Literal[1, 2] | int"),
        ([literal("True"), literal("False"), type_trees.NONE], "bool | None"),
        ([literal("True"), type_trees.BOOL, literal("False")], "bool"),
        ([literal("True"), literal("False"), literal("1")], "Literal[True, False, 1]"),
        ([Tuple((OPTIONAL, literal("1"))), INT], "tuple[int | None, Literal[1]] | int"),
        ([OPTIONAL, type_trees.NONE, INT], "int | None"),
        ([literal("1")], "Literal[1]"),
        ([INT, INT], "int"),
    ],
)
def test_types_are_joined(types: Sequence[Type], text: str) -> None:
    assert type_trees.text(type_trees.union(types)) == text


def test_a_type_alone_is_no_union() -> None:
    assert type_trees.union([INT, INT]) == INT
    assert type_trees.union([literal("False"), literal("True")]) == type_trees.BOOL


def test_tensors_are_called_what_frameworks_call_them_at_any_depth() -> None:
    kind = Tuple(
        (type_trees.TENSOR, type_trees.union([type_trees.TENSOR, type_trees.NONE]), Name("TensorLike"))
    )
    assert type_trees.text(kind, tensor="Array") == "tuple[Array, Array | None, TensorLike]"
    assert type_trees.text(kind) == "tuple[Tensor, Tensor | None, TensorLike]"
    assert type_trees.text(Name("Tensor"), tensor="Array") == "Tensor", "a class of the author's"
    assert type_trees.text(Tuple(())) == "tuple[()]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            (None, "None"),
            (True, "True"),
            (3, "3"),
            (0.5, "0.5"),
            ((), "()"),
            ((1,), "(1,)"),
            ((1, 0.5), "(1, 0.5)"),
        ),
        *((math.inf, 'float("inf")'), ((math.nan, -math.inf), '(float("nan"), float("-inf"))')),
        *(("x", '"x"'), ("it's", '"it\'s"'), ('say "hi"', "'say \"hi\"'"), ("a\\b\n", "'a\\\\b\\n'")),
    ],
    ids=str,
)
def test_a_default_is_a_literal(value: object, text: str) -> None:
    assert python_types.literal(Default(value)) == text  # type: ignore[arg-type]


def test_records_are_tuples_by_position_and_classes_by_keyword() -> None:
    record = TupleSlot((X, one_of(NONE)), "Pair", ("x", "y"))
    typed = PointerSlot("int8")
    for slot, by_keyword, by_position in (
        (record, "Pair", "tuple[Tensor, None]"),
        (typed, "Pointer | Tensor", "Pointer"),
        (TupleSlot((typed,)), "tuple[Pointer | Tensor]", "tuple[Pointer]"),
    ):
        assert type_trees.text(python_types.type_of(slot, records=True)) == by_keyword
        assert type_trees.text(python_types.type_of(slot, records=False)) == by_position


def test_what_holds_a_dataclass() -> None:
    pair, other = TupleSlot((F32,), "Pair", ("x",)), TupleSlot((F32,), "Other", ("x",))
    holding: list[Slot] = [pair, TupleSlot((F32, TupleSlot((pair,)))), one_of(NONE, pair)]
    others: list[Slot] = [other, F32, TupleSlot((other,)), one_of(NONE, other), TupleSlot(())]
    for slot in holding:
        assert python_types.holds_dataclass(slot, {"Pair"})
    for slot in others:
        assert not python_types.holds_dataclass(slot, {"Pair"})


def test_imports_are_what_types_name() -> None:
    inner = Tuple((type_trees.TENSOR, literal("1")))
    types = [inner, type_trees.union([type_trees.STREAM, type_trees.NONE]), type_trees.POINTER, INT]
    assert type_trees.imports(types) == (["Pointer", "Stream", "Tensor"], True)
    assert type_trees.imports([Tuple((INT, Name("Tensor")))]) == ([], False)
    assert type_trees.imports([]) == ([], False)


def _taking(**parameters: tuple[Slot, object, ParameterKind]) -> list[Parameter]:
    return [
        Parameter(name, slot, kind, None if default is ... else Default(default))  # type: ignore[arg-type]
        for name, (slot, default, kind) in parameters.items()
    ]


EITHER: ParameterKind = "positional_or_keyword"
KEYWORD: ParameterKind = "keyword_only"


@pytest.mark.parametrize(
    ("parameters", "first", "items"),
    [
        (_taking(), None, []),
        (_taking(x=(X, ..., EITHER), s=(F32, 0.5, EITHER)), None, ["x: Tensor", "s: float = 0.5"]),
        (
            _taking(s=(F32, 0.5, EITHER), x=(X, ..., EITHER)),
            0,
            ["*", "s: float = 0.5", "x: Tensor"],
        ),
        (
            _taking(a=(X, ..., EITHER), s=(F32, 0.5, EITHER), x=(X, ..., EITHER), t=(F32, 1, KEYWORD)),
            1,
            ["a: Tensor", "*", "s: float = 0.5", "x: Tensor", "t: float = 1"],
        ),
        (
            _taking(s=(F32, 0.5, EITHER), x=(X, ..., KEYWORD), t=(F32, 1, KEYWORD)),
            None,
            ["s: float = 0.5", "*", "x: Tensor", "t: float = 1"],
        ),
        (
            _taking(p=(X, ..., "positional_only"), s=(F32, 0.5, EITHER), x=(X, ..., EITHER)),
            None,
            ["p: Tensor", "s: float", "x: Tensor"],
        ),
    ],
)
def test_defaults_that_python_takes_by_keyword_only_are_passed_so(
    parameters: list[Parameter], first: int | None, items: list[str]
) -> None:
    assert python_types.first_by_keyword(parameters) == first
    assert python_types.keyword_items(parameters, first) == items


def test_a_default_of_a_record_is_made_by_its_class() -> None:
    record = TupleSlot((F32, NONE), "Pair", ("x", "y"))
    default = Default((0.5, None))
    assert python_types.default_of(record, default) == "Pair(x=0.5, y=None)"
    assert python_types.default_of(one_of(NONE, record), default) == "Pair(x=0.5, y=None)"
    assert python_types.default_of(TupleSlot((F32, NONE)), default) == "(0.5, None)"
    assert python_types.default_of(one_of(record, NONE), Default(None)) == "None"


# ---------------------------------------------------------------------------------------------------------
# Lines


def test_lines_of_python_are_broken_at_their_width() -> None:
    fits = "a" * (layout.WIDTH - len("f(, b)"))
    assert layout.call_like("f", [fits, "b"], "") == f"f({fits}, b)"
    assert layout.call_like("f", [f"{fits}a", "b"], "") == f"f(\n    {fits}a,\n    b,\n)"


def test_heads_of_functions_are_broken_at_their_width() -> None:
    fits = "a" * (layout.WIDTH - len("f(int , b) {"))
    assert layout.cpp_head("f", [f"int {fits}", "b"]) == f"f(int {fits}, b) {{"
    assert layout.cpp_head("f", [f"int {fits}a", "b"]) == f"f(\n    int {fits}a,\n    b) {{"
    assert layout.cpp_head("f" * 120, []) == f"{'f' * 120}() {{"


def test_calls_are_broken_at_their_width() -> None:
    fits = "a" * (layout.WIDTH - len("  f(, b);"))
    assert layout.cpp_call("f", [fits, "b"]) == f"  f({fits}, b);"
    assert layout.cpp_call("f", [f"{fits}a", "b"]) == f"  f(\n      {fits}a,\n      b);"
    with_parts = [f"g({fits[:50]}, 1)", f"h({fits[:50]}, 2)"]
    assert layout.cpp_call("f", with_parts) == f"  f(\n      {with_parts[0]},\n      {with_parts[1]});"
    a = "a" * 30
    assert layout.cpp_call("f", [a] * 4) == f"  f(\n      {a}, {a},\n      {a}, {a});"


def test_arrays_are_broken_at_their_width() -> None:
    fits = "a" * (layout.WIDTH - len("  x = {, b};"))
    assert layout.c_array("x", [fits, "b"]) == f"  x = {{{fits}, b}};"
    assert layout.c_array("x", [f"{fits}a", "b"]) == f"  x = {{\n      {fits}a,\n      b,\n  }};"


def test_declarations_are_broken_behind_their_parenthesis() -> None:
    name = "int " + "f" * 60
    short = f"{name}(void*, int);"
    assert layout.cpp_declaration(short) == short
    long = f"{name}(void*, const TVMFFIAny*, std::int32_t, TVMFFIAny*);"
    assert layout.cpp_declaration(long) == f"{name}(\n    void*, const TVMFFIAny*, std::int32_t, TVMFFIAny*);"
    words = " ".join(["word"] * 30)
    assert layout.cpp_declaration(words).splitlines()[1].startswith("    word")


def test_paragraphs_are_broken_between_words() -> None:
    assert layout.wrapped("a b-c ddd", width=5) == ["a b-c", "ddd"]
    assert layout.wrapped("aa bb cc", width=5, hanging=2) == ["aa bb", "  cc"]
    assert layout.wrapped("", width=5) == [""]
    assert layout.wrapped("longer-than-that x", width=5) == ["longer-than-that", "x"]


def test_comments_stay_in_their_line_and_say_nothing_of_encodings() -> None:
    assert layout.in_comment("coding: x coding=y coding z\n") == "coding : x coding =y coding z\\n"

"""The C of a decision tree: what it reads, what it tests, and what it calls."""

from __future__ import annotations

import math
import textwrap

import pytest

from stubgen.families.constraints import Constraint, Feature, Integers, Layout, Values
from stubgen.model.library import (
    ConstantSlot,
    Kernel,
    NoneSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.render.native import decision_tree
from tests.dispatch.models import tensor, variant

N = Symbol("n")
F32 = ScalarSlot("float32")


def written(*kernels: Kernel) -> list[str]:
    """Return the lines of the function, without their common indentation."""
    text = decision_tree.decision_tree(kernels, "pkg")
    assert all(line.startswith("  ") for line in text.splitlines())
    return textwrap.dedent(text).splitlines()


def of(*slots: Slot, archs: tuple[tuple[str, ...], ...] = ()) -> list[Kernel]:
    return [
        variant(
            "f",
            {"x": slot},
            {"k": str(index)},
            archs=archs[index] if archs else (),
        )
        for index, slot in enumerate(slots)
    ]


def call(label: str) -> str:
    return f"return __tvm_ffi_pkg__f__{label}(self, args, num_args, result);"


def test_one_variant_is_called() -> None:
    assert written(*of(F32)) == [call("0")]


def test_dtypes_are_switched_on() -> None:
    assert written(*of(tensor("float16", N), tensor("bfloat16", N), tensor("float4_e2m1fnx2", N))) == [
        "switch (dtype_of(&args[0])) {",
        "  case DTYPE(kDLBfloat, 16, 1):",
        f"    {call('1')}",
        "    break;",
        "  case DTYPE(kDLFloat, 16, 1):",
        f"    {call('0')}",
        "    break;",
        "  case DTYPE(kDLFloat4_e2m1fn, 4, 2):",
        f"    {call('2')}",
        "    break;",
        "}",
    ]


def test_kinds_are_switched_on_with_all_that_compiled_functions_take_for_them() -> None:
    lines = written(*of(tensor("int8", N), NoneSlot(), ShapeSlot((N,)), ScalarSlot("float64")))
    assert lines[0] == "switch (type_of(&args[0])) {"
    cases = [line.strip() for line in lines[1:]]
    assert cases == [
        *("case kTVMFFIArray:", "case kTVMFFIShape:", call("2"), "break;"),
        *("case kTVMFFIBool:", "case kTVMFFIFloat:", "case kTVMFFIInt:", call("3"), "break;"),
        *("case kTVMFFINone:", call("1"), "break;"),
        *("case kTVMFFIDLTensorPtr:", "case kTVMFFITensor:", call("0"), "break;"),
        "}",
    ]


def test_a_variant_for_the_rest_is_the_default() -> None:
    lines = written(*of(tensor("int8", 64), tensor("int8", N), tensor("int8", 128)))
    assert lines == [
        "switch (extent_of(&args[0], 0)) {",
        "  case 64:",
        f"    {call('0')}",
        f"    {call('1')}",
        "    break;",
        "  case 128:",
        f"    {call('2')}",
        f"    {call('1')}",
        "    break;",
        "  default:",
        f"    {call('1')}",
        "}",
    ]


def test_ranks_and_devices_are_switched_on() -> None:
    assert written(*of(tensor("int8", N), tensor("int8", N, N)))[:2] == [
        "switch (rank_of(&args[0])) {",
        "  case 1:",
    ]
    lines = written(*of(tensor("int8", N), tensor("int8", N, device="cuda")))
    assert [line for line in lines if not line.startswith("    ")] == [
        "switch (device_type_of(&args[0])) {",
        "  case kDLCPU:",
        "  case kDLCUDA:",
        "}",
    ]


def test_builds_are_for_a_gpu_and_the_first_without_one_is_noted() -> None:
    by8, every = TensorSlot("int8", (Symbol("n", 64, 8),)), TensorSlot("int8", (Symbol("n", 64),))
    assert written(*of(by8, every, archs=(("sm_80",), ("sm_80", "sm_90a")))) == [
        "const int device = device_of_call(args, num_args);",
        "const struct kernel* unbuilt = NULL;",
        "TVMFFISafeCallType build;",
        "if (is_multiple(extent_of(&args[0], 0), 8)) {",
        "  build = build_for(&kernel_f__0, device);",
        "  if (build != NULL) return build(self, args, num_args, result);",
        "  if (unbuilt == NULL) unbuilt = &kernel_f__0;",
        "}",
        "build = build_for(&kernel_f__1, device);",
        "if (build != NULL) return build(self, args, num_args, result);",
        "if (unbuilt == NULL) unbuilt = &kernel_f__1;",
    ]


@pytest.mark.parametrize(
    ("first", "second", "test"),
    [
        (
            ScalarSlot("int8"),
            ScalarSlot("int32"),
            "integer_of(&args[0]) >= -128 && integer_of(&args[0]) <= 127",
        ),
        (ScalarSlot("int64", 4), ScalarSlot("int64"), "is_multiple(integer_of(&args[0]), 4)"),
        (tensor("int8", N, alignment=16), tensor("int8", N), "is_aligned(&args[0], 16)"),
        (
            tensor("int8", N, 8),
            TensorSlot("int8", (N, 8), (Symbol("s", 64), 1), None, "cpu"),
            "is_stride(&args[0], 0, 8) && is_stride(&args[0], 1, 1)",
        ),
        (
            TensorSlot("int8", (N, Symbol("m")), None, None, "cpu"),
            TensorSlot("int8", (N, Symbol("m")), (Symbol("s", 64), 1), None, "cpu"),
            "is_row_major(&args[0]) && is_stride(&args[0], 1, 1)",
        ),
        (
            TensorSlot("int8", (N, Symbol("m")), (Symbol("s", 32, 4), 1), None, "cpu"),
            TensorSlot("int8", (N, Symbol("m")), (Symbol("s", 64), 1), None, "cpu"),
            f"stride_of(&args[0], 0) >= INT64_C({-(2**31)}) && stride_of(&args[0], 0) <= {2**31 - 1}"
            " && is_stride_multiple(&args[0], 0, 4) && is_stride(&args[0], 1, 1)",
        ),
        (
            TensorSlot("int8", (N, Symbol("m")), (Symbol("m"), 1), None, "cpu"),
            TensorSlot("int8", (N, Symbol("m")), (Symbol("s"), 1), None, "cpu"),
            "is_stride(&args[0], 0, extent_of(&args[0], 1))",
        ),
        (
            tensor("int8", N, N, N),
            TensorSlot("int8", (N, N, Symbol("m")), (Symbol("s0", 64), Symbol("s1", 64), 1), None, "cpu"),
            None,
        ),
        (
            TupleSlot((ConstantSlot(0.5), F32)),
            TupleSlot((F32, F32)),
            "(type_of_item(&args[0], 0) == kTVMFFIFloat) && is_float(item(&args[0], 0), 0.5)",
        ),
    ],
)
def test_the_more_specific_is_tested_for_and_called_first(
    first: Slot, second: Slot, test: str | None
) -> None:
    for kernels, labels in ((of(first, second), "01"), (of(second, first), "10")):
        lines = [line.strip() for line in written(*kernels)]
        calls = [line for line in lines if line.startswith("return")]
        assert calls[0] == call(labels[0])
        tests = [line for line in lines if line.startswith("if")]
        if test is not None and "type_of_item" not in test:
            assert tests[0] == f"if ({test}) {{"


def test_items_of_tuples_are_read_where_they_are() -> None:
    def pair(*items: Slot) -> TupleSlot:
        return TupleSlot((F32, TupleSlot(items)))

    lines = written(*of(pair(tensor("int8", N)), pair(tensor("int16", N))))
    assert lines[0] == "switch (dtype_of(item(item(&args[0], 1), 0))) {"
    lines = written(*of(pair(tensor("int8", N)), pair(NoneSlot())))
    assert lines[0] == "switch (type_of_item(item(&args[0], 1), 0)) {"
    lines = written(*of(pair(ConstantSlot(7)), pair(ConstantSlot(-(2**40)))))
    assert lines[:2] == ["switch (integer_of_item(item(&args[0], 1), 0)) {", f"  case INT64_C({-(2**40)}):"]
    lines = written(*of(ShapeSlot((4, N)), ShapeSlot((8, N))))
    assert lines[:2] == ["switch (integer_of_item(&args[0], 0)) {", "  case 4:"]


# ---------------------------------------------------------------------------------------------------------
# Parts

HERE, INNER = (2,), (2, 0, 1)


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        (Feature(HERE, "kind"), "type_of(&args[2])"),
        (Feature(INNER, "kind"), "type_of_item(item(&args[2], 0), 1)"),
        (Feature(HERE, "integer"), "integer_of(&args[2])"),
        (Feature(INNER, "integer"), "integer_of_item(item(&args[2], 0), 1)"),
        (Feature(HERE, "dtype"), "dtype_of(&args[2])"),
        (Feature(INNER, "rank"), "rank_of(item(item(&args[2], 0), 1))"),
        (Feature(HERE, "device"), "device_type_of(&args[2])"),
        (Feature(HERE, "extent", 3), "extent_of(&args[2], 3)"),
        (Feature(HERE, "stride", 1), "stride_of(&args[2], 1)"),
    ],
)
def test_each_feature_is_read(feature: Feature, text: str) -> None:
    assert decision_tree._read(feature) == text


@pytest.mark.parametrize("what", ["float", "layout", "address"])
def test_what_is_only_tested_is_not_read(what: str) -> None:
    with pytest.raises(TypeError, match=f"^{what} is tested, not read$"):
        decision_tree._read(Feature(HERE, what))  # type: ignore[arg-type]


X = "&args[2]"


@pytest.mark.parametrize(
    ("feature", "constraint", "tests"),
    [
        (Feature(HERE, "extent"), Values(frozenset({8})), [f"extent_of({X}, 0) == 8"]),
        (
            Feature(HERE, "extent"),
            Values(frozenset({8, 16})),
            [f"(extent_of({X}, 0) == 16 || extent_of({X}, 0) == 8)"],
        ),
        (Feature(HERE, "float"), Values(frozenset({0.5})), [f"is_float({X}, 0.5)"]),
        (
            Feature(HERE, "float"),
            Values(frozenset({math.inf, -1.0})),
            [f"(is_float({X}, -1.0) || is_float({X}, HUGE_VAL))"],
        ),
        (
            Feature(HERE, "float"),
            Values(frozenset({8.5, 0.25, -3.0, 64.125, 1e9})),
            ["(" + " || ".join(f"is_float({X}, {v})" for v in (-3.0, 0.25, 8.5, 64.125, 1e9)) + ")"],
        ),
        (
            Feature(HERE, "kind"),
            Values(frozenset({"none", "tensor"})),
            [
                f"(type_of({X}) == kTVMFFINone || type_of({X}) == kTVMFFIDLTensorPtr"
                f" || type_of({X}) == kTVMFFITensor)"
            ],
        ),
        (Feature(HERE, "kind"), Values(frozenset({"pointer"})), [f"type_of({X}) == kTVMFFIOpaquePtr"]),
        (Feature(HERE, "address"), Integers(multiple_of=64), [f"is_aligned({X}, 64)"]),
        (Feature(HERE, "integer"), Integers(), []),
        (
            Feature(HERE, "integer"),
            Integers(0, None, 2),
            [f"integer_of({X}) >= 0", f"is_multiple(integer_of({X}), 2)"],
        ),
        (Feature(HERE, "integer"), Integers(None, 7), [f"integer_of({X}) <= 7"]),
        (
            Feature(HERE, "layout"),
            Layout((8, Integers(), Integers(multiple_of=4), None, 1), row_major=True),
            [
                f"is_row_major({X})",
                f"is_stride({X}, 0, 8)",
                f"is_stride_multiple({X}, 2, 4)",
                f"is_stride({X}, 4, 1)",
            ],
        ),
        (
            Feature(HERE, "layout"),
            Layout((Integers(-4, 3),)),
            [f"stride_of({X}, 0) >= -4", f"stride_of({X}, 0) <= 3"],
        ),
    ],
)
def test_each_constraint_is_tested(feature: Feature, constraint: Constraint, tests: list[str]) -> None:
    assert list(decision_tree._tests(feature, constraint)) == tests


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bool", "DTYPE(kDLBool, 8, 1)"),
        ("int8", "DTYPE(kDLInt, 8, 1)"),
        ("uint64", "DTYPE(kDLUInt, 64, 1)"),
        ("float32x4", "DTYPE(kDLFloat, 32, 4)"),
        ("bfloat16", "DTYPE(kDLBfloat, 16, 1)"),
        ("float8_e4m3fn", "DTYPE(kDLFloat8_e4m3fn, 8, 1)"),
        ("float8_e3m4", "DTYPE(kDLFloat8_e3m4, 8, 1)"),
        ("float8_e4m3", "DTYPE(kDLFloat8_e4m3, 8, 1)"),
        ("float8_e4m3b11fnuz", "DTYPE(kDLFloat8_e4m3b11fnuz, 8, 1)"),
        ("float8_e4m3fnuz", "DTYPE(kDLFloat8_e4m3fnuz, 8, 1)"),
        ("float8_e5m2", "DTYPE(kDLFloat8_e5m2, 8, 1)"),
        ("float8_e5m2fnuz", "DTYPE(kDLFloat8_e5m2fnuz, 8, 1)"),
        ("float8_e8m0fnu", "DTYPE(kDLFloat8_e8m0fnu, 8, 1)"),
        ("float6_e2m3fn", "DTYPE(kDLFloat6_e2m3fn, 6, 1)"),
        ("float6_e3m2fn", "DTYPE(kDLFloat6_e3m2fn, 6, 1)"),
        ("float4_e2m1fn", "DTYPE(kDLFloat4_e2m1fn, 4, 1)"),
        ("float4_e2m1fnx2", "DTYPE(kDLFloat4_e2m1fn, 4, 2)"),
    ],
)
def test_each_element_type_is_dlpacks(name: str, text: str) -> None:
    assert decision_tree._dtype(name) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((value, str(value)) for value in (0, -1, 2**31 - 1, -(2**31) + 1)),
        *((value, f"INT64_C({value})") for value in (2**31, -(2**31), 2**63 - 1, -(2**63) + 1)),
        (-(2**63), "INT64_MIN"),
    ],
)
def test_integers_are_written_as_c_reads_them(value: int, text: str) -> None:
    assert decision_tree.int64(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (-1e300, "-1e+300"), (math.inf, "HUGE_VAL"), (-math.inf, "-HUGE_VAL"), (math.nan, "NAN")],
)
def test_floats_are_written_as_c_reads_them(value: float, text: str) -> None:
    assert decision_tree.double(value) == text

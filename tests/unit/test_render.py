"""Rendering: nothing that users write escapes from where it is put, and what is printed can be read back."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stubgen.model import names
from stubgen.model.library import (
    ChoiceSlot,
    Default,
    Frozen,
    Kernel,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Parameter,
    Place,
    ScalarSlot,
    ShapeSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Variant,
    Versions,
)
from stubgen.render import documentation, python_types, type_trees
from stubgen.render.cpp_types import parameter_names
from stubgen.render.layout import WIDTH, call_like, docstring, wrapped
from stubgen.render.native import dispatcher
from stubgen.render.package_files import render
from tests.unit.samples import defaults, family_slots, identifiers

# Everything but what ends a line: documentation is rendered line by line.
lines = st.text(max_size=30).map(lambda text: "".join(text.splitlines()))
nasty = st.text("\"\\'{}\t #n\0\x1b\x7f\u200b\ud800N", max_size=12)


def read_back(source: str) -> object:
    """Evaluate a docstring, indented as it stands in a function."""
    (function,) = ast.parse(f"def f():\n{source}\n    x = 1\n").body
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 2, "the docstring ends where it should"
    statement = function.body[0]
    assert isinstance(statement, ast.Expr)
    return ast.literal_eval(statement.value)


def plain(line: str) -> str:
    """What a docstring keeps of a line; tabs before characters that get escaped may be wider."""
    return re.sub(r"\s+", " ", line).strip()


@settings(max_examples=400)
@given(st.lists(lines | nasty, max_size=4))
def test_a_docstring_reads_as_it_was_written(text: list[str]) -> None:
    found = read_back(docstring(text, "    "))
    assert isinstance(found, str)
    read = found.splitlines() if len(text) <= 1 else found.split("\n")[:-1]
    assert [plain(line) for line in read or [""]] == [plain(line) for line in text or [""]]


@pytest.mark.parametrize(
    "text",
    [
        '"',
        '""',
        '"""',
        '""""',
        'ends with "',
        'ends with """',
        "ends with \\",
        'ends with \\"',
        '\\"""',
        '"""; import os; """',
        "\\N{BULLET} \\x41 \\u0041",
        "'''",
        "{braces} {{ jinja }} {% if %} {# #}",
        "naïve café ✓ 数",
    ],
)
def test_hostile_text_stays_inside_the_docstring(text: str) -> None:
    assert read_back(docstring([text], "    ")) == text
    assert read_back(docstring([text, "", text], "    ")) == f"{text}\n\n    {text}\n    "


def test_control_characters_do_not_reach_the_file() -> None:
    source = docstring(["a\0b\x1b[31mc\u2028d\u202ee\ud800f"], "")
    assert source.isprintable()
    assert ast.literal_eval(source) == "a\0b\x1b[31mc\u2028d\u202ee\ud800f"


def test_a_docstring_is_as_readable_in_the_file_as_in_help() -> None:
    text = ['say "hi" to C:\\temp', "", 'and "bye"']
    assert docstring(text, "  ") == '  """say "hi" to C:\\\\temp\n\n  and "bye"\n  """'


# ---------------------------------------------------------------------------------------------------------
# Python


@given(defaults)
def test_a_default_is_printed_as_python_reads_it(default: Default) -> None:
    assert repr(ast.literal_eval(python_types.literal(default))) == repr(default.value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, (math.inf, 1), (math.nan,)])
def test_infinities_and_nan_are_printed_as_python_reads_them(value: float | tuple[float, ...]) -> None:
    text = python_types.literal(Default(value))
    assert repr(eval(text, {"float": float})) == repr(value)


@given(family_slots)
def test_a_type_can_be_parsed_and_its_imports_are_found(slot: object) -> None:
    for records in (True, False):
        kind = python_types.type_of(slot, records=records)  # type: ignore[arg-type]
        parsed = ast.parse(type_trees.text(kind))
        used = {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}
        own, literal = type_trees.imports([kind])
        assert own == sorted(used & set(type_trees.OWN_NAMES))
        assert literal == ("Literal" in used)
        if not records:
            assert used - set(own) - {"Literal"} <= set(dir(builtins))
        elsewhere = ast.parse(type_trees.text(kind, tensor="Array"))
        names_elsewhere = {node.id for node in ast.walk(elsewhere) if isinstance(node, ast.Name)}
        assert names_elsewhere == {"Array" if name == "Tensor" else name for name in used}
        values = [[n.value for n in ast.walk(t) if isinstance(n, ast.Constant)] for t in (parsed, elsewhere)]
        assert values[0] == values[1]


@pytest.mark.parametrize(
    "values",
    [
        ("a Tensor core", "Tensor"),
        ("ArrayOfStructs", "Array"),
        ("Literal[8]", "Pointer | Stream"),
        ("a | b", "None", "_dtype", "[Tensor", "x] = y"),
        ("tuple[Tensor, None]", None),
    ],
)
def test_texts_that_callers_choose_among_are_no_types(values: tuple[str | None, ...]) -> None:
    slot = OneOfSlot((ChoiceSlot("by", values), NoneSlot()))
    kind = python_types.type_of(slot, records=True)
    shown = ", ".join(f'"{value}"' for value in values if value is not None)
    assert type_trees.text(kind, tensor="Array") == f"Literal[{shown}] | None"
    assert type_trees.imports([kind]) == ([], True)
    assert type_trees.imports([type_trees.Tuple((kind, type_trees.TENSOR))]) == (["Tensor"], True)


def test_a_call_is_broken_only_if_it_has_to_be() -> None:
    short = call_like("def f", ["a: int", "/"], " -> None:")
    assert short == "def f(a: int, /) -> None:"
    long = call_like("def f", ["a" * 60 + ": int", "b" * 60 + ": int"], " -> None:")
    assert long == f"def f(\n    {'a' * 60}: int,\n    {'b' * 60}: int,\n) -> None:"
    assert call_like("f" * WIDTH, [], "") == "f" * WIDTH + "()"


@given(st.text("ab -,", max_size=60), st.integers(5, 20))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    assert " ".join(wrapped(text, width=width, hanging=2)).split() == text.split()


# ---------------------------------------------------------------------------------------------------------
# C and C++


@given(
    st.lists(
        st.sampled_from(["_", "__", "___", "_A", "A", "int", "int_", "größe", "grxfcxdfe", "NULL", "M_PI"])
        | st.from_regex(r"[^\W\d]\w{0,3}", fullmatch=True).filter(str.isidentifier),
        unique=True,
        max_size=8,
    )
)
def test_names_in_c_are_valid_and_differ(written: list[str]) -> None:
    spelled = parameter_names(written)
    assert len(set(spelled)) == len(written)
    for name in spelled:
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        assert not names.is_reserved_in_c(name)


@given(st.lists(identifiers, unique=True, max_size=5))
def test_names_that_are_valid_in_c_stay_as_they_are(written: list[str]) -> None:
    kept = [name for name in written if not names.is_reserved_in_c(name)]
    assert parameter_names(kept) == kept


# ---------------------------------------------------------------------------------------------------------
# Documentation


@pytest.mark.parametrize(
    ("slot", "text"),
    [
        (
            TensorSlot("float16", (Symbol("m"), 8), (8, 1), 16),
            "float16, shape (m, 8), CUDA, 16-byte aligned",
        ),
        (TensorSlot("float32", (4,), (2,), 4, "cpu"), "float32, shape (4,), strides (2,), CPU"),
        (TensorSlot("bool", ()), "bool, shape (), CUDA"),
        (TensorSlot("int8", (4,), device=None), "int8, shape (4,), device and strides unknown"),
        (NoneSlot(), "None"),
        (ScalarSlot("int32"), "int32"),
        (ShapeSlot((4, Symbol("n"))), "integers (4, n)"),
        (
            OneOfSlot(
                tuple(
                    TupleSlot((first, TensorSlot(dtype, (8,), (2,))), "Both", ("a", "b"))
                    for first, dtype in ((ScalarSlot("int32"), "float16"), (NoneSlot(), "float32"))
                )
            ),
            "(a: int32 or None; b: float16 | float32, shape (8,), strides (2,), CUDA)",
        ),
        (
            OneOfSlot((TupleSlot((NoneSlot(),)), TupleSlot((NoneSlot(), ScalarSlot("bool"))), NoneSlot())),
            "(None); or (None; bool); or None",
        ),
    ],
)
def test_an_argument_is_described_in_words(slot: object, text: str) -> None:
    assert documentation.describe(slot) == text  # type: ignore[arg-type]


def _strided(dtype: str, rows: str, *strides: Symbol) -> TensorSlot:
    return TensorSlot(dtype, (Symbol(rows), 64), (*strides, 1), 16)


def test_strides_of_different_names_are_both_shown() -> None:
    for first, second in (("s3", "s12"), ("ld", "pitch")):
        slots = (_strided("float16", "m", Symbol(name, 64, 8)) for name in (first, second))
        described = documentation.describe(OneOfSlot(tuple(slots)))
        assert f"strides ({first}, 1) | ({second}, 1)," in described
    same = OneOfSlot(tuple(_strided(dtype, "m", Symbol("s3", 64, 8)) for dtype in ("float16", "bfloat16")))
    assert "strides (s3, 1)," in documentation.describe(same)


@pytest.mark.parametrize(
    ("divisors", "text"),
    [
        ((8,), "s0 is a multiple of 8"),
        ((8, 4), "s0 is a multiple of 8 or 4"),
        ((8, 1), "s0 is a multiple of 8 in some variants"),
        ((8, 1, 4), "s0 is a multiple of 8 or 4 in some variants"),
        ((1,), ""),
    ],
)
def test_a_size_is_a_multiple_of_what_it_is_in_any_variant(divisors: tuple[int, ...], text: str) -> None:
    slots = tuple(_strided("float16", "m", Symbol("s0", 64, divisor)) for divisor in divisors)
    told = documentation.conditions([Parameter("x", OneOfSlot(slots))])
    assert [part for part in told.split("; ") if "multiple" in part] == [text][: bool(text)]


# ---------------------------------------------------------------------------------------------------------
# The whole package


def library(doc: str, frozen: str) -> Library:
    parameters = (
        Parameter("x", TensorSlot("float32", (Symbol("n", divisible_by=4),)), "positional_only"),
        Parameter("pair", TupleSlot((ScalarSlot("int32"), NoneSlot()))),
        Parameter("eps", ScalarSlot("float32"), default=Default(math.inf)),
        Parameter("flag", ScalarSlot("bool"), "keyword_only", Default(True)),
    )
    kernel = Kernel(
        "k",
        "m",
        parameters,
        "k()",
        Place("k.py", 1),
        doc,
        Place(doc, 1),
        (Frozen("mode", frozen),),
        ("stream",),
        archs=("sm_90a", "sm_100f"),
    )
    inner = msgspec.structs.replace(kernel, name="l", module="inner.n")
    modules = (Module("m", "k.py", (kernel,), doc=doc), Module("inner.n", "k.py", (inner,), doc=doc))
    return Library("p", modules, Versions("1", "2", "0.1.15", "4"), {})


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lines | nasty, max_size=3).map("\n".join), lines | nasty)
def test_no_text_of_users_breaks_a_generated_python_file(doc: str, frozen: str) -> None:
    harmless, nasty = (
        {p: t for p, t in render(own).items() if p.endswith((".py", ".pyi"))}
        for own in (library("Doc.", "1"), library(doc, frozen))
    )
    assert len(harmless) > 10
    assert {path: outline(text) for path, text in nasty.items()} == {
        path: outline(text) for path, text in harmless.items()
    }


def outline(source: str) -> list[tuple[str, str]]:
    """List the statements of a file, without what they say."""
    return [(type(node).__name__, getattr(node, "name", "")) for node in ast.parse(source).body]


def test_positional_and_keyword_functions_have_the_same_parameters() -> None:
    rendered = render(library("Doc.", "1"))
    signatures = {
        path: next(node for node in ast.parse(rendered[path]).body if isinstance(node, ast.FunctionDef)).args
        for path in ("p/inner/n.pyi", "p/kwargs/inner/n.pyi")
    }
    positional, keyword = signatures.values()
    assert ast.unparse(positional).startswith("x: Tensor, pair: tuple[int, None], eps: float, flag: bool, /")
    assert [a.arg for a in positional.posonlyargs] == ["x", "pair", "eps", "flag"]
    assert [a.arg for a in (*keyword.args, *keyword.kwonlyargs)] == ["x", "pair", "eps", "flag"]
    assert ast.unparse(keyword).endswith("eps: float=float('inf'), *, flag: bool=True")


def test_documentation_says_what_types_cannot() -> None:
    doc = "\n".join(documentation.function_doc(library("Doc.", "'fast'").kernels[0], width=80))
    for words in (
        "x: float32, shape (n,)",
        "n is a multiple of 4",
        "mode='fast'",
        "current stream",
        "Built for sm_90a, sm_100f.",
    ):
        assert words in doc
    assert inspect.cleandoc(doc).startswith("Doc.")


def test_of_many_variants_only_the_axes_are_told() -> None:
    def table(count: int) -> list[str]:
        return documentation.variant_table(
            [
                msgspec.structs.replace(
                    library("", "").kernels[0], variant=Variant("f", {"a": f"v{number}", "b": "x"})
                )
                for number in range(count)
            ]
        )

    assert table(65) == ["Variants", "--------", "65, along a, b."]
    assert len(table(64)) == 66
    assert table(64)[:3] == ["Variant  a    b", "-------  ---  -", "v0_x     v0   x"]


def test_a_library_without_families_and_device_code_needs_no_dispatcher() -> None:
    empty = Library("p", (), Versions("1", "2", "0.1.15", "4"), {})
    assert dispatcher.dispatcher(empty) == ""
    assert dispatcher.exports(empty) == ()
    host = msgspec.structs.replace(library("", "").kernels[0], archs=())
    assert (
        dispatcher.dispatcher(msgspec.structs.replace(empty, modules=(Module("m", "k.py", (host,)),))) == ""
    )
    assert dispatcher.dispatcher(library("", "")) != ""


def test_only_packages_for_frameworks_name_themselves_to_them() -> None:
    plain = library("", "")
    framed = msgspec.structs.replace(plain, frameworks=("torch",))
    runtimes = [render(own)["p/_runtime.py"] for own in (plain, framed)]
    assert ["\nNAMESPACE = " in text for text in runtimes] == [False, True]
    assert ["def library(" in text for text in runtimes] == [False, True]
    assert all("tvm_ffi" in text for text in runtimes)

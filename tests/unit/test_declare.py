"""Declarations: labels, names of members, and what is refused where it is written."""

from __future__ import annotations

import enum
import keyword
import math
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stubgen as sg
from stubgen.declare import declarations
from stubgen.declare.arguments import Dim, StreamArg
from stubgen.declare.declarations import Call, Declaration, Options
from stubgen.declare.labels import DeclarationError, identifier_part, label_of

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without declarations, and leave none."""
    monkeypatch.setattr(declarations, "_declared", [])
    monkeypatch.setattr(declarations, "_waiting", [])


def declared() -> tuple[Declaration, ...]:
    return declarations.declared_in(__file__)


def function(*_: object, **__: object) -> None:
    """Stand for a kernel; declarations do not look at it."""


# ---------------------------------------------------------------------------------------------------------
# Labels


@given(texts, texts)
def test_different_texts_have_different_labels(first: str, second: str) -> None:
    assert (identifier_part(first) == identifier_part(second)) == (first == second)


@given(texts)
def test_a_label_can_follow_a_letter_in_an_identifier_and_has_no_underscore(text: str) -> None:
    label = identifier_part(text)
    name = f"k__{label}"
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)
    assert "_" not in label


@given(st.lists(texts, min_size=1), st.lists(texts, min_size=1))
def test_joined_labels_can_be_told_apart(first: list[str], second: list[str]) -> None:
    joined = ["_".join(map(identifier_part, labels)) for labels in (first, second)]
    assert (joined[0] == joined[1]) == (first == second)


@given(values)
def test_every_plain_value_has_a_label(value: object) -> None:
    label = label_of(value)
    assert f"k__{label}".isidentifier()
    assert label or value == "", "only an empty text has an empty one"


@given(st.integers() | st.floats(allow_nan=False), st.integers() | st.floats(allow_nan=False))
def test_different_numbers_have_different_labels(first: float, second: float) -> None:
    if str(first) != str(second):
        assert label_of(first) != label_of(second)


class Float8E4M3FN:
    """Stand for a dtype."""


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (Float8E4M3FN, "float8e4m3fn"),
        (4096, "4096"),
        (-1, "m1"),
        (0.5, "0p5"),
        (1e-05, "1em05"),
        (1e20, "1e20"),
        (True, "true"),
        (None, "none"),
        ("relu", "relu"),
        ("two words", "twoZ20zwords"),
        ("Z", "ZZ"),
    ],
)
def test_labels_read_like_the_values(value: object, label: str) -> None:
    assert label_of(value) == label


@pytest.mark.parametrize("value", [object(), [1], {}, ("a",)])
def test_other_values_need_a_label_of_their_own(value: object) -> None:
    with pytest.raises(DeclarationError, match="give labels with a dict"):
        label_of(value)


# ---------------------------------------------------------------------------------------------------------
# Families


def test_members_are_all_combinations_the_last_axis_fastest() -> None:
    @sg.family(dtype=[Float8E4M3FN], size=[4, 8], mode={"fast": object(), "exact": None})
    def scale(dtype: object, size: int, mode: object) -> Call:
        return sg.kernel(function, dtype, size, mode=mode)

    assert [d.name for d in declared()] == [
        "scale__float8e4m3fn_4_fast",
        "scale__float8e4m3fn_4_exact",
        "scale__float8e4m3fn_8_fast",
        "scale__float8e4m3fn_8_exact",
    ]
    last = declared()[-1]
    assert (last.family, last.labels) == ("scale", {"dtype": "float8e4m3fn", "size": "8", "mode": "exact"})
    call = last.build()
    assert isinstance(call, Call)
    assert (call.args, call.kwargs) == ((Float8E4M3FN, 8), {"mode": None}), "each member builds with its own"


class Mode(enum.Enum):
    FAST = 1
    exact = 2


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    """Text of a class that only its author has."""


@pytest.mark.parametrize(
    ("axis", "choices"),
    [
        ([False, True], [False, True]),
        ([64, 128], [64, 128]),
        ([0.5, -1.0], [0.5, -1.0]),
        (["relu", "a b"], ["relu", "a b"]),
        ([None, 1, "x"], [None, 1, "x"]),
        ([np.float64(0.5), np.float64(2)], [0.5, 2.0]),
        ([Name("x"), Name("y")], ["x", "y"]),
        (list(Mode), ["FAST", "exact"]),
        ([*Level, 7], ["LOW", "7"]),
        ([Float8E4M3FN, bool], ["float8e4m3fn", "bool"]),
        ({"a b": 1, "none": None}, ["a b", "none"]),
        # What Python takes for the same, what no manifest can hold, and what no C compares.
        ([1, True], ["1", "true"]),
        ([2**63, 1], [str(2**63), "1"]),
        ([math.inf, 1.0], ["inf", "1p0"]),
        (["\ud800", "x"], ["Zd800z", "x"]),
    ],
    ids=repr,
)
def test_callers_choose_by_values_if_those_are_plain_and_by_labels_else(
    axis: Any, choices: list[object]
) -> None:
    @sg.family(axis=axis)
    def chosen(axis: object) -> None: ...

    found = [(d.values or {})["axis"] for d in declared()]
    assert found == choices
    assert [type(value) for value in found] == [type(value) for value in choices]


def test_a_family_without_axes_has_one_member() -> None:
    @sg.family()
    def alone() -> None: ...

    assert [(d.family, d.name) for d in declared()] == [("alone", "alone__only")]


def test_the_decorated_function_stays_what_it_was() -> None:
    def build(size: int) -> None: ...

    assert sg.family("named", size=[1])(build) is build
    assert declared()[0].name == "named__1"


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"x": []}, "axis 'x' has no values"),
        ({"x": {}}, "axis 'x' has no values"),
        ({"x": [1, 1]}, "labelled '1', 1 and 1"),
        ({"x": [1, True, "1"]}, "labelled '1', 1 and '1'"),
        ({"x": "abc"}, "axis 'x' is 'abc'; give a list"),
        ({"x": 3}, "axis 'x' is 3; give a list"),
        ({"x": {1, 2}}, "axis 'x' is a set, which has no order; give a list"),
        ({"x": frozenset("ab")}, "axis 'x' is a set"),
        ({"class": [1]}, "'class' is no name of an axis"),
        ({"a b": [1]}, "'a b' is no name of an axis"),
        ({"x": {3: 4}}, "3 is no label"),
        ({"x": {"": 4}}, "'' is no label"),
        ({"y": [1]}, "does not take the axes of its family (y)"),
        ({"x": [1], "y": [1]}, "does not take the axes of its family (x, y)"),
        ({}, "does not take the axes of its family (none)"),
    ],
)
def test_wrong_axes_are_refused_where_they_are_written(axes: dict[str, Any], words: str) -> None:
    def build(x: object) -> None: ...

    with pytest.raises(DeclarationError) as caught:
        sg.family(**axes)(build)
    assert words in str(caught.value)
    assert declared() == ()


def test_a_family_has_to_be_called() -> None:
    with pytest.raises(DeclarationError, match=r"function is no name; write @stubgen\.family\(axis="):
        sg.family(function)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (3, r"stubgen\.family decorates a function, not 3"),
        (Float8E4M3FN, r"stubgen\.family decorates a function, not Float8E4M3FN"),
        (lambda: None, r"does not take the axes of its family \(x\)"),
    ],
)
def test_a_family_decorates_a_function_of_its_axes(thing: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        sg.family(x=[1])(thing)


# ---------------------------------------------------------------------------------------------------------
# Exports


def test_an_export_keeps_what_was_written_and_where() -> None:
    sg.export(options="--opt-level 2")(function, 1, b=2)
    here = Path(__file__).read_text().splitlines()
    (found,) = declared()
    assert (found.name, found.family, found.labels) == ("function", None, None)
    assert here[found.line - 1].strip().startswith('sg.export(options="--opt-level 2")(function, 1')
    assert found.build() == found.build()
    call = found.build()
    assert isinstance(call, Call)
    assert (call.fn, call.args, call.kwargs) == (function, (1,), {"b": 2})
    assert call.options == Options(options="--opt-level 2")


@pytest.mark.parametrize(
    ("fn", "name", "public"),
    [(function, "other", "other"), (object(), None, None), (object(), "given", "given"), (function, "", "")],
)
def test_the_public_name_is_the_given_one_or_else_the_functions_own(
    fn: object, name: str | None, public: str | None
) -> None:
    sg.export(name=name)(fn)
    assert declared()[0].name == public


def test_a_parameter_may_be_called_fn() -> None:
    sg.export(function, fn=3)
    call = declared()[0].build()
    assert isinstance(call, Call)
    assert call.kwargs == {"fn": 3}


def test_parameters_may_be_called_like_options() -> None:
    keywords = {name: number for number, name in enumerate(declarations.OF_EXPORTS | declarations.OF_KERNELS)}
    sg.export(function, **keywords)
    sg.export(name="other")(function, **keywords)
    for declaration, name in zip(declared(), ("function", "other"), strict=True):
        call = declaration.build()
        assert isinstance(call, Call)
        assert (declaration.name, call.kwargs) == (name, keywords)
    assert sg.kernel(function, **keywords).kwargs == keywords
    assert sg.kernel(priority=3)(function, priority=4).options.priority == 3


def test_options_may_serve_several_functions() -> None:
    fast = sg.export(options="--opt-level 3")
    fast(function)
    fast(len)
    assert [declaration.name for declaration in declared()] == ["function", "len"]
    assert [line for line, _ in declarations.lost_options(__file__)] == []


def test_options_without_a_function_are_found() -> None:
    sg.export(name="lost")
    sg.kernel(priority=1)
    assert [what for _, what in declarations.lost_options(__file__)] == ["export", "kernel"]


@pytest.mark.parametrize("declare", [sg.export, sg.kernel])
def test_what_is_no_option_is_refused_where_it_is_written(declare: Any) -> None:
    with pytest.raises(DeclarationError, match=r"^x, names is no option, .* before its arguments: stubgen\."):
        declare(x=1, names="two")


def test_declarations_of_other_files_are_not_mixed_in() -> None:
    sg.export(function)
    assert declarations.declared_in("/elsewhere.py") == ()


# ---------------------------------------------------------------------------------------------------------
# Arguments


def test_dims_of_one_name_are_different_sizes() -> None:
    first, second = sg.dim("n"), sg.dim("n")
    assert first != second
    assert len({first, second}) == 2


def test_helpers_record_without_looking() -> None:
    dim = sg.dim("n", divisible_by=8, bits=64)
    assert (dim.name, dim.divisible_by, dim.bits) == ("n", 8, 64)
    tensor = sg.tensor("any dtype", dim, 4, align=16, order=[1, 0], device="cpu")
    assert tensor.shape == (dim, 4)
    assert (tensor.dtype, tensor.order, tensor.strides, tensor.align, tensor.device) == (
        "any dtype",
        [1, 0],
        None,
        16,
        "cpu",
    )
    assert isinstance(dim, Dim)
    assert (sg.stream(), sg.env_stream()) != (StreamArg(False), StreamArg(True)), "compared by identity"
    assert (sg.stream().env, sg.env_stream().env) == (False, True)
    assert sg.pointer(int).device == "cuda"


def test_a_family_returns_what_it_makes_and_exports_nothing() -> None:
    @sg.family(x=[1])
    def member(x: int) -> Any:
        sg.export(print, x)

    [declaration] = declared()
    with pytest.raises(
        DeclarationError,
        match=r"^its function calls stubgen\.export, which returns nothing; return stubgen\.kernel\(\.",
    ):
        declaration.build()


def test_what_authors_import_loads_nothing_but_the_standard_library() -> None:
    root = str(Path(sg.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {root!r}); import stubgen; print(*sys.modules)"
    loaded = run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    names = {name for name in loaded.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    own = {
        name
        for name in names
        if name in ("stubgen", "stubgen.declare") or name.startswith("stubgen.declare.")
    }
    assert names - own <= {"__main__"}

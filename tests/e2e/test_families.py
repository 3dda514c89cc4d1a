"""Families of every form: selectors of all types, overloads, defaults, records; in Python and in C++."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests import signatures, typecheckers
from tests.conftest import run_stubgen
from tests.cpp.compilers import CLANG, GCC, Compiler
from tests.typing.test_types import marked, mypy_lines, pyright_lines

pytestmark = pytest.mark.xdist_group("families")

HERE = Path(__file__).parent

INNER = '''
"""A family in a folder."""
import cutlass
from cutlass import cute
import stubgen as sg


@cute.jit
def _write(out: cute.Tensor, number: cutlass.Constexpr[int]):
    out[0] = cutlass.Float64(number)


@sg.family(number=[1, 2])
def inner(number):
    return sg.kernel(_write, sg.tensor(cutlass.Float64, 1, device="cpu"), number)
'''


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("families")
    (project / "kernels" / "deep").mkdir(parents=True)
    (project / "kernels" / "deep" / "inner.py").write_text(INNER)
    (project / "kernels" / "families.py").write_text((HERE / "families.py").read_text())
    (project / "pyproject.toml").write_text("")
    done = run_stubgen("generate", "--package", "fam", "-C", project, cwd=project)
    assert done.returncode == 0, done.stderr
    return project / "generated"


@pytest.fixture(scope="module")
def families(output: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(output))
    yield importlib.import_module("fam.families")
    sys.path.remove(str(output))


@pytest.fixture(scope="module")
def kw(families: ModuleType) -> ModuleType:
    return importlib.import_module("fam.kwargs.families")


def number(function: Any, *arguments: Any, **named: Any) -> float:
    """Return what a function writes to its ``out``."""
    out = np.full(1, np.nan)
    function(
        *(out if a is OUT else a for a in arguments), **{n: out if a is OUT else a for n, a in named.items()}
    )
    return float(out[0])


OUT = object()


# ---------------------------------------------------------------------------------------------------------
# Types and signatures


def test_stub_equals_runtime_signature_equals_abi(output: Path) -> None:
    assert signatures.compare(output, "fam") > 60


def test_type_checkers_accept_the_package(output: Path, tmp_path: Path) -> None:
    for done in (typecheckers.mypy(output, "-p", "fam"), typecheckers.stubtest(output, "fam")):
        assert done.returncode == 0, done.stdout
    lines, told = pyright_lines(output, tmp_path, package="fam")
    assert lines == set(), told


CALLS = """
import numpy as np
from fam import families
from fam.kwargs import families as kw
from fam.deep import inner

Array = np.ndarray[tuple[int], np.dtype[np.float64]]


def right(x: Array, flag: bool) -> None:
    families.affine(x, x, None, None)
    families.affine(x, x, x, x)
    kw.affine(x, x)
    kw.affine(x, out=x, scale=x, shift=x)
    kw.affine(x, x, scale=None)
    families.by_bool(x, flag)
    families.by_int(x, 1099511627776)
    families.by_float(x, 0.5)
    families.by_str(x, "two words")
    kw.by_str(x, word="ReLU")
    families.by_enum(x, "FAST")
    families.by_anything(x, None)
    families.by_anything(x, "four")
    families.by_function(x, "square", x)
    families.defaults(1.0, x, "add", 0.5, flag)
    families.defaults(1.0, x, "multiply", 0.5, False)
    kw.defaults(1.0, x)
    kw.defaults(1.0, x, "multiply", amount=2)
    kw.defaults(1.0, x, negate=flag)
    families.nothing(2)
    families.no_axes(x)
    families.no_axes.variants["only"](x)
    families.one_value(x)
    families.records((x, 1.0, None), (1.0, True), x)
    kw.records(families.Pair(x, None, x), families.Options(1.0, flag), out=x)
    kw.records(families.Pair(x, None, x), families.Options(1.0), out=x)
    inner.inner(x, 1)
    inner.inner.variants["2"](x)


def wrong(x: Array, flag: bool) -> None:
    families.affine(x, x, x, None)  # wrong: together or not at all
    families.affine(x, x, None, x)  # wrong
    kw.affine(x, x, scale=x)  # wrong
    families.affine.variants["true"](x, x, None, None)  # wrong
    families.by_bool(x, "x")  # wrong
    families.by_int(x, 65)  # wrong
    families.by_float(x, "0.5")  # wrong
    families.by_str(x, "relU")  # wrong
    kw.by_str(x, "relu")  # wrong: by keyword only
    families.by_enum(x, "fast")  # wrong
    families.by_anything(x, "five")  # wrong
    families.by_anything(x, False) if flag else families.by_anything(x, "3")  # wrong
    families.by_function(x, x, x)  # wrong
    families.defaults(1.0, x, "multiply", 0.5, True)  # wrong: not built
    kw.defaults(1.0, x, "multiply", negate=flag)  # wrong: not always
    families.defaults.variants["multiply_true"]  # wrong
    families.nothing()  # wrong: there is no default
    families.no_axes(x, 6.0)  # wrong
    families.records((x, 1.0, x), (1.0, True), x)  # wrong
    families.records((x, None, 1.0), (1.0, True), x)  # wrong
    kw.records((x, None, None), families.Options(1.0, flag), out=x)  # wrong
    inner.inner(x, 3)  # wrong
"""


def test_type_checkers_refuse_exactly_the_wrong_calls(output: Path, tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    lines, told = mypy_lines(output, file)
    assert lines == marked(file), told
    (tmp_path / "checked").mkdir()
    found, told = pyright_lines(output, tmp_path / "checked", file, package="fam")
    assert found == {(file.name, line) for line in marked(file)}, told


def test_families_and_variants_say_what_they_are(families: ModuleType) -> None:
    family = families.affine
    assert repr(family) == (
        "<kernel fam.families.affine"
        "(x: Tensor, out: Tensor, scale: Tensor | None, shift: Tensor | None, /) -> None>"
    )
    assert repr(family.variants) == "<2 variants of fam.families.affine>"
    variant = family.variants["false"]
    assert repr(variant) == (
        "<kernel fam.families.affine.variants['false']"
        "(x: Tensor, out: Tensor, scale: None, shift: None, /) -> None>"
    )
    assert list(inspect.signature(variant).parameters) == ["x", "out", "scale", "shift"]
    assert variant.__annotations__["scale"] == "None"
    assert "The variant false of affine" in pydoc.plain(pydoc.render_doc(variant))
    text = pydoc.plain(pydoc.render_doc(family))
    assert "affine(x: 'Tensor', out: 'Tensor'" in text
    assert "together or not at all" not in text
    assert "scale: float64, shape (n,), CPU; or None" in text


def test_families_and_variants_can_be_pickled_and_copied(families: ModuleType) -> None:
    inner = importlib.import_module("fam.deep.inner").inner
    for family in (families.by_str, inner):
        key = next(iter(family.variants))
        for thing in (family, family.variants, family.variants[key]):
            assert pickle.loads(pickle.dumps(thing)) is thing
            assert copy.deepcopy(thing) is thing


def test_variants_are_a_mapping(families: ModuleType) -> None:
    variants = families.by_str.variants
    assert list(variants)[:3] == ["relu", "ReLU", "twoZ20zwords"]
    assert len(variants) == len(variants.items()) == 5
    assert "relu" in variants
    assert "relU" not in variants
    assert None not in variants
    assert variants.get("x") is None
    assert variants["relu"] is variants["relu"]
    with pytest.raises(KeyError, match=r"by_str has no variant 'rel'; did you mean 'relu'\?"):
        variants["rel"]
    with pytest.raises(KeyError, match="by_str has no variant 'x'\""):
        variants["x"]
    with pytest.raises(KeyError, match="by_str has no variant 1"):
        variants[1]


# ---------------------------------------------------------------------------------------------------------
# Calls from Python

SELECTED = {
    "by_bool": {True: 1.0, False: 2.0},
    "by_int": {64: 64.0, 1 - 2**63: float(1 - 2**63), 2**40: 2.0**40},
    "by_float": {0.5: 0.5, -1e300: -1e300, 2.0: 2.0},
    "by_str": {text: len(text.encode()) for text in ("relu", "ReLU", "two words", "größe \"'\\?/", "int")},
    "by_enum": {"FAST": 1.0, "exact": 2.0},
    "by_anything": {None: 0.0, 3: 3.0, "four": 4.0, True: 1.0, -5.5: -5.5},
    "a": {"x": 1.0, "y": 2.0},
    "a_b": {"x": 3.0, "y": 4.0},
    "by": {"relu": 11.0, "x": 11.0},
}


@pytest.mark.parametrize(("name", "expected"), SELECTED.items(), ids=SELECTED)
def test_a_selector_takes_its_values(
    families: ModuleType, kw: ModuleType, name: str, expected: dict[Any, float]
) -> None:
    function = getattr(families, name)
    selector = list(inspect.signature(function).parameters)[-1]
    for value, result in expected.items():
        assert number(function, OUT, value) == result, value
        assert number(getattr(kw, name), out=OUT, **{selector: value}) == result, value
    found = [number(variant, OUT) for variant in function.variants.values()]
    assert found == list(expected.values())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("by_bool", [2, -1, None, "True", 1.0]),
        ("by_int", [65, 64.0, True, None, "64", 0]),
        ("by_float", [0.25, None, "0.5", 3, float("nan")]),
        ("by_str", ["", "rel", "relu ", "relu\0", b"relu", None, 0, "größe"]),
        ("by_enum", ["fast", "Mode.FAST", 1]),
        ("by_anything", [0, 2, "3", "", 5.5, "none"]),
    ],
)
def test_a_selector_takes_nothing_else(families: ModuleType, name: str, wrong: list[Any]) -> None:
    for value in wrong:
        out = np.zeros(1)
        with pytest.raises(TypeError, match=rf"^No variant accepts \(out: .*when calling: `{name}\(out: "):
            getattr(families, name)(out, value)
        assert out == 0


def test_tensors_that_come_together(families: ModuleType, kw: ModuleType) -> None:
    x, two, three = np.arange(3.0), np.full(3, 2.0), np.full(3, 3.0)
    for call, expected in {
        lambda out: families.affine(x, out, None, None): [0, 1, 2],
        lambda out: families.affine(x, out, two, three): [3, 5, 7],
        lambda out: kw.affine(x, out): [0, 1, 2],
        lambda out: kw.affine(x, shift=three, scale=two, out=out): [3, 5, 7],
    }.items():
        out = np.zeros(3)
        call(out)
        assert out.tolist() == expected
    for scale, shift in ((two, None), (None, three)):
        with pytest.raises(TypeError, match="affine"):
            families.affine(x, np.zeros(3), scale, shift)


def test_defaults_of_selectors_and_others(families: ModuleType, kw: ModuleType) -> None:
    assert number(kw.defaults, 2.0, OUT) == 2.5
    assert number(kw.defaults, 2.0, OUT, "multiply") == 1.0
    assert number(kw.defaults, x=2.0, out=OUT, negate=True) == -2.5
    assert number(kw.defaults, 2.0, OUT, amount=3.0, negate=True, mode="add") == -5.0
    assert number(families.defaults, 2.0, OUT, "multiply", 4.0, False) == 8.0
    with pytest.raises(TypeError, match=r"^No variant accepts .*mode: \"multiply\".*negate: True"):
        families.defaults(2.0, np.zeros(1), "multiply", 4.0, True)
    with pytest.raises(TypeError, match="Expects 5 parameters"):
        families.defaults(2.0, np.zeros(1))
    single = np.zeros(1, np.float32)
    kw.partly_chosen(2.0, single, amount=0.25)
    assert single == 2.25
    assert number(families.partly_chosen, 2.0, OUT, "multiply", 0.25) == 0.5


def test_functions_in_place_of_selectors(families: ModuleType) -> None:
    for word, expected in {"double": [6.0, 8.0], "square": [9.0, 16.0]}.items():
        out = np.zeros(2)
        families.by_function(np.array([3.0, 4.0]), word, out)
        assert out.tolist() == expected


def test_families_with_next_to_nothing(families: ModuleType, kw: ModuleType) -> None:
    assert families.nothing(1) is families.nothing(2) is kw.nothing(number=2) is None
    families.nothing.variants["1"]()
    with pytest.raises(TypeError, match="No variant accepts"):
        families.nothing(3)
    assert number(families.no_axes, OUT) == number(families.no_axes.variants["only"], OUT) == 6.0
    assert number(families.one_value, OUT) == 7.0
    assert [
        number(getattr(families, name), OUT) for name in ("detail", "a_variants", "ByEnumNumber", "AB")
    ] == [8, 9, 10, 5]


def test_names_that_the_generated_code_uses(families: ModuleType, kw: ModuleType) -> None:
    assert number(families.unbuilt, OUT, 2, 10.0, 20.0, "none") == 32.0
    assert number(kw.unbuilt, out=OUT, self=1, entry=10.0, UnbuiltWord=20.0, word="None") == 29.0


def test_the_docstring_of_a_family_stands_in_for_the_kernels(families: ModuleType) -> None:
    assert families.unbuilt.__doc__.startswith("The kernel has no docstring of its own.\n")
    assert families.affine.__doc__.startswith("out = scale * x + shift")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("by_int", 64.0, "64.0"),
        ("by_float", 0.5 + 1e-15, "0.500000000000001"),
        ("by_float", float("-inf"), "-inf"),
        ("by_str", "relu\0", '"relu\\u0000"'),
        ("by_str", 'ré"\\\n', r'"ré\"\\\n"'),
        ("by_str", "é" * 40, '"' + "é" * 32 + '"...'),
        ("by_str", np.bool_(True), "True"),
        ("by_str", object(), "an object of type object"),
    ],
)
def test_what_was_passed_is_shown_so_that_it_can_be_told(
    families: ModuleType, name: str, value: Any, shown: str
) -> None:
    with pytest.raises(TypeError) as raised:
        getattr(families, name)(np.zeros(1), value)
    assert f": {shown}) when calling" in str(raised.value)


def test_the_signature_shows_words_as_they_are(families: ModuleType) -> None:
    with pytest.raises(TypeError) as raised:
        families.by_str(np.zeros(1), "x")
    assert r'''"größe \"'\\?/"''' in str(raised.value)


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize(
    ("factor", "other", "expected"), [(3.0, False, [6, 9]), (None, True, [12, 23]), (None, False, [2, 3])]
)
def test_records_tell_variants_apart(
    families: ModuleType,
    kw: ModuleType,
    factor: float | None,
    other: bool,
    expected: list[float],
    negate: bool,
) -> None:
    x, more = np.array([1.0, 2.0]), np.array([10.0, 20.0]) if other else None
    expected = [-value if negate else value for value in expected]
    out, again = np.zeros(2), np.zeros(2)
    families.records((x, factor, more), (1.0, negate), out)
    kw.records(families.Pair(x, factor, more), families.Options(1.0, negate), again)
    assert out.tolist() == again.tolist() == expected


def test_a_constant_that_variants_differ_in_keeps_its_default(families: ModuleType, kw: ModuleType) -> None:
    out = np.zeros(2)
    kw.records(families.Pair(np.ones(2), None, None), families.Options(amount=1.0), out)
    assert out.tolist() == [2.0, 2.0]


def test_records_that_no_variant_takes(families: ModuleType) -> None:
    x = np.ones(2)
    for pair, options in (
        ((x, 1.0, x), (1.0, True)),
        ((x, None), (1.0, True)),
        ((x, None, None), (1.0, 2)),
        (x, (1.0, True)),
        ((), ()),
    ):
        out = np.zeros(2)
        with pytest.raises((TypeError, ValueError), match="`records"):
            families.records(pair, options, out)
        assert not out.any()


# ---------------------------------------------------------------------------------------------------------
# Calls from C++


@pytest.mark.parametrize(("compiler", "standard"), [(GCC, "c++17"), (CLANG, "c++20")], ids=str)
def test_calls_from_cpp(output: Path, compiler: Compiler, standard: str, tmp_path: Path) -> None:
    package, program = output / "fam", tmp_path / "program"
    library, include = package / "lib" / "libfam.so", package / "include"
    source = tmp_path / "families.cpp"
    source.write_text((HERE / "families.cpp").read_text())
    compiler.build(program, [source], library, standard=standard, include=include)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


REFUSED = {
    "a choice that was not built": "f::defaults<f::DefaultsMode::multiply, true>(1.0, out);",
    "a number that was not built": "f::by_int<65>(out);",
    "an enumerator that is not there": "f::by_enum(out, f::ByEnumNumber_::slow);",
    "text for an enumerator": 'f::by_enum(out, "FAST");',
    "a number for an enumerator": "f::by_enum(out, 0);",
    "another family's enumerator": "f::by_enum(out, f::ByStrWord::relu);",
    "no choice": "f::by_enum(out);",
    "a choice made twice": "f::by_enum<f::ByEnumNumber_::fast>(out, f::ByEnumNumber_::fast);",
    "a variant with the choice": "f::by_enum_variants::exact(out, f::ByEnumNumber_::exact);",
    "a variant that is not there": "f::by_enum_variants::slow(out);",
    "a tensor for a variant without": "f::affine_variants::false_(out, out, out, out);",
    "none for a variant with": "f::affine_variants::true_(out, out, std::nullopt, std::nullopt);",
    "a number for an optional tensor": "f::affine(out, out, 1.0, 2.0);",
}


@pytest.mark.parametrize("compiler", [GCC, CLANG], ids=str)
def test_wrong_calls_from_cpp_are_refused(output: Path, compiler: Compiler, tmp_path: Path) -> None:
    include = output / "fam" / "include"

    def complaints(call: str) -> str:
        source = tmp_path / "call.cpp"
        head = "#include <fam.hpp>\nnamespace f = fam;\nvoid call(tvm::ffi::TensorView out) {\n"
        source.write_text(f"{head}  {call}\n}}\n")
        return compiler.complaints(source, standard="c++17", include=include)

    assert complaints("f::by_enum(out, f::ByEnumNumber_::fast); f::by_int<64>(out);") == ""
    for mistake, call in REFUSED.items():
        assert "error: " in complaints(call), mistake
    assert "defaults has no variant for this choice" in complaints(REFUSED["a choice that was not built"])

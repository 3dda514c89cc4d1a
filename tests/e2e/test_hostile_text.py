"""Text of users stays text: whatever they write in names, docstrings, values and paths, nothing of it runs.

One project holds all of it and is generated once. Whatever escapes its place is Python that would make the
file ``EXECUTED``, or C++ that does not compile.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.conftest import run_stubgen
from tests.cpp.compilers import CLANG, GCC, Compiler

pytestmark = pytest.mark.xdist_group("hostile")

RUN = "open('EXECUTED', 'w').close()"
ERROR = "#error hostile"

DOCSTRINGS = {
    "quotes": f'One.\n"""\n{RUN}\n"""\n\'\'\'\n{RUN}\n\'\'\' \\""" """" " \'',
    "only_quotes": '"""',
    "last_quote": 'ends with a quote"',
    "six_quotes": '""""""',
    "backslashes": f"C:\\new\\x41 \\N{{BULLET}} \\u12 \\\n{RUN}\\",
    "only_backslash": "\\",
    "odd_backslashes": "three \\\\\\",
    "comments": f"*/ int executed; /*\n// /* */ //\n{ERROR}\n*/\n{ERROR}\n/*",
    "continued": f"ends in a backslash\\\n{ERROR}\na trigraph ??/\n{ERROR}\nspaces \\   \n{ERROR}",
    "trigraphs": "??= ??( ??) ??< ??> ??! ??' ??- ??/ ???/ ????/",
    "jinja": "{{ 7 * 7 }} {% raw %} {% endraw %} #} {# %} {{ self }} {% include 'x' %} {%- for x in y -%}",
    "formats": "%s %(x)d {0} {x!r} {} %} $x ${HOME} $(touch EXECUTED) `touch EXECUTED`",
    "unicode": "rtl \u202e override \u2066 zero \u200b width, bom \ufeff, \U0001f600, e\u0301, nbsp \u00a0.",
    "controls": "\x00 \x07 \x1b[31m vt \x0b ff \x0c fs \x1c nel \x85 ls \u2028 ps \u2029 cr \rend \x7f",
    "surrogates": "lone \ud800, escaped bytes \udc80 and a pair \ud83d\ude00",
    "long": f"{'x' * 5000} {'word ' * 2000}",
    "blank": " \n\t\n   \n",
    "doxygen": "@file @endcode @code {.cpp} \\endverbatim @} @cond <script>x()</script> &amp; @param a \\",
    "directives": f"# -*- coding: rot13 -*-\n# type: ignore\n# mypy: strict\n#include <x>\n{ERROR}",
    "sections": (
        f'Title.\n\nParameters\n----------\na\n    """ */ \\\n    {RUN}\nb : """\n    ??/\n\n'
        f'Returns\n-------\n"""\n{RUN}'
    ),
}

FOLDER = f"a 'folder' of \"coding=rot13 größe* \\\n{RUN}\n{ERROR}\n\u202e"

VALUES = {
    "newline": repr(f"a\n{RUN}\n{ERROR}"),
    "quotes": repr(f"''' \"\"\"\n{RUN}"),
    "comment": repr(f"*/ int executed; // ??/ \\\n{ERROR}"),
    "backslash": repr("\\"),
    "surrogate": r"'\ud800'",
    "function": "lambda: 1",
    "enumeration": "Shade.DARK",
    "number": "Count.ONE",
    "text": "Text('x')",
    "silent": "Silent()",
    "nameless": 'type(\'"""\\n\' + RUN, (), {})()',
    "class_": "type('*/\\n' + RUN, (), {})",
    "named_function": "renamed",
    "nested": "('\\n', ['*/', Text('x')], Silent())",
}

TEXTS = ("a b", "*/", f'"""\n{RUN}', "\\", "größe", "\u202e", "__")
OTHERS = ("{{ x }}", "%}\n")
"""What callers of a family choose by."""

HEADER = f'''
import enum
from dataclasses import dataclass
from typing import NamedTuple

import cutlass
from cutlass import cute

import stubgen as sg

RUN = {RUN!r}
TEXTS = {TEXTS!r}
OTHERS = {OTHERS!r}
vector = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")


class Shade(enum.Enum):
    DARK = """)
{RUN}
"""


class Count(enum.IntEnum):
    ONE = 1

    def __repr__(self):
        return "1\\n" + RUN


class Text(str):
    """A string that shows itself as code."""

    def __repr__(self):
        return '"""\\n' + RUN + "\\n*/\\n#error hostile"


class Silent:
    """Shows itself as code, which is all that the DSL asks of it; the rest cannot be asked for."""

    def __repr__(self):
        return "*/\\n" + RUN

    def __getattr__(self, name):
        raise RuntimeError("no attribute")

    @property
    def __doc__(self):
        raise RuntimeError("no doc")


def renamed():
    pass


renamed.__name__ = renamed.__qualname__ = "*/\\n" + RUN


class Pair(NamedTuple):
    {DOCSTRINGS["comments"] + DOCSTRINGS["quotes"] + DOCSTRINGS["controls"]!r}

    a: cute.Tensor
    b: cute.Tensor


@dataclass
class Größe:
    {DOCSTRINGS["sections"]!r}

    a: cute.Tensor
    b: cute.Tensor
    factor: cutlass.Constexpr = 2
'''

TAKEN = ("Tensor", "Literal", "_native", f"X:\n    pass\n{RUN}\nclass Y")
"""Names of classes that the generated modules cannot define; they take plain tuples instead."""

COPY = """

@cute.jit
def {name}({parameters}):
    {doc!r}
    for i in range(a.shape[0]):
        b[i] = a[i]


"""

LAST = """

@cute.jit
def with_records(pair: Pair, size: Größe):
    for i in range(pair.a.shape[0]):
        pair.b[i] = pair.a[i]
        size.b[i] = size.a[i] * size.factor


sg.export(with_records, Pair(vector, vector), Größe(vector, vector))


@cute.jit
def _labelled(a: cute.Tensor, b: cute.Tensor):
    b[0] = a[0]


@sg.family(
    text=TEXTS,
    other=dict.fromkeys(OTHERS),
)
def labelled(text, other):
    return sg.kernel(_labelled, vector, vector)
"""


def module_source() -> str:
    parts = [repr("".join(DOCSTRINGS.values())), HEADER]
    for name, doc in DOCSTRINGS.items():
        parts.append(COPY.format(name=f"doc_{name}", parameters="a: cute.Tensor, b: cute.Tensor", doc=doc))
        parts.append(f"sg.export(doc_{name}, vector, vector)\n")
    for name, value in VALUES.items():
        parameters = f"a: cute.Tensor, b: cute.Tensor, value: cutlass.Constexpr = {value}"
        parts.append(COPY.format(name=f"value_{name}", parameters=parameters, doc="Copy."))
        parts.append(f"sg.export(value_{name}, vector, vector)\n")
        parts.append(f"sg.export(name='given_{name}')(value_{name}, vector, vector, value={value})\n")
    parts += [RENAMED.format(number=number, name=name) for number, name in enumerate(TAKEN)]
    return "".join(parts) + LAST


RENAMED = """

class Record{number}(NamedTuple):
    a: cute.Tensor
    b: cute.Tensor


Record{number}.__name__ = Record{number}.__qualname__ = {name!r}


@cute.jit
def record_{number}(record: Record{number}):
    record.b[0] = record.a[0]


sg.export(record_{number}, Record{number}(vector, vector))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def package(project: Path) -> Iterator[Path]:
    """The generated package; where it was made, and imported, nothing of the text may have run."""
    kernels = project / FOLDER
    kernels.mkdir()
    (kernels / "größe.py").write_text(module_source(), encoding="utf-8")
    folder = FOLDER.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    (project / "pyproject.toml").write_text(
        f'[tool.cute-stubgen]\nkernels = ["{folder}"]\npackage = "hostile"\n'
    )
    done = run_stubgen("generate", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_nothing_ran(project)
    yield project / "generated" / "hostile"
    assert_nothing_ran(project)


def assert_nothing_ran(project: Path) -> None:
    assert not [*project.rglob("EXECUTED"), *Path().glob("EXECUTED")]


@pytest.fixture(scope="module")
def module(package: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(package.parent))
    yield importlib.import_module("hostile.größe")
    sys.path.remove(str(package.parent))


def test_all_python_parses(package: Path) -> None:
    files = [*package.rglob("*.py"), *package.rglob("*.pyi")]
    assert len(files) > 8
    for file in files:
        compile(file.read_bytes(), str(file), "exec", ast.PyCF_ONLY_AST, dont_inherit=True)


def test_all_python_is_accepted_by_mypy(package: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "hostile"],
        cwd=package.parent,
        env={**os.environ, "MYPYPATH": str(package.parent)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("surface", ["", ".kwargs"])
@pytest.mark.parametrize("name", DOCSTRINGS)
def test_docstrings_read_as_they_were_written(module: ModuleType, name: str, surface: str) -> None:
    function = getattr(importlib.import_module(f"hostile{surface}.größe"), f"doc_{name}")
    written = lines(inspect.cleandoc(DOCSTRINGS[name]))
    shown = lines(inspect.getdoc(function) or "")
    if name == "sections":  # the arguments are merged into it
        assert {line for line in written if ":" not in line and line != "a"} <= set(shown)
    elif any(written):
        assert shown[: len(written)] == written


def lines(text: str) -> list[str]:
    text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be in a file
    return [line.rstrip() for line in text.expandtabs().splitlines()]


def test_values_are_shown_as_their_author_would_write_them(module: ModuleType) -> None:
    for name, shown in {
        "newline": repr(f"a\n{RUN}\n{ERROR}"),
        "surrogate": r"'\ud800'",
        "enumeration": "Shade.DARK",
        "number": "Count.ONE",
        "text": "<Text>",
        "silent": "<Silent>",
    }.items():
        for function in (f"value_{name}", f"given_{name}"):
            doc = inspect.getdoc(getattr(module, function)) or ""
            assert f"Compiled with value={shown}." in doc.replace("\n", " "), doc


def test_every_label_has_its_function(module: ModuleType) -> None:
    assert "labelled" in module.__all__
    assert len(module.labelled.variants) == 7 * 2
    for key, variant in module.labelled.variants.items():
        out = np.zeros(1, np.float32)
        variant(np.ones(1, np.float32), out)
        assert out == 1, key


def test_every_choice_can_be_made(module: ModuleType) -> None:
    kwargs = importlib.import_module("hostile.kwargs.größe")
    for text in TEXTS:
        for other in OTHERS:
            one, two = np.zeros(1, np.float32), np.zeros(1, np.float32)
            module.labelled(np.ones(1, np.float32), one, text, other)
            kwargs.labelled(np.ones(1, np.float32), two, other=other, text=text)
            assert one == two == 1, (text, other)
    for text in ("", "a b ", TEXTS[0][:-1], "/*", "\\\\", f"{TEXTS[0]}\0", "\0"):
        with pytest.raises(TypeError, match="No variant accepts"):
            module.labelled(np.ones(1, np.float32), one, text, OTHERS[0])


def test_functions_work(module: ModuleType) -> None:
    functions = [
        getattr(module, name) for name in module.__all__ if name.startswith(("doc_", "value_", "given_"))
    ]
    assert len(functions) == len(DOCSTRINGS) + 2 * len(VALUES)
    for function in functions:
        out = np.zeros(3, np.float32)
        function(np.arange(3, dtype=np.float32), out)
        assert out.tolist() == [0, 1, 2]


def test_classes_of_impossible_names_become_tuples(module: ModuleType) -> None:
    kwargs = importlib.import_module("hostile.kwargs.größe")
    for number in range(len(TAKEN)):
        a, b = np.ones(1, np.float32), np.zeros(1, np.float32)
        getattr(kwargs, f"record_{number}")(record=(a, b))
        assert b == 1
    assert {"Pair", "Größe"} == {name for name in module.__all__ if name[0].isupper()}


@pytest.mark.parametrize("compiler", [GCC, CLANG], ids=str)
def test_headers_compile_without_a_warning(package: Path, compiler: Compiler, tmp_path: Path) -> None:
    source = tmp_path / "includes.cpp"
    source.write_text("#include <hostile.hpp>\n")
    compiler.compile(source, standard="c++17", include=package / "include")


def test_no_text_hides_what_is_around_it(package: Path) -> None:
    """Nothing that reorders or erases characters on a screen is in the files as such."""
    for file in [*package.rglob("*.py*"), *package.rglob("*.hpp")]:
        if file.suffix != ".pyc":
            text = file.read_text(encoding="utf-8")
            assert not [c for c in text if not c.isprintable() and c != "\n"], file

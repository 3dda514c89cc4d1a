"""A matrix of signatures, by hand and drawn: each is generated, type-checked, compiled, and really called."""

from __future__ import annotations

import importlib
import inspect
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import filelock
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings

from stubgen.inspection import binaries
from stubgen.inspection.stubs import write_stubs
from tests import signatures, typecheckers
from tests.conftest import run_stubgen
from tests.cpp.compilers import CLANG, GCC, Compiler
from tests.e2e.binaries import plain, texts, without_section
from tests.matrix import class_calls, grammar, table_calls
from tests.matrix.grammar import Case

HERE = Path(__file__).parent
DRAWN = 110
MODULES = 2


def drawn_cases() -> list[list[Case]]:
    """Draw the cases, the same in every process of a run."""
    drawn: list[Case] = []

    @settings(
        max_examples=DRAWN,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(grammar.cases("case"))
    def draw(case: Case) -> None:
        case.name = f"case_{len(drawn)}"
        drawn.append(case)

    draw()
    return [drawn[i::MODULES] for i in range(MODULES)]


@pytest.fixture(scope="session")
def modules() -> list[list[Case]]:
    return drawn_cases()


@pytest.fixture(scope="session")
def matrix(modules: list[list[Case]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of the package ``matrix``: the table and the drawn cases."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared
    project = shared / "matrix"
    with filelock.FileLock(shared / "matrix.lock"):
        if not (project / "generated").exists():
            kernels = project / "kernels"
            kernels.mkdir(parents=True)
            for module in (HERE / "kernels").glob("*.py"):
                (kernels / module.name).write_text(module.read_text())
            for index, cases in enumerate(modules):
                (kernels / f"drawn{index}.py").write_text(grammar.assemble(cases))
            done = run_stubgen(
                "generate", "--package", "matrix", "--arch", "sm_90a", "-C", project, cwd=project
            )
            assert done.returncode == 0, done.stderr
    return project / "generated"


@pytest.fixture(scope="session")
def package(matrix: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(matrix))
    yield importlib.import_module("matrix")
    sys.path.remove(str(matrix))


@pytest.mark.xdist_group("matrix")
class TestEverySignature:
    def test_there_are_enough_of_them(self, matrix: Path) -> None:
        manifest = json.loads((matrix / "matrix" / "manifest.json").read_text())
        modules = manifest["library"]["modules"]
        functions = [f for m in modules for f in (*m["kernels"], *m.get("families", []))]
        signatures = {json.dumps([f["parameters"], f.get("frozen")], sort_keys=True) for f in functions}
        assert len(signatures) >= 150

    def test_stub_equals_runtime_signature_equals_abi(self, matrix: Path) -> None:
        assert signatures.compare(matrix, "matrix") >= 150

    def test_the_library_alone_gives_the_same_texts(self, matrix: Path, tmp_path: Path) -> None:
        library = matrix / "matrix" / "lib" / "libmatrix.so"
        write_stubs(library, tmp_path / "out")
        about_archives = {f"matrix/lib/pkgconfig/matrix-{kind}.pc" for kind in ("static", "load")}
        expected = {path: text for path, text in texts(matrix).items() if path not in about_archives}
        assert texts(tmp_path / "out") == expected
        bare = binaries.read(without_section(library, tmp_path / "bare.so"))
        assert bare.unknown == ()
        assert list(plain(bare.library)) == list(plain(binaries.read(library).library))

    def test_mypy_strict_and_stubtest_accept_them(self, matrix: Path) -> None:
        done = typecheckers.mypy(matrix, "-p", "matrix")
        assert done.returncode == 0, done.stdout
        done = typecheckers.stubtest(matrix, "matrix")
        assert done.returncode == 0, done.stdout

    def test_calls_by_position_put_every_argument_in_its_place(
        self, package: ModuleType, modules: list[list[Case]]
    ) -> None:
        for module, case in _each(modules):
            function = getattr(getattr(package, module), case.name)
            order = list(inspect.signature(function).parameters)
            out = np.full(max(1, len(case.expected)), np.nan)
            given = _arguments(case, None, records=False) | {"OUT_": out}
            given = {n: v.ctypes.data if _is_pointer(case, n) else v for n, v in given.items()}
            assert set(given) == set(order), case.name
            assert function(*(given[name] for name in order)) is None
            _assert_arrived(case, out)

    def test_calls_of_the_table_by_position_and_by_keyword(self, package: ModuleType) -> None:
        keyword = importlib.import_module("matrix.kwargs.table")
        for call in table_calls.CALLS:
            has_out = call.name not in ("nothing", "only_constexpr")
            out = np.full(8, -1.0)
            given = {name: argument.by_position() for name, argument in call.arguments.items()}
            given = {
                n: v.ctypes.data if n in "pq" and call.name.startswith("pointer") and v is not None else v
                for n, v in given.items()
            }
            given |= {"out": out} if has_out else {}
            function = getattr(package.table, call.name)
            function(*(given[name] for name in inspect.signature(function).parameters))
            assert out.tolist()[: len(call.expected)] == call.expected, call.name
            out[:] = -1.0
            given = {name: argument.by_keyword(keyword) for name, argument in call.arguments.items()}
            given |= {"out": out} if has_out else {}
            getattr(keyword, call.name)(**given)
            assert out.tolist()[: len(call.expected)] == call.expected, call.name

    def test_calls_of_the_table_with_every_dtype_and_layout(self, package: ModuleType) -> None:
        for call in table_calls.SIZES:
            if call.torch is None:
                continue
            base = torch.zeros(4096, dtype=torch.uint8).view(getattr(torch, call.torch))
            function = getattr(package.table, call.name)
            for callee in (function, function.variants[call.variant]) if call.variant else (function,):
                out = np.full(8, -1.0)
                callee(base.as_strided(call.shape, call.strides), out)
                assert out.tolist()[: len(call.expected)] == call.expected, callee

    def test_every_function_of_the_table_is_called(self, matrix: Path) -> None:
        called = {call.name for call in table_calls.ALL}
        called |= {f"{c.name}.variants[{c.variant!r}]" for c in table_calls.SIZES if c.variant}
        assert called == set(signatures.stub_signatures(matrix / "matrix", "table.pyi"))

    def test_classes_and_defaults_mean_what_their_authors_mean(self, package: ModuleType) -> None:
        keyword = importlib.import_module("matrix.kwargs.classes")
        called = set()
        for function, passed, named, expected in class_calls.calls(keyword):
            out = np.full(8, -1.0)
            out_is_first = next(iter(inspect.signature(function).parameters)) == "out"
            if out_is_first:
                function(out, *passed, **named)
            else:
                function(*passed, **named, out=out)
            assert out.tolist()[: len(expected)] == expected, (function, passed, named)
            called.add(function.__name__)
        classes = {name for name in keyword.__all__ if name[0].isupper()}
        assert called == set(keyword.__all__) - classes
        for name, (wrong, words) in class_calls.WRONG.items():
            with pytest.raises(TypeError, match=words):
                getattr(keyword, name)(*wrong)

    def test_sizes_are_called_the_same_if_and_only_if_they_have_to_be_equal(
        self, matrix: Path, package: ModuleType
    ) -> None:
        stub = (matrix / "matrix/sizes.pyi").read_text()
        header = (matrix / "matrix/include/matrix/sizes.h").read_text()
        manifest = json.loads((matrix / "matrix/manifest.json").read_text())
        [module] = [m for m in manifest["library"]["modules"] if m["name"] == "sizes"]
        kernels = {kernel["name"]: kernel for kernel in module["kernels"]}
        for name, (a, b, c) in SIZES.items():
            assert _documented(stub, name) == [a, b, *([c] if c else [])], name
            assert set(re.findall(r"n\w*|s\d", " ".join(filter(None, (a, b, c))))) <= set(
                re.findall(r"\w+", header)
            )
            if name in kernels:
                names = {_first_size(p["slot"]) for p in kernels[name]["parameters"]}
                assert len(names) == len(kernels[name]["parameters"]) or name == "same_size"
                assert all(f"[{size}]" in kernels[name]["abi"] for size in names if size in ("n_2", "n_3"))
        arrays = [np.zeros(length, np.float32) for length in (3, 5, 7)]
        with pytest.raises(ValueError, match=r"^b\.shape\[0\] is 5, but n is 3 from a\.shape"):
            package.sizes.same_size(*arrays[:2])
        for name in ("same_name", "beside_a_number", "behind_a_number"):
            getattr(package.sizes, name)(*arrays[:2])
        for name in ("name_with_a_number", "of_one_name", "without_names"):
            getattr(package.sizes, name)(*arrays)
        package.sizes.without_names(arrays[0], None, arrays[2])

    def test_pyright_strict_accepts_the_classes(self, matrix: Path, tmp_path: Path) -> None:
        files = [matrix / "matrix" / folder / "classes.pyi" for folder in (".", "kwargs")]
        files += [file.with_suffix(".py") for file in files]
        errors, said = typecheckers.pyright(matrix, tmp_path, *files)
        assert errors == set(), said

    def test_calls_by_keyword_take_any_order_and_records(
        self, package: ModuleType, modules: list[list[Case]]
    ) -> None:
        shuffle = random.Random(0).shuffle
        for module, case in _each(modules):
            functions = importlib.import_module(f"matrix.kwargs.{module}")
            out = np.full(max(1, len(case.expected)), np.nan)
            given = list((_arguments(case, functions, records=True) | {"OUT_": out}).items())
            shuffle(given)
            getattr(functions, case.name)(**dict(given))
            _assert_arrived(case, out)

    def test_calls_that_leave_out_defaults_get_them(
        self, package: ModuleType, modules: list[list[Case]]
    ) -> None:
        tried = 0
        for module, case in _each(modules):
            functions = importlib.import_module(f"matrix.kwargs.{module}")
            defaulted = {p.name for p in case.parameters if p.part.default is not None}
            signature = inspect.signature(getattr(functions, case.name))
            kept = {n for n, p in signature.parameters.items() if p.default is not p.empty}
            assert kept == defaulted, case.name
            out = np.full(max(1, len(case.expected)), np.nan)
            given = _arguments(case, functions, records=True) | {"OUT_": out}
            getattr(functions, case.name)(**{n: v for n, v in given.items() if n not in defaulted})
            _assert_arrived(case, out)
            tried += bool(defaulted)
        assert tried > 10

    @pytest.mark.parametrize("compiler", [GCC, CLANG], ids=str)
    def test_calls_from_cpp_put_every_argument_in_its_place(
        self, matrix: Path, modules: list[list[Case]], compiler: Compiler, tmp_path: Path
    ) -> None:
        (tmp_path / "call.hpp").write_text((HERE / "call.hpp").read_text())
        source = tmp_path / "calls.cpp"
        source.write_text(_program(matrix, modules))
        program = tmp_path / "calls"
        library, include = matrix / "matrix/lib/libmatrix.so", matrix / "matrix/include"
        compiler.build(program, [source], library, standard="c++17", include=include)
        done = subprocess.run([program], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout
        of_variants = sum(1 for call in table_calls.SIZES if call.variant)
        made = DRAWN + len(table_calls.CALLS) + len(table_calls.SIZES) + of_variants
        assert done.stdout.strip() == f"{made} calls"


SIZES = {
    "same_size": ("(n,)", "(n,)", ""),
    "same_name": ("(n1,)", "(n1_2,)", ""),
    "beside_a_number": ("(n1,)", "(n0,)", ""),
    "behind_a_number": ("(n1,)", "(n0,)", ""),
    "name_with_a_number": ("(n,)", "(n_3,)", "(n_2,)"),
    "beside_a_stride": ("(4, n), strides (s1, 1)", "(s0,)", ""),
    "beside_packed": ("(4, k_2), strides (s0, 1)", "(k,)", ""),
    "free_strides": (
        "(4, m), strides (s0, 1)",
        "(4, m), strides (s1, 1)",
        "(4, m), strides (s2, 1)",
    ),
    "of_one_name": ("(n,)", "(n_2,)", "(n_3,)"),
    "without_names": ("(n0,)", "(n1,)", "(n2,)"),
    "in_records": ("(n0,)", "(n1,)", "(n2,)"),
}
"""By function, the sizes of its parameters as they are documented; those of a record one by one."""


def _documented(stub: str, name: str) -> list[str]:
    """Read the shapes and strides out of a function's documentation."""
    start = stub.index(f"def {name}(") if f"def {name}(" in stub else stub.index(f'"""{name}, compiled')
    doc = stub[start:].split('"""')[1]
    return re.findall(r"shape (\(.*?\)(?:, strides \(.*?\))?), CPU", doc)


def _first_size(slot: dict[str, Any]) -> str:
    return next(str(extent["name"]) for extent in slot["shape"] if isinstance(extent, dict))


def _each(modules: list[list[Case]]) -> Iterator[tuple[str, Case]]:
    for index, cases in enumerate(modules):
        for case in cases:
            yield f"drawn{index}", case


def _arguments(case: Case, package: Any, *, records: bool) -> dict[str, Any]:
    return {p.name: p.part.given(package, records=records) for p in case.parameters}


def _is_pointer(case: Case, name: str) -> bool:
    return any(
        p.name == name and "Pointer" in p.part.annotation and p.part.value is not None
        for p in case.parameters
    )


def _assert_arrived(case: Case, out: np.ndarray[Any, Any]) -> None:
    assert out[: len(case.expected)].tolist() == case.expected, case


def _program(matrix: Path, modules: list[list[Case]]) -> str:
    """Write a C++ program that makes the same calls; parameters are in the order of the header."""
    manifest = json.loads((matrix / "matrix" / "manifest.json").read_text())
    order = {
        kernel["name"]: [p["name"] for p in kernel["parameters"]]
        for module in manifest["library"]["modules"]
        for kernel in (*module["kernels"], *module.get("families", []))
    }
    blocks: list[str] = []
    for _, case in _each(modules):
        parts = {p.name: p.part.cpp for p in case.parameters} | {"OUT_": "out"}
        shown = [code for name in order[case.name] if (code := parts[name]) is not None]
        passed = ", ".join(shown).replace("NAMESPACE", "matrix")
        expected = ", ".join(f"{number!r}" for number in case.expected)
        blocks.append(
            "  {\n"
            f"    const tvm::ffi::Tensor& out = make<double>(-1, {{{max(1, len(case.expected))}}}, false);\n"
            f"    matrix::{case.name}({passed});\n"
            f'    expect("{case.name}", out, {{{expected}}});\n'
            "    ++calls;\n"
            "  }\n"
        )
    for call in table_calls.ALL:
        blocks.append(_table_block(call, order[call.name]))
    functions = [
        f"void part{i}(int& calls) {{\n{''.join(blocks[i : i + 10])}}}\n" for i in range(0, len(blocks), 10)
    ]
    calls = "".join(f"  part{i}(calls);\n" for i in range(0, len(blocks), 10))
    return (
        '#include <matrix.hpp>\n\n#include "call.hpp"\n\nnamespace {\n\n' + "\n".join(functions) + "\n}\n\n"
        "int main() {\n  int calls = 0;\n"
        + calls
        + '  std::printf("%d calls\\n", calls);\n  return failures;\n}\n'
    )


def _table_block(call: table_calls.TableCall | table_calls.SizesCall, order: list[str]) -> str:
    parts = {"out": "out"}
    if isinstance(call, table_calls.SizesCall):
        parts["x"] = call.cpp
    else:
        parts |= {name: argument.cpp for name, argument in call.arguments.items()}
    passed = ", ".join(code for name in order if (code := parts[name]) is not None)
    expected = ", ".join(map(repr, call.expected))
    again = ""
    if isinstance(call, table_calls.SizesCall) and call.variant:
        again = f"    matrix::{call.name}_variants::{call.variant}({passed});\n"
    return "".join(
        "  {\n    const tvm::ffi::Tensor& out = make<double>(-1, {8}, false);\n"
        f"{line}"
        f'    expect("{call.name}", out, {{{expected}}});\n    ++calls;\n  }}\n'
        for line in (f"    matrix::{call.name}({passed});\n", again)
        if line
    )

"""Packages around published libraries, whose kernels nobody here wrote, under all that ours go through.

What no line of such a library is changed for, and none of it copied: declarations alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from examples.figures import all_lines, lines_per_declaration
from stubgen.native import elf
from tests import typecheckers
from tests.conftest import run_stubgen
from tests.cpp.compilers import CLANG, CLANG_C, GCC, GCC_C, Compiler
from tests.realworld.conftest import EXAMPLES, Example, Generated
from tests.tiny import TRACER, traced
from tests.typing.test_types import pyright_lines

MOST_LINES = 12
"""Of a declaration, on average."""


def test_declarations_are_short() -> None:
    """Everything counts that stands in the kernel modules: imports and helpers too."""
    functions = {example.name: lines_per_declaration(example.project) for example in EXAMPLES}
    lines = sum(all_lines(example.project) for example in EXAMPLES)
    assert lines / sum(map(len, functions.values())) <= MOST_LINES, functions


def test_every_declared_function_is_there(made: Generated) -> None:
    library = made.manifest.library
    families = {family.name for family in library.families}
    alone = {kernel.name for kernel in library.kernels if kernel.variant is None}
    assert families | alone == set(lines_per_declaration(made.project))


# ---------------------------------------------------------------------------------------------------------
# What programs see


def test_mypy_strict_accepts_the_package(made: Generated) -> None:
    done = typecheckers.mypy(made.output, "-p", made.example.package)
    assert done.returncode == 0, done.stdout


def test_pyright_strict_accepts_the_package(made: Generated, tmp_path: Path) -> None:
    lines, output = pyright_lines(made.output, tmp_path, package=made.example.package)
    assert lines == set(), output


def test_stubs_say_what_is_there_at_run_time(made: Generated) -> None:
    done = typecheckers.stubtest(made.output, made.example.package)
    assert done.returncode == 0, done.stdout
    assert "Success" in done.stdout


@pytest.mark.parametrize("compiler", [GCC, CLANG], ids=str)
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_cpp_headers_compile(made: Generated, compiler: Compiler, standard: str, tmp_path: Path) -> None:
    _include_all(made, ".hpp", tmp_path / "all.cpp", compiler, standard)


@pytest.mark.parametrize("compiler", [GCC_C, CLANG_C], ids=str)
def test_c_headers_compile(made: Generated, compiler: Compiler, tmp_path: Path) -> None:
    _include_all(made, ".h", tmp_path / "all.c", compiler, "c11")


def _include_all(made: Generated, suffix: str, source: Path, compiler: Compiler, standard: str) -> None:
    include = made.package / "include"
    headers = sorted(file.relative_to(include).as_posix() for file in include.rglob(f"*{suffix}"))
    assert len(headers) > 1
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    compiler.compile(source, standard=standard, include=include)


NOTHING_ELSE = """
import importlib, sys
package = importlib.import_module(sys.argv[1])
for module in sys.argv[2:]:
    importlib.import_module(f"{package.__name__}.{module}")
    importlib.import_module(f"{package.__name__}.kwargs.{module}")
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_neither_the_library_nor_the_compiler_is_loaded(made: Generated) -> None:
    modules = [module.name for module in made.manifest.library.modules]
    done = subprocess.run(
        [sys.executable, "-c", NOTHING_ELSE, made.example.package, *modules],
        env={"PYTHONPATH": str(made.output), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert {"tvm_ffi", made.example.package} <= loaded
    assert loaded & {"cutlass", "quack", "triton", "stubgen"} == set()


# ---------------------------------------------------------------------------------------------------------
# The library


def test_symbols_are_those_of_the_declarations(made: Generated) -> None:
    symbols = set(elf.exported_symbols(made.library))
    library = made.manifest.library
    for name in [kernel.name for kernel in library.kernels] + [family.name for family in library.families]:
        assert f"__tvm_ffi_{name}" in symbols
        assert f"__tvm_ffi__metadata_{name}" in symbols
    assert all(re.match(rf"__tvm_ffi_|{made.example.package}", symbol) for symbol in symbols)


def test_there_is_code_of_every_kernel_for_every_architecture(made: Generated) -> None:
    """An object may hold no more than one GPU binary, and each of them is for what it was built for."""
    built = Counter(arch for kernel in made.manifest.library.kernels for arch in kernel.archs)
    found = Counter(cubin.arch for cubin in elf.cubins(made.library))
    assert found == built
    assert set(found) == set(made.example.archs)


def test_it_is_described(made: Generated) -> None:
    done = run_stubgen("describe", made.output, "--json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert described["package"] == made.example.package
    assert {function["name"] for function in described["functions"]} >= set(
        lines_per_declaration(made.project)
    )


def test_it_is_whole(made: Generated) -> None:
    done = run_stubgen("verify", made.output)
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------------------------------------------------
# Again


def test_nothing_is_compiled_again(made: Generated) -> None:
    """Not even where the text of a declaration has changed, as long as it means the same."""
    before = {file: file.stat().st_mtime_ns for file in made.package.rglob("*.so")}
    done = run_stubgen("generate", "-C", made.project)
    assert done.returncode == 0, done.stderr
    assert "nothing changed" in done.stdout

    (made.project / "tracer.py").write_text(TRACER)
    for file in (made.project / "kernels").glob("*.py"):
        # Never the same: what declarations mean is kept for a text that was seen before.
        file.write_text(f"{file.read_text()}# A comment of {time.time_ns()}.\n")
    command = [sys.executable, made.project / "tracer.py", "generate", "-C", made.project]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert {line.partition(" ")[0] for line in traced(done)} == {"imported"}
    assert {file: file.stat().st_mtime_ns for file in made.package.rglob("*.so")} == before


def test_two_builds_from_nothing_give_the_same_bytes(example: Example, tmp_path: Path) -> None:
    made = []
    for name in ("one", "another one"):
        project = example.copy(tmp_path / name / "project")
        cold = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / name / "cache")}
        done = run_stubgen(
            "generate", *example.kernels, "--arch", "sm_90a", "-C", project, cwd=project, env=cold
        )
        assert done.returncode == 0, done.stderr
        output = project / "generated"
        made.append(
            {f.relative_to(output).as_posix(): f.read_bytes() for f in output.rglob("*") if f.is_file()}
        )
    assert made[0] == made[1]
    assert any(path.endswith(".so") for path in made[0])

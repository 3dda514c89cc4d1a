"""The generated C++ headers: what compiles, what is refused, and what really arrives in the kernels."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cpp.compilers import CLANG, GCC, NVCC, SANITIZERS, Compiler

HERE = Path(__file__).parent
PROGRAM = [HERE / name for name in ("calls.cpp", "errors.cpp", "numbers.cpp")]
COMPILERS = [GCC, CLANG]
STANDARDS = ["c++17", "c++20"]


@pytest.fixture(scope="session")
def headers(package: Path) -> list[str]:
    """All headers, as a program includes them."""
    include = package / "include"
    found = sorted(file.relative_to(include).as_posix() for file in include.rglob("*.hpp"))
    assert "cute_kernels.hpp" in found
    assert "cute_kernels/host.hpp" in found
    return found


def written(file: Path, headers: list[str]) -> Path:
    file.write_text("".join(f"#include <{header}>\n" for header in headers))
    return file


@pytest.mark.parametrize("compiler", COMPILERS, ids=str)
def test_every_header_includes_what_it_uses(
    package: Path, headers: list[str], compiler: Compiler, tmp_path: Path
) -> None:
    """Except the one for all, which is the first that ``calls.cpp`` includes."""
    alone = [header for header in headers if "/" in header]
    for number, header in enumerate(alone):
        source = written(tmp_path / f"{number}.cpp", [header])
        compiler.compile(source, standard=STANDARDS[number % 2], include=package / "include")


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("compiler", COMPILERS, ids=str)
def test_headers_can_be_included_again_and_in_any_order(
    package: Path, headers: list[str], compiler: Compiler, standard: str, tmp_path: Path
) -> None:
    source = written(tmp_path / "all.cpp", [*headers, *reversed(headers)])
    compiler.compile(source, standard=standard, include=package / "include")


def test_cuda_files_can_include_them(package: Path, headers: list[str], tmp_path: Path) -> None:
    source = written(tmp_path / "all.cu", ["cute_kernels.h", *headers])
    NVCC.compile(source, standard="c++17", include=package / "include")


@pytest.mark.parametrize(("compiler", "standard"), [(GCC, "c++17"), (CLANG, "c++20")], ids=str)
def test_every_argument_arrives_and_errors_are_thrown(
    package: Path, compiler: Compiler, standard: str, tmp_path: Path
) -> None:
    """Units that include the same headers, linked together."""
    library = package / "lib" / "libcute_kernels.so"
    program = tmp_path / "program"
    compiler.build(program, PROGRAM, library, standard=standard, include=package / "include")
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_sanitizers_find_nothing(package: Path, tmp_path: Path) -> None:
    library, include = package / "lib" / "libcute_kernels.so", package / "include"
    program = tmp_path / "program"
    GCC.build(program, PROGRAM, library, standard="c++17", include=include, options=SANITIZERS)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_host_function_is_left_uncalled(package: Path) -> None:
    header = (package / "include" / "cute_kernels" / "host.hpp").read_text()
    # Variants are reached through their families.
    header = re.sub(r"^namespace (\w+_variants) \{$.*?^\}  // namespace \1$", "", header, flags=re.M | re.S)
    functions = set(re.findall(r"^inline void (\w+)\(", header, re.MULTILINE))
    assert len(functions) >= 20
    assert functions <= set(re.findall(r"ck::(\w+)", (HERE / "calls.cpp").read_text()))


@pytest.mark.parametrize("compiler", COMPILERS, ids=str)
def test_wrong_calls_are_refused(package: Path, compiler: Compiler, tmp_path: Path) -> None:
    source = tmp_path / "refused.cpp"
    source.write_text((HERE / "refused.cpp").read_text())
    compiler.compile(source, standard="c++17", include=package / "include")


def test_only_the_entry_points_are_outside_the_namespace(package: Path, headers: list[str]) -> None:
    entry_points = re.compile(
        r'extern "C" \{\n(int (__tvm_ffi_cute_kernels__\w+\(\s*void\*, .*|cute_kernels_\w+\(.*)\);\n)+\}\n'
    )
    namespace = re.compile(r"^namespace (cute_kernels\S*) \{\n.*^\}  // namespace \1\n", re.M | re.S)
    for header in headers:
        text = (package / "include" / header).read_text()
        outside = namespace.sub("", entry_points.sub("", text))
        code = [line for line in outside.splitlines() if line and not line.startswith("//")]
        assert {line.split()[0] for line in code} <= {"#pragma", "#include", "#if", "#error", "#endif"}, (
            header
        )

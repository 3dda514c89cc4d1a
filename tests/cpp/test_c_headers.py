"""The generated C headers: what compiles as C and C++, what is refused, and what arrives in the kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cpp.compilers import CLANG, CLANG_C, GCC, GCC_C, SANITIZERS, Compiler

HERE = Path(__file__).parent
PROGRAM = ("calls.c", "errors.c", "tensors.h")
BUILDS = [(GCC_C, "c11"), (CLANG_C, "c11"), (GCC, "c++17"), (CLANG, "c++20")]

RIGHT = "cute_kernels_host_axpby(2.0f, tensor, 3.0f, tensor, tensor)"
WRONG = {
    "too few arguments": "cute_kernels_host_axpby(2.0f, tensor, 3.0f, tensor)",
    "too many arguments": "cute_kernels_host_axpby(2.0f, tensor, 3.0f, tensor, tensor, 1)",
    "arguments in each other's place": "cute_kernels_host_axpby(tensor, 2.0f, tensor, 3.0f, tensor)",
    "text for a tensor": 'cute_kernels_host_axpby(2.0f, "x", 3.0f, tensor, tensor)',
    "memory for a tensor": "cute_kernels_host_axpby(2.0f, floats, 3.0f, tensor, tensor)",
    "a number for a tensor": "cute_kernels_host_axpby(2.0f, 7, 3.0f, tensor, tensor)",
    "a pointer for a number": "cute_kernels_host_axpby(floats, tensor, 3.0f, tensor, tensor)",
    "a hidden argument": "cute_kernels_host_bias(tensor, NULL, tensor)",
    "an argument for none": "cute_kernels_host_frozen(tensor, 3, tensor)",
    "another struct": "cute_kernels_host_affine(powers, tensor)",
    "a tensor for a struct": "cute_kernels_host_affine(tensor, tensor)",
    "a tensor for a shape": "cute_kernels_host_shape_static(tensor, tensor)",
    "an unknown function": "cute_kernels_host_axpbx(tensor)",
}


def copied(folder: Path, standard: str) -> list[Path]:
    """Copy the program, under names that make a compiler take it for C or for C++."""
    suffix = ".cpp" if standard.startswith("c++") else ".c"
    files = [Path(shutil.copy(HERE / name, folder)) for name in PROGRAM]
    return [file.rename(file.with_suffix(suffix)) for file in files if file.suffix == ".c"]


def wrapped(call: str, file: Path) -> Path:
    file.write_text(
        "#include <cute_kernels.h>\n"
        "int call(const DLTensor* tensor, float* floats, cute_kernels_HostPowers powers);\n"
        "int call(const DLTensor* tensor, float* floats, cute_kernels_HostPowers powers) {\n"
        f"  (void)floats, (void)powers;\n  return {call};\n}}\n"
    )
    return file


@pytest.fixture(scope="session")
def headers(package: Path) -> list[str]:
    """All C headers, as a program includes them."""
    include = package / "include"
    found = sorted(file.relative_to(include).as_posix() for file in include.rglob("*.h"))
    assert {"cute_kernels.h", "cute_kernels/host.h", "cute_kernels/runtime.h"} <= set(found)
    return found


@pytest.mark.parametrize(("compiler", "standard"), BUILDS, ids=str)
def test_every_header_compiles_alone_twice_and_in_any_order(
    package: Path, headers: list[str], compiler: Compiler, standard: str, tmp_path: Path
) -> None:
    suffix = "cpp" if standard.startswith("c++") else "c"
    for number, included in enumerate([*([h, h] for h in headers), [*reversed(headers), *headers]]):
        source = tmp_path / f"{number}.{suffix}"
        # A unit that has nothing of its own is not pedantic C.
        source.write_text("".join(f"#include <{header}>\n" for header in included) + "extern int unused;\n")
        compiler.compile(source, standard=standard, include=package / "include")


@pytest.mark.parametrize(("compiler", "standard"), BUILDS, ids=str)
def test_every_argument_arrives_and_errors_are_told(
    package: Path, compiler: Compiler, standard: str, tmp_path: Path
) -> None:
    """Two units that include the same headers, linked together."""
    program = tmp_path / "program"
    sources = copied(tmp_path, standard)
    library = package / "lib" / "libcute_kernels.so"
    compiler.build(program, sources, library, standard=standard, include=package / "include")
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_sanitizers_find_nothing(package: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    library = package / "lib" / "libcute_kernels.so"
    sources = copied(tmp_path, "c11")
    include = package / "include"
    GCC_C.build(program, sources, library, standard="c11", include=include, options=SANITIZERS)
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_host_function_is_left_uncalled(package: Path) -> None:
    header = (package / "include" / "cute_kernels" / "host.h").read_text()
    functions = set(re.findall(r"^static inline int (\w+)\(", header, re.MULTILINE))
    called = set(re.findall(r"cute_kernels_\w+", (HERE / "calls.c").read_text()))
    assert len(functions) >= 20
    # Variants are reached through their families.
    assert {name for name in functions if "__" not in name} <= called


@pytest.mark.parametrize("compiler", [GCC_C, CLANG_C], ids=str)
def test_the_right_call_is_taken(package: Path, compiler: Compiler, tmp_path: Path) -> None:
    source = wrapped(RIGHT, tmp_path / "right.c")
    assert not compiler.complaints(source, standard="c11", include=package / "include")


@pytest.mark.parametrize("compiler", [GCC_C, CLANG_C], ids=str)
@pytest.mark.parametrize("mistake", WRONG)
def test_wrong_calls_are_refused(package: Path, compiler: Compiler, mistake: str, tmp_path: Path) -> None:
    source = wrapped(WRONG[mistake], tmp_path / "wrong.c")
    complaints = compiler.complaints(source, standard="c11", include=package / "include")
    assert re.search(r"wrong\.c:\d+:\d+: error: ", complaints)


def test_every_name_begins_with_that_of_the_package(package: Path, headers: list[str]) -> None:
    names: set[str] = set()
    for header in headers:
        text = (package / "include" / header).read_text()
        names |= set(_declared(text))
    assert {"cute_kernels_host_axpby", "cute_kernels_HostAffine", "cute_kernels__tuple"} <= names
    foreign = {name for name in names if not name.startswith(("cute_kernels_", "__tvm_ffi_cute_kernels__"))}
    assert foreign == {"TVMFFIEnvSetStream"}


def test_macros_are_none_but_two_of_the_packages_own(package: Path, tmp_path: Path) -> None:
    with_ours, without = tmp_path / "with.c", tmp_path / "without.c"
    without.write_text(
        "".join(f"#include <{h}.h>\n" for h in ("stdbool", "stddef", "stdint", "string", "tvm/ffi/c_api"))
    )
    with_ours.write_text(without.read_text() + "#include <cute_kernels.h>\n")
    include = package / "include"
    found, expected = (GCC_C.macros(f, standard="c11", include=include) for f in (with_ours, without))
    own = {line.split()[1] for line in set(found) - set(expected)}
    assert own == {"cute_kernels__build", "cute_kernels__self"}


def _declared(text: str) -> list[str]:
    """List what is declared at the left edge of a header: functions, and types behind their bodies."""
    functions = re.findall(r"^\w[\w ]*?(\w+)\(", text, re.MULTILINE)
    return functions + re.findall(r"^\} (\w+);", text, re.MULTILINE)

"""The C and C++ examples, each built from a copy with CMake and Ninja."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cpp.projects import EXAMPLES, build, configure, run


def built(name: str, package: Path, folder: Path) -> Path:
    """Build an example, and give the folder with its program."""
    source, made = folder / "source", folder / "build"
    shutil.copytree(EXAMPLES / name, source)
    configure(source, made, f"-Dcute_kernels_ROOT={package}")
    build(made)
    return made


def test_cpp_prints_what_its_kernel_computes(package: Path, tmp_path: Path) -> None:
    values, refused = run(built("cpp", package, tmp_path) / "add_constant").splitlines()
    assert values.split() == ["2.5", "3.5", "4.5", "5.5"]
    assert refused.startswith("ValueError: b.shape[0] is ")
    assert "host_add_constant(a: " in refused


def test_c_prints_what_its_kernels_compute(package: Path, tmp_path: Path) -> None:
    sums, products, refused = run(built("c", package, tmp_path) / "weighted_sum").splitlines()
    assert sums.split() == ["7", "14", "21", "28"]
    assert products.split() == ["3", "6", "9", "12"]
    assert refused.startswith("ValueError: ")
    assert "host_axpby(alpha: " in refused


def test_dlopen_uses_the_library_that_it_is_told(package: Path, tmp_path: Path) -> None:
    program = built("dlopen", package, tmp_path) / "plugin"
    library = package / "lib" / "libcute_kernels.so"
    told = ("/nowhere.so", "", "libc.so.6", library, library)
    missing, empty, foreign, first, again = run(program, *told).splitlines()
    assert missing.startswith("OSError: the library of cute_kernels cannot be loaded: /nowhere.so: ")
    assert empty == "OSError: the library of cute_kernels cannot be loaded: no path is given"
    assert foreign.startswith("OSError: libc.so.6 is of an unknown build, and the program and its headers of")
    assert first.split() == ["2.5", "3.5", "4.5", "5.5"]
    assert again.split() == ["5", "6", "7", "8"]


def test_registry_finds_the_kernel_by_its_name(package: Path, tmp_path: Path) -> None:
    [values] = run(built("registry", package, tmp_path) / "by_name").splitlines()
    assert values.split() == ["2.5", "3.5", "4.5", "5.5"]

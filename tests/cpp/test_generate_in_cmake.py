"""``cute_stubgen_generate``: projects that generate in their own build, and do again only what has to be."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.cpp.projects import ROOT, build, configure, project, run

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(scale LANGUAGES C)
find_package(cute_stubgen CONFIG REQUIRED)
cute_stubgen_generate(TARGET my_kernels KERNELS kernels)
foreach(way my_kernels my_kernels_static)
  add_executable(with_${way} scale.c)
  target_link_libraries(with_${way} PRIVATE ${way})
endforeach()
"""

KERNELS = """
import cutlass
from cutlass import cute

import stubgen as sg
from factors import FACTOR


@cute.jit
def scale(x: cute.Tensor):
    "Multiply by a constant."
    for i in range(x.shape[0]):
        x[i] = x[i] * FACTOR


sg.export(scale, x=sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu"))
"""

PROGRAM = """
#include <my_kernels.h>
#include <stdio.h>

int main(void) {
  float value = 1;
  int64_t size = 1, stride = 1;
  const DLDevice cpu = {kDLCPU, 0};
  const DLDataType type = {(uint8_t)kDLFloat, 32, 1};
  DLTensor tensor = {&value, cpu, 1, type, &size, &stride, 0};
  if (my_kernels_scale(&tensor) != 0) return 1;
  printf("%g\\n", (double)value);
  return 0;
}
"""

ENVIRONMENT = {"PYTHONPATH": str(ROOT)}
SETTINGS = (
    f"-Dcute_stubgen_DIR={ROOT / 'stubgen' / 'integrations' / 'cmake'}",
    f"-DCUTE_STUBGEN_COMMAND={sys.executable};-m;stubgen",
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A project in a folder whose name has to be escaped for make."""
    folder = project(tmp_path / "the source", CMakeLists_txt=CMAKE, scale_c=PROGRAM, pyproject_toml="")
    project(folder / "kernels", scaling_py=KERNELS, factors_py="FACTOR = 2.0\n")
    return folder


def touch(file: Path) -> None:
    """Make a file newer than all others; the clock of a file system only ticks now and then."""
    others = time.time_ns()
    while file.stat().st_mtime_ns <= others:
        file.touch()


def prints(made: Path) -> set[str]:
    return {run(made / f"with_{way}") for way in ("my_kernels", "my_kernels_static")}


def test_builds_again_what_has_changed_and_nothing_else(source: Path, tmp_path: Path) -> None:
    made = tmp_path / "build"
    configure(source, made, *SETTINGS, **ENVIRONMENT)
    assert "Generating my_kernels" in build(made, **ENVIRONMENT)
    assert prints(made) == {"2\n"}
    assert "no work to do" in build(made, **ENVIRONMENT)

    # What the kernel module imports counts too.
    (source / "kernels" / "factors.py").write_text("FACTOR = 3.0\n")
    touch(source / "kernels" / "factors.py")
    assert "Generating my_kernels" in build(made, **ENVIRONMENT)
    assert prints(made) == {"3\n"}
    touch(source / "kernels" / "scaling.py")
    again = build(made, **ENVIRONMENT)
    assert "Generating my_kernels" in again
    # Nothing in the package has changed, so nothing else is done.
    assert "C executable" not in again
    assert "no work to do" in build(made, **ENVIRONMENT)


def test_failure_says_why_and_is_tried_again(source: Path, tmp_path: Path) -> None:
    made, factors = tmp_path / "build", source / "kernels" / "factors.py"
    factors.write_text("FACTOR = 'two'\n")
    configure(source, made, *SETTINGS, **ENVIRONMENT)
    assert "kernels/scaling.py" in build(made, fails=True, **ENVIRONMENT)
    factors.write_text("FACTOR = 2.0\n")
    build(made, **ENVIRONMENT)
    assert prints(made) == {"2\n"}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("cute_stubgen_generate(TARGET my_kernels)", "needs KERNELS"),
        ("cute_stubgen_generate(KERNELS kernels)", "needs TARGET"),
        ("cute_stubgen_generate(TARGET my_kernels KERNELS kernels ARCH sm_90a)", "does not exist"),
        ("cute_stubgen_generate(sm_90a TARGET my_kernels KERNELS kernels)", "does not know"),
    ],
)
def test_wrong_calls_are_refused(source: Path, tmp_path: Path, call: str, complaint: str) -> None:
    lists = source / "CMakeLists.txt"
    lists.write_text(
        lists.read_text().replace("cute_stubgen_generate(TARGET my_kernels KERNELS kernels)", call)
    )
    assert complaint in configure(source, tmp_path / "build", *SETTINGS, fails=True, **ENVIRONMENT)


def test_folder_of_the_cmake_files_is_told() -> None:
    folder = run(sys.executable, "-m", "stubgen", "--cmakedir", **ENVIRONMENT).strip()
    assert Path(folder, "cute_stubgenConfig.cmake").is_file()

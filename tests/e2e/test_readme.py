"""README says the truth: its kernel compiles, and gives the stub and the calls that it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi.libinfo

from tests import typecheckers
from tests.conftest import ROOT, run_stubgen

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("readme")
    (project / "kernels").mkdir()
    (project / "kernels" / "vector.py").write_text(blocks("python")[0])
    (project / "pyproject.toml").write_text(blocks("toml")[0])
    done = run_stubgen("generate", cwd=project)
    assert done.returncode == 0, done.stderr
    return project / "generated"


def test_the_stub_is_the_one_shown(output: Path) -> None:
    shown = blocks("python")[1].partition("\n")[2]
    assert shown in (output / "cute_kernels" / "vector.pyi").read_text()


def test_the_calls_from_python_have_the_right_types(output: Path, tmp_path: Path) -> None:
    (tmp_path / "call.py").write_text(blocks("python")[2])
    done = typecheckers.mypy(output, tmp_path / "call.py")
    assert done.returncode == 0, done.stdout


def test_the_family_is_this_repositorys() -> None:
    assert blocks("python")[3] in (ROOT / "kernels" / "norm.py").read_text()


def test_the_call_from_cpp_compiles(output: Path, tmp_path: Path) -> None:
    (tmp_path / "call.cpp").write_text(blocks("cpp")[0])
    includes = [output / "cute_kernels" / "include", *tvm_ffi.libinfo.include_paths()]
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "c++", "-std=c++17", "-c", "call.cpp", "-o", "call.o"]
        + [f"-I{folder}" for folder in includes],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_commands_shown_exist() -> None:
    shown = set(re.findall(r"^\| `cute-stubgen (\w+)", README, re.MULTILINE))
    usage = run_stubgen("--help").stdout
    assert shown
    assert all(f" {command} " in usage for command in shown)


def test_the_files_shown_are_there(output: Path) -> None:
    for path in (
        "pyproject.toml",
        "cute_kernels/kwargs/vector.pyi",
        "cute_kernels/include/cute_kernels.hpp",
        "cute_kernels/include/cute_kernels/vector.hpp",
        "cute_kernels/lib/libcute_kernels.so",
        "cute_kernels/manifest.json",
    ):
        assert (output / path).is_file(), path

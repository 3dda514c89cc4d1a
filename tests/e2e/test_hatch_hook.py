"""A project of its own whose kernels are compiled while its wheel is built: examples/wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from stubgen.model.supported import TVM_FFI
from tests import typecheckers
from tests.conftest import ROOT
from tests.environments import Environment

EXAMPLE = ROOT / "examples" / "wheel"
CALL = (
    "import fancy, numpy as np\n"
    "print(fancy.scaled(np.arange(3, dtype=np.float32), 2.5).tolist(), fancy.scaling.__file__)"
)


def pip(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run pip where the tool is installed: builds without isolation find it there."""
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hook") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    return folder


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    done = pip("wheel", "--no-deps", "--no-build-isolation", "-w", project.parent, project)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = project.parent.glob("*.whl")
    return made


def test_the_wheel_has_the_projects_package_and_the_generated_one(wheel: Path) -> None:
    assert wheel.name == "fancy-0.3.0-py3-none-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        headers = HeaderParser().parsestr(archive.read("fancy-0.3.0.dist-info/METADATA").decode())
    assert {
        "fancy/__init__.py",
        "fancy_kernels/scaling.pyi",
        "fancy_kernels/lib/libfancy_kernels.so",
    } <= names
    assert {name.partition("/")[0] for name in names} == {"fancy", "fancy_kernels"}
    assert not [name for name in names if name.endswith("libfancy_kernels.a")]
    assert sorted(headers.get_all("Requires-Dist") or ()) == [TVM_FFI.requirement, "numpy>=2.0"]


def test_the_wheel_runs_where_the_tool_is_not(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(wheel)
    done = environment.run("-c", CALL)
    assert done.stdout.startswith("[0.0, 2.5, 5.0] "), done.stderr
    checked = typecheckers.mypy(tmp_path, "--python-executable", environment.python, EXAMPLE / "src")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_an_editable_install_leads_to_the_generated_package(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    done = pip("install", "--no-deps", "--no-build-isolation", "--target", target, "-e", project)
    assert done.returncode == 0, done.stdout + done.stderr
    code = f"import site; site.addsitedir({str(target)!r})\n{CALL}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == [
        "[0.0,",
        "2.5,",
        "5.0]",
        str(project / "generated/fancy_kernels/scaling.py"),
    ]


def test_a_kernel_that_cannot_be_built_stops_the_build_and_is_named(project: Path, tmp_path: Path) -> None:
    broken = tmp_path / "project"
    shutil.copytree(project, broken)
    kernels = broken / "kernels" / "scaling.py"
    kernels.write_text(kernels.read_text().replace("x=vector, ", "y=vector, "))
    done = pip("wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, broken)
    assert done.returncode != 0
    assert "error: kernels/scaling.py:17: CS210" in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))

"""The wheel of this repository's kernels, where nothing is installed but the wheel and what it asks for."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from stubgen.model.supported import TVM_FFI
from stubgen.output import manifest
from tests import typecheckers
from tests.conftest import run_stubgen
from tests.environments import Environment

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def wheel(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", folder, generated]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("installed"))
    environment.install(wheel)
    return environment


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 3_000_000


def test_its_name_says_what_the_library_needs(generated: Path, wheel: Path) -> None:
    host = manifest.read(generated / "cute_kernels" / manifest.NAME).host  # type: ignore[union-attr]
    assert host is not None
    assert host.glibc == "2.17"
    assert wheel.name == "cute_kernels-0.1.0-py3-none-manylinux_2_17_x86_64.whl"


def test_auditwheel_agrees_with_its_name(wheel: Path, tmp_path: Path) -> None:
    """It refuses a name that promises an older glibc than the symbols inside ask for."""
    scripts = sysconfig.get_path("scripts")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "auditwheel", "repair", "--only-plat", "--plat", "manylinux_2_17_x86_64"),
            *("--exclude", "libtvm_ffi.so", "--wheel-dir", str(tmp_path), str(wheel)),
        ],
        env={**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as after:
        files = {name for name in after.namelist() if not name.endswith("/")}
        assert files == set(before.namelist()), "nothing had to be put in"


def test_it_holds_the_package_but_for_the_static_archive_and_nothing_else(
    generated: Path, wheel: Path
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
    there = {
        path.relative_to(generated).as_posix()
        for path in (generated / "cute_kernels").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert there - names == {
        "cute_kernels/lib/libcute_kernels.a",
        "cute_kernels/lib/pkgconfig/cute_kernels-static.pc",
    }
    assert names <= there
    assert {"cute_kernels/py.typed", "cute_kernels/include/cute_kernels.hpp"} <= names
    required = [Requirement(line) for line in headers.get_all("Requires-Dist") or ()]
    assert [item for item in required if not item.marker] == [Requirement(TVM_FFI.requirement)]
    assert headers.get_all("Provides-Extra") == ["jax", "torch"]


def test_kernels_run_with_the_wheel_and_tvm_ffi_alone(installed: Environment) -> None:
    done = installed.run(HERE / "wheel_calls.py")
    assert done.stdout.startswith("right, "), done.stderr
    assert str(installed.folder) in done.stdout


@pytest.mark.parametrize("version", [TVM_FFI.oldest, TVM_FFI.newest])
def test_kernels_run_with_another_tvm_ffi_than_they_were_built_with(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    """Whichever that was: the oldest and the newest are another one each, or both."""
    environment = Environment(tmp_path / "environment")
    environment.install(wheel, f"{TVM_FFI.distribution}=={version}")
    done = environment.run(HERE / "wheel_calls.py")
    assert done.stdout.startswith("right, "), done.stderr
    assert done.returncode == 0, "it ends as it should too"


def test_the_installed_package_is_whole(installed: Environment) -> None:
    (package,) = installed.folder.glob("lib/python*/site-packages/cute_kernels")
    done = run_stubgen("verify", package)
    assert done.returncode == 0, done.stderr
    stub = package / "norm.pyi"
    text = stub.read_text()
    stub.write_text(f"{text}#")
    assert "norm.pyi was changed" in run_stubgen("verify", package).stderr
    stub.write_text(text)


def test_the_installed_package_tells_compilers_what_it_has(installed: Environment) -> None:
    done = installed.run("-m", "cute_kernels.config", "--cflags", "--libs")
    assert done.stdout.count(f"{installed.folder}/lib") == 4, done.stderr
    done = installed.run("-m", "cute_kernels.config", "--libs", "--link", "static")
    assert "wheels have no static archive" in done.stderr
    assert (done.returncode, done.stdout) == (2, "")


def test_a_users_file_passes_mypy_against_the_installed_package(
    installed: Environment, tmp_path: Path
) -> None:
    done = typecheckers.mypy(tmp_path, "--python-executable", installed.python, HERE / "wheel_calls.py")
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from cute_kernels import host\nhost.host_add_constant(1, 2, 'x')\n")
    done = typecheckers.mypy(tmp_path, "--python-executable", installed.python, wrong)
    assert "wrong.py:2: error" in done.stdout

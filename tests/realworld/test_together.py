"""Kernels of four published libraries in one package, some of which change the DSL for all beside them."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import filelock
import pytest

from stubgen.output import manifest
from stubgen.output.manifest import Manifest
from tests import typecheckers
from tests.conftest import run_stubgen
from tests.typing.test_types import pyright_lines

HERE = Path(__file__).parent / "together"
MODULES = {
    "attention": "flash_attn",
    "flashinfer_norms": "flashinfer",
    "operators": "cutlass.operators",
    "quack_norms": "quack",
    "records": "cutlass",
}
"""What each module of the project takes its kernels from."""


def copy(folder: Path, *modules: str) -> Path:
    """Make a project of some of the modules."""
    shutil.copytree(HERE, folder, ignore=shutil.ignore_patterns("generated*", "__pycache__"))
    for file in (folder / "kernels").glob("*.py"):
        if modules and file.stem not in modules:
            file.unlink()
    return folder


def generate(project: Path) -> Manifest:
    """Build it, and read what came out."""
    done = run_stubgen("generate", "-C", project, timeout=1800)
    assert done.returncode == 0, done.stderr
    read = manifest.read(project / "generated" / "together_aot" / manifest.NAME)
    assert read is not None
    return read


def signatures(built: Manifest) -> dict[str, object]:
    """Return all that callers rely on, by function and variant."""
    return {kernel.name: (kernel.abi, kernel.parameters, kernel.archs) for kernel in built.library.kernels}


@pytest.fixture(scope="session")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in MODULES.values():
        if importlib.util.find_spec(needed.partition(".")[0]) is None:
            pytest.skip(f"needs {needed}, which is not installed: nox -s realworld")
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared
    project = shared / "together"
    with filelock.FileLock(shared / "together.lock"):
        if not (project / "generated").exists():
            shutil.rmtree(project, ignore_errors=True)
            generate(copy(project))
    return project


def test_each_library_gives_what_it_gives_alone(together: Path, tmp_path: Path) -> None:
    built = signatures(generate(together))
    assert len(built) == 11
    alone: dict[str, object] = {}
    for module in MODULES:
        given = signatures(generate(copy(tmp_path / module, module)))
        assert given, module
        alone |= given
    assert built == alone


def test_mypy_strict_accepts_the_package(together: Path) -> None:
    done = typecheckers.mypy(together / "generated", "-p", "together_aot")
    assert done.returncode == 0, done.stdout


def test_pyright_strict_accepts_the_package(together: Path, tmp_path: Path) -> None:
    lines, output = pyright_lines(together / "generated", tmp_path, package="together_aot")
    assert lines == set(), output


def test_stubs_say_what_is_there_at_run_time(together: Path) -> None:
    done = typecheckers.stubtest(together / "generated", "together_aot")
    assert done.returncode == 0, done.stdout
    assert "Success" in done.stdout

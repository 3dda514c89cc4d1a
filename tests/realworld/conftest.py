"""The example projects around published libraries, each generated once for all tests."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

import filelock
import pytest

from stubgen.config import config
from stubgen.output import manifest
from stubgen.output.manifest import Manifest
from tests.conftest import ROOT, run_stubgen


@dataclass(frozen=True)
class Example:
    """A project in `examples/` that declares the kernels of a published library."""

    name: str
    package: str
    distribution: str
    version: str
    kernels: tuple[str, ...]
    """Modules that are built twice from nothing: not all, to bound the time."""
    imports: tuple[str, ...] = ()
    """What the distribution imports and does not ask for."""

    @property
    def project(self) -> Path:
        return ROOT / "examples" / self.name

    @property
    def archs(self) -> tuple[str, ...]:
        """What the project builds for."""
        return config.load(self.project).archs or ()

    def skip_without_library(self) -> None:
        try:
            found = importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            found = "not installed"
        if found != self.version:
            pytest.skip(f"needs {self.distribution} {self.version}, which is {found}: nox -s realworld")
        for module in filter(lambda module: importlib.util.find_spec(module) is None, self.imports):
            pytest.skip(f"{self.distribution} imports {module}, which is not installed: nox -s realworld")

    def copy(self, folder: Path) -> Path:
        """Copy the project, without what was generated in it."""
        ignored = shutil.ignore_patterns("generated", ".generated*", "__pycache__")
        return Path(shutil.copytree(self.project, folder, ignore=ignored))


EXAMPLES = [
    Example(
        "quack",
        "quack_aot",
        "quack-kernels",
        "0.6.5",
        kernels=("kernels/softmax.py", "kernels/reductions.py"),
        imports=("triton",),
    ),
    Example(
        "cutlass_operators",
        "operators_aot",
        "nvidia-cutlass-operators",
        "0.3.0",
        kernels=("kernels/gemm.py",),
    ),
]


@dataclass(frozen=True)
class Generated:
    """What an example project generates."""

    example: Example
    project: Path
    """A copy of the example's, which tests may change."""

    @property
    def output(self) -> Path:
        return self.project / "generated"

    @property
    def package(self) -> Path:
        return self.output / self.example.package

    @property
    def library(self) -> Path:
        return self.package / "lib" / f"lib{self.example.package}.so"

    @property
    def manifest(self) -> Manifest:
        read = manifest.read(self.package / manifest.NAME)
        assert read is not None
        return read


@pytest.fixture(scope="session", params=EXAMPLES, ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    found: Example = request.param
    found.skip_without_library()
    return found


@pytest.fixture(scope="session")
def made(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """The package of an example, for all its architectures."""
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):  # a worker of pytest-xdist
        shared = shared.parent
    generated = Generated(example, shared / "realworld" / example.name)
    with filelock.FileLock(shared / f"realworld-{example.name}.lock"):
        if not generated.package.exists():
            shutil.rmtree(generated.project, ignore_errors=True)
            example.copy(generated.project)
            done = run_stubgen("generate", "-C", generated.project, timeout=1800)
            assert done.returncode == 0, done.stderr
    return generated

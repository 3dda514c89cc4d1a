"""A package of host functions with modules for PyTorch and JAX, generated once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from tests.conftest import run_stubgen

KERNELS = Path(__file__).parent / "kernels"
SETTINGS = """
[tool.cute-stubgen]
kernels = ["kernels"]
package = "framed"
archs = ["sm_90a"]
frameworks = ["torch", "jax"]
"""


@pytest.fixture(scope="session")
def framed_output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder; the package can be imported."""
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):  # a worker of pytest-xdist
        shared = shared.parent
    project = shared / "framed"
    with filelock.FileLock(shared / "framed.lock"):
        if not (project / "generated").exists():
            project.mkdir(exist_ok=True)
            (project / "pyproject.toml").write_text(SETTINGS)
            if not (project / "kernels").exists():
                (project / "kernels").symlink_to(KERNELS)
            done = run_stubgen("generate", "-C", project)
            assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(project / "generated"))
    return project / "generated"


@pytest.fixture(scope="session")
def run_apart(framed_output: Path) -> Callable[[str], str]:
    """Run Python code in a process of its own that can import the package, and give what it prints."""

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(framed_output), str(Path(__file__).parents[2])]),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run

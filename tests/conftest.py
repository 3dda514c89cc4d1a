"""Fixtures that several kinds of test share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import filelock
import hypothesis
import pytest

ROOT = Path(__file__).parents[1]

# The same examples in every CI run: a change is to blame for what fails there, and not the day. Without
# deadlines, which a busy machine does not keep.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")

Run = Callable[..., subprocess.CompletedProcess[str]]


def run_stubgen(
    *arguments: object, cwd: Path = ROOT, timeout: float = 600, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, as a user does."""
    command = [sys.executable, "-m", "stubgen", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, **options)  # type: ignore[call-overload]


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of this repository's kernels, generated once for all tests and workers.

    ``STUBGEN_TEST_ARCHS`` names architectures to generate for instead of those that are configured.
    """
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):  # a worker of pytest-xdist
        shared = shared.parent
    output = shared / "generated"
    with filelock.FileLock(shared / "generated.lock"):
        if not output.exists():
            archs = os.environ.get("STUBGEN_TEST_ARCHS", "").split()
            options = [word for arch in archs for word in ("--arch", arch)]
            done = run_stubgen("generate", "--output", output, *options)
            assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="session")
def run_in(generated: Path) -> Run:
    """Run Python code in a process that can import the generated package."""

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [sys.executable, *map(str, arguments)],
            env={"PYTHONPATH": str(generated), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=300,
            **options,
        )

    return run

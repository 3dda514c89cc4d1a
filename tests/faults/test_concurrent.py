"""Runs at the same time, into one output and one cache."""

from __future__ import annotations

import shutil

import pytest

from tests.faults.conftest import Known
from tests.faults.projects import Project, contents, litter


def finish(runs: list) -> None:
    for run in runs:
        _, err = run.communicate(timeout=300)
        assert run.returncode == 0, err
        assert "error" not in err


def test_two_that_compile(known: Known, project: Project) -> None:
    shutil.rmtree(project.folder / "user" / "cute-stubgen" / "objects")
    project.use("new")
    finish([project.start() for _ in range(2)])
    assert contents(project.output) == known.new
    assert litter(project.output) == []


@pytest.mark.parametrize("count", [2, 8])
def test_runs_of_different_sources(known: Known, project: Project, count: int) -> None:
    """Two projects generate into one folder, in turns; it always holds what one of them gives."""
    other = project.copy(project.folder.parent / "other")
    other.use("new")
    other.environment = project.environment
    shared = str(project.output)
    runs = [(project if n % 2 else other).start("--output", shared) for n in range(count)]
    while any(run.poll() is None for run in runs):
        assert contents_at_once(project, known)
    finish(runs)
    assert contents(project.output) in (known.old, known.new)
    assert litter(project.output) == []
    last = other.generate("--output", shared)
    assert last.returncode == 0, last.stderr
    assert contents(project.output) == known.new


def contents_at_once(project: Project, known: Known) -> bool:
    """Return whether one module and its manifest are from the same run, as far as one look can tell."""
    folder = project.output / "cute_kernels"
    library = "lib/libcute_kernels.so"
    try:
        data = (folder / library).read_bytes()
    except FileNotFoundError:
        return False
    return data in (known.old[f"cute_kernels/{library}"], known.new[f"cute_kernels/{library}"])

"""Runs that are killed at random moments: the output is the old one or the new one, never between."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Known
from tests.faults.projects import KERNEL, Project, contents, litter

KILLS = 100
IN_COMMIT = 25
"""Of them aimed at the moments in which the output is put together and replaced."""
WHILE_COMPILING = 10
"""Of them with something to compile."""


@pytest.fixture
def temporary() -> Iterator[str]:
    """A folder for what killed runs leave among temporary files; its path is short, as sockets need."""
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        yield folder


def test_kills_at_random_moments(known: Known, project: Project, temporary: str) -> None:
    project.environment["TMPDIR"] = temporary
    chance = random.Random(1)
    length = _length(project)
    there = contents(project.output)
    for number in range(KILLS):
        compiling = number % (KILLS // WHILE_COMPILING) == 0
        if compiling:
            factor = f"{number + 4}.0"
            project.write("kernels/k.py", KERNEL.replace("FACTOR", factor))
        else:
            project.use("new" if there == known.old else "old")
        run = project.start()
        if number % (KILLS // IN_COMMIT) == 1:
            _await_commit(project, run)
            time.sleep(chance.uniform(0, 0.02))
        else:
            time.sleep(chance.uniform(0, 4 * length if compiling else length))
        _kill(run)
        now = contents(project.output)
        if compiling and now != there:  # it was done already, and is what nobody has killed makes
            assert now == _afresh(project, factor), f"after kill {number}"
            project.use("old")
            assert project.generate().returncode == 0
            now = contents(project.output)
        assert now == there or now in (known.old, known.new), f"after kill {number}"
        there = now
    project.use("new")
    done = project.generate()
    assert done.returncode == 0, done.stderr
    assert contents(project.output) == known.new
    assert litter(project.output) == []


def _afresh(project: Project, factor: str) -> dict[str, bytes]:
    """Return what a run that nobody kills makes of the same sources, in another folder."""
    other = str(project.folder.parent / f"afresh-{factor}")
    done = project.generate("--output", other)
    assert done.returncode == 0, done.stderr
    return contents(Path(other))


def _length(project: Project) -> float:
    """Return the seconds that a run takes which has something to write, but nothing to compile."""
    start = time.monotonic()
    for version in ("new", "old"):
        project.use(version)
        assert project.generate().returncode == 0
    return (time.monotonic() - start) / 2


def _await_commit(project: Project, run: subprocess.Popen[str]) -> None:
    while run.poll() is None and not litter(project.output):
        time.sleep(0.0005)


def _kill(run: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)

"""A real Dask cluster on this machine: a scheduler and two workers. The result is that of a local run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tiny import Project, traced


class Cluster:
    """Processes of Dask, each in a group of its own with all that it starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._groups: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        wait_for(lambda: file.is_file() and file.read_text().endswith("}"))
        self.address: str = json.loads(file.read_text())["address"]

    def add_worker(self, name: str, *path: Path) -> None:
        """Start a worker, and wait until the scheduler knows it."""
        options = {"host": "127.0.0.1", "nthreads": 1, "name": name, "local-directory": self._folder / name}
        given = [part for key, value in options.items() for part in (f"--{key}", value)]
        log = self._start("worker", self.address, "--no-dashboard", *given, name=name, path=path)
        wait_for(lambda: "Registered to" in log.read_text())

    def kill(self, name: str) -> None:
        """End a process, and all that it has started, at once."""
        group = self._groups.pop(name)
        os.killpg(group.pid, signal.SIGKILL)
        group.wait()

    def close(self) -> None:
        for name in list(self._groups):
            self.kill(name)

    def has_sources(self, name: str) -> bool:
        """Tell whether a worker has begun with a run."""
        return any((self._folder / name).rglob("sources"))

    def _start(self, command: str, *arguments: object, name: str = "", path: tuple[Path, ...] = ()) -> Path:
        log = self._folder / f"{name or command}.log"
        search = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
        with log.open("wb") as output:
            self._groups[name or command] = subprocess.Popen(
                [sys.executable, "-m", "dask", command, *map(str, arguments)],
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONPATH": search},
                start_new_session=True,
            )
        return log


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run makes on one machine."""
    project = many(tmp_path_factory.mktemp("whole") / "project")
    project.generate()
    return project.output()


def many(folder: Path) -> Project:
    """A project with enough kernels to be in the midst of."""
    project = Project(folder)
    types = ", ".join(f"cutlass.{name}" for name in ("Int8", "Int16", "Int32", "Int64", "Float32", "Float64"))
    project.edit("second.py", lambda text: text.replace("cutlass.Float32, cutlass.Float64", types, 1))
    return project


def test_the_same_bytes_as_a_local_run(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    cluster.add_worker("first")
    cluster.add_worker("second")
    project = many(tmp_path / "project")
    done = project.run("generate", "--executor", "dask", "--scheduler", cluster.address)
    assert done.returncode == 0, done.stderr
    assert traced(done) == [], "nothing was done here"
    assert project.output() == whole
    assert project.generate() == [], "it is the same run, wherever it was done"
    assert not cluster.has_sources("first"), "nothing is left behind"
    assert not cluster.has_sources("second")

    # What goes wrong there is said as if it had gone wrong here.
    project.edit("first.py", lambda text: text.replace("FACTOR * x[i]", "nothing"))
    here = project.run("generate")
    there = project.run("generate", "--executor", "dask", "--scheduler", cluster.address)
    assert there.returncode == here.returncode == 1
    assert errors(there) == errors(here) != []


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("error")]


def begun(cluster: Cluster, project: Project) -> subprocess.Popen[str]:
    """Start a run, and wait until a worker is at it."""
    running = subprocess.Popen(
        [sys.executable, "-m", "stubgen", "generate", "--executor", "dask", "--scheduler", cluster.address],
        cwd=project.folder,
        env=project.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: cluster.has_sources("first"))
    time.sleep(0.5)
    return running


def test_a_worker_that_is_lost(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    cluster.add_worker("first")
    cluster.add_worker("second")
    project = many(tmp_path / "project")
    running = begun(cluster, project)
    cluster.kill("first")
    assert running.poll() is None, "it was in the midst of it"
    _, said = running.communicate(timeout=300)
    assert running.returncode == 0, said
    assert project.output() == whole


def test_a_scheduler_that_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker("first")
    project = many(tmp_path / "project")
    running = begun(cluster, project)
    cluster.kill("scheduler")
    _, said = running.communicate(timeout=120)
    assert running.returncode == 1
    assert "CS125" in said
    assert not (project.folder / "generated").exists()


def test_other_versions_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    other = tmp_path / "other"
    information = other / "apache_tvm_ffi-0.1.1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: apache-tvm-ffi\nVersion: 0.1.1\n")
    cluster.add_worker("other", other)
    project = Project(tmp_path / "project")
    done = project.run("generate", "--executor", "dask", "--scheduler", cluster.address)
    assert done.returncode == 1
    (said,) = errors(done)
    assert "CS124: the Dask worker tcp://127.0.0.1:" in said
    assert "has apache-tvm-ffi 0.1.1 (here 0." in said
    assert not (project.folder / "generated").exists()


def test_what_is_wrong_with_the_address(tmp_path: Path) -> None:
    project = Project(tmp_path)
    missing = project.run("generate", "--executor", "dask")
    assert missing.returncode == 1
    assert 'executor "dask" needs scheduler' in missing.stderr
    nobody = project.run("generate", "--executor=dask", "--scheduler=tcp://127.0.0.1:1")
    assert nobody.returncode == 1
    assert errors(nobody)[0].startswith("error: CS122: there is no Dask scheduler at tcp://127.0.0.1:1: ")

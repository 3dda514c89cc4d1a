"""Real Dask clusters on this machine: the result is that of a local run, whatever stops or is lost there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.test_disks import NAMESPACE, has_namespaces
from tests.tiny import Project, traced


class Cluster:
    """Processes of Dask, each in a group of its own with all that it starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._groups: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        wait_for(lambda: file.is_file() and file.read_text().endswith("}"))
        self.address: str = json.loads(file.read_text())["address"]

    def add_worker(self, name: str, *path: Path, before: tuple[object, ...] = ()) -> None:
        """Start a worker, and wait until the scheduler knows it."""
        options = {"host": "127.0.0.1", "nthreads": 1, "name": name, "local-directory": self.folder / name}
        given = [part for key, value in options.items() for part in (f"--{key}", value)]
        log = self._start(
            "worker", self.address, "--no-dashboard", *given, name=name, path=path, before=before
        )
        wait_for(lambda: "Registered to" in log.read_text())

    def kill(self, name: str) -> None:
        """End a process, and all that it has started, at once."""
        group = self._groups.pop(name)
        os.killpg(group.pid, signal.SIGKILL)
        group.wait()

    def stop(self, name: str) -> None:
        """Freeze a process, and all that it has started."""
        os.killpg(self._groups[name].pid, signal.SIGSTOP)

    def stop_host(self, name: str) -> None:
        """Freeze the process that a worker has for one architecture, and nothing else."""
        group = self._groups[name].pid
        hosts = [pid for pid in processes_of(group) if b"stubgen.compiler.dask.host" in command(pid)]
        os.kill(hosts[0], signal.SIGSTOP)

    def close(self) -> None:
        for name in list(self._groups):
            self.kill(name)

    def has_sources(self, name: str) -> bool:
        """Return whether a worker has begun with a run."""
        return any((self.folder / name).rglob("sources"))

    def _start(
        self,
        command: str,
        *arguments: object,
        name: str = "",
        path: tuple[Path, ...] = (),
        before: tuple[object, ...] = (),
    ) -> Path:
        log = self.folder / f"{name or command}.log"
        search = os.pathsep.join([*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])])
        with log.open("wb") as output:
            self._groups[name or command] = subprocess.Popen(
                [*map(str, before), sys.executable, "-m", "dask", command, *map(str, arguments)],
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONPATH": search, "HOLD": str(self.folder)},
                start_new_session=True,
            )
        return log


def processes_of(session: int) -> list[int]:
    """Return the processes that were started together."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            found += [int(stat.parent.name)] if int(fields[3]) == session else []
    return found


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


PATIENCE = 8
"""Seconds after which what says nothing counts as gone; a busy machine is silent for some, too."""

HOLD = """
import os
import time
from pathlib import Path

if os.environ.get("HOLD") and Path(os.environ["HOLD"], "hold").exists():
    Path(os.environ["HOLD"], "begun").touch()
    while Path(os.environ["HOLD"], "hold").exists():
        time.sleep(0.05)
"""
"""Put into a kernel module, so that a run is in its midst for as long as a test wants it to be."""


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
    project.edit("second.py", lambda text: text.replace("cutlass.Float32, cutlass.Float64", types, 1) + HOLD)
    project.configure(f"cluster-timeout = {PATIENCE}")
    return project


def generate(cluster: Cluster, project: Project) -> subprocess.CompletedProcess[str]:
    return project.run("generate", "--executor", "dask", "--scheduler", cluster.address)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("error")]


class Running:
    """A run that a worker is at, until it is let go on."""

    def __init__(self, cluster: Cluster, project: Project) -> None:
        self._hold, begun = cluster.folder / "hold", cluster.folder / "begun"
        begun.unlink(missing_ok=True)
        self._hold.touch()
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "stubgen",
                "generate",
                "--executor",
                "dask",
                "--scheduler",
                cluster.address,
            ],
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(begun.exists)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._hold.unlink()

    def finished(self) -> subprocess.CompletedProcess[str]:
        """Let the run go on to its end."""
        self._hold.unlink()
        out, err = self._process.communicate(timeout=200)
        return subprocess.CompletedProcess([], self._process.returncode, out, err)


def test_the_same_bytes_as_a_local_run(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    cluster.add_worker("first")
    cluster.add_worker("second")
    project = many(tmp_path / "project")
    done = generate(cluster, project)
    assert done.returncode == 0, done.stderr
    assert traced(done) == [], "nothing was done here"
    assert project.output() == whole
    assert project.generate() == [], "it is the same run, wherever it was done"
    assert not cluster.has_sources("first"), "nothing is left behind"
    assert not cluster.has_sources("second")

    # What goes wrong there is said as if it had gone wrong here.
    project.edit("first.py", lambda text: text.replace("FACTOR * x[i]", "nothing"))
    here = project.run("generate")
    there = generate(cluster, project)
    assert there.returncode == here.returncode == 1
    assert errors(there) == errors(here) != []

    # A run that is killed leaves its sources for a while only.
    project = many(tmp_path / "killed")
    project.configure("cluster-timeout = 1")
    Running(cluster, project).kill()
    wait_for(lambda: not cluster.has_sources("first") and not cluster.has_sources("second"))


def test_data_files_travel(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker("first")
    project = Project(tmp_path / "project")
    (project.kernels / "tables").mkdir()
    (project.kernels / "tables" / "factor.txt").write_text("5.0")
    read = 'Path(__file__).with_name("tables").joinpath("factor.txt").read_text()'
    (project.kernels / "shared.py").write_text(f"from pathlib import Path\n\nFACTOR = float({read})\n")
    lacking = generate(cluster, project)
    assert lacking.returncode == 1
    assert "factor.txt" in errors(lacking)[0]
    assert "CS204" in errors(lacking)[0]

    project.configure('data = ["kernels/tables/*.txt"]')
    done = generate(cluster, project)
    assert done.returncode == 0, done.stderr
    there = project.output()
    assert project.generate() == [], "they are inputs like any other"
    (project.kernels / "tables" / "factor.txt").write_text("6.0")
    assert "compiled scale moved__float32 moved__float64" in project.generate()
    assert project.output() != there

    project.configure('data = ["kernels/tables/*.csv"]')
    none = project.run("generate")
    assert errors(none)[0].startswith("error: CS128: no file fits 'kernels/tables/*.csv' in data; ")


def test_a_worker_that_is_lost(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    cluster.add_worker("first")
    project = many(tmp_path / "project")
    running = Running(cluster, project)
    cluster.add_worker("second")
    cluster.kill("first")
    done = running.finished()
    assert done.returncode == 0, done.stderr
    assert project.output() == whole

    # Its process for the compiler stops, and that is noticed there.
    project.configure(f"cluster-timeout = {PATIENCE}", 'cache = "off"')
    running = Running(cluster, project)
    cluster.stop_host("second")
    done = running.finished()
    assert done.returncode == 0, done.stderr
    assert project.output() == whole


def test_workers_that_are_frozen(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    cluster.add_worker("first")
    project = many(tmp_path / "project")
    project.configure(f"cluster-timeout = {PATIENCE}", 'cache = "off"')
    running = Running(cluster, project)
    cluster.add_worker("second")
    cluster.stop("first")
    done = running.finished()
    assert done.returncode == 0, done.stderr
    assert project.output() == whole

    # One that is frozen before the run begins, and at last no other.
    (project.folder / "generated" / "cute_kernels" / "first.pyi").unlink()
    done = generate(cluster, project)
    assert done.returncode == 0, done.stderr
    assert project.output() == whole
    cluster.kill("second")
    (project.folder / "generated" / "cute_kernels" / "first.pyi").unlink()
    done = generate(cluster, project)
    (error,) = errors(done)
    assert error.startswith("error: CS123: no worker of the Dask cluster at tcp://127.0.0.1:")
    assert f"giving up after {PATIENCE} s" in done.stderr


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_a_scheduler_that_is_lost(cluster: Cluster, tmp_path: Path, way: str) -> None:
    cluster.add_worker("first")
    project = many(tmp_path / "project")
    running = Running(cluster, project)
    getattr(cluster, way)("scheduler")
    done = running.finished()
    assert done.returncode == 1
    (error,) = errors(done)
    assert error.startswith(f"error: CS126: the Dask scheduler at {cluster.address} is gone: ")
    assert not (project.folder / "generated").exists()
    assert "Traceback" not in done.stderr


TINY_DISK = """
mount -t tmpfs -o size=8k small "$1"
shift
exec "$@"
"""


@pytest.mark.skipif(not has_namespaces(), reason="users may not have mount namespaces here")
def test_a_worker_whose_disk_is_full(cluster: Cluster, whole: dict[str, bytes], tmp_path: Path) -> None:
    disk = cluster.folder / "full"
    disk.mkdir()
    cluster.add_worker("full", before=(*NAMESPACE, "sh", "-c", TINY_DISK, "sh", disk))
    project = many(tmp_path / "project")
    alone = generate(cluster, project)
    (error,) = errors(alone)
    assert error.startswith("error: CS127: no worker of the Dask cluster at ")
    assert "No space left on device" in error

    cluster.add_worker("good")
    done = generate(cluster, project)
    assert done.returncode == 0, done.stderr
    assert project.output() == whole
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert warning.startswith("warning: CS619: the Dask worker tcp://127.0.0.1:")
    assert "was not used: No space left on device" in warning


EVIL = """
from stubgen.compiler.dask import dask_worker


class Evil(Exception):
    def __reduce__(self):
        return eval, ("(p := __import__('os').environ.get('MARK')) and open(p, 'w').close()",)


calls = iter(range(1000))


def do(run, task, sources):
    if next(calls) % 2:
        raise Evil
    return Evil()


do.__module__, do.__qualname__ = "stubgen.compiler.dask.dask_worker", "do"
dask_worker.do = do
"""


def test_what_a_worker_sends_is_not_run(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "sitecustomize.py").write_text(EVIL)
    cluster.add_worker("evil", tmp_path / "evil")
    project = many(tmp_path / "project")
    project.environment["MARK"] = str(tmp_path / "was here")  # which no worker has
    done = generate(cluster, project)
    assert done.returncode == 1
    assert all("CS125" in error for error in errors(done))
    assert len(errors(done)) == 2
    assert not (tmp_path / "was here").exists()


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


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """The address of something that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield "{}:{}".format(*server.getsockname())


@pytest.mark.parametrize(
    ("scheduler", "reason"),
    [
        ("tcp://127.0.0.1:1", ""),
        ("tcp://SILENT", ""),
        ("http://127.0.0.1:1", "unknown address scheme 'http'"),
        ("tls://127.0.0.1:1", "TLS"),
        ("nonsense://", "unknown address scheme 'nonsense'"),
    ],
)
def test_what_is_wrong_with_the_address(tmp_path: Path, silent: str, scheduler: str, reason: str) -> None:
    project = Project(tmp_path)
    project.configure("cluster-timeout = 3")
    address = scheduler.replace("SILENT", silent)
    nobody = project.run("generate", "--executor=dask", "--scheduler", address)
    assert nobody.returncode == 1
    (error,) = errors(nobody)
    assert error.startswith(f"error: CS122: there is no Dask scheduler at {address}: ")
    assert reason in error
    assert "Traceback" not in nobody.stderr


def test_an_address_that_is_a_workers(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker("first")
    log = (cluster.folder / "first.log").read_text()
    address = re.findall(r"Listening to:\s+(tcp://\S+)", log)[0]
    for other in (address, None):
        given = [] if other is None else ["--scheduler", other]
        done = Project(tmp_path / f"project{len(given)}").run("generate", "--executor", "dask", *given)
        assert done.returncode == 1
        if other is None:
            assert 'executor "dask" needs scheduler' in done.stderr
        else:
            assert f"CS122: there is no Dask scheduler at {address}: there is a " in errors(done)[0]

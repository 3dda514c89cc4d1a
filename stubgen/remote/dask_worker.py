"""What runs in the workers of a Dask cluster: sources are unpacked, tasks passed on to processes."""

from __future__ import annotations

import contextlib
import importlib
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import msgspec

from stubgen.compiler.jobs import ModuleJob
from stubgen.remote import host, tasks, versions
from stubgen.remote.tasks import Answer, Run, Task

_lock = threading.Lock()
_folders: dict[str, Path] = {}
"""By name of a run, where its sources are."""
_idle: list[_Process] = []
"""Processes without a task; the last one was used last."""


def sources(packed: bytes) -> bytes:
    """Give what it gets: a task that the cluster does again if the worker that has its result is lost."""
    return packed


def do(packed: bytes, run: bytes, task: bytes) -> bytes:
    """Do a task.

    Parameters
    ----------
    packed
        The sources.
    run, task
        :class:`~stubgen.remote.tasks.Run` and :class:`~stubgen.remote.tasks.Task`, packed.

    Returns
    -------
    bytes
        :class:`~stubgen.remote.tasks.Answer`, packed.
    """
    common, wanted = tasks.unpack(run, Run), tasks.unpack(task, Task)
    found = versions.differences(common.versions, versions.installed(common.packages))
    if found:
        return tasks.pack(Answer(worker=_own_address(), differences=found))
    there = _There(common, _unpacked(common.name, packed))
    with _process(common, there) as process:
        answer = process.ask(there.task(wanted))
    answer = msgspec.structs.replace(
        answer, worker=_own_address(), result=there.named_as_there(answer.result)
    )
    return tasks.pack(answer)


def leave(run: str) -> None:
    """Clear up after a run."""
    with _lock:
        folder = _folders.pop(run, None)
        ended = [process for process in _idle if process.run == run]
        _idle[:] = [process for process in _idle if process.run != run]
    for process in ended:
        process.end()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


class _There:
    """Names files here as the run's own machine does, and the other way round."""

    def __init__(self, run: Run, folder: Path) -> None:
        self._base = run.base
        self._sources = folder / "sources"
        logs = folder / "logs"
        logs.mkdir(exist_ok=True)
        project = self._here(run.settings.project)
        Path(project).mkdir(parents=True, exist_ok=True)
        self.settings = msgspec.structs.replace(run.settings, project=project, log_dir=str(logs))
        self._places = {str(logs): run.settings.log_dir, str(self._sources): run.base}

    def task(self, task: Task) -> Task:
        """Give a task with the paths of this machine."""
        module: ModuleJob = msgspec.structs.replace(
            task.module, path=self._here(task.module.path), import_root=self._here(task.module.import_root)
        )
        return msgspec.structs.replace(task, module=module)

    def named_as_there(self, result: bytes) -> bytes:
        """Give a result with the paths of the run's machine."""
        return tasks.moved(result, self._places) if result else result

    def _here(self, path: str) -> str:
        return str(self._sources / Path(path).relative_to(self._base))


class _Process:
    """A process for one architecture of one run."""

    def __init__(self, run: Run, there: _There) -> None:
        self.run, self.arch = run.name, run.settings.arch
        # In a folder where no module is in the way of the tool's own.
        self._empty = tempfile.mkdtemp(prefix="cute-stubgen-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", host.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._empty,
        )
        self._send(there.settings)

    def ask(self, task: Task) -> Answer:
        """Have a task done."""
        self._send(task)
        assert self._process.stdout is not None
        answer = host.receive(self._process.stdout)  # type: ignore[arg-type]
        if answer is None:
            raise RuntimeError(f"the process for {self.arch} has ended; its last words are in this log")
        return msgspec.msgpack.decode(answer, type=Answer)

    def is_alive(self) -> bool:
        """Tell whether it can be asked."""
        return self._process.poll() is None

    def end(self) -> None:
        """Let it end."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._empty, ignore_errors=True)

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        host.send(self._process.stdin, msgspec.msgpack.encode(message))  # type: ignore[arg-type]


@contextlib.contextmanager
def _process(run: Run, there: _There) -> Generator[_Process, None, None]:
    """Lend a process; one that is not asked for is ended for it, so that there are no more than threads."""
    with _lock:
        fitting = [p for p in _idle if (p.run, p.arch) == (run.name, run.settings.arch) and p.is_alive()]
        taken = fitting[-1] if fitting else None
        ended = [] if taken else list(_idle)
        _idle[:] = [p for p in _idle if p is not taken and p not in ended]
    for process in ended:
        process.end()
    process = taken or _Process(run, there)
    try:
        yield process
    except BaseException:
        process.end()
        raise
    with _lock:
        _idle.append(process)


def _unpacked(run: str, packed: bytes) -> Path:
    """Give the folder of a run, with its sources in it."""
    with _lock:
        if run not in _folders:
            folder = Path(tempfile.mkdtemp(prefix="cute-stubgen-", dir=_own_folder()))
            tasks.unpack_sources(packed, folder / "sources")
            _folders[run] = folder
        return _folders[run]


def _own_folder() -> str | None:
    folder: str | None = getattr(_dask_worker(), "local_directory", None)
    return folder


def _own_address() -> str:
    return str(getattr(_dask_worker(), "address", ""))


def _dask_worker() -> object:
    distributed: Any = importlib.import_module("distributed")
    try:
        return cast("object", distributed.get_worker())
    except ValueError:  # outside of a task
        return None

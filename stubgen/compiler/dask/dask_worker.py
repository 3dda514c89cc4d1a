"""What runs in the workers of a Dask cluster: sources are unpacked, tasks passed on to processes."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import msgspec

from stubgen.compiler.dask import host, tasks, versions
from stubgen.compiler.dask.tasks import Answer, ClusterTask, Run
from stubgen.compiler.jobs import ModuleJob

_STARTING = 600.0
"""Seconds that a process may take before it begins with its first task; see :mod:`.processes`."""
_SPARE = 60.0
"""Seconds that a task may take beside what it is made of."""
_KEPT = 5
"""How many times a run's patience its sources are kept while it asks for nothing: it may have been killed."""
_ENDING = 10.0
"""Seconds that a process gets to end by itself."""
_ROOM = 1 << 20
"""Bytes that the least thing needs."""


@dataclass
class _Place:
    """Where the sources of a run are."""

    folder: Path
    kept: float
    """Seconds that they are kept for while nothing asks for them."""
    used: float
    """When they were, the last time."""
    tasks: int = 0
    """How many are going on there."""


_lock = threading.Lock()
_places: dict[str, _Place] = {}
"""By name of a run."""
_idle: list[_WorkerProcess] = []
"""Processes without a task; the last one was used last."""


def do(run: bytes, task: bytes, sources: bytes) -> bytes:
    """Do a task. Nothing is raised: whoever asks does not unpickle what comes from here.

    Parameters
    ----------
    run, task
        :class:`~stubgen.compiler.dask.tasks.Run` and :class:`~stubgen.compiler.dask.tasks.Task`, packed.
    sources
        Packed; empty as long as they may be here already.

    Returns
    -------
    bytes
        :class:`~stubgen.compiler.dask.tasks.Answer`, packed.
    """
    try:
        answer = _answer(tasks.unpack(run, Run), tasks.unpack(task, ClusterTask), sources)
    except Exception as error:  # of any class
        answer = Answer(trouble=f"{type(error).__name__}: {' '.join(str(error).split())}")
    if answer.trouble or answer.problems or (answer.result and not answer.ir):
        answer = msgspec.structs.replace(answer, unusable=_why_no_room())
    return tasks.pack(msgspec.structs.replace(answer, worker=_own_address()))


def _answer(run: Run, task: ClusterTask, sources: bytes) -> Answer:
    differences = versions.differences(run.versions, versions.installed(run.packages))
    if differences:
        return Answer(differences=differences)
    with _unpacked(run, sources) as folder:
        if folder is None:
            return Answer(lacks_sources=True)
        there = _There(run, folder)
        with _process(run, there) as process:
            answer = process.ask(there.task(task))
        return msgspec.structs.replace(answer, result=there.named_as_there(answer.result))


def leave(run: str) -> None:
    """Clear up after a run."""
    with _lock:
        place = _places.pop(run, None)
    _clear(run, place)


def _leave_forgotten(run: str) -> None:
    """Wait until a run has asked for nothing for long, as when it was killed, and clear up after it."""
    while True:
        with _lock:  # a task that comes now either keeps the sources, or asks for them again
            place = _places.get(run)
            if place is None:
                return
            left = place.kept if place.tasks else place.used + place.kept - time.monotonic()
            if left <= 0:
                del _places[run]
                break
        time.sleep(left)
    _clear(run, place)


def _clear(run: str, place: _Place | None) -> None:
    """End the idle processes of a run, and remove its sources."""
    with _lock:
        ended = [process for process in _idle if process.run == run]
        _idle[:] = [process for process in _idle if process.run != run]
    for process in ended:
        process.end()
    if place is not None:
        shutil.rmtree(place.folder, ignore_errors=True)


def _why_no_room() -> str:
    """Try whether this machine has room for anything; empty if it has."""
    for folder in dict.fromkeys((_own_folder(), None)):
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(_ROOM))
        except OSError as error:
            return f"{error.strerror or error}: {folder or tempfile.gettempdir()}"
    return ""


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

    def task(self, task: ClusterTask) -> ClusterTask:
        """Return a task with the paths of this machine."""
        module: ModuleJob = msgspec.structs.replace(
            task.module, path=self._here(task.module.path), import_root=self._here(task.module.import_root)
        )
        return msgspec.structs.replace(task, module=module)

    def named_as_there(self, result: bytes) -> bytes:
        """Return a result with the paths of the run's machine."""
        return tasks.moved(result, self._places) if result else result

    def _here(self, path: str) -> str:
        return str(self._sources / Path(path).relative_to(self._base))


class _WorkerProcess:
    """A process for one architecture of one run."""

    def __init__(self, run: Run, there: _There) -> None:
        self.run, self.arch = run.name, run.settings.arch
        self._limit = 2 * run.settings.timeout + _SPARE  # what dies is tried twice
        self._starting = _STARTING
        self._patience = max(run.patience, 3 * host.BEAT)
        # In a folder where no module is in the way of the tool's own.
        self._empty = tempfile.mkdtemp(prefix="cute-stubgen-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", host.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self._empty,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        self._requests.send_bytes(msgspec.msgpack.encode(there.settings))

    def ask(self, task: ClusterTask) -> Answer:
        """Have a task done.

        Raises
        ------
        RuntimeError
            The process has ended, is stopped, or takes too long.
        """
        end = time.monotonic() + self._limit + self._starting
        try:
            self._requests.send_bytes(msgspec.msgpack.encode(task))
            while not (answer := self._message(end)):
                pass
        except (EOFError, OSError):
            raise RuntimeError(f"the process for {self.arch} has ended; its log says why") from None
        self._starting = 0.0
        return msgspec.msgpack.decode(answer, type=Answer)

    def _message(self, end: float) -> bytes:
        """Wait for an answer, or an empty sign of life."""
        if not self._answers.poll(self._patience):
            silence = f"{self._patience:g} s"
            raise RuntimeError(f"the process for {self.arch} has given no sign of life for {silence}")
        if time.monotonic() > end:
            raise RuntimeError(f"the process for {self.arch} has not answered in time")
        return self._answers.recv_bytes()

    def is_alive(self) -> bool:
        """Return whether it can be asked."""
        return self._process.poll() is None

    def end(self) -> None:
        """Let it end, and what it has started with it."""
        self._requests.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING)
        self._process.kill()
        self._process.wait()
        self._answers.close()
        shutil.rmtree(self._empty, ignore_errors=True)


@contextlib.contextmanager
def _process(run: Run, there: _There) -> Generator[_WorkerProcess, None, None]:
    """Lend a process; those for other architectures are ended for it, so that a run has no more than threads.

    Those of other runs are left alone: ending each other's, runs would start one for every task.
    """
    with _lock:
        fitting = [p for p in _idle if (p.run, p.arch) == (run.name, run.settings.arch) and p.is_alive()]
        taken = fitting[-1] if fitting else None
        ended = [] if taken else [p for p in _idle if p.run == run.name]
        _idle[:] = [p for p in _idle if p is not taken and p not in ended]
    for process in ended:
        process.end()
    process = taken or _WorkerProcess(run, there)
    try:
        yield process
    except BaseException:
        process.end()
        raise
    with _lock:
        _idle.append(process)


@contextlib.contextmanager
def _unpacked(run: Run, packed: bytes) -> Generator[Path | None, None, None]:
    """Lend the folder of a run, with its sources in it; ``None`` if they are not here."""
    with _lock:
        place = _places.get(run.name)
        if place is None and packed:
            folder = Path(tempfile.mkdtemp(prefix="cute-stubgen-", dir=_own_folder()))
            try:
                tasks.unpack_sources(packed, folder / "sources")
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            place = _places[run.name] = _Place(folder, _KEPT * run.patience, time.monotonic())
            threading.Thread(target=_leave_forgotten, args=(run.name,), daemon=True).start()
        if place is not None:
            place.tasks += 1
    if place is None:
        yield None
        return
    try:
        yield place.folder
    finally:
        with _lock:
            place.tasks -= 1
            place.used = time.monotonic()


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

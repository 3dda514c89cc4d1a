"""Runs the workers: processes forked from a server that has imported the DSL once."""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any

from stubgen.compiler.jobs import CompileJob, Expansion, Facts, ModuleJob, Outcome, WorkerSettings
from stubgen.compiler.local.processes import Ended, Marked, Processes, Task, Watcher
from stubgen.model.library import Place
from stubgen.model.supported import DSL
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.system.scratch import keep_sockets_in_scratch

_SERVER = "stubgen.compiler.local.server"
_WORKER = "stubgen.compiler.worker.worker"


class Pool:
    """Worker processes for one architecture."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        found = self._processes.run([_task(module, "expand", module) for module in modules])
        return [
            Expansion(problems=(_ended(end, module.file, Place(module.file, 1)),))
            if isinstance(end := result, Ended)
            else result
            for module, result in zip(modules, found, strict=True)
        ]

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        """Compile declarations, begun in the order of the jobs.

        One whose process dies or hangs has that for its problem; the others are not concerned.

        Parameters
        ----------
        jobs
            What to compile.
        on_start
            Called when a job is begun; a second time if its process has died.
        on_done
            Called with its result, as soon as there is one.
        """
        tasks = [
            _task(job.module, "compile", job.module, job.declared, job.build_name, job.ir_path)
            for job in jobs
        ]
        self._processes.run(tasks, _Watch(jobs, on_start, on_done))

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Read what can be known of kernels without compiling them, in the order of the jobs."""
        tasks = [_task(job.module, "facts", job.module, job.declared) for job in jobs]
        found = self._processes.run(tasks)
        return [None if isinstance(result, Ended) else result for result in found]


def _task(module: ModuleJob, name: str, *arguments: Any) -> Task:
    """Make a task that imports a module, for a process where no other has changed what it shares."""
    return Task(_call, (name, *arguments), module.changes, module.imports)


class _Watch(Watcher):
    """Passes on which jobs are begun and done."""

    def __init__(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        self._jobs, self._on_start, self._on_done = jobs, on_start, on_done

    def started(self, position: int) -> None:
        self._on_start(self._jobs[position])

    def finished(self, position: int, result: Any) -> None:
        job = self._jobs[position]
        name, place = job.declared.name, job.declared.place
        if isinstance(result, Ended):
            result = Outcome(problems=(_ended(result, name, place, name),))
        self._on_done(job, result)


def _ended(end: Ended, what: str, place: Place | None, kernel: str | None = None) -> Problem:
    return problem("CS305" if end.hung else "CS303", place=place, kernel=kernel, what=what, how=end.how)


@contextmanager
def workers(settings: WorkerSettings, jobs: int) -> Generator[Pool, None, None]:
    """Start worker processes, and end them.

    The processes are forked from a server process, so that the DSL (a second or two) is imported once and the
    calling process never has it.
    """
    with _forked(jobs, settings) as processes:
        yield Pool(processes)


def stated_signatures(library: str, names: dict[str, int], runtime: str | None = None) -> dict[str, str]:
    """Ask a linked library for the signature of each function, given how many parameters it has.

    Another library that it needs, and that the loader would not find, may be given too.
    """
    # Without the DSL, which takes longer to import than all the rest takes.
    processes = Processes(multiprocessing.get_context("spawn"), 1, _enter, None)
    try:
        stated: dict[str, str] = _only(
            processes, Task(_stated_signatures, (library, names, runtime)), library
        )
    finally:
        processes.close()
    return stated


def detect_arch() -> str | None:
    """Ask a worker for the architecture of this machine's GPU."""
    with _forked(1, None) as processes:
        arch: str | None = _only(processes, Task(_detect_arch, ()), "the DSL")
    return arch


def _only(processes: Processes, task: Task, what: str) -> Any:
    (result,) = processes.run([task])
    if isinstance(result, Ended):
        raise StubgenError(_ended(result, what, None))
    return result


@contextmanager
def _forked(count: int, settings: WorkerSettings | None) -> Generator[Processes, None, None]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_SERVER])
    _forget_dsl_settings()
    keep_sockets_in_scratch()
    with _ignoring_interrupts():
        forkserver.ensure_running()
    processes = Processes(context, count, _enter, settings, settings.timeout if settings else None)
    try:
        yield processes
    finally:
        processes.close()


@contextmanager
def _ignoring_interrupts() -> Generator[None, None, None]:
    """Let a process that is started here ignore Ctrl-C, which the terminal sends to all of them."""
    if threading.current_thread() is not threading.main_thread():  # only that one may change handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _forget_dsl_settings() -> None:
    """Keep the user's ``CUTE_DSL_*`` variables out of the build: they change the compiled code unseen."""
    for name in [name for name in os.environ if name.startswith("CUTE_DSL_")]:
        del os.environ[name]


# ---------------------------------------------------------------------------------------------------------
# In the worker process


class _Process:
    """What a worker process keeps between its tasks."""

    settings: WorkerSettings | None = None
    worker: Any = None


def _enter(settings: WorkerSettings | None) -> None:
    _Process.settings = settings


def _detect_arch() -> str | None:
    arch: str | None = _worker_module().detect_arch()
    return arch


def _call(name: str, *arguments: Any) -> Any:
    """Run a method of this process's worker, which the first call sets up."""
    if _Process.worker is None:
        _Process.worker = _worker_module().Worker(_Process.settings)
    result = getattr(_Process.worker, name)(*arguments)
    changes = _Process.worker.changes
    return Marked(result, changes.mark, changes.is_by_packages)


def _stated_signatures(library: str, names: dict[str, int], runtime: str | None) -> dict[str, str]:
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"
    for name in ("torch", "ml_dtypes"):  # tvm-ffi would import them, for a second or more
        sys.modules[name] = None  # type: ignore[assignment]
    readback: Any = importlib.import_module("stubgen.compiler.local.readback")
    if runtime:
        ctypes.CDLL(runtime)
    stated: dict[str, str] = readback.stated_signatures(library, names)
    return stated


def _worker_module() -> Any:
    """Import the room behind the DSL; here and not above, because only workers may."""
    try:
        return importlib.import_module(_WORKER)
    except Exception as error:  # another version lacks modules, or names in them
        raise StubgenError(
            problem(
                "CS106",
                distribution=DSL.distribution,
                reason=error,
                requirement=DSL.requirement,
            )
        ) from None

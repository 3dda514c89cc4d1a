"""Runs the workers: processes forked from a server that has imported the DSL once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver
from typing import Any, TypeVar

from stubgen.compiler.jobs import CompileJob, Declared, Expansion, Facts, ModuleJob, Outcome, Settings
from stubgen.diagnostics import StubgenError, problem

DSL_REQUIREMENT = "nvidia-cutlass-dsl>=4.8,<4.9"
"""The versions that :mod:`stubgen.compiler.dsl` is written against."""

_WORKER = "stubgen.compiler.worker"
_Result = TypeVar("_Result")


class Pool:
    """Worker processes for one architecture."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        futures = [self._submit("expand", module) for module in modules]
        return [_result(future) for future in futures]

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_done: Callable[[Declared], None],
    ) -> list[Outcome]:
        """Compile declarations, in the order of the jobs."""
        futures = {
            self._submit("compile", job.module, job.declared, job.build_name, job.ir_path): job.declared
            for job in jobs
        }
        for future in as_completed(futures):
            on_done(futures[future])
        return [_result(future) for future in futures]

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Read what can be known of kernels without compiling them, in the order of the jobs."""
        futures = [self._submit("facts", job.module, job.declared) for job in jobs]
        return [_result(future) for future in futures]

    def _submit(self, name: str, *arguments: Any) -> Future[Any]:
        return self._executor.submit(_call, name, *arguments)


@contextmanager
def workers(settings: Settings, jobs: int) -> Generator[Pool, None, None]:
    """Start worker processes, and end them.

    The processes are forked from a server process, so that the DSL (a second or two) is imported once and the
    calling process never has it.
    """
    with _executor(jobs, settings) as executor:
        yield Pool(executor)


def stated_signatures(library: str, names: dict[str, int]) -> dict[str, str]:
    """Ask a linked library for the signature of each function, given how many parameters it has."""
    # Without the DSL, which takes longer to import than all the rest takes.
    with ProcessPoolExecutor(
        1, multiprocessing.get_context("spawn"), initializer=_enter, initargs=(None,)
    ) as executor:
        return _result(executor.submit(_stated_signatures, library, names))


def detect_arch() -> str | None:
    """Ask a worker for the architecture of this machine's GPU."""
    with _executor(1, None) as executor:
        return _result(executor.submit(_detect_arch))


@contextmanager
def _executor(jobs: int, settings: Settings | None) -> Generator[ProcessPoolExecutor, None, None]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_WORKER])
    _forget_dsl_settings()
    with _ignoring_interrupts():
        forkserver.ensure_running()
    executor = ProcessPoolExecutor(jobs, context, initializer=_enter, initargs=(settings,))
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


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

    settings: Settings | None = None
    worker: Any = None


def _enter(settings: Settings | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and in silence
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Process.settings = settings


def _end_with_parent() -> None:
    """End this process when the tool is gone, however it went; its siblings keep the queues open for it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _detect_arch() -> str | None:
    arch: str | None = _worker_module().detect_arch()
    return arch


def _call(name: str, *arguments: Any) -> Any:
    """Run a method of this process's worker, which the first call sets up."""
    if _Process.worker is None:
        _Process.worker = _worker_module().Worker(_Process.settings)
    return getattr(_Process.worker, name)(*arguments)


def _stated_signatures(library: str, names: dict[str, int]) -> dict[str, str]:
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"  # tvm-ffi would import torch
    readback: Any = importlib.import_module("stubgen.compiler.readback")
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
                distribution="nvidia-cutlass-dsl",
                reason=error,
                requirement=DSL_REQUIREMENT,
            )
        ) from None


def _result(future: Future[_Result]) -> _Result:
    try:
        return future.result()
    except BrokenProcessPool:
        raise StubgenError(problem("CS303")) from None

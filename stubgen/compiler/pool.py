"""Runs the workers: processes forked from a server that has imported the DSL once."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from stubgen.compiler.jobs import Declared, Expansion, ModuleJob, Outcome, Settings
from stubgen.diagnostics import StubgenError, problem

_WORKER = "stubgen.compiler.worker"
_Result = TypeVar("_Result")


class Pool:
    """Worker processes for one architecture."""

    def __init__(self, executor: ProcessPoolExecutor, settings: Settings) -> None:
        self._executor = executor
        self._settings = settings

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        futures = [self._submit("expand", module) for module in modules]
        return [_result(future) for future in futures]

    def compile(
        self,
        jobs: Sequence[tuple[ModuleJob, Declared, str]],
        on_done: Callable[[Declared], None],
    ) -> list[Outcome]:
        """Compile declarations, each with the path that its IR goes to, in the order of the jobs."""
        futures = {
            self._submit("compile_declaration", module, declared, path): declared
            for module, declared, path in jobs
        }
        for future in as_completed(futures):
            on_done(futures[future])
        return [_result(future) for future in futures]

    def _submit(self, name: str, *arguments: Any) -> Future[Any]:
        return self._executor.submit(_call, name, self._settings, *arguments)


@contextmanager
def workers(settings: Settings, jobs: int) -> Iterator[Pool]:
    """Start worker processes, and end them.

    The processes are forked from a server process, so that the DSL (a second or two) is imported once and the
    calling process never has it.
    """
    with _executor(jobs) as executor:
        yield Pool(executor, settings)


def detect_arch() -> str | None:
    """Ask a worker for the architecture of this machine's GPU."""
    with _executor(1) as executor:
        return executor.submit(_call, "detect_arch").result()


@contextmanager
def _executor(jobs: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([_WORKER])
    _forget_dsl_settings()
    executor = ProcessPoolExecutor(max_workers=jobs, mp_context=context)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def _forget_dsl_settings() -> None:
    """Keep the user's ``CUTE_DSL_*`` variables out of the build: they change the compiled code unseen."""
    for name in [name for name in os.environ if name.startswith("CUTE_DSL_")]:
        del os.environ[name]


def _call(name: str, *arguments: Any) -> Any:
    """Run an entry point of the worker; imported by name, because only workers may import it."""
    import importlib

    return getattr(importlib.import_module(_WORKER), name)(*arguments)


def _result(future: Future[_Result]) -> _Result:
    try:
        return future.result()
    except BrokenProcessPool:
        raise StubgenError(problem("CS303")) from None

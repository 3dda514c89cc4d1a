"""What compiles: something that has workers, here or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from stubgen.compiler.jobs import CompileJob, Expansion, Facts, ModuleJob, Outcome, WorkerSettings
from stubgen.compiler.local import pool
from stubgen.problems.problem import Problem


class Workers(Protocol):
    """Processes that compile for one architecture."""

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        ...

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        """Compile declarations, begun in the order of the jobs; what is made lies where each job says.

        Parameters
        ----------
        jobs
            What to compile.
        on_start
            Called when a job is begun, as far as that is known.
        on_done
            Called with its result, as soon as there is one.
        """

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Read what can be known of kernels without compiling them, in the order of the jobs."""
        ...


class Executor(Protocol):
    """Has workers for every architecture."""

    @property
    def count(self) -> int:
        """How many kernels are compiled at a time."""
        ...

    def workers(self, settings: WorkerSettings) -> AbstractContextManager[Workers]:
        """Start workers, and end them."""
        ...

    def warnings(self) -> tuple[Problem, ...]:
        """Return what went wrong so far, and did not keep the run from going on."""
        ...


@dataclass(frozen=True)
class Local:
    """Processes of this machine."""

    count: int

    def workers(self, settings: WorkerSettings) -> AbstractContextManager[Workers]:
        """Start worker processes, and end them."""
        return pool.workers(settings, self.count)

    def warnings(self) -> tuple[Problem, ...]:
        """Return none."""
        return ()


class LazyWorkers:
    """Workers that are started when there is something for them to do."""

    def __init__(self, executor: Executor, settings: WorkerSettings) -> None:
        self._executor, self._settings = executor, settings
        self._stack = ExitStack()
        self._workers: Workers | None = None

    @property
    def count(self) -> int:
        """How many kernels are compiled at a time."""
        return self._executor.count

    def __enter__(self) -> LazyWorkers:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def __call__(self) -> Workers:
        """Return the workers."""
        if self._workers is None:
            self._workers = self._stack.enter_context(self._executor.workers(self._settings))
        return self._workers

"""Compiles on a Dask cluster: the jobs are those of a local run, and so is what comes back."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stubgen import discovery, fingerprint
from stubgen.compiler.jobs import CompileJob, Expansion, Facts, ModuleJob, Outcome, Settings
from stubgen.diagnostics import Problem, StubgenError, problem, raise_if_any
from stubgen.model import Place
from stubgen.remote import dask_worker, tasks, versions
from stubgen.remote.extras import require
from stubgen.remote.tasks import Answer, Run, Task

_CONNECTING = 15
_STARTING = 300
"""Seconds that the cluster may take until it does the first of its tasks."""
_RETRIES = 1
"""How often a task is tried again that failed; one whose worker was lost is, in any case."""

_Kind = TypeVar("_Kind")


class DaskExecutor:
    """A Dask cluster that is there already. Nobody connects to it before there is something to do.

    Parameters
    ----------
    address
        Of its scheduler.
    project
        The project's folder.
    modules
        The kernel modules, whose sources travel with the jobs.
    """

    def __init__(self, address: str, project: Path, modules: Sequence[discovery.KernelModule]) -> None:
        self._address = address
        self._project = project
        self._modules = modules
        self._stack = ExitStack()
        self._name = uuid.uuid4().hex
        self._count = 1

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @property
    def count(self) -> int:
        """How many kernels are compiled at a time; 1 as long as that is not known."""
        return self._count

    @contextlib.contextmanager
    def workers(self, settings: Settings) -> Generator[DaskWorkers, None, None]:
        """Give the cluster, as the workers for one architecture."""
        files = {path for module in self._modules for path in fingerprint.closure(module, self._project)}
        base = tasks.common_folder([self._project, *(path.parent for path in files)])
        names = {name for m in self._modules for name in fingerprint.imported_names(m, self._project)}
        packages = tuple(sorted(names))
        run = Run(self._name, settings, str(base), packages, versions.installed(packages))
        self._refuse_other_versions(run)
        with self._client.as_current():
            yield DaskWorkers(self._client, self._sources(files, base), run)

    @cached_property
    def _client(self) -> Any:
        distributed: Any = require("distributed", what="executor = 'dask'", extra="dask")
        try:
            client = distributed.Client(self._address, timeout=_CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise StubgenError(problem("CS122", address=self._address, reason=reason)) from None
        self._stack.callback(_leave, client, self._name)
        threads: dict[str, int] = client.nthreads()
        self._count = max(1, sum(threads.values()))
        return client

    def _refuse_other_versions(self, run: Run) -> None:
        """Ask the workers that are there; those that come later look for themselves."""
        answers: dict[str, dict[str, str]] = self._client.run(eval, versions.QUESTION, on_error="ignore")
        raise_if_any(
            _other_versions(worker, found)
            for worker, there in sorted(answers.items())
            if (found := versions.differences(run.versions, there))
        )

    def _sources(self, files: Iterable[Path], base: Path) -> Any:
        """Give the sources to the cluster, as the result of a task: a lost result is made again."""
        distributed: Any = require("distributed", what="executor = 'dask'", extra="dask")
        packed = tasks.pack_sources(files, base)
        future = self._client.submit(dask_worker.sources, packed, pure=False)
        try:
            distributed.wait(future, timeout=_STARTING)
        except (TimeoutError, distributed.TimeoutError):
            raise StubgenError(problem("CS123", address=self._address, seconds=_STARTING)) from None
        return future


def _leave(client: Any, run: str) -> None:
    with contextlib.suppress(Exception):  # workers that are gone need not clear up
        client.run(dask_worker.leave, run, on_error="ignore")
    client.close()


class DaskWorkers:
    """The workers of a cluster, for one architecture."""

    def __init__(self, client: Any, sources: Any, run: Run) -> None:
        self._client = client
        self._sources = sources
        self._run = tasks.pack(run)
        self._logs = Path(run.settings.log_dir)

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        futures = [self._submit(Task("expand", module), module.name) for module in modules]
        found: list[Expansion] = []
        for module, future in zip(modules, futures, strict=True):
            answer = self._answer(future, module.file, Place(module.file, 1), None)
            if isinstance(answer, Problem):
                found.append(Expansion(problems=(answer,)))
            else:
                found.append(self._result(answer, Expansion))
        return found

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        """Compile declarations, begun in the order of the jobs; nobody says when each is begun."""
        del on_start
        distributed: Any = require("distributed", what="executor = 'dask'", extra="dask")
        futures = {self._submit(_task("compile", job), job.build_name): job for job in jobs}
        for future in distributed.as_completed(list(futures)):
            job = futures.pop(future)
            name, place = job.declared.name, job.declared.place
            answer = self._answer(future, name, place, name)
            if isinstance(answer, Problem):
                outcome = Outcome(problems=(answer,))
            else:
                outcome = self._result(answer, Outcome)
                Path(job.ir_path).write_bytes(answer.ir)
            on_done(job, outcome)

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Read what can be known of kernels without compiling them, in the order of the jobs."""
        futures = [self._submit(_task("facts", job), job.build_name) for job in jobs]
        found: list[Facts | None] = []
        for job, future in zip(jobs, futures, strict=True):
            answer = self._answer(future, job.declared.name, job.declared.place, job.declared.name)
            known = b"" if isinstance(answer, Problem) else answer.result
            found.append(msgspec.msgpack.decode(known, type=Facts | None) if known else None)
        return found

    def _submit(self, task: Task, what: str) -> Any:
        return self._client.submit(
            dask_worker.do,
            self._sources,
            self._run,
            tasks.pack(task),
            key=f"cute-stubgen-{task.kind}-{what}-{uuid.uuid4().hex}",
            pure=False,
            retries=_RETRIES,
        )

    def _answer(self, future: Any, what: str, place: Place | None, kernel: str | None) -> Answer | Problem:
        """Give what a task has come to, or why it has not.

        Raises
        ------
        StubgenError
            CS124 if the worker has other versions; whatever else keeps it from working at all.
        """
        try:
            answer = tasks.unpack(future.result(), Answer)
        except Exception as error:  # of any class: that of the worker's own, or one of Dask's
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            return problem("CS125", place=place, kernel=kernel, what=what, reason=reason)
        if answer.differences:
            raise StubgenError(_other_versions(answer.worker, answer.differences))
        raise_if_any(answer.problems)
        for name, text in answer.logs.items():
            with contextlib.suppress(OSError):  # the problem is worth more than its log
                (self._logs / Path(name).name).write_text(text)
        return answer

    @staticmethod
    def _result(answer: Answer, kind: type[_Kind]) -> _Kind:
        return msgspec.msgpack.decode(answer.result, type=kind)


def _task(kind: Any, job: CompileJob) -> Task:
    return Task(kind, job.module, job.declared, job.build_name)


def _other_versions(worker: str, found: Sequence[str]) -> Problem:
    return problem("CS124", worker=worker, differences=", ".join(found))

"""Compiles on a Dask cluster: the jobs are those of a local run, and so is what comes back."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stubgen.compiler.dask import dask_worker, plain, tasks, versions
from stubgen.compiler.dask.batch import Batch, Failed
from stubgen.compiler.dask.cluster import Cluster
from stubgen.compiler.dask.tasks import Answer, ClusterTask, Run
from stubgen.compiler.jobs import CompileJob, Expansion, Facts, ModuleJob, Outcome, WorkerSettings
from stubgen.model.library import Place
from stubgen.problems.problem import Problem, problem, raise_if_any
from stubgen.sources.inputs import BuildInputs
from stubgen.system.extras import require

_Kind = TypeVar("_Kind")


class DaskExecutor:
    """A Dask cluster that is there already. Nobody connects to it before there is something to do.

    Parameters
    ----------
    address
        Of its scheduler.
    project
        The project's folder.
    inputs
        What the kernel modules depend on; their sources, and the data that they read, travel with the jobs.
    patience
        Seconds after which what says nothing counts as gone.
    say
        Told what keeps the user waiting.
    """

    def __init__(
        self,
        address: str,
        project: Path,
        inputs: BuildInputs,
        *,
        patience: float = 60.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._address = address
        self._project = project
        self._inputs = inputs
        self._patience = patience
        self._say = say
        self._stack = ExitStack()
        self._name = uuid.uuid4().hex
        self._connected: Cluster | None = None

    def __enter__(self) -> DaskExecutor:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @property
    def count(self) -> int:
        """How many kernels are compiled at a time; 1 as long as that is not known."""
        return self._connected.count if self._connected else 1

    def warnings(self) -> tuple[Problem, ...]:
        """Return which workers were not used, and why."""
        return self._connected.warnings() if self._connected else ()

    @contextlib.contextmanager
    def workers(self, settings: WorkerSettings) -> Generator[DaskWorkers, None, None]:
        """Return the cluster, as the workers for one architecture."""
        files = {*self._inputs.files, *self._inputs.data}
        base = tasks.common_folder([self._project, *(path.parent for path in files)])
        packages = self._inputs.imported
        run = Run(self._name, settings, str(base), packages, versions.installed(packages), self._patience)
        yield DaskWorkers(self._cluster, tasks.pack_sources(files, base), run)

    @cached_property
    def _cluster(self) -> Cluster:
        require("distributed", what="executor = 'dask'", extra="dask")
        self._stack.enter_context(plain.only_plain_data())
        self._connected = Cluster(self._address, self._patience, self._say)
        self._stack.callback(self._connected.close, dask_worker.leave, self._name)
        return self._connected


class DaskWorkers:
    """The workers of a cluster, for one architecture."""

    def __init__(self, cluster: Cluster, sources: bytes, run: Run) -> None:
        self._cluster = cluster
        self._sources = sources
        self._run = tasks.pack(run)
        self._logs = Path(run.settings.log_dir)

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """List what each module declares, in the order of the modules."""
        expansions = [Expansion()] * len(modules)
        for position, answer in self._answers([ClusterTask("expand", module) for module in modules]):
            module = modules[position]
            expansions[position] = (
                Expansion(problems=(_lost(answer, module.file, Place(module.file, 1)),))
                if isinstance(answer, Failed)
                else self._result(answer, Expansion)
            )
        return expansions

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        """Compile declarations, begun in the order of the jobs; nobody says when each is begun."""
        del on_start
        for position, answer in self._answers([_task("compile", job) for job in jobs]):
            job = jobs[position]
            if isinstance(answer, Failed):
                declared = job.declared
                outcome = Outcome(problems=(_lost(answer, declared.name, declared.place, declared.name),))
            else:
                outcome = self._result(answer, Outcome)
                Path(job.ir_path).write_bytes(answer.ir)
            on_done(job, outcome)

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Read what can be known of kernels without compiling them, in the order of the jobs."""
        facts: list[Facts | None] = [None] * len(jobs)
        for position, answer in self._answers([_task("facts", job) for job in jobs]):
            if isinstance(answer, Answer) and answer.result:
                facts[position] = msgspec.msgpack.decode(answer.result, type=Facts | None)
        return facts

    def _answers(self, wanted: Sequence[ClusterTask]) -> Iterator[tuple[int, Answer | Failed]]:
        """Yield what tasks come to, with the logs that they name written here.

        Raises
        ------
        StubgenError
            What keeps a worker, or all of them, from working at all.
        """
        for position, answer in Batch(self._cluster, self._run, self._sources, wanted).answers():
            if isinstance(answer, Answer):
                raise_if_any(answer.problems)
                for name, text in answer.logs.items():
                    with contextlib.suppress(OSError):  # the problem is worth more than its log
                        (self._logs / Path(name).name).write_text(text)
            yield position, answer

    @staticmethod
    def _result(answer: Answer, kind: type[_Kind]) -> _Kind:
        return msgspec.msgpack.decode(answer.result, type=kind)


def _task(kind: Any, job: CompileJob) -> ClusterTask:
    return ClusterTask(kind, job.module, job.declared, job.build_name)


def _lost(failed: Failed, what: str, place: Place | None, kernel: str | None = None) -> Problem:
    return problem("CS125", place=place, kernel=kernel, what=what, reason=failed.reason)

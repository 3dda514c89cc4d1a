"""Tasks that a cluster does, each by whichever worker can, until all have an answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stubgen.compiler.dask import dask_worker, tasks
from stubgen.compiler.dask.cluster import Cluster
from stubgen.compiler.dask.tasks import Answer, ClusterTask
from stubgen.problems.problem import StubgenError, problem

_TRIES = 3
"""How often a task is tried that comes to nothing, by different workers if there are any."""


@dataclass(frozen=True)
class Failed:
    """In the place of an answer: why there is none."""

    reason: str


@dataclass(frozen=True)
class _Given:
    """A task that the cluster has."""

    position: int
    future: Any
    workers: Sequence[str]
    """Who may do it; none if all may."""


@dataclass
class _Attempts:
    """What was tried to have a task done."""

    reasons: list[str] = field(default_factory=list[str])
    workers: set[str] = field(default_factory=set[str])


class Batch:
    """Tasks of one run.

    Parameters
    ----------
    cluster
        What does them.
    run, sources
        Packed, for every worker; sources go only to those that lack them.
    tasks
        In the order that they are begun in.
    """

    def __init__(self, cluster: Cluster, run: bytes, sources: bytes, tasks: Sequence[ClusterTask]) -> None:
        self._cluster, self._run, self._sources = cluster, run, sources
        self._tasks = tasks
        self._open: dict[str, _Given] = {}
        self._attempts = [_Attempts() for _ in tasks]
        self._ended: dict[str, float] = {}
        self._next_check = time.monotonic() + cluster.patience

    def answers(self) -> Iterator[tuple[int, Answer | Failed]]:
        """Yield positions of tasks with their answers, as these come.

        Raises
        ------
        StubgenError
            CS124 if a worker has other versions; what keeps the cluster from working at all.
        """
        for position in range(len(self._tasks)):
            self._give(position)
        while self._open:
            for future in self._cluster.finished():
                task = self._open.pop(future.key, None)
                if task is not None:  # else it was given to somebody else
                    answer = self._settled(task.position, future)
                    if answer is not None:
                        yield task.position, answer
            self._give_to_others()
            for position in self._unheard():
                failed = self._failed(position, "what the worker has answered does not arrive")
                if failed is not None:
                    yield position, failed

    def _give(self, position: int, *, to: str = "") -> None:
        """Submit a task, to one worker with the sources or to any."""
        task = self._tasks[position]
        workers = [to] if to else self._suitable(position)
        key = f"cute-stubgen-{task.kind}-{task.build_name or task.module.name}-{uuid.uuid4().hex}"
        sources = self._sources if to else b""
        future = self._cluster.submit(
            dask_worker.do, self._run, tasks.pack(task), sources, key=key, workers=workers
        )
        self._open[key] = _Given(position, future, workers)

    def _suitable(self, position: int) -> list[str]:
        """Return the workers that may have a task; none if any may, those that come later among them."""
        usable, tried = self._cluster.usable, self._attempts[position].workers
        if not tried and not self._cluster.has_others:
            return []
        return [worker for worker in usable if worker not in tried] or usable

    def _settled(self, position: int, future: Any) -> Answer | Failed | None:
        """Return what a task has come to, or ``None`` if it is tried again."""
        try:
            answer = tasks.unpack(future.result(timeout=self._cluster.patience), Answer)
        except Exception as error:  # of any class: that of the worker's own, or one of Dask's
            self._cluster.look()
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            return self._failed(position, reason.removesuffix(": "))
        if answer.differences:
            found = ", ".join(answer.differences)
            raise StubgenError(problem("CS124", worker=answer.worker, differences=found))
        if answer.lacks_sources:
            self._give(position, to=answer.worker)
            return None
        if answer.unusable:
            self._cluster.exclude(answer.worker, answer.unusable)
            self._give(position)
            return None
        if answer.trouble:
            self._attempts[position].workers.add(answer.worker)
            return self._failed(position, f"{answer.worker}: {answer.trouble}")
        return answer

    def _failed(self, position: int, reason: str) -> Failed | None:
        attempts = self._attempts[position]
        attempts.reasons.append(reason)
        if len(attempts.reasons) == _TRIES:
            return Failed("; ".join(dict.fromkeys(attempts.reasons)))
        self._give(position)
        return None

    def _give_to_others(self) -> None:
        """Pass on what a worker has that says nothing, and what is for workers that are gone."""
        usable = self._cluster.usable
        if not usable:
            return
        silent = self._cluster.silent
        stuck = self._cluster.left_on(silent) if silent else set[str]()
        for key, task in list(self._open.items()):
            if key in stuck or (task.workers and not set(task.workers) & set(usable)):
                del self._open[key]
                task.future.cancel()
                self._give(task.position)

    def _unheard(self) -> Iterator[int]:
        """Yield tasks that the scheduler has an end of, for long, and that it has not told of."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + self._cluster.patience
        ended = self._cluster.ended(list(self._open))
        self._ended = {key: self._ended.get(key, now) for key in ended}
        for key, since in self._ended.items():
            if since < now and key in self._open:
                yield self._open.pop(key).position

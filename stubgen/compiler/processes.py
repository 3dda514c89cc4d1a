"""Processes that do one task at a time, and whose death costs that task alone.

Each has a pipe of its own, which no other process holds: what one of them breaks, hangs in or leaves
half-written is nobody else's. (``concurrent.futures`` breaks as a whole when one of its processes dies, and
does not know which task was to blame.)
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import BaseContext, ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from stubgen.diagnostics import StubgenError

_STARTING = 600.0
"""Seconds that a process may take to be ready; it imports the DSL before."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Task:
    """A function of a module, to be called in some process."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Ended:
    """In the place of a result: the task's process came to an end before the task did."""

    how: str
    """In words that follow the word "process"."""
    hung: bool = False
    """Whether it was ended because the task took too long."""


class Watcher(Protocol):
    """Told about tasks, by their positions."""

    def started(self, position: int) -> None:
        """Note that a process has been given a task."""

    def finished(self, position: int, result: Any) -> None:
        """Note that there is a result, of whatever kind."""


class Unwatched:
    """Nobody wants to know."""

    def started(self, position: int) -> None:
        """Ignore it."""

    def finished(self, position: int, result: Any) -> None:
        """Ignore it."""


class Processes:
    """Up to ``count`` processes, started as tasks come.

    Parameters
    ----------
    context
        How they are started.
    count
        How many, at least one.
    enter
        A function of a module that is called first in each process.
    settings
        What it is called with; picklable.
    limit
        Seconds that a task may take; ``None`` for as long as it likes.
    """

    def __init__(
        self,
        context: ForkServerContext | SpawnContext,
        count: int,
        enter: Callable[[Any], None],
        settings: object,
        limit: float | None = None,
    ) -> None:
        self._context = context
        self._count = count
        self._enter = enter
        self._settings = settings
        self._limit = limit
        self._workers: list[_Worker] = []

    def run(self, tasks: Sequence[Task], watcher: Watcher | None = None) -> list[Any]:
        """Do tasks, begun in their order, and give the results in their order; :class:`Ended` for some.

        A task whose process dies is tried once more when all others are done, with no other beside it: then
        memory is least scarce, and nothing else can be to blame.

        Raises
        ------
        Exception
            What a task raised; the others are abandoned.
        """
        batch = _Batch(tasks, watcher or Unwatched())
        try:
            while not batch.is_done:
                self._hand_out(batch)
                for worker in self._eventful():
                    self._settle(worker, batch)
        except BaseException:
            self.close()  # nobody waits for what they are doing any more
            raise
        return batch.results

    def close(self) -> None:
        """End all processes at once, whatever they do."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _hand_out(self, batch: _Batch) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while (position := batch.next(alone=len(idle) == len(self._workers))) is not None:
            if not idle:
                if len(self._workers) == self._count:
                    batch.put_back(position)
                    return
                idle.append(_Worker(self._context, self._enter, self._settings))
                self._workers.append(idle[-1])
            worker = idle.pop()
            batch.watcher.started(position)
            worker.begin(position, batch.tasks[position], self._limit)

    def _eventful(self) -> Iterator[_Worker]:
        """Wait for processes that answer, die, or run out of time."""
        busy = {worker.connection: worker for worker in self._workers if worker.task is not None}
        soonest = min(worker.deadline for worker in busy.values())
        wait = None if soonest == float("inf") else max(0.0, soonest - time.monotonic())
        ready = connection.wait(list(busy), wait)
        now = time.monotonic()
        return (worker for end, worker in busy.items() if end in ready or worker.deadline <= now)

    def _settle(self, worker: _Worker, batch: _Batch) -> None:
        position = worker.task
        assert position is not None
        answer = worker.answer(self._limit)
        if answer is None:
            return
        if isinstance(answer, Ended):
            self._workers.remove(worker)
            batch.ended(position, answer)
        elif isinstance(answer, _Raised):
            raise answer.error from RuntimeError(f"in a worker process:\n{answer.text}")
        else:
            batch.finished(position, answer.value)


class _Batch:
    """Tasks, what has become of them, and which are next."""

    def __init__(self, tasks: Sequence[Task], watcher: Watcher) -> None:
        self.tasks = tasks
        self.results: list[Any] = [None] * len(tasks)
        self.watcher = watcher
        self._open = len(tasks)
        self._queue = deque(range(len(tasks)))
        self._again: deque[int] = deque()
        self._tried_again: set[int] = set()

    @property
    def is_done(self) -> bool:
        return self._open == 0

    def next(self, *, alone: bool) -> int | None:
        """Give a task to begin now; ``alone`` says that no other is running."""
        if self._queue:
            return self._queue.popleft()
        if self._again and alone:
            self._tried_again.add(self._again[0])
            return self._again.popleft()
        return None

    def put_back(self, position: int) -> None:
        self._queue.appendleft(position)

    def ended(self, position: int, how: Ended) -> None:
        if how.hung or position in self._tried_again:
            self.finished(position, how)
        else:
            self._again.append(position)

    def finished(self, position: int, result: Any) -> None:
        self.results[position] = result
        self._open -= 1
        self.watcher.finished(position, result)


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self, context: BaseContext, enter: Callable[[Any], None], settings: object) -> None:
        self.task: int | None = None
        self.deadline = float("inf")
        self._is_ready = False
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, enter, settings)
        )
        self._process.start()
        theirs.close()  # so that its death ends the pipe

    def begin(self, position: int, task: Task, limit: float | None) -> None:
        self.task = position
        self._set_deadline(limit if self._is_ready else _STARTING)
        with contextlib.suppress(OSError):  # dead already; the next answer will say so
            self.connection.send(task)

    def answer(self, limit: float | None) -> _Returned | _Raised | Ended | None:
        """Give what has come of the task, or ``None`` if that is still to be seen."""
        try:
            if not self.connection.poll():
                self.end()
                seconds = f"{limit:g} seconds" if self._is_ready else "ten minutes, before it had begun"
                return Ended(f"was ended after {seconds}", hung=True)
            answer: _Returned | _Raised | None = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            self.end()
            return Ended(_how(self._process.exitcode))
        if answer is None:
            self._is_ready = True
            self._set_deadline(limit)
        else:
            self.task = None
        return answer

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _set_deadline(self, limit: float | None) -> None:
        self.deadline = float("inf") if limit is None else time.monotonic() + limit


def _how(exitcode: int | None) -> str:
    """Say in words how a process ended."""
    if exitcode is not None and exitcode < 0:
        number = -exitcode
        known = number in {s.value for s in signal.Signals}
        name = signal.Signals(number).name if known else f"signal {number}"
        return f"was killed by {name}" + (", as when memory runs out" if number == signal.SIGKILL else "")
    return f"ended itself with status {exitcode}"


# ---------------------------------------------------------------------------------------------------------
# In the process


@dataclass(frozen=True)
class _Returned:
    value: Any


@dataclass(frozen=True)
class _Raised:
    error: Exception
    text: str
    """The traceback, which does not travel with the error."""


def _serve(link: connection.Connection, enter: Callable[[Any], None], settings: object) -> None:
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and in silence
    enter(settings)
    link.send(None)
    with contextlib.suppress(EOFError, BrokenPipeError):  # the tool is gone
        while True:
            task: Task = link.recv()
            link.send(_done(task))


def _done(task: Task) -> _Returned | _Raised:
    try:
        return _Returned(task.function(*task.arguments))
    except StubgenError as error:
        return _Raised(error, traceback.format_exc())
    except Exception as error:  # of any class, which may not survive the journey
        return _Raised(RuntimeError(f"{type(error).__name__}: {error}"), traceback.format_exc())


def _end_with_parent() -> None:
    """Have the system end this process with the one that it was forked from, which ends with the tool.

    A thread that waits for that would not do: native code may keep the interpreter to itself for minutes.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

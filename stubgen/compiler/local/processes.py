"""Processes that do one task at a time, and whose death costs that task alone.

Each has a pipe of its own, which no other process holds, a child of its own neither: what one of them breaks,
hangs in or leaves half-written is nobody else's. (``concurrent.futures`` breaks as a whole when one of its
processes dies, and does not know which task was to blame.) Nothing here waits for a process without a limit:
tasks close pipes, fork, start threads that never end, and stop whom they like.

A task may leave its process changed, and says so with a mark. Such a process does only tasks of that mark.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection
from multiprocessing.context import BaseContext, ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from stubgen.problems.problem import StubgenError

_STARTING = 600.0
"""Seconds that the first process may take to be ready; the server that it is forked from imports the DSL."""

_FORKING = 120.0
"""Seconds that each other process may take."""

_DYING = 5.0
"""Seconds that a process may take to end, once it has left."""

_LENGTH = 8
"""Bytes before each answer, which say how long it is."""

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Task:
    """A function of a module, to be called in some process."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    mark: str | None = ""
    """What it leaves in its process, in any words; ``None`` if that is to be seen, empty for nothing."""
    kin: Hashable = None
    """Tasks of the same kin leave the same, unless one says otherwise."""


@dataclass(frozen=True)
class Marked:
    """What a function may return in the place of its result, to say what it has left in the process."""

    result: Any
    mark: str
    """For everything that was left there until now."""
    by_kin: bool
    """Whether any task of the same kin would have left the same."""


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
        self._has_started = False
        self._marks_of_kin: dict[Hashable, str] = {}

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
        while self._workers:
            self._workers.pop().end()

    def _hand_out(self, batch: _Batch) -> None:
        while True:
            idle = [worker for worker in self._workers if worker.task is None]
            if batch.is_waiting:
                choice = self._choice(batch, idle)
            elif batch.is_to_try_again and len(idle) == len(self._workers):
                self.close()
                choice = self._started(), batch.again()
            else:
                return
            if choice is None:
                return
            worker, position = choice
            batch.watcher.started(position)
            worker.begin(position, batch.tasks[position], self._limit)

    def _choice(self, batch: _Batch, idle: Sequence[_Worker]) -> tuple[_Worker, int] | None:
        """Find a process and a task that fit; one whose process has to be started, if need be."""
        for worker in sorted(
            idle, key=lambda worker: not worker.mark
        ):  # for any task, the clean ones will do
            position = batch.next(partial(self._fits, worker))
            if position is not None:
                return worker, position
        if len(self._workers) == self._count:
            if not idle:
                return None
            self._end(idle[0])
        position = batch.next(lambda _: True)
        assert position is not None
        return self._started(), position

    def _fits(self, worker: _Worker, task: Task) -> bool:
        mark = self._marks_of_kin.get(task.kin) if task.mark is None else task.mark
        return worker.mark in ("", mark)

    def _started(self) -> _Worker:
        for server in {worker.server for worker in self._workers if worker.server}:
            _wake(server)
        patience = _FORKING if self._has_started else _STARTING
        self._workers.append(_Worker(self._context, self._enter, self._settings, patience))
        return self._workers[-1]

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.end()

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
        self._has_started |= worker.is_ready
        if answer is None:
            return
        if isinstance(answer, Ended):
            self._end(worker)
            batch.ended(position, answer)
        elif isinstance(answer, _Raised):
            raise answer.error from RuntimeError(f"in a worker process:\n{answer.text}")
        else:
            batch.finished(position, self._unmarked(worker, batch.tasks[position], answer.value))

    def _unmarked(self, worker: _Worker, task: Task, value: Any) -> Any:
        """Note what a task has left in its process."""
        if not isinstance(value, Marked):
            return value
        if task.mark is None and value.by_kin and not worker.mark:
            self._marks_of_kin.setdefault(task.kin, value.mark)
        worker.mark = value.mark
        return value.result


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

    @property
    def is_waiting(self) -> bool:
        """Whether there is a task that nobody has been given yet."""
        return bool(self._queue)

    @property
    def is_to_try_again(self) -> bool:
        """Whether there is a task whose process has died, and which may be tried once more."""
        return bool(self._again)

    def next(self, fits: Callable[[Task], bool]) -> int | None:
        """Take the first task that fits."""
        position = next((position for position in self._queue if fits(self.tasks[position])), None)
        if position is not None:
            self._queue.remove(position)
        return position

    def again(self) -> int:
        """Take a task that is to be tried once more."""
        self._tried_again.add(self._again[0])
        return self._again.popleft()

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

    def __init__(
        self, context: BaseContext, enter: Callable[[Any], None], settings: object, patience: float
    ) -> None:
        self.task: int | None = None
        self.deadline = float("inf")
        self.mark = ""
        self.server: int | None = None
        """The process that it was forked from, once it is ready."""
        self._patience = patience
        self._received = bytearray()
        self.connection, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, enter, settings)
        )
        self._process.start()
        theirs.close()  # so that its death ends the pipe

    @property
    def is_ready(self) -> bool:
        """Whether it has done what comes before tasks."""
        return self.server is not None

    def begin(self, position: int, task: Task, limit: float | None) -> None:
        self.task = position
        self._set_deadline(limit if self.is_ready else self._patience)
        with contextlib.suppress(OSError):  # dead already; the next answer will say so
            self.connection.send(task)

    def answer(self, limit: float | None) -> _Returned | _Raised | Ended | None:
        """Return what has come of the task, or ``None`` if that is still to be seen."""
        try:
            if self.connection.poll():
                # All that is there and no more: the rest may never come.
                received = os.read(self.connection.fileno(), 1 << 20)
                if not received:
                    return self._left()
                self._received += received
        except OSError:
            return self._left()
        try:
            answer: Any = self._next_message()
            if isinstance(answer, int):
                self.server = answer
                self._set_deadline(limit)
                answer = self._next_message()
        except Exception:  # whatever unpickling raises
            return Ended("wrote into the pipe that it answers through")
        if answer is not None:
            self.task = None
        elif self.deadline <= time.monotonic():
            seconds = f"{limit:g} seconds" if self.is_ready else f"{self._patience:g} seconds, not yet begun"
            return Ended(f"was ended after {seconds}", hung=self.is_ready)
        return answer  # type: ignore[no-any-return]

    def _next_message(self) -> Any:
        end = _LENGTH + int.from_bytes(self._received[:_LENGTH], "big")
        if len(self._received) < max(end, _LENGTH + 1):
            return None
        message = pickle.loads(self._received[_LENGTH:end])
        del self._received[:end]
        return message

    def _left(self) -> Ended:
        """Say how it ended, as it has closed its pipe; it may live on without."""
        code = self._exit_code()
        return Ended("closed the pipe that it answers through" if code is None else _how(code))

    def end(self) -> None:
        if self.server is not None:
            _wake(self.server)  # which alone can tell that it has ended
        self._process.kill()
        self._exit_code()
        self.connection.close()

    def _exit_code(self) -> int | None:
        """Return how it ended, if it does within some seconds.

        ``join`` would wait for more than it is told to, where a process has closed all files and lives on.
        """
        deadline, pause = time.monotonic() + _DYING, 0.001
        while (code := self._process.exitcode) is None and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return code

    def _set_deadline(self, limit: float | None) -> None:
        self.deadline = float("inf") if limit is None else time.monotonic() + limit


def _wake(server: int) -> None:
    """Have a process go on that a task may have stopped."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(server, signal.SIGCONT)


def _how(exitcode: int) -> str:
    """Say in words how a process ended."""
    if exitcode < 0:
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
    os.register_at_fork(after_in_child=partial(_leave, link))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and in silence
    try:
        enter(settings)
        _send(link, os.getppid())
        _work(link)
    except (EOFError, BrokenPipeError):  # the tool is gone
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # at once: threads that a task has started may never end


def _work(link: connection.Connection) -> None:
    own = os.getpid()
    while True:
        task: Task = link.recv()
        answer = _done(task)
        if os.getpid() != own:  # a child that the task has forked, and that came back
            os._exit(0)
        _send(link, answer)


def _send(link: connection.Connection, message: object) -> None:
    data = pickle.dumps(message)
    data = len(data).to_bytes(_LENGTH, "big") + data
    while data:
        data = data[os.write(link.fileno(), data) :]


def _done(task: Task) -> _Returned | _Raised:
    try:
        return _Returned(task.function(*task.arguments))
    except StubgenError as error:
        return _Raised(error, traceback.format_exc())
    except BaseException as error:  # of any class, which may not survive the journey
        return _Raised(RuntimeError(f"{type(error).__name__}: {error}"), traceback.format_exc())


def _leave(link: connection.Connection) -> None:
    """Let a child that a task has forked neither answer for it nor outlive it."""
    with contextlib.suppress(OSError):
        link.close()
    _end_with_parent()


def _end_with_parent() -> None:
    """Have the system end this process with the one that it was forked from, which ends with the tool.

    A thread that waits for that would not do: native code may keep the interpreter to itself for minutes.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

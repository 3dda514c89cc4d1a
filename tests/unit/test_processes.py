"""Processes that die, hang or fail, and what becomes of the others' tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stubgen.compiler.local.processes import Ended, Marked, Processes, Task
from stubgen.problems.problem import StubgenError, problem

GENEROUS = 300
"""Seconds, for what takes none on any machine."""


def enter(settings: Any) -> None:
    os.environ["SETTINGS"] = str(settings)


def double(number: int) -> int:
    return 2 * number


def settings() -> str:
    return os.environ["SETTINGS"]


def die(signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def die_once(mark: str) -> str:
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def note(log: str, what: str) -> None:
    with Path(log).open("a") as file:
        file.write(f"{what}\n")


def note_and_die(log: str, what: str) -> None:
    note(log, what)
    os._exit(7)


def refuse() -> None:
    raise StubgenError(problem("CS211"))


def fail() -> None:
    raise KeyError("what")


def close_and_live() -> None:
    os.closerange(3, 256)
    time.sleep(1000)


def fork_and_come_back(number: int) -> int:
    os.fork()
    return number


def begin_an_answer() -> None:
    for descriptor in range(3, 64):
        try:
            is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        except OSError:
            continue
        if is_socket:
            os.write(descriptor, (1000).to_bytes(8, "big") + b"x")
    time.sleep(1000)


def answer_nonsense() -> None:
    for descriptor in range(3, 64):
        try:
            is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        except OSError:
            continue
        if is_socket:
            os.write(descriptor, (1).to_bytes(8, "big") + b"x")
    time.sleep(1000)


def leave_a_thread_and_fail_to_answer() -> Any:
    threading.Thread(target=time.sleep, args=(1000,)).start()
    os.closerange(3, 256)


def stop_server(note: str) -> int:
    """Stop the process that this one was forked from."""
    Path(note).write_text(str(os.getppid()))
    os.kill(os.getppid(), signal.SIGSTOP)
    return os.getppid()


def interrupt(kind: type[BaseException]) -> None:
    raise kind


def seen_and_left(log: str, what: str, mark: str, by_kin: bool) -> Marked:
    """Say what was left in this process before, and leave something more."""
    before = os.environ.get("LEFT", "")
    os.environ["LEFT"] = mark
    note(log, f"{what} after {before or 'nothing'}")
    return Marked(what, mark, by_kin)


class Watch:
    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def started(self, position: int) -> None:
        self.events.append(("started", position))

    def finished(self, position: int, result: Any) -> None:
        self.events.append(("finished", position))


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes(multiprocessing.get_context("spawn"), 2, enter, "given", limit=GENEROUS)
    yield made
    made.close()
    assert multiprocessing.active_children() == []


@pytest.fixture
def hasty() -> Iterator[Processes]:
    """Processes whose limit is there to be passed."""
    made = Processes(multiprocessing.get_context("spawn"), 2, enter, "given", limit=1)
    yield made
    made.close()


def test_results_are_in_order(processes: Processes) -> None:
    assert processes.run([]) == []
    tasks = [Task(double, (n,)) for n in range(10)]
    assert processes.run([*tasks, Task(settings, ())]) == [*range(0, 20, 2), "given"]


def test_the_dead_and_the_hung_cost_only_their_tasks(processes: Processes) -> None:
    watch = Watch()
    tasks = [
        Task(double, (1,)),
        Task(die, (signal.SIGSEGV,)),
        Task(die, (signal.SIGRTMIN + 1,)),
        Task(os._exit, (0,)),
        Task(double, (2,)),
    ]
    assert processes.run(tasks, watch) == [
        2,
        Ended("was killed by SIGSEGV"),
        Ended(f"was killed by signal {signal.SIGRTMIN + 1}"),
        Ended("ended itself with status 0"),
        4,
    ]
    for position, times in enumerate([1, 2, 2, 2, 1]):
        assert watch.events.count(("started", position)) == times
        assert watch.events.count(("finished", position)) == 1
    assert processes.run([Task(double, (3,))]) == [6], "there are processes for more"


def test_the_hung_are_ended_and_not_tried_again(hasty: Processes) -> None:
    """Nothing else is to be done here: on a busy machine, it might not be done in time."""
    watch = Watch()
    tasks = [Task(time.sleep, (1000,)), Task(signal.pause, ())]
    assert hasty.run(tasks, watch) == [Ended("was ended after 1 seconds", hung=True)] * 2
    assert watch.events.count(("started", 0)) == watch.events.count(("started", 1)) == 1


def test_a_second_try_comes_last_and_alone(processes: Processes, tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    tasks = [
        Task(die_once, (str(tmp_path / "mark"),)),
        Task(note_and_die, (log, "dies")),
        *(Task(note, (log, "lives")) for _ in range(4)),
    ]
    results = processes.run(tasks)
    assert results[0] == "alive"
    assert results[1] == Ended("ended itself with status 7")
    assert (tmp_path / "log").read_text().splitlines() == ["dies", *["lives"] * 4, "dies"]


def test_errors_come_back(processes: Processes) -> None:
    with pytest.raises(StubgenError, match="CS211"):
        processes.run([Task(refuse, ())])
    with pytest.raises(RuntimeError, match="KeyError: 'what'") as caught:
        processes.run([Task(fail, ())])
    assert "in fail" in str(caught.value.__cause__)


def test_whatever_a_task_does_to_its_pipe_costs_only_its_own_result() -> None:
    """Each of them once kept the tool waiting for ever, or gave its answer to the next task."""
    processes = Processes(multiprocessing.get_context("spawn"), 2, enter, "given", limit=10)
    tasks = [
        Task(fork_and_come_back, (1,)),
        Task(close_and_live, ()),
        Task(double, (2,)),
        Task(begin_an_answer, ()),
        Task(answer_nonsense, ()),
        Task(leave_a_thread_and_fail_to_answer, ()),
        *(Task(double, (n,)) for n in range(3, 9)),
    ]
    start = time.monotonic()
    try:
        results = processes.run(tasks)
    finally:
        processes.close()
    assert results == [
        1,
        Ended("closed the pipe that it answers through"),
        4,
        Ended("was ended after 10 seconds", hung=True),
        Ended("wrote into the pipe that it answers through"),
        Ended("ended itself with status 1"),
        *range(6, 18, 2),
    ]
    assert time.monotonic() - start < 120, "there is a limit to every wait"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit])
def test_what_is_no_exception_comes_back_too(processes: Processes, kind: type[BaseException]) -> None:
    with pytest.raises(RuntimeError, match=kind.__name__):
        processes.run([Task(interrupt, (kind,))])


def test_tasks_meet_nothing_but_what_their_own_kind_has_left(tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = Processes(multiprocessing.get_context("spawn"), 1, enter, "given", limit=60)

    def task(what: str, leaves: str, mark: str | None, *, kin: str = "", by_kin: bool = True) -> Task:
        return Task(seen_and_left, (str(log), what, leaves, by_kin), mark, kin)

    tasks = [
        task("plain", "", ""),
        task("first of A", "A", None, kin="A"),
        task("plain again", "", ""),
        task("second of A", "A", None, kin="A"),
        task("known A", "A", "A"),
        task("one of B", "B1", None, kin="B", by_kin=False),
        task("other of B", "B2", None, kin="B", by_kin=False),
    ]
    try:
        assert processes.run(tasks) == [task.arguments[1] for task in tasks]
    finally:
        processes.close()
    lines = log.read_text().splitlines()
    assert sorted(lines) == sorted(
        [
            "plain after nothing",
            "first of A after nothing",
            "plain again after nothing",
            "second of A after A",
            "known A after A",
            "one of B after nothing",
            "other of B after nothing",
        ]
    )


def test_a_task_may_stop_the_server_that_processes_are_forked_from(tmp_path: Path) -> None:
    """It alone can start processes, and tell how they ended."""
    note = tmp_path / "server"
    watch = Watch()
    processes = Processes(multiprocessing.get_context("forkserver"), 2, enter, "given", limit=GENEROUS)
    tasks = [Task(stop_server, (str(note),)), Task(double, (1,)), Task(die, (signal.SIGSEGV,))]
    try:
        server, *results = processes.run(tasks, watch)
        assert server != os.getpid()
        assert results == [2, Ended("was killed by SIGSEGV")]
        assert watch.events.count(("started", 2)) == 2
        assert processes.run([Task(stop_server, (str(note),)), Task(os._exit, (3,))])[1] == Ended(
            "ended itself with status 3"
        )
        assert processes.run([Task(double, (2,))]) == [4]
    finally:
        if note.exists():
            os.kill(int(note.read_text()), signal.SIGCONT)
        processes.close()

"""Processes that die, hang or fail, and what becomes of the others' tasks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stubgen.compiler.processes import Ended, Processes, Task
from stubgen.diagnostics import StubgenError, problem


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


class Watch:
    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def started(self, position: int) -> None:
        self.events.append(("started", position))

    def finished(self, position: int, result: Any) -> None:
        self.events.append(("finished", position))


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes(multiprocessing.get_context("spawn"), 2, enter, "given", limit=5)
    yield made
    made.close()
    assert multiprocessing.active_children() == []


def test_results_are_in_order(processes: Processes) -> None:
    assert processes.run([]) == []
    tasks = [Task(double, (n,)) for n in range(10)]
    assert processes.run([*tasks, Task(settings, ())]) == [*range(0, 20, 2), "given"]


def test_the_dead_and_the_hung_cost_only_their_tasks(processes: Processes) -> None:
    watch = Watch()
    tasks = [
        Task(double, (1,)),
        Task(die, (signal.SIGSEGV,)),
        Task(time.sleep, (1000,)),
        Task(die, (signal.SIGRTMIN + 1,)),
        Task(os._exit, (0,)),
        Task(double, (2,)),
    ]
    assert processes.run(tasks, watch) == [
        2,
        Ended("was killed by SIGSEGV"),
        Ended("was ended after 5 seconds", hung=True),
        Ended(f"was killed by signal {signal.SIGRTMIN + 1}"),
        Ended("ended itself with status 0"),
        4,
    ]
    for position, times in enumerate([1, 2, 1, 2, 2, 1]):
        assert watch.events.count(("started", position)) == times
        assert watch.events.count(("finished", position)) == 1
    assert processes.run([Task(double, (3,))]) == [6], "there are processes for more"


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

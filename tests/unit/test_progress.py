"""How long a run is said to take, and what a log says of it."""

from __future__ import annotations

import io

from rich.console import Console

from stubgen.build.progress import Tally
from stubgen.cli.progress_view import shown


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_recorded_times_tell_at_once() -> None:
    tally = Tally("Compiling", 5, Clock())
    tally.plan(2, {"a": 10.0, "b": 4.0, "c": None}, workers=2)
    assert tally.done == 2
    assert tally.remaining() == 10.5, "c is taken for an average one, and two are done at a time"
    tally.begin("a")
    assert tally.note() == "2 from the cache; about 10 s left; a"


def test_the_longest_one_decides() -> None:
    clock = Clock()
    tally = Tally("Compiling", 2, clock)
    tally.plan(0, {"a": 20.0, "b": 2.0}, workers=2)
    assert tally.remaining() == 20
    tally.begin("a")
    tally.begin("b")
    clock.now += 3
    tally.step("b")
    assert tally.remaining() == 17
    assert tally.running == ("a",)
    clock.now += 30
    assert tally.remaining() == 0, "it takes longer than it did; nobody knows how much"


def test_without_records_the_first_ones_tell() -> None:
    clock = Clock()
    tally = Tally("Compiling", 3, clock)
    tally.plan(0, {"a": None, "b": None, "c": None}, workers=1)
    assert tally.remaining() is None
    tally.begin("a")
    clock.now += 100
    tally.step("a")
    assert tally.note() == "about 3 min left"


def test_lines_where_there_is_no_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with shown(console) as progress:
        progress.phase("Compiling for sm_90a", 4)
        progress.plan(3, {"a": 1.0}, 2)
        progress.begin("a")
        progress.step("a")
        progress.phase("Linking", 1)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == (
        "Compiling for sm_90a (4)\n  3 of 4; 3 from the cache; about 1 s left\nLinking (1)\n"
    )


def test_a_view_on_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with shown(console) as progress:
        progress.phase("Compiling", 2)
        progress.plan(1, {"attention": 50.0}, 2)
        progress.begin("attention")
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "1/2" in text
    assert "1 from the cache; about 50 s left; attention" in text

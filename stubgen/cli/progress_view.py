"""Shows the pipeline's progress: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.table import Column
from rich.text import Text

from stubgen.build import progress
from stubgen.build.progress import Tally

_QUIET = 10.0
"""Seconds between lines in a log."""


class Bar:
    """Shows each phase as a bar, and beside it what is going on."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._tally: Tally | None = None

    def phase(self, title: str, total: int) -> None:
        """Begin a phase of this many steps."""
        self._tally = Tally(title, total)
        for task in self._shown.tasks:
            self._shown.update(task.id, tally=None)
            self._shown.stop_task(task.id)
        self._shown.add_task(title, total=total, tally=self._tally)

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        """Show what was done before."""
        if self._tally is not None:
            self._tally.plan(reused, seconds, workers)
            self._show()

    def begin(self, what: str) -> None:
        """Show what is going on."""
        if self._tally is not None:
            self._tally.begin(what)

    def step(self, what: str) -> None:
        """Show that a step is over."""
        if self._tally is not None:
            self._tally.step(what)
            self._show()

    def note(self, text: str) -> None:
        """Print it above."""
        self._shown.console.print(text, markup=False)

    def _show(self) -> None:
        if self._tally is not None:
            self._shown.update(self._shown.tasks[-1].id, completed=self._tally.done)


class _Note(ProgressColumn):
    """What a tally says besides numbers; computed anew whenever the view is."""

    def render(self, task: Task) -> Text:
        tally: Tally | None = task.fields.get("tally")
        return Text("" if tally is None else tally.note(), style="dim", no_wrap=True, overflow="ellipsis")


class Lines:
    """Prints phases as lines, and now and then how far a long one has come."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tally: Tally | None = None
        self._last = 0.0

    def phase(self, title: str, total: int) -> None:
        """Begin a phase of this many steps."""
        self._tally = Tally(title, total)
        self._last = time.monotonic()
        self._console.print(f"{title} ({total})", markup=False)

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        """Say what was done before."""
        if self._tally is not None:
            self._tally.plan(reused, seconds, workers)
            if reused:
                self._say()

    def begin(self, what: str) -> None:
        """Remember what is going on."""
        if self._tally is not None:
            self._tally.begin(what)

    def step(self, what: str) -> None:
        """Say how far it has come, unless that was said just now."""
        if self._tally is not None:
            self._tally.step(what)
            if time.monotonic() - self._last >= _QUIET:
                self._say()

    def note(self, text: str) -> None:
        """Print it."""
        self._console.print(f"  {text}", markup=False)

    def _say(self) -> None:
        if self._tally is not None:
            self._last = time.monotonic()
            note = self._tally.note()
            self._console.print(
                f"  {self._tally.done} of {self._tally.total}" + (f"; {note}" if note else ""), markup=False
            )


@contextmanager
def shown(console: Console) -> Generator[progress.Progress, None, None]:
    """Show progress on a console until the block is left."""
    if not console.is_terminal:
        yield Lines(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        Elapsed(),
        _Note(table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, transient=True, expand=True) as live:
        yield Bar(live)

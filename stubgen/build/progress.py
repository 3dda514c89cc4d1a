"""What the pipeline tells whoever watches it, and what they can tell from that."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol


class Progress(Protocol):
    """What the pipeline tells whoever watches it."""

    def phase(self, title: str, total: int) -> None:
        """Begin a phase of this many steps."""

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        """Say how much of the phase was done before, and what each other step took the last time, if ever."""

    def begin(self, what: str) -> None:
        """Begin a step, while others may be going on."""

    def step(self, what: str) -> None:
        """Finish a step of the phase."""

    def note(self, text: str) -> None:
        """Say what keeps everybody waiting."""


class NullProgress:
    """Nobody watches."""

    def phase(self, title: str, total: int) -> None:
        """Ignore it."""

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        """Ignore it."""

    def begin(self, what: str) -> None:
        """Ignore it."""

    def step(self, what: str) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""


class Tally:
    """Counts the steps of a phase, and estimates how long the rest will take.

    Parameters
    ----------
    title
        Of the phase.
    total
        Number of its steps.
    clock
        Gives seconds.
    """

    def __init__(self, title: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self.reused = 0
        self._clock = clock
        self._workers = 1
        self._expected: dict[str, float | None] = {}
        self._begun: dict[str, float] = {}
        self._took: list[float] = []

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        """Note what was done before, and what the other steps took the last time."""
        self.reused = reused
        self.done += reused
        self._expected = dict(seconds)
        self._workers = workers

    def begin(self, what: str) -> None:
        """Note that a step has begun."""
        self._begun[what] = self._clock()

    def step(self, what: str) -> None:
        """Note that a step is over."""
        self.done += 1
        self._expected.pop(what, None)
        begun = self._begun.pop(what, None)
        if begun is not None:
            self._took.append(self._clock() - begun)

    @property
    def running(self) -> tuple[str, ...]:
        """The steps that are going on, longest first."""
        return tuple(self._begun)

    def remaining(self) -> float | None:
        """Estimate the seconds that the rest takes; ``None`` while there is nothing to go by."""
        known = self._took or [seconds for seconds in self._expected.values() if seconds is not None]
        if not known or not self._expected:
            return None
        usual = sum(known) / len(known)
        now = self._clock()
        left = [
            max(0.0, (usual if seconds is None else seconds) - (now - self._begun.get(what, now)))
            for what, seconds in self._expected.items()
        ]
        return max(*left, sum(left) / self._workers)

    def note(self) -> str:
        """Say what is not a number of steps: reused ones, the time left, what is going on."""
        parts = [f"{self.reused} from the cache"] if self.reused else []
        left = self.remaining()
        if left is not None and left >= 1:
            parts.append(f"about {_duration(left)} left")
        if self._begun:
            parts.append(", ".join(self.running))
        return "; ".join(parts)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"

"""A Dask cluster as seen from outside: whether its scheduler answers, and which workers do.

Anything in it may stop without a word, and then nothing that waits for it ever ends. So the scheduler is
asked again and again, and a worker counts for as long as the scheduler hears from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NoReturn

from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.system.extras import require

_LEAVING = 5.0
"""Seconds that saying goodbye may take."""
_ENDS = ("memory", "erred", "forgotten", None)
"""States of tasks that do not change any more."""
_ASKING = 5.0
"""Seconds for workers to say whether they have the tool; one that is busy says so with its first answer."""


class Cluster:
    """A connection to a cluster.

    Parameters
    ----------
    address
        Of its scheduler.
    patience
        Seconds after which what says nothing counts as gone.
    say
        Told what keeps the user waiting.

    Raises
    ------
    StubgenError
        CS122 if there is no scheduler, CS124 if a worker lacks the tool.
    """

    def __init__(self, address: str, patience: float, say: Callable[[str], None]) -> None:
        self.address, self.patience, self._say = address, patience, say
        self._distributed: Any = require("distributed", what="executor = 'dask'", extra="dask")
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        for name in ("client", "core", "comm", "batched", "utils", "protocol"):
            logging.getLogger(f"distributed.{name}").setLevel(logging.CRITICAL)
        self._client = self._connected()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._heard: dict[str, tuple[float, float]] = {}
        self._threads: dict[str, int] = {}
        self._excluded: dict[str, str] = {}
        self._silent: set[str] = set()
        self._trouble_since: float | None = None
        self._nobody_since: float | None = None
        self._has_said = False
        self._next_look = 0.0
        self.look()
        self._require_the_tool()

    @property
    def count(self) -> int:
        """How many tasks it does at a time, at least 1."""
        return max(1, sum(self._threads[worker] for worker in self.usable))

    @property
    def usable(self) -> list[str]:
        """The workers that answer, less those that cannot be used."""
        return sorted(self._threads.keys() - self._silent - self._excluded.keys())

    @property
    def has_others(self) -> bool:
        """Whether there are workers that are not to be given anything."""
        return bool(self._silent or self._excluded)

    def warnings(self) -> tuple[Problem, ...]:
        """Return which workers were not used, and why."""
        return tuple(
            problem("CS619", worker=name, reason=why) for name, why in sorted(self._excluded.items())
        )

    def submit(self, function: Callable[..., Any], *arguments: Any, key: str, workers: Sequence[str]) -> Any:
        """Have a function called on one of these workers, whichever if there are none."""
        future = self._client.submit(
            function, *arguments, key=key, pure=False, retries=0, workers=list(workers) or None
        )
        future.add_done_callback(self._done.put)
        return future

    def finished(self) -> list[Any]:
        """Wait a moment for futures that are done, and see to it that somebody works on the rest.

        Raises
        ------
        StubgenError
            CS123 if there is no worker, CS126 if the scheduler is gone, CS127 if no worker can be used.
        """
        done: list[Any] = []
        with contextlib.suppress(queue.Empty):
            done.append(self._done.get(timeout=self._pause))
            while True:
                done.append(self._done.get_nowait())
        if time.monotonic() >= self._next_look:
            self.look()
            self._require_somebody()
        return done

    def look(self) -> None:
        """Ask the scheduler for its workers.

        Raises
        ------
        StubgenError
            CS126 if it does not answer.
        """
        if self._client.status == "closed":
            self._give_up("the connection is closed")
        try:
            known = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=self.patience
            )
        except Exception as error:  # of any class: Dask has many
            now = time.monotonic()
            self._trouble_since = self._trouble_since or now
            is_silent = isinstance(error, TimeoutError | asyncio.TimeoutError)
            if is_silent or now - self._trouble_since >= min(10.0, self.patience):
                self._give_up(_reason(error))
        else:
            self._trouble_since = None
            self._note(known["workers"])
        self._next_look = time.monotonic() + self._pause

    def left_on(self, workers: Sequence[str]) -> set[str]:
        """Return the keys of the tasks that these workers have and do not do."""
        processing: dict[str, Sequence[str]] = self._client.processing()
        return {str(key) for worker in workers for key in processing.get(worker, ())}

    def ended(self, keys: Sequence[str]) -> list[str]:
        """Return the keys of the tasks that nobody does any more, as far as the scheduler knows."""
        states: dict[str, str | None] = {}
        with contextlib.suppress(Exception):  # if the scheduler is gone, the next look says so
            states = self._client.sync(
                self._client.scheduler.get_task_status, keys=list(keys), callback_timeout=self.patience
            )
        return [key for key, state in states.items() if state in _ENDS]

    @property
    def silent(self) -> list[str]:
        """The workers that the scheduler knows and has not heard from."""
        return sorted(self._silent)

    def exclude(self, worker: str, reason: str) -> None:
        """Use a worker no more."""
        self._excluded.setdefault(worker, reason)

    def close(self, goodbye: Callable[..., Any], *arguments: Any) -> None:
        """Have a function called on all workers that answer, and leave the cluster as it is."""

        def leave() -> None:
            with contextlib.suppress(Exception):  # workers that are gone need not clear up
                self._client.run(goodbye, *arguments, workers=self.usable, on_error="ignore")

        if self._client.status == "running" and self.usable:
            _within(_LEAVING, leave)
        _within(_LEAVING, self._client.close)

    @property
    def _pause(self) -> float:
        return min(1.0, self.patience / 10)

    def _connected(self) -> Any:
        try:
            kind = asyncio.run(asyncio.wait_for(self._kind(), self.patience))
            if kind != "Scheduler":
                raise ValueError(f"there is a {kind.lower()}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions, which are compared where they matter
                return self._distributed.Client(self.address, timeout=self.patience, set_as_default=False)
        except Exception as error:  # of any class: each kind of address has its own
            raise StubgenError(problem("CS122", address=self.address, reason=_reason(error))) from None

    async def _kind(self) -> str:
        """Ask what is there; whatever is no part of Dask will not say, and may say nothing for ever."""
        arguments = self._distributed.Security().get_connection_args("client")
        async with self._distributed.core.rpc(
            self.address, timeout=self.patience, connection_args=arguments
        ) as there:
            identity: dict[str, Any] = await there.identity()
        return str(identity.get("type", "stranger"))

    def _note(self, workers: dict[str, Any]) -> None:
        """Note who is there, and whom the scheduler has not heard from for long."""
        now = time.monotonic()
        newest = max((float(worker["last_seen"]) for worker in workers.values()), default=0.0)
        self._threads = {name: int(worker["nthreads"]) for name, worker in workers.items()}
        for name, worker in workers.items():
            seen = float(worker["last_seen"])
            if self._heard.get(name, (None, 0.0))[0] != seen:
                self._heard[name] = (seen, now - (newest - seen))
        self._silent = {name for name in workers if now - self._heard[name][1] >= self.patience}

    def _require_somebody(self) -> None:
        if self.usable:
            self._nobody_since, self._has_said = None, False
            return
        if self._excluded and not (self._threads.keys() - self._excluded.keys()):
            reason = "; ".join(f"{name}: {why}" for name, why in sorted(self._excluded.items()))
            raise StubgenError(problem("CS127", address=self.address, reason=reason))
        now = time.monotonic()
        self._nobody_since = self._nobody_since or now
        waited = now - self._nobody_since
        if waited >= self.patience:
            raise StubgenError(problem("CS123", address=self.address, seconds=f"{self.patience:g}"))
        if waited >= self.patience / 2 and not self._has_said:
            self._has_said = True
            self._say(f"no worker for {waited:.0f} s; giving up after {self.patience:g} s")

    def _require_the_tool(self) -> None:
        """Ask each worker, in a way that needs nothing there, whether it could do anything."""
        futures = {
            worker: self._client.submit(version, "cute-stubgen", pure=False, workers=[worker])
            for worker in self.usable
        }
        with contextlib.suppress(Exception):  # those that are busy are not waited for
            self._distributed.wait(list(futures.values()), timeout=min(_ASKING, self.patience))
        for worker, future in futures.items():
            if future.status == "error" and type(future.exception()).__name__ == "PackageNotFoundError":
                raise StubgenError(problem("CS124", worker=worker, differences="no cute-stubgen"))

    def _give_up(self, reason: str) -> NoReturn:
        raise StubgenError(problem("CS126", address=self.address, reason=reason))


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError | asyncio.TimeoutError) and not str(error):
        return "it does not answer"
    return " ".join(str(error).split()) or type(error).__name__


def _within(seconds: float, action: Callable[[], object]) -> None:
    """Do something, but wait for it no longer than this."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(seconds)

"""A process that compiles for one architecture, task by task: ``python -m stubgen.compiler.dask.host``.

It stands between a machine's Dask worker, whose own process must not have the DSL and may not fork, and the
worker processes that this machine's own runs have too, with all that makes them sturdy.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from stubgen.compiler.dask.tasks import Answer, ClusterTask
from stubgen.compiler.executors import Workers
from stubgen.compiler.jobs import CompileJob, Outcome, WorkerSettings
from stubgen.compiler.local import pool
from stubgen.problems.problem import StubgenError

_IDLE = 300.0
"""Seconds after which a process that is asked for nothing ends: the run may have died without a word."""

BEAT = 1.0
"""Seconds between signs of life, which are empty messages: a process that is stopped gives none."""


def main() -> None:
    """Read settings and then tasks from the standard input, and write answers to the standard output."""
    requests, answers = Connection(os.dup(0), writable=False), _Answers(os.dup(1))
    os.dup2(2, 1)  # whatever is printed is no answer
    parent = os.getppid()
    threading.Thread(target=_live, args=(answers, parent), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        settings = msgspec.msgpack.decode(requests.recv_bytes(), type=WorkerSettings)
        with pool.workers(settings, 1) as workers:
            while requests.poll(_IDLE):
                task = msgspec.msgpack.decode(requests.recv_bytes(), type=ClusterTask)
                answers.send(msgspec.msgpack.encode(_answer(workers, task, Path(settings.log_dir))))


class _Answers:
    """Sends answers, and signs of life in between."""

    def __init__(self, descriptor: int) -> None:
        self._connection = Connection(descriptor, readable=False)
        self._lock = threading.Lock()

    def send(self, message: bytes) -> None:
        with self._lock:
            self._connection.send_bytes(message)


def _answer(workers: Workers, task: ClusterTask, logs: Path) -> Answer:
    try:
        return _result(workers, task, logs)
    except OSError as error:
        return Answer(trouble=f"{error.strerror or error}: {error.filename or tempfile.gettempdir()}")


def _result(workers: Workers, task: ClusterTask, logs: Path) -> Answer:
    with tempfile.TemporaryDirectory(prefix="cute-stubgen-") as scratch:
        ir = Path(scratch) / "kernel.ll"
        try:
            result = msgspec.msgpack.encode(_done(workers, task, str(ir)))
        except StubgenError as error:
            return Answer(problems=error.problems)
        named = {log.name: log for log in logs.glob("*.log") if os.fsencode(log) in result}
        texts = {name: log.read_text(errors="replace") for name, log in named.items()}
        return Answer(result=result, ir=ir.read_bytes() if ir.exists() else b"", logs=texts)


def _done(workers: Workers, task: ClusterTask, ir_path: str) -> Any:
    if task.declared is None:
        (expansion,) = workers.expand([task.module])
        return expansion
    job = CompileJob(task.module, task.declared, task.build_name, ir_path)
    if task.kind == "facts":
        (facts,) = workers.facts([job])
        return facts
    outcomes: list[Outcome] = []
    workers.compile([job], lambda _: None, lambda _, outcome: outcomes.append(outcome))
    return outcomes[0]


def _live(answers: _Answers, parent: int) -> None:
    """Send signs of life, and end with the process that this one was started by."""
    with contextlib.suppress(OSError):
        while os.getppid() == parent:
            answers.send(b"")
            time.sleep(BEAT)
    os._exit(1)


if __name__ == "__main__":
    main()

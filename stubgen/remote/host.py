"""A process that compiles for one architecture, task by task: ``python -m stubgen.remote.host``.

It stands between a machine's Dask worker, whose own process must not have the DSL and may not fork, and the
worker processes that this machine's own runs have too, with all that makes them sturdy.
"""

from __future__ import annotations

import os
import select
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from stubgen.compiler import pool
from stubgen.compiler.jobs import CompileJob, Outcome, Settings
from stubgen.diagnostics import StubgenError
from stubgen.executors import Workers
from stubgen.remote.tasks import Answer, Task

_IDLE = 300.0
"""Seconds after which a process that is asked for nothing ends: the run may have died without a word."""

_LENGTH = 8


def send(stream: BinaryIO, data: bytes) -> None:
    """Write a message."""
    stream.write(len(data).to_bytes(_LENGTH, "big") + data)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Read a message; ``None`` where the stream ends."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "big")
    data = stream.read(size) if len(head) == _LENGTH else b""
    return data if head and len(data) == size else None


def main() -> None:
    """Read settings and then tasks from the standard input, and write answers to the standard output."""
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    first = receive(requests)
    if first is None:
        return
    settings = msgspec.msgpack.decode(first, type=Settings)
    with pool.workers(settings, 1) as workers:
        while select.select([requests], [], [], _IDLE)[0]:
            message = receive(requests)
            if message is None:
                return
            task = msgspec.msgpack.decode(message, type=Task)
            send(answers, msgspec.msgpack.encode(_answer(workers, task, Path(settings.log_dir))))


def _answer(workers: Workers, task: Task, logs: Path) -> Answer:
    with tempfile.TemporaryDirectory(prefix="cute-stubgen-") as scratch:
        ir = Path(scratch) / "kernel.ll"
        try:
            result = msgspec.msgpack.encode(_done(workers, task, str(ir)))
        except StubgenError as error:
            return Answer(problems=error.problems)
        named = {log.name: log for log in logs.glob("*.log") if os.fsencode(log) in result}
        texts = {name: log.read_text(errors="replace") for name, log in named.items()}
        return Answer(result=result, ir=ir.read_bytes() if ir.exists() else b"", logs=texts)


def _done(workers: Workers, task: Task, ir_path: str) -> Any:
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


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()

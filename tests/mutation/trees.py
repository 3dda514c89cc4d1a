"""Copies of the project in which one file at a time is changed, and the tests that run there."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

Verdict: TypeAlias = Literal["killed", "timeout", "survived"]

_MEMORY = 32 * 2**30


def copy_of(root: Path, tree: Path) -> Path:
    """Copy what git knows or does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if root.joinpath(name).is_file():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
    return tree


def another(tree: Path, number: int) -> Path:
    """Copy a copy, with the bytecode that is in it."""
    copy = tree.with_name(f"tree{number}")
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(tree, copy))


def load_libraries() -> None:
    """Import what tests import, but for the project: forked processes have it already."""
    import cutlass.cute
    import hypothesis.strategies
    import jinja2
    import libcst
    import msgspec
    import numpy

    assert all((cutlass.cute, hypothesis.strategies, jinja2, libcst, msgspec, numpy))


def fork_pytest(
    tree: Path, log: Path, arguments: Sequence[str], plugins: Sequence[object] = (), *, seconds: int = 0
) -> int:
    """Run pytest in a process that has what :func:`load_libraries` loaded; return the process's number.

    It is ended after some seconds of CPU time, and then leaves no bytecode either; without a limit, it does.
    """
    process = os.fork()
    if process:
        return process
    status = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(tree)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "stubgen")]:
            del sys.modules[name]
        sys.path.insert(0, str(tree))
        os.environ.update(PYTHONPATH=str(tree), CI="1")
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            sys.dont_write_bytecode = True
            os.environ.update(PYTHONDONTWRITEBYTECODE="1")
        common = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
        status = int(pytest.main([*common, *arguments], plugins=list(plugins)))
    finally:
        sys.stdout.flush()
        os._exit(status)


class Trial:
    """Tests that run in a copy of the project that has a mutant in it."""

    def __init__(self, tree: Path, file: str, text: str, tests: Sequence[str], seconds: float) -> None:
        """Change the file, and start the tests, which may take some seconds of CPU time."""
        self._path = tree / file
        self._original = self._path.read_bytes()
        for cached in self._path.parent.glob(f"__pycache__/{self._path.stem}.*.pyc"):
            cached.unlink()
        self._path.write_text(text)
        self._end = time.monotonic() + 10 * seconds  # they may wait for ever without taking any
        self.log = tree.with_suffix(".log")
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        self._process = fork_pytest(
            tree, self.log, ["-x", *files], [_Chosen(tests)], seconds=math.ceil(seconds)
        )

    def verdict(self) -> Verdict | None:
        """Return how the tests ended; ``None`` while they run."""
        process, status = os.waitpid(self._process, os.WNOHANG)
        if process == 0 and time.monotonic() < self._end:
            return None
        self.stop()
        code = -signal.SIGXCPU if process == 0 else os.waitstatus_to_exitcode(status)
        return "timeout" if code == -signal.SIGXCPU else "killed" if code else "survived"

    def stop(self) -> None:
        """End the tests, and what they started, and put the file back."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)
        self._path.write_bytes(self._original)


class _Chosen:
    """Keeps the tests that were chosen, in that order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: position for position, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order[item.nodeid])

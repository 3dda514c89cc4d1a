"""What was recorded of the tests, and which of them a mutant has to pass."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import coverage

from tests.mutation.mutants import Mutant
from tests.mutation.recorder import COVERAGE, TIMES
from tests.mutation.trees import fork_pytest


def record(tree: Path, tests: Sequence[str], folder: Path) -> Record:
    """Run the tests once without any mutant, unless that has been done for the same tree."""
    folder.mkdir(parents=True, exist_ok=True)
    if not folder.joinpath(TIMES).exists():
        os.environ["STUBGEN_RECORD"] = str(folder)
        plugin = ["-p", "tests.mutation.recorder"]
        os.waitpid(fork_pytest(tree, folder / "record.log", [*plugin, *tests]), 0)
    return Record(tree, folder)


class Record:
    """What the tests execute, and how long they take."""

    def __init__(self, tree: Path, folder: Path) -> None:
        times = json.loads(folder.joinpath(TIMES).read_text())
        self._seconds: dict[str, float] = times["seconds"]
        self.failed: frozenset[str] = frozenset(times["failed"])
        self._by_file: dict[str, list[str]] = defaultdict(list)
        for test in self._seconds:
            self._by_file[_file(test)].append(test)
        self._data = coverage.CoverageData(str(folder / COVERAGE))
        self._data.read()
        self._tree = tree
        self._lines: dict[str, dict[int, list[str]]] = {}

    @property
    def total(self) -> float:
        """CPU time of all tests together, in seconds."""
        return sum(self._seconds.values())

    def seconds(self, tests: Sequence[str]) -> float:
        """Return the CPU time of some tests."""
        return sum(self._seconds[test] for test in tests)

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that a mutant has to pass, file by file, the quickest first.

        Those that execute the statement. Of what is executed when a module is imported, any test may see what
        becomes of it; those that execute something of the module come first.
        """
        if mutant.file not in self._lines:
            self._lines[mutant.file] = self._data.contexts_by_lineno(str(self._tree / mutant.file))
        lines = self._lines[mutant.file]
        contexts = {c for n in range(mutant.statement, mutant.last_line + 1) for c in lines.get(n, ())}
        if contexts != {""}:
            return self._ordered(contexts)
        first = self._ordered({context for own in lines.values() for context in own})
        return [*first, *(test for test in self._ordered(set(self._seconds)) if test not in set(first))]

    def _ordered(self, contexts: set[str]) -> list[str]:
        names = {name for context in contexts - {""} for name in self._expanded(context)} - self.failed
        cost: dict[str, float] = {}  # by file: tests of one file share what is costly
        for name in names:
            cost[_file(name)] = min(cost.get(_file(name), float("inf")), self._seconds[name])
        return sorted(names, key=lambda name: (cost[_file(name)], _file(name), self._seconds[name]))

    def _expanded(self, context: str) -> list[str]:
        file, _, name = context.partition("::")
        return [context] if name else self._by_file[file]


def _file(test: str) -> str:
    return test.partition("::")[0]

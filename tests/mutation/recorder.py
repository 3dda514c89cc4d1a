"""A pytest plugin: which tests execute which lines, and how long each takes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

COVERAGE, TIMES = "coverage.sqlite", "times.json"
"""What is left in the folder that ``STUBGEN_RECORD`` names."""


class Recorder:
    """Gives what is executed the name of the test, or that of the test's file for what tests share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._coverage = coverage.Coverage(str(folder / COVERAGE), source_pkgs=["stubgen"], config_file=False)
        self._context = ""
        self._seconds: dict[str, float] = {}
        self._failed: list[str] = []
        self._coverage.start()

    def _switch(self, context: str) -> str:
        before, self._context = self._context, context
        self._coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Record a test."""
        self._switch(item.nodeid)
        before = time.process_time() + sum(os.times()[2:4])
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = time.process_time() + sum(os.times()[2:4]) - before
            self._switch("")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        """Record what a fixture does for several tests as done for all in the file."""
        if fixturedef.scope == "function":
            return (yield)
        before = self._switch(f"{self._context.partition('::')[0]}::")
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what fails without any mutant."""
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write what was recorded."""
        self._coverage.stop()
        self._coverage.save()
        record = {"seconds": self._seconds, "failed": self._failed}
        self._folder.joinpath(TIMES).write_text(json.dumps(record))


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Begin, before the first ``conftest.py`` is imported."""
    pluginmanager.register(Recorder(Path(os.environ["STUBGEN_RECORD"])), "stubgen-recorder")

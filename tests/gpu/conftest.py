"""Shared by the tests on a GPU: what they need of the machine, guarded memory, and the report."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # torch need not be there, and importing it is slow
    from .reference import Comparison, GuardedMemory

_comparison = pytest.StashKey["Comparison"]()


@pytest.fixture(autouse=True)
def _gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA device")
    torch.manual_seed(20)


@pytest.fixture
def library() -> Callable[[str], ModuleType]:
    """Return a module of the generated package by its name."""
    return lambda name: importlib.import_module(f"cute_kernels.{name}")


@pytest.fixture
def memory(_gpu: None) -> Iterator[GuardedMemory]:
    """Return memory whose surroundings, and whose inputs, must be as before when the test ends."""
    from .reference import GuardedMemory

    memory = GuardedMemory()
    yield memory
    memory.check()


@pytest.fixture
def comparison(request: pytest.FixtureRequest) -> Comparison:
    from .reference import Comparison

    return request.config.stash.setdefault(_comparison, Comparison())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the largest errors, and write them as JSON to the file that ``$GPU_REPORT`` names."""
    if _comparison not in config.stash:
        return
    largest = config.stash[_comparison].largest
    terminalreporter.section("largest relative errors")
    for kernel, by_dtype in sorted(largest.items()):
        for dtype, error in sorted(by_dtype.items()):
            terminalreporter.write_line(f"{kernel:20} {dtype:20} {error:.3e}")
    if path := os.environ.get("GPU_REPORT"):
        Path(path).write_text(json.dumps(largest, indent=2, sort_keys=True) + "\n")

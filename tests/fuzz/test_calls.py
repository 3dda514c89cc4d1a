"""Random argument lists for every host function: an error that says where, or the right result; nothing else.

Positional calls take turns between the plain functions and those for PyTorch.

CI makes the same calls each time. ``CUTE_STUBGEN_FUZZ_SEED=anything`` makes others, and
``CUTE_STUBGEN_FUZZ_CALLS=1000000`` more of them. A failure shows the list, its seed and its number;
``python -m tests.fuzz.worker PACKAGE SEED NUMBER NUMBER+1 FILE`` makes that one call again.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from stubgen.model.library import PointerSlot
from tests.conftest import ROOT
from tests.fuzz.references import REACH, REFERENCES
from tests.fuzz.worker import host_functions, load_library

SEED = os.environ.get("CUTE_STUBGEN_FUZZ_SEED", "cute-stubgen")
CALLS = int(os.environ.get("CUTE_STUBGEN_FUZZ_CALLS", "30000"))
SHARES = 2
SHOWN = 20


def worker(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.fuzz.worker", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=3600,
    )


@pytest.fixture(scope="session")
def package(generated: Path) -> Path:
    return generated / "cute_kernels"


def test_every_host_function_has_a_reference(package: Path) -> None:
    functions = host_functions(load_library(package))
    assert set(functions) == set(REFERENCES)
    with_pointers = {
        name
        for name, [kernel, *_] in functions.items()
        if any(isinstance(p.slot, PointerSlot) for p in kernel.parameters)
    }
    assert with_pointers == set(REACH)


@pytest.mark.parametrize("share", range(SHARES))
def test_calls_are_refused_with_their_place_or_compute_what_they_should(
    package: Path, share: int, tmp_path: Path
) -> None:
    first, last = CALLS * share // SHARES, CALLS * (share + 1) // SHARES
    progress = tmp_path / "progress"
    problems: list[str] = []
    outcomes = {"accepted": 0, "refused": 0}
    while first < last and len(problems) < SHOWN:
        progress.write_bytes(struct.pack("<q", first))
        done = worker(package, SEED, first, last, progress)
        for line in done.stdout.splitlines():
            report = json.loads(line)
            if "problem" in report:
                problems.append(f"number {report['number']}: {report['call']}\n    {report['problem']}")
            else:
                outcomes = {outcome: outcomes[outcome] + count for outcome, count in report.items()}
        if done.returncode == 0:
            break
        (number,) = struct.unpack("<q", progress.read_bytes())
        died = signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr
        problems.append(f"number {number}: {worker(package, SEED, number).stdout}    crashed: {died}")
        first = number + 1
    shown = "\n".join(problems[:SHOWN])
    assert not problems, f"{len(problems)} wrong with the seed {SEED!r}:\n{shown}"
    assert min(outcomes.values()) > CALLS / SHARES / 5, f"one-sided: {outcomes}"

"""Mutated libraries are read, or refused with a code: no crash, no hang, no memory that runs away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.binaries import FOREIGN, export, link, link_complete, without_section

X86, ARM = "x86_64-linux-gnu.2.17", "aarch64-linux-gnu"
SMALL, LARGE = 1960, 40
"""How many files are mutated: of 40 kB each, and of the megabytes that this repository's kernels take."""

SLOWEST = 1.0
"""In seconds, of the processor: other work may go on beside it."""
MEGABYTES = 200


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("exported")
    export(folder)
    return [
        link(folder, X86, folder / "libforeign.so", *FOREIGN),
        link(folder, ARM, folder / "libforeign_arm.so", *FOREIGN),
        link_complete(folder, X86, folder / "libcomplete.so"),
    ]


@pytest.fixture(scope="module")
def large(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    library = generated / "cute_kernels" / "lib" / "libcute_kernels.so"
    return [library, without_section(library, tmp_path_factory.mktemp("bare") / "libbare.so")]


@pytest.mark.parametrize(("which", "count"), [("small", SMALL), ("large", LARGE)])
def test_mutated_libraries(which: str, count: int, request: pytest.FixtureRequest) -> None:
    libraries = request.getfixturevalue(which)
    seed = os.environ.get("FUZZ_SEED", "1")
    command = [sys.executable, "-m", "tests.fuzz.reader", seed, str(count), *map(str, libraries)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert sum(report["outcomes"].values()) == count
    assert set(report["outcomes"]) > {"read read", "CS407 CS407"}
    assert report["slowest"][0] < SLOWEST, report["slowest"]
    assert report["megabytes"] < MEGABYTES

"""Random calls of all that PyTorch can call: no crash, and never another result than the operator's.

More of them: ``STUBGEN_TORCH_DRAWS=100000 pytest tests/frameworks/test_torch_random.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.torch_draws import KINDS, MODES, TRACERS

pytestmark = pytest.mark.xdist_group("torch")

SEED = 13
COUNT = 3_000

# What a function that writes into its arguments, or any function, cannot be called with: it is refused.
REFUSED = {"in place: functionalize", "in place: vmap", "in place: functional"} | {
    f"{surface}: {kind}" for surface in ("in place", "functional") for kind in ("careless", "distributed")
}


def test_random_calls_never_crash_and_give_what_the_operator_gives(framed_output: Path) -> None:
    count = int(os.environ.get("STUBGEN_TORCH_DRAWS", COUNT))
    done = subprocess.run(
        [sys.executable, "-m", "tests.frameworks.torch_draws", str(SEED), str(count)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(framed_output), str(Path(__file__).parents[2])]),
        },
        capture_output=True,
        text=True,
        timeout=600 + count / 10,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    counts = {
        what: int(valued) for what, valued in re.findall(r"^(.+): (\d+) of \d+$", done.stdout, re.MULTILINE)
    }
    drawn = {
        f"{surface}: {name}" for surface in ("in place", "functional") for name in (*KINDS, *MODES, *TRACERS)
    }
    assert counts.keys() == drawn
    assert {what for what, valued in counts.items() if not valued} == REFUSED

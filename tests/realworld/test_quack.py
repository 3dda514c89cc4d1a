"""What `examples/quack` declares is what quack compiles; and its package, called without a GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from examples.figures import glue, lines_per_declaration
from stubgen.native import elf
from tests.conftest import ROOT
from tests.realworld.conftest import EXAMPLES, Example, Generated

HERE = Path(__file__).parent
QUACK = next(example for example in EXAMPLES if example.name == "quack")
pytestmark = pytest.mark.parametrize("example", [QUACK], indirect=True, ids=["quack"])


def with_path(folder: Path) -> dict[str, str]:
    """Return the environment with one more folder that modules are found in."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_every_variant_is_what_quack_would_compile(example: Example, arch: str, tmp_path: Path) -> None:
    """The same object with the same state, fake arguments with the same types, strides and alignments."""
    files = [f for f in sorted((example.project / "kernels").glob("*.py")) if f.stem != "gemm"]
    assert len(files) >= 7
    assert _compared("like_quack.py", arch, tmp_path, *files) >= 60
    assert _compared("like_quack_gemm.py", arch, tmp_path, example.project / "kernels" / "gemm.py") == 24


def _compared(script: str, *arguments: object) -> int:
    """Count the variants that a script has compared."""
    done = subprocess.run(
        [sys.executable, HERE / script, *map(str, arguments)],
        env=with_path(ROOT),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[0])


CALLS = """
import sys
import numpy as np
from quack_aot import reductions, rmsnorm
from quack_aot.kwargs import rmsnorm as by_keyword

x, weight = np.zeros((3, 4096), np.float16), np.zeros(4096, np.float16)
for call in (
    lambda: rmsnorm.rmsnorm_fwd(x, weight, None, None, x, None, None, None, 1e-6),
    lambda: by_keyword.rmsnorm_fwd(
        x, weight, mB=None, mRes=None, mO=x, mResO=None, mRstd=None, mMean=None, eps=1e-6
    ),
    lambda: reductions.split_k_reduce(x, x, None, None, None, None, None, 3),
):
    try:
        call()
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
"""


def test_calls_that_nothing_was_compiled_for_are_refused(example: Example, made: Generated) -> None:
    """Tensors on the CPU, another number of parts; no GPU is touched for that."""
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        env={"PYTHONPATH": str(made.output), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    refused = done.stdout.splitlines()
    on_cpu = r"ValueError mX is Tensor\(.*, CPU\), expected it on a GPU when calling: `rmsnorm_fwd\("
    beginnings = [on_cpu, on_cpu, "TypeError No variant accepts"]
    assert all(map(re.match, beginnings, refused)), refused
    assert len(refused) == len(beginnings)


INSTEAD_OF_THE_CACHE = """
import torch
{guide}
from quack.rmsnorm import _rmsnorm_fwd

x, short = torch.zeros(3, 4096, dtype=torch.float16), torch.zeros(3, 4000, dtype=torch.float16)
for rows in (x, short):
    try:
        _rmsnorm_fwd(rows, rows[0], rows)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
"""


def test_the_guides_replacement_of_the_cache_is_what_the_library_calls(
    example: Example, made: Generated
) -> None:
    guide = (ROOT / "docs" / "porting.md").read_text()
    (replacement,) = re.findall(r"```python\n(import sys\n.*?)```", guide, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", INSTEAD_OF_THE_CACHE.format(guide=replacement)],
        env=with_path(made.output),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    on_cpu, too_short = done.stdout.splitlines()
    assert "CPU), expected it on a GPU when calling: `rmsnorm_fwd(" in on_cpu
    assert too_short.startswith("TypeError No variant accepts")


def test_the_guide_shows_the_declaration_and_counts_right(example: Example) -> None:
    guide = (ROOT / "docs" / "porting.md").read_text()
    (shown,) = re.findall(r"```python\n(@sg.family.*?)```", guide, re.DOTALL)
    assert shown in (example.project / "kernels" / "rmsnorm.py").read_text()
    replaced, shared = glue(example.project)
    lines = lines_per_declaration(example.project)["rmsnorm_fwd"]
    assert (lines, replaced["rmsnorm_fwd"]) == (6, 65)
    assert "Six lines of code for 65" in guide
    assert list(shared.values()) == [213, 23]
    assert 10 * lines <= replaced["rmsnorm_fwd"]


def test_the_figures_can_be_had(example: Example, made: Generated) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "figures.py", made.project],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "| `rmsnorm_fwd` | 16 | 6 | 65 |" in done.stdout
    assert f"{len(elf.cubins(made.library))} objects, " in done.stdout

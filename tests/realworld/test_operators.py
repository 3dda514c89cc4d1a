"""What `examples/cutlass_operators` declares is what the operators of the registry compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.realworld.conftest import EXAMPLES, Example

OPERATORS = next(example for example in EXAMPLES if example.name == "cutlass_operators")
pytestmark = pytest.mark.parametrize("example", [OPERATORS], indirect=True, ids=["cutlass_operators"])


@pytest.mark.parametrize(("arch", "count"), [("sm_80", 10), ("sm_90a", 13), ("sm_100a", 13)])
def test_every_variant_is_what_an_operator_would_compile(
    example: Example, arch: str, count: int, tmp_path: Path
) -> None:
    """The object that the operator has, tensors of the same types, strides and alignments, and the rest."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [
            *(sys.executable, Path(__file__).parent / "like_operators.py", arch, tmp_path),
            example.project / "kernels" / "gemm.py",
        ],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[0] == str(count)

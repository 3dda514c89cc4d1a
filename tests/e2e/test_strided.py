"""Tensors whose strides are bound at the call: what is taken, what is refused, what the stub says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import run_stubgen

KERNELS = """
import cutlass
import stubgen as sg
from cutlass import cute


@cute.jit
def total(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    out[0] = 0.0
    for i in range(x.shape[0]):
        for j in cutlass.range_constexpr(4):
            out[0] = out[0] + x[i, j] * y[i, j]


x = sg.strided(cutlass.Float32, sg.dim("m"), 4, vector=4, device="cpu")
any_order = sg.strided(cutlass.Float32, sg.dim("m"), 4, unit=None, device="cpu")
aligned = sg.strided(cutlass.Float32, sg.dim("m"), 4, align=64, bits=32, device="cpu")
out = sg.tensor(cutlass.Float32, 1, device="cpu")
sg.export(total, x, x, out)
sg.export(name="total_of_any")(total, any_order, any_order, out)
sg.export(name="total_of_aligned")(total, aligned, x, out)
"""

CALLS = """
import numpy as np
from cute_kernels import sums

out, base = np.zeros(1, np.float32), np.arange(216, dtype=np.float32)
base = base[-base.ctypes.data // 4 % 16:][:200]  # at a multiple of 64 bytes


def view(first, *strides):
    return np.lib.stride_tricks.as_strided(base[first:], (3, 4), [4 * stride for stride in strides])


def told(function, x, y):
    try:
        function(x, y, out)
    except (TypeError, ValueError) as error:
        print(str(error).splitlines()[0])
    else:
        assert out[0] == (x * y).sum(), (out, x, y)
        print("right")


told(sums.total, view(0, 4, 1), view(4, 12, 1))
told(sums.total, view(0, 6, 1), view(0, 4, 1))
told(sums.total, view(0, 4, 1), view(0, 4, 2))
told(sums.total, view(1, 4, 1), view(0, 4, 1))
told(sums.total_of_any, view(1, 6, 3), view(7, 1, 5))
told(sums.total_of_aligned, view(16, 5, 1), view(0, 4, 1))
told(sums.total_of_aligned, view(4, 5, 1), view(0, 4, 1))
told(sums.total_of_aligned, view(0, 2**32 + 4, 1), view(0, 4, 1))
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("strided")
    (project / "kernels").mkdir()
    (project / "kernels" / "sums.py").write_text(KERNELS)
    (project / "pyproject.toml").write_text("[tool.cute-stubgen]\n")
    done = run_stubgen("generate", cwd=project)
    assert done.returncode == 0, done.stderr
    return project / "generated"


def test_strides_may_differ_and_have_to_be_multiples_of_the_vector(output: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        env={"PYTHONPATH": str(output), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    apart, uneven, not_unit, misaligned, any_order, aligned, *refused = done.stdout.splitlines()
    assert (apart, any_order, aligned) == ("right", "right", "right")
    assert "64" in refused[0]
    assert "align" in refused[0].lower()
    assert "x.strides[0]" in refused[1], "which 32 bits do not hold"
    assert "x.strides[0]" in uneven
    assert "expected a multiple of 4" in uneven
    assert "y.strides[1]" in not_unit
    assert "16" in misaligned
    assert "align" in misaligned.lower()


def test_the_stub_shows_them(output: Path) -> None:
    stub = (output / "cute_kernels" / "sums.pyi").read_text()
    assert "x: float32, shape (m, 4), strides (s0, 1)" in stub
    assert "y: float32, shape (m, 4), strides (s1, 1)" in stub
    assert "s0 and s1 are multiples of 4" in stub

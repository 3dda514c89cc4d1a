"""The C++ example, built from a copy with CMake and Ninja."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "cpp"


def run(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("ninja")), reason="needs cmake and ninja")
def test_example_builds_and_prints_what_its_kernel_computes(generated: Path, tmp_path: Path) -> None:
    source, build = tmp_path / "example", tmp_path / "build"
    shutil.copytree(EXAMPLE, source)
    settings = [f"-DPython_EXECUTABLE={sys.executable}", f"-DKERNELS={generated / 'cute_kernels'}"]
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", *settings)
    run("cmake", "--build", build)
    values, refused = run(build / "add_constant").splitlines()
    assert values.split() == ["2.5", "3.5", "4.5", "5.5"]
    assert refused.startswith("ValueError: Mismatched b.shape[0]")
    assert "host_add_constant(a: " in refused

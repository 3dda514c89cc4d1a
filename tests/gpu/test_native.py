"""Kernels called from C++ and C on a stream of the program's own, beside a CUDA runtime of its own."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest


def test_kernels_run_on_the_stream_that_a_program_sets(tmp_path: Path) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("needs nvcc")
    config = importlib.import_module("cute_kernels.config")
    program, source = tmp_path / "native", Path(__file__).with_name("native.cu")
    flags = [*config.compiler_flags(), *config.linker_flags("static"), *config.runtime_path_flags()]
    # nvcc takes no -Wl.
    flags = [text for flag in flags for text in _for_nvcc(flag)]
    subprocess.run(["nvcc", "-std=c++17", "-arch=native", source, *flags, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


def _for_nvcc(flag: str) -> list[str]:
    return ["-Xlinker", flag.removeprefix("-Wl,")] if flag.startswith("-Wl,") else [flag]

"""Runs CMake, pkg-config and the like on small projects in fresh folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tvm_ffi import libinfo

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TVM_FFI = Path(libinfo.find_libtvm_ffi()).parents[1]


def run(*command: object, fails: bool = False, **environment: str) -> str:
    """Run a command that has to succeed, or to fail, and give all that it said."""
    done = subprocess.run(
        list(map(str, command)),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def configure(source: Path, build: Path, *settings: str, fails: bool = False, **environment: str) -> str:
    """Configure a project for Ninja."""
    if not (shutil.which("cmake") and shutil.which("ninja")):
        pytest.skip("needs cmake and ninja")
    python = f"-DPython_EXECUTABLE={sys.executable}"
    command = ("cmake", "-S", source, "-B", build, "-G", "Ninja", python, *settings)
    return run(*command, fails=fails, **environment)


def build(folder: Path, *options: str, fails: bool = False, **environment: str) -> str:
    """Build a project that has been configured."""
    return run("cmake", "--build", folder, *options, fails=fails, **environment)


def project(folder: Path, **files: str) -> Path:
    """Write a project; the names of its files are given with underscores for dots."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder

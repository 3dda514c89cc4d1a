"""mypy and stubtest, with caches that all tests of a run share.

tvm_ffi's annotations lead both checkers into torch, which takes each of them a minute to read, once. The two
have caches of their own: their options differ, and a change of options empties mypy's cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import filelock

# Left behind from one run to the next on purpose; mypy checks itself whether an entry still holds.
_CACHES = Path(tempfile.gettempdir()) / "cute-stubgen-tests"


def mypy(output: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``mypy --strict`` with a generated package in its path."""
    return _run("mypy", output, "--strict", "--no-error-summary", *arguments)


def stubtest(output: Path, package: str) -> subprocess.CompletedProcess[str]:
    """Run stubtest on a generated package, without an allowlist."""
    return _run("mypy.stubtest", output, package)


def _run(module: str, output: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    cache = _CACHES / module
    cache.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(_CACHES / f"{module}.lock"):
        return subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=output,
            env={
                **os.environ,
                "PYTHONPATH": str(output),
                "MYPYPATH": str(output),
                "MYPY_CACHE_DIR": str(cache),
            },
            capture_output=True,
            text=True,
            timeout=900,
        )

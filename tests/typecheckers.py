"""mypy, pyright and stubtest; mypy and stubtest with caches that all tests of a run share.

tvm_ffi's annotations lead both checkers into torch, which takes each of them a minute to read, once. The two
have caches of their own: their options differ, and a change of options empties mypy's cache.
"""

from __future__ import annotations

import json
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


def pyright(output: Path, folder: Path, *included: Path) -> tuple[set[tuple[str, int]], str]:
    """Run pyright in strict mode on files and packages; give file and line of each error, and all it said.

    Its settings go into ``folder``.
    """
    settings = {
        "include": [os.path.relpath(path, folder) for path in included],
        "typeCheckingMode": "strict",
        "extraPaths": [str(output)],
        # torch's and tvm_ffi's own annotations are partial; what is checked here are ours.
        "reportUnknownMemberType": "none",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pyright", "--outputjson"),
            *("--project", str(folder), "--pythonpath", sys.executable),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    report = json.loads(done.stdout)
    analysed = sum(1 if path.is_file() else len(list(path.rglob("*.pyi"))) for path in included)
    assert report["summary"]["filesAnalyzed"] >= analysed > 0, done.stdout
    return {
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1)
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    }, done.stdout


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

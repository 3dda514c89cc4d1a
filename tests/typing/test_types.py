"""The generated package under mypy, pyright and stubtest; the wrong calls that they must refuse."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def python(generated: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(generated), "MYPYPATH": str(generated)}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=generated.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def marked(file: Path) -> set[int]:
    """Lines that have to be refused."""
    return {n for n, line in enumerate(file.read_text().splitlines(), 1) if "  # wrong" in line}


def mypy_lines(generated: Path, file: Path) -> tuple[set[int], str]:
    done = python(generated, "mypy", "--strict", "--no-error-summary", str(file))
    lines = re.findall(rf"{re.escape(file.name)}:(\d+): error", done.stdout)
    assert done.stderr == ""
    return set(map(int, lines)), done.stdout


def pyright_lines(generated: Path, folder: Path, *files: Path) -> tuple[set[tuple[str, int]], str]:
    """Check copies of files, or the package itself if there are none; pyright wants them in one folder."""
    for file in files:
        shutil.copy(file, folder)
    settings = {
        "include": ["." if files else os.path.relpath(generated / "cute_kernels", folder)],
        "typeCheckingMode": "strict",
        "extraPaths": [str(generated)],
        # torch's and tvm_ffi's own annotations are partial; what is checked here are ours.
        "reportUnknownMemberType": "none",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    options = ["--outputjson", "--project", str(folder), "--pythonpath", sys.executable]
    done = python(generated, "pyright", *options)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= max(2, len(files)), done.stdout
    return {
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1)
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    }, done.stdout


@pytest.mark.xdist_group("mypy")
def test_mypy_strict_accepts_the_package(generated: Path) -> None:
    done = python(generated, "mypy", "--strict", "-p", "cute_kernels")
    assert done.returncode == 0, done.stdout


@pytest.mark.xdist_group("mypy")
def test_stubtest_accepts_the_package_without_an_allowlist(generated: Path) -> None:
    done = python(generated, "mypy.stubtest", "cute_kernels")
    assert done.returncode == 0, done.stdout
    assert "Success" in done.stdout


@pytest.mark.xdist_group("mypy")
def test_mypy_refuses_exactly_the_wrong_calls(generated: Path) -> None:
    wrong = HERE / "wrong_calls.py"
    lines, output = mypy_lines(generated, wrong)
    assert lines == marked(wrong), output
    assert len(lines) > 25


@pytest.mark.xdist_group("mypy")
def test_mypy_accepts_tensors_of_all_frameworks(generated: Path) -> None:
    lines, output = mypy_lines(generated, HERE / "right_calls.py")
    assert lines == set(), output


@pytest.mark.xdist_group("pyright")
def test_pyright_strict_accepts_the_package(generated: Path, tmp_path: Path) -> None:
    lines, output = pyright_lines(generated, tmp_path)
    assert lines == set(), output


@pytest.mark.xdist_group("pyright")
def test_pyright_refuses_exactly_the_wrong_calls(generated: Path, tmp_path: Path) -> None:
    wrong, right = HERE / "wrong_calls.py", HERE / "right_calls.py"
    lines, output = pyright_lines(generated, tmp_path, wrong, right)
    assert lines == {(wrong.name, line) for line in marked(wrong)}, output

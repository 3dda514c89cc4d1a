"""Generating twice, checking, and the generated text that is tracked."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import ROOT, run_stubgen

BINARY = ("lib/lib", "manifest.json", "sbom.cdx.json")


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        file.relative_to(folder).as_posix(): (
            file.stat().st_ino,
            file.stat().st_mtime_ns,
            file.read_bytes(),
        )
        for file in folder.rglob("*")
        # What Python and mypy leave there while other tests use the package.
        if file.is_file() and not {"__pycache__", ".mypy_cache"} & set(file.relative_to(folder).parts)
    }


def test_a_second_run_changes_no_file(generated: Path) -> None:
    before = snapshot(generated)
    done = run_stubgen("generate", "--output", generated)
    assert done.returncode == 0, done.stderr
    assert "nothing changed" in done.stdout
    assert snapshot(generated) == before


def test_the_tracked_text_is_what_the_kernels_give(generated: Path) -> None:
    def text(folder: Path) -> dict[str, bytes]:
        return {
            path: data
            for path, (_, _, data) in snapshot(folder).items()
            if not any(part in path for part in BINARY)
        }

    fresh, tracked = text(generated), text(ROOT / "generated")
    assert tracked == fresh, "run `nox -s generate` and commit what it changes"


def test_check_names_what_was_edited_by_hand(tmp_path: Path) -> None:
    kernels = ("kernels/norm.py", "kernels/structures.py")
    copy = tmp_path / "generated"
    first = run_stubgen("generate", *kernels, "--output", copy)
    assert first.returncode == 0, first.stderr
    whole = snapshot(copy)
    stub = copy / "cute_kernels" / "norm.pyi"
    stub.write_text(stub.read_text() + "# edited\n")
    (copy / "cute_kernels" / "structures.py").unlink()
    before = snapshot(copy)
    done = run_stubgen("check", *kernels, "--output", copy, "--json")
    assert done.returncode == 1, done.stderr
    changes = json.loads(done.stdout)
    assert changes == {
        "added": ["cute_kernels/structures.py"],
        "changed": ["cute_kernels/norm.pyi"],
        "removed": [],
        "warnings": [],
    }
    assert snapshot(copy) == before, "check writes nothing"
    repaired = run_stubgen("generate", *kernels, "--output", copy)
    assert repaired.returncode == 0, repaired.stderr
    assert {p: d for p, (_, _, d) in snapshot(copy).items()} == {p: d for p, (_, _, d) in whole.items()}


def test_workers_end_when_the_tool_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stubgen", "generate", "--output", str(tmp_path / "out")]
    tool = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert tool.stderr is not None
    while "Compiling" not in tool.stderr.readline():
        assert tool.poll() is None
    tool.kill()
    tool.wait()
    deadline = time.monotonic() + 60
    while (left := _processes_of_session(tool.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []
    assert not (tmp_path / "out").exists()


def _processes_of_session(leader: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended in between
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found

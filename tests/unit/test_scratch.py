"""Temporary folders, and those that killed runs have left."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stubgen.problems.problem import StubgenError
from stubgen.system.scratch import scratch_folder
from tests.conftest import ROOT


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_old(folder: Path) -> None:
    os.utime(folder, (0, 0))


def test_it_is_gone_afterwards(temporary: Path) -> None:
    with scratch_folder() as folder:
        assert folder.parent == temporary
        (folder / "file").touch()
    assert list(temporary.iterdir()) == []


def test_what_killed_runs_left_is_removed(temporary: Path) -> None:
    left = temporary / "cute-stubgen-run-killed"
    new = temporary / "cute-stubgen-run-new"
    other = temporary / "another"
    for folder in (left, new, other):
        folder.mkdir()
        (folder / "file").touch()
    make_old(left)
    make_old(other)
    with scratch_folder():
        assert not left.exists()
        assert new.exists(), "it may be another run's, just begun"
        assert other.exists()


def test_what_a_run_left_that_was_just_killed_is_removed(temporary: Path) -> None:
    code = """if True:
        import multiprocessing, os, signal
        from multiprocessing import forkserver
        from pathlib import Path
        from stubgen.system.scratch import keep_sockets_in_scratch, scratch_folder
        with scratch_folder() as folder:
            (folder / "file").touch()
            keep_sockets_in_scratch()
            forkserver.ensure_running()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    short = Path(tempfile.mkdtemp(dir="/tmp"))  # there is no room in the name of a socket for a long one
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(short)}, check=False, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL
    left = list(short.iterdir())
    assert len(left) == 2
    assert all(folder.name.startswith("cute-stubgen-run-") for folder in left)
    for folder in left:
        shutil.move(folder, temporary)
    short.rmdir()
    with scratch_folder() as folder:
        assert list(temporary.iterdir()) == [folder]


def test_what_may_be_a_living_runs_is_left_alone(temporary: Path) -> None:
    with scratch_folder() as folder:
        prefix, namespace, number, _ = folder.name.rsplit("-", 3)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine, theirs, elsewhere, odd = (
        temporary / f"{prefix}-{name}-new"
        for name in (
            f"{namespace}-{number}",
            f"{namespace}-1",  # of a process of another user's, or of this one's
            f"{int(namespace, 16) + 1:x}-{ended.pid:x}",
            f"{namespace}-{'f' * 20}",
        )
    )
    for other in (mine, theirs, elsewhere, odd):
        other.mkdir()
    with scratch_folder():
        assert all(other.exists() for other in (mine, theirs, elsewhere, odd))


def test_a_long_run_keeps_its_folder(temporary: Path) -> None:
    with scratch_folder() as first:
        make_old(first)
        with scratch_folder():
            assert first.exists()


def test_a_lack_of_room_is_reported(temporary: Path) -> None:
    with pytest.raises(StubgenError, match="CS405"), scratch_folder():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No such process"), scratch_folder():
        raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))

"""Temporary folders, and those that killed runs have left."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from stubgen.diagnostics import StubgenError
from stubgen.scratch import scratch_folder


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

"""Files that are what they were, and those that only look like it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from stubgen.system import stamps
from stubgen.system.stamps import Stamp

OLD = time.time_ns() - 60 * 10**9


def aged(path: Path, text: str = "one") -> Stamp:
    """Write a file, and give the stamp that it would have if it had been read some time later."""
    path.write_text(text)
    stamp = stamps.take(path)
    later = max(stamp.modified, stamp.changed) + 3 * 10**9
    return msgspec.structs.replace(stamp, read=later)


def after(path: Path, stamp: Stamp, monkeypatch: pytest.MonkeyPatch, seconds: float = 10) -> Stamp | None:
    """Look again so many seconds after the stamp was taken."""
    monkeypatch.setattr(time, "time_ns", lambda: stamp.read + int(seconds * 10**9))
    return stamps.renewed(path, stamp)


def test_a_file_that_was_read_long_after_it_was_written_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = aged(tmp_path / "f")
    monkeypatch.setattr(stamps, "take", lambda path: pytest.fail(f"{path} was read"))
    assert after(tmp_path / "f", stamp, monkeypatch) == stamp


def test_a_file_that_was_new_when_it_was_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    stamp = stamps.take(path)
    status = path.stat()
    assert not stamp.is_certain
    # As a write within the same tick leaves it: nothing but the content differs.
    forged = msgspec.structs.replace(stamp, sha256=stamp.sha256[::-1])
    assert forged.matches(status)
    assert stamps.renewed(path, forged) is None
    again = stamps.renewed(path, stamp)
    assert again is not None
    assert again.sha256 == stamp.sha256


@pytest.mark.parametrize("how", ["in place", "replaced", "replaced and linked"])
def test_another_content_of_the_same_size_and_time_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "f"
    stamp = aged(path)
    if how == "in place":
        path.write_text("two")
    else:
        (tmp_path / "new").write_text("two")
        (tmp_path / "new").replace(path)
    os.utime(path, ns=(stamp.modified, stamp.modified))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (stamp.size, stamp.modified)
    if how == "replaced and linked":
        os.link(path, tmp_path / "link")
    assert after(path, stamp, monkeypatch) is None


def test_a_file_that_was_only_touched_or_copied_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    stamp = aged(path)
    os.utime(path)
    now = after(path, stamp, monkeypatch)
    assert now is not None
    assert (now.sha256, now.modified) == (stamp.sha256, path.stat().st_mtime_ns)
    path.unlink()
    path.write_text("one")
    assert after(path, stamp, monkeypatch) is not None


def test_a_file_that_is_gone_or_of_another_size_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    stamp = aged(path)
    path.write_text("three")
    assert after(path, stamp, monkeypatch) is None
    path.unlink()
    assert after(path, stamp, monkeypatch) is None


@pytest.mark.parametrize(
    ("modified", "changed", "read", "now", "certain"),
    [
        (0, 0, 3, 4, True),
        (0, 0, 2, 4, False),  # the coarsest clock ticks every two seconds
        (0, 2, 3, 4, False),  # moved there just now, with its old time
        (9, 0, 3, 4, False),  # from the future
        (0, 9, 3, 4, False),
        (0, 0, 3, 2, False),  # the clock was set back since it was read
    ],
)
def test_when_a_stamp_is_certain(
    monkeypatch: pytest.MonkeyPatch, modified: int, changed: int, read: int, now: int, certain: bool
) -> None:
    seconds = 10**9
    stamp = Stamp(1, OLD + modified * seconds, OLD + changed * seconds, 1, OLD + read * seconds, "")
    monkeypatch.setattr(time, "time_ns", lambda: OLD + now * seconds)
    assert stamp.is_certain == certain

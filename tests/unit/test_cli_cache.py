"""``cute-stubgen cache``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from stubgen.store.cache import FolderCache
from tests.conftest import run_stubgen


@pytest.fixture
def store(tmp_path: Path) -> FolderCache:
    (tmp_path / "pyproject.toml").write_text('[tool.cute-stubgen]\ncache = "kept"\n')
    made = FolderCache(tmp_path / "kept")
    for number in range(4):
        key = f"{number:064x}"
        made.put(key, os.urandom(10_000))
        (entry,) = (tmp_path / "kept").glob(f"*/{key[2:]}.entry")
        os.utime(entry, (number, number))
    return made


def run(store: FolderCache, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_stubgen("cache", *arguments, cwd=store.folder.parent)


def test_info(store: FolderCache) -> None:
    assert run(store, "info").stdout == f"{store.folder}: 4 entries, 39.2 KiB of 4.0 GiB\n"
    found = json.loads(run(store, "info", "--json").stdout)
    assert found["entries"] == 4
    assert found["folder"] == str(store.folder)


def test_prune_removes_what_was_not_used_for_longest(store: FolderCache) -> None:
    left_by_a_kill = store.folder / "00" / "tmp12345"
    left_by_a_kill.write_bytes(b"half")
    os.utime(left_by_a_kill, (0, 0))
    done = run(store, "prune", "--limit", "25k")
    assert done.stdout == "removed 2 entries; 19.6 KiB left\n"
    assert store.get(f"{1:064x}") is None
    assert store.get(f"{2:064x}") is not None
    assert not left_by_a_kill.exists()
    assert run(store, "prune").stdout == "removed 0 entries; 19.6 KiB left\n"


def test_clear(store: FolderCache) -> None:
    assert run(store, "clear").stdout == "removed 4 entries; 0 bytes left\n"
    assert run(store, "info").stdout == f"{store.folder}: 0 entries, 0 bytes of 4.0 GiB\n"


def test_a_limit_that_is_none(store: FolderCache) -> None:
    done = run(store, "prune", "--limit", "much")
    assert done.returncode == 2
    assert "'much' is no size" in done.stderr


def test_no_store(store: FolderCache) -> None:
    (store.folder.parent / "pyproject.toml").write_text('[tool.cute-stubgen]\ncache = "off"\n')
    assert run(store, "info").stdout == 'nothing is kept: cache = "off"\n'
    assert run(store, "clear").stdout == "removed 0 entries; 0 bytes left\n"

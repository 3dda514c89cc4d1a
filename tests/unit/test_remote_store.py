"""Stores elsewhere that are slow, silent or broken, and what is said of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from stubgen.problems.problem import StubgenError
from stubgen.store import remote
from stubgen.store.cache import FolderCache, NoCache

KEYS = [f"{number:064x}" for number in range(64)]


class Slow(MemoryFileSystem):
    """Files in memory, each of which takes its time."""

    protocol = "slow"
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs: list[str] = [""]  # noqa: RUF012
    delay = 0.0
    gate = threading.Event()
    """Until it is set, nothing can be written."""

    def cat_file(self, path: str, **options: Any) -> Any:
        time.sleep(Slow.delay)
        return super().cat_file(path, **options)

    def pipe_file(self, path: str, value: bytes, **options: Any) -> None:
        Slow.gate.wait()
        super().pipe_file(path, value, **options)


class Broken(Slow):
    """Says where it cannot connect to, as many do."""

    protocol = "broken"

    def cat_file(self, path: str, **options: Any) -> Any:
        raise ConnectionError("cannot log in as me:s3cr%2Ft (s3cr/t) at broken://me:s3cr%2Ft@host/bucket")


@pytest.fixture
def slow() -> Iterator[type[Slow]]:
    fsspec.register_implementation("slow", Slow, clobber=True)
    Slow.store.clear()
    Slow.delay = 0.0
    Slow.gate.set()
    yield Slow
    Slow.gate.set()


def said(cache: remote.RemoteCache) -> list[str]:
    return [item.code + " " + item.message for item in cache.warnings()]


def test_many_are_fetched_at_once(slow: type[Slow], tmp_path: Path) -> None:
    first = remote.open_remote("slow://shared", FolderCache(tmp_path / "first"))
    for key in KEYS:
        first.put(key, key.encode())
    first.tidy()
    slow.delay = 0.2
    second = remote.open_remote("slow://shared", NoCache())
    second.expect(KEYS)
    assert second._waiting._so_far < len(KEYS) * slow.delay / 2, "sixteen at a time"
    assert second.get(KEYS[0]) == KEYS[0].encode(), "without a folder, too"
    assert said(second) == []


def test_a_store_that_is_slow_has_nothing_any_more(
    slow: type[Slow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_ALLOWANCE", 1.0)
    slow.delay = 0.3
    cache = remote.open_remote("slow://shared", FolderCache(tmp_path))
    answers = [cache.get(key) for key in KEYS]  # one after the other: 19 s
    assert answers == [None] * len(KEYS)
    (warning,) = said(cache)
    assert warning.startswith(
        "CS610 the cache slow://shared is not used in this run: it is slow: 0 entries in 1 s"
    )


def test_waiting_for_what_is_there_is_worth_it(
    slow: type[Slow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = remote.open_remote("slow://shared", FolderCache(tmp_path / "first"))
    for key in KEYS:
        first.put(key, key.encode())
    first.tidy()
    monkeypatch.setattr(remote, "_ALLOWANCE", 0.5)
    monkeypatch.setattr(remote, "_WORTH", 10.0)
    slow.delay = 0.1
    second = remote.open_remote("slow://shared", FolderCache(tmp_path / "second"))
    assert [second.get(key) for key in KEYS[:10]] == [key.encode() for key in KEYS[:10]]
    assert said(second) == []


def test_uploads_that_take_too_long(
    slow: type[Slow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_UPLOADING", 0.5)
    slow.gate.clear()
    cache = remote.open_remote("slow://shared", FolderCache(tmp_path))
    for key in KEYS[:3]:
        cache.put(key, b"data")
    cache.tidy()
    assert said(cache) == ["CS620 3 entries could not be put into the cache slow://shared in 0.5 s"]
    assert cache.get(KEYS[0]) == b"data", "they are here"


SILENT = """
import sys
from pathlib import Path
from stubgen.store.cache import FolderCache
from stubgen.store import remote as store
store._SILENCE = 1.0
cache = store.open_remote("s3://bucket", FolderCache(Path(sys.argv[1])))
print(cache.get("0" * 64), [cache.get(f"{n:064x}") for n in range(100)] == [None] * 100)
cache.put("1" * 64, b"data")
cache.tidy()
print(*(item.message for item in cache.warnings()))
"""


def test_a_store_that_accepts_and_says_nothing(tmp_path: Path) -> None:
    """The program ends although what it has asked never does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "http://{}:{}".format(*server.getsockname())
        credentials = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "any")
        done = subprocess.run(
            [sys.executable, "-c", SILENT, tmp_path / "kept"],
            env={**os.environ, **credentials, "AWS_ENDPOINT_URL": address, "AWS_DEFAULT_REGION": "us-east-1"},
            capture_output=True,
            text=True,
            timeout=60,  # botocore alone would wait for 90 s and more
            check=False,
        )
    assert done.stdout.splitlines() == [
        "None True",
        "the cache s3://bucket is not used in this run: it has not answered for 1 s",
    ], done.stderr


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("sftp://me@host/folder", "sftp://me@host/folder"),
        ("sftp://me:s3cr%2Ft@host/folder", "sftp://me:***@host/folder"),
        ("sftp://:s3cr@t@host/folder", "sftp://:***@host/folder"),
        ("simplecache::sftp://me:s3crt@host/folder", "simplecache::sftp://me:***@host/folder"),
        ("https://host/folder?sig=s3crt&se=1", "https://host/folder?***"),
    ],
)
def test_urls_without_secrets(url: str, shown: str) -> None:
    assert remote.shown_url(url) == shown


def test_no_message_has_the_password(slow: type[Slow], tmp_path: Path) -> None:
    fsspec.register_implementation("broken", Broken, clobber=True)
    cache = remote.open_remote("broken://me:s3cr%2Ft@host/bucket", FolderCache(tmp_path))
    assert cache.get(KEYS[0]) is None
    (warning,) = said(cache)
    assert warning == (
        "CS610 the cache broken://me:***@host/bucket is not used in this run: "
        "cannot log in as me:*** (***) at broken://me:***@host/bucket"
    )
    for url in ("nowhere://me:s3crt@host", "gs://me:s3crt@host"):
        with pytest.raises(StubgenError, match=r"CS12[01]: .*me:\*\*\*@host") as caught:
            remote.open_remote(url, FolderCache(tmp_path))
        assert "s3crt" not in str(caught.value)

"""A store of compiled things that machines share: an S3 bucket, or whatever else fsspec can reach.

Entries are what :class:`~stubgen.cache.FolderCache` keeps, under the same names, so a folder can be copied to
a bucket as it is. A folder of this machine stands in front. A store that cannot be reached costs one warning
and then is left alone: without it there is more to compile, and nothing else is different.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from stubgen.cache import FolderCache, NoCache, entry_name, opened, sealed
from stubgen.diagnostics import Problem, StubgenError, problem
from stubgen.remote.extras import require

_THREADS = 16
"""Transfers at a time: what they take is waiting."""

_S3 = {"config_kwargs": {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 2}}}
"""botocore would wait for minutes before it says that there is nobody."""


def open_remote(url: str, local: FolderCache | NoCache) -> RemoteCache:
    """Give the store at a URL.

    Parameters
    ----------
    url
        As fsspec understands it.
    local
        The folder in front of it.

    Raises
    ------
    StubgenError
        CS120 if the packages for it are not installed, CS121 if nobody knows such URLs.
    """
    fsspec: Any = require("fsspec", what=f"cache = {url!r}", extra="remote")
    protocol: str = fsspec.utils.get_protocol(url)
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise StubgenError(problem("CS121", url=url)) from None
    except ImportError as error:
        package = "s3fs" if protocol in {"s3", "s3a"} else f"a package for {protocol}"
        requirement = "cute-stubgen[remote]" if package == "s3fs" else f"fsspec[{protocol}]"
        raise StubgenError(
            problem("CS120", what=f"cache = {url!r}", package=package, reason=error, requirement=requirement)
        ) from None
    options = _S3 if protocol in {"s3", "s3a"} else {}
    return RemoteCache(url, functools.partial(fsspec.core.url_to_fs, url, **options), local)


class RemoteCache:
    """Keeps entries in a store elsewhere, and copies of them in a folder.

    Parameters
    ----------
    url
        How messages call it.
    connect
        Gives a file system of fsspec, and the path of the store in it. Some go to the network for it.
    local
        The folder.
    """

    def __init__(self, url: str, connect: Any, local: FolderCache | NoCache) -> None:
        self._url = url
        self._connect = connect
        self._local = local
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="cute-stubgen-cache")
        self._uploads: list[Future[None]] = []
        self._absent: set[str] = set()
        self._is_readable = self._is_writable = True
        self._problem: Problem | None = None

    def get(self, key: str) -> bytes | None:
        """Give what was put under a key, here or there; ``None`` if there is nothing whole."""
        found = self._local.get(key)
        return found if found is not None else self._fetched(key)

    def put(self, key: str, data: bytes) -> None:
        """Keep data under a key, here at once and there soon."""
        self._local.put(key, data)
        self._absent.discard(key)
        if self._is_writable:
            self._uploads.append(self._threads.submit(self._write, key, sealed(data, key)))

    def expect(self, keys: Sequence[str]) -> None:
        """Fetch many entries at once; one after the other, each would take a journey there and back."""
        wanted = [key for key in keys if not self._local.holds(key)]
        if wanted:
            self._fetched(wanted[0])  # alone, so that a store that is not there is waited for once
        for _ in self._threads.map(self._fetched, wanted[1:]):
            pass

    def tidy(self) -> None:
        """Wait for what is on its way; make room in the folder. There, that is its owner's business."""
        wait(self._uploads)
        self._uploads.clear()
        self._local.tidy()

    def warnings(self) -> tuple[Problem, ...]:
        """Give what kept the store from being used."""
        return (self._problem,) if self._problem else ()

    def _fetched(self, key: str) -> bytes | None:
        """Give what is there, and keep a copy."""
        if not self._is_readable or key in self._absent:
            return None
        data = opened(self._read(key), key)
        if data is None:  # not there, or damaged: it will be put there anew
            self._absent.add(key)
        else:
            self._local.put(key, data)
        return data

    def _read(self, key: str) -> bytes:
        try:
            files, root = self._store
            stored: bytes = files.cat_file(f"{root}/{entry_name(key)}")
        except FileNotFoundError:
            return b""
        except Exception as error:  # of any class: each file system has its own
            self._is_readable = self._is_writable = False
            self._note(error, "read")
            return b""
        return stored

    def _write(self, key: str, stored: bytes) -> None:
        if not self._is_writable:
            return
        try:
            files, root = self._store
            path = f"{root}/{entry_name(key)}"
            try:
                files.pipe_file(path, stored)
            except FileNotFoundError:  # where folders are more than a part of names; never a new bucket
                files.mkdir(path.rpartition("/")[0], create_parents=False)
                files.pipe_file(path, stored)
        except Exception as error:  # as above
            self._is_writable = False
            self._note(error, "write")

    @functools.cached_property
    def _store(self) -> tuple[Any, str]:
        with self._lock:
            files, root = self._connect()
        return files, str(root).rstrip("/")

    def _note(self, error: Exception, do: str) -> None:
        reason = " ".join(str(error).split()) or type(error).__name__
        with self._lock:
            self._problem = self._problem or problem("CS610", url=self._url, reason=reason, do=do)

"""A store of compiled things that machines share: an S3 bucket, or whatever else fsspec can reach.

Entries are what :class:`~stubgen.store.cache.FolderCache` keeps, under the same names, so a folder can be
copied to a bucket as it is. A folder of this machine stands in front. A store that cannot be reached, is
silent or slow costs one warning and then is left alone: without it there is more to compile, and nothing else
is different.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from stubgen.model.text import counted
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.store.cache import FolderCache, NoCache, entry_name, opened, sealed
from stubgen.system.extras import require

_THREADS = 16
"""Transfers at a time, each way: what they take is waiting."""

_SILENCE = 10.0
"""Seconds after which a store counts as gone that has answered nothing."""
_ALLOWANCE = 30.0
"""Seconds that a run may wait for the store, whatever comes of it."""
_WORTH = 0.25
"""Seconds that it may wait for each entry that is there; without it, a compiler would run for longer."""
_UPLOADING = 60.0
"""Seconds that a run may wait in the end for what is still to be put there."""

_S3 = {"config_kwargs": {"connect_timeout": 5, "read_timeout": 30, "retries": {"max_attempts": 2}}}
"""botocore would wait for minutes before it says that there is nobody."""


def shown_url(url: str) -> str:
    """Return a URL as it may be printed: without a password, and without tokens in its query."""
    return re.sub(r"\?.*", "?***", re.sub(r"(://[^/@:]*):[^/]*@", r"\1:***@", url))


def open_remote(url: str, local: FolderCache | NoCache) -> RemoteCache:
    """Return the store at a URL.

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
    what = f"cache = {shown_url(url)!r}"
    fsspec: Any = require("fsspec", what=what, extra="remote")
    protocol: str = fsspec.utils.get_protocol(url)
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError:
        raise StubgenError(problem("CS121", url=shown_url(url))) from None
    except ImportError as error:
        package = "s3fs" if protocol in {"s3", "s3a"} else f"a package for {protocol}"
        requirement = "cute-stubgen[remote]" if package == "s3fs" else f"fsspec[{protocol}]"
        raise StubgenError(
            problem("CS120", what=what, package=package, reason=error, requirement=requirement)
        ) from None
    options = _S3 if protocol in {"s3", "s3a"} else {}
    return RemoteCache(url, functools.partial(fsspec.core.url_to_fs, url, **options), local)


class RemoteCache:
    """Keeps entries in a store elsewhere, and copies of them in a folder.

    Parameters
    ----------
    url
        Where it is.
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
        self._connected: tuple[Any, str] | None = None
        self._readers, self._writers = _Threads(_THREADS), _Threads(_THREADS)
        self._uploads: list[Future[None]] = []
        self._absent: set[str] = set()
        self._waiting = _Waiting()
        self._is_readable = self._is_writable = True
        self._problem: Problem | None = None

    def get(self, key: str) -> bytes | None:
        """Return what was put under a key, here or there; ``None`` if there is nothing whole."""
        data = self._local.get(key)
        return data if data is not None else self._fetched([key]).get(key)

    def put(self, key: str, data: bytes) -> None:
        """Keep data under a key, here at once and there soon."""
        self._local.put(key, data)
        self._absent.discard(key)
        if self._is_writable:
            self._uploads.append(self._writers.submit(self._write, key, sealed(data, key)))

    def expect(self, keys: Sequence[str]) -> None:
        """Fetch many entries at once; one after the other, each would take a journey there and back."""
        self._fetched([key for key in keys if not self._local.holds(key)])

    def tidy(self) -> None:
        """Wait for what is on its way; make room in the folder. There, that is its owner's business."""
        _, left = wait(self._uploads, _UPLOADING if self._is_writable else 0)
        if left and self._is_writable:
            self._is_writable = False
            self._problem = self._problem or problem(
                "CS620",
                url=shown_url(self._url),
                entries=counted(len(left), "entry", "entries"),
                seconds=f"{_UPLOADING:g}",
            )
        self._uploads.clear()
        self._local.tidy()

    def warnings(self) -> tuple[Problem, ...]:
        """Return what kept the store, or the folder, from being used."""
        return (*((self._problem,) if self._problem else ()), *self._local.warnings())

    def _fetched(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return what is there; copies are kept. Whoever asks a store that is slow gets nothing any more."""
        wanted = [key for key in keys if key not in self._absent] if self._is_readable else []
        tasks = {self._readers.submit(self._fetch, key): key for key in wanted}
        pending = set(tasks)
        with self._waiting.going_on():
            while pending and self._is_readable:
                left = min(_SILENCE, self._waiting.left)
                done, pending = wait(pending, max(0.0, left), FIRST_COMPLETED)
                if not done:
                    self._give_up(TimeoutError(self._waiting.complaint(left)), "read")
        for task in pending:
            task.cancel()
        return {
            key: data
            for task, key in tasks.items()
            if task.done() and not task.cancelled() and (data := task.result()) is not None
        }

    def _fetch(self, key: str) -> bytes | None:
        """Read an entry, and keep a copy."""
        if not self._is_readable:
            return None
        data = opened(self._read(key), key)
        if data is None:  # not there, or damaged: it will be put there anew
            self._absent.add(key)
        else:
            self._waiting.was_worth_it()
            self._local.put(key, data)
        return data

    def _read(self, key: str) -> bytes:
        try:
            files, root = self._store
            stored: bytes = files.cat_file(f"{root}/{entry_name(key)}")
        except FileNotFoundError:
            return b""
        except Exception as error:  # of any class: each file system has its own
            self._give_up(error, "read")
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

    @property
    def _store(self) -> tuple[Any, str]:
        with self._lock:
            if self._connected is None:
                files, root = self._connect()
                self._connected = files, str(root).rstrip("/")
            return self._connected

    def _give_up(self, error: Exception, do: str) -> None:
        self._is_readable = self._is_writable = False
        self._note(error, do)

    def _note(self, error: Exception, do: str) -> None:
        reason = " ".join(str(error).split()) or type(error).__name__
        url = shown_url(self._url)
        self._problem = self._problem or problem("CS610", url=url, reason=self._discreet(reason), do=do)

    def _discreet(self, text: str) -> str:
        """Take the password out of what a file system says."""
        found = re.search(r"://[^/@:]*:([^/]*)@", self._url)
        for secret in {found[1], urllib.parse.unquote(found[1])} - {""} if found else ():
            text = text.replace(secret, "***")
        return text.replace(self._url, shown_url(self._url))


class _Waiting:
    """Counts the time in which somebody waits for the store, against what it has saved."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting = self._hits = 0
        self._seconds = self._since = 0.0

    @contextlib.contextmanager
    def going_on(self) -> Generator[None, None, None]:
        """Wait, maybe beside others."""
        with self._lock:
            self._since = self._since if self._waiting else time.monotonic()
            self._waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._seconds += time.monotonic() - self._since

    def was_worth_it(self) -> None:
        """Note that something was there."""
        with self._lock:
            self._hits += 1

    @property
    def left(self) -> float:
        """Seconds that may still be waited."""
        return _ALLOWANCE + _WORTH * self._hits - self._so_far

    @property
    def _so_far(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._waiting else 0.0)

    def complaint(self, seconds: float) -> str:
        """Say why there is no more waiting, after that many seconds without an answer."""
        if self._hits or seconds < _SILENCE:
            return f"it is slow: {self._hits} entries in {self._so_far:.0f} s"
        return f"it has not answered for {seconds:g} s"


class _Threads:
    """Threads that nobody waits for as the program ends: what they wait for may never come."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._threads: list[threading.Thread] = []
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Have a function called soon."""
        future: Future[Any] = Future()
        self._tasks.put(functools.partial(_run, future, function, arguments))
        if len(self._threads) < self._count:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()
        return future

    def _work(self) -> None:
        while True:
            self._tasks.get()()


def _run(future: Future[Any], function: Callable[..., Any], arguments: Sequence[object]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # whoever waits for it gets it
            future.set_exception(error)

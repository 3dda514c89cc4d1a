"""Parts of a run that other machines do, and what they leave: some of the kernels, compiled.

A shard leaves one file, with all that the run took from a cache or would have put there. Whoever merges has
the same run with those files for a cache, and nothing that compiles; so the result is that of a single run,
or none. The file is a ZIP archive: entries as :mod:`stubgen.store.cache` keeps them, and ``shard.json``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import statistics
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn, TypeAlias

import msgspec

from stubgen.compiler.jobs import CompileJob, Expansion, Facts, ModuleJob, Outcome, WorkerSettings
from stubgen.problems.problem import Problem, StubgenError, problem, raise_if_any
from stubgen.store.cache import LARGEST, Cache, entry_name, opened, sealed
from stubgen.system import folders

_RECORD = "shard.json"
_ODD = (EOFError, NotImplementedError, RecursionError, RuntimeError, ValueError, struct.error, zlib.error)
"""What else the archives of others make :mod:`zipfile` and :mod:`msgspec` raise."""
_DIGEST = hashlib.sha256().digest_size
"""A shard's file ends in the SHA-256 of all that is before, as the comment of the archive."""
_SHOWN = 10
"""Kernels that one message names."""


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``count`` parts."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


class Division:
    """Divides kernels among shards, each of which comes to the same by itself.

    A kernel is in one shard for all architectures: one that has no device code is compiled for the first and
    then known. Those that take longest are given away first, each to the shard that has least to do.

    Parameters
    ----------
    shard
        The one that this machine does.
    seconds
        What kernels took another time, by name; the same for all shards.
    """

    def __init__(self, shard: Shard, seconds: Mapping[str, float]) -> None:
        self._shard = shard
        self._seconds = seconds
        self._usual = statistics.median(seconds.values()) if seconds else 1.0
        self._loads = [0.0] * shard.count
        self._owners: dict[str, int] = {}
        self.taken: dict[str, float] = {}
        """Seconds that kernels of this shard took, for all architectures together."""

    def add(self, names: Sequence[str]) -> None:
        """Divide kernels of another architecture, as far as they are not divided yet."""
        new = [name for name in dict.fromkeys(names) if name not in self._owners]
        for name in sorted(new, key=lambda name: -self._weight(name)):
            owner = self._loads.index(min(self._loads))
            self._owners[name] = owner
            self._loads[owner] += self._weight(name)

    def has(self, name: str) -> bool:
        """Return whether a kernel is this machine's."""
        return self._owners[name] == self._shard.number - 1

    def note(self, name: str, seconds: float) -> None:
        """Note what a kernel took for one architecture, now or when it was compiled."""
        self.taken[name] = self.taken.get(name, 0.0) + seconds

    def _weight(self, name: str) -> float:
        return self._seconds.get(name, self._usual)


def read_times(file: Path) -> dict[str, float]:
    """Read what kernels took in the run that was merged last; there may be no such file yet.

    Raises
    ------
    StubgenError
        CS137 if it holds something else.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Annotated[float, msgspec.Meta(ge=0)]])
    except FileNotFoundError:
        return {}
    except OSError as error:
        reason = error.strerror or str(error)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        reason = "it is something else, or damaged"
    raise StubgenError(problem("CS137", path=file, reason=reason))


def write_times(file: Path, seconds: Mapping[str, float]) -> None:
    """Write what kernels took.

    Raises
    ------
    StubgenError
        CS501 if the file cannot be written.
    """
    rounded = {name: round(seconds[name], 2) for name in sorted(seconds)}
    try:
        data = msgspec.json.format(msgspec.json.encode(rounded), indent=2)
        folders.replace_file(file, data + b"\n", prefix=".times-")
    except OSError as error:
        raise StubgenError(problem("CS501", path=file, reason=error.strerror or error)) from None


def parse(text: str) -> Shard:
    """Read ``2/8``.

    Raises
    ------
    StubgenError
        CS130 if it is something else.
    """
    given = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if given is None or not 1 <= int(given[1]) <= int(given[2]):
        raise StubgenError(problem("CS130", given=text))
    return Shard(int(given[1]), int(given[2]))


ShardNumber: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=999_999)]
"""As many digits as :func:`parse` takes."""


class ShardRecord(msgspec.Struct, frozen=True):
    """What a shard is of."""

    number: ShardNumber
    count: ShardNumber
    settings: dict[str, Any]
    """The configuration, without what each machine may choose."""
    project: dict[str, Any] = {}
    """What pyproject.toml says of that, without the command line."""
    times: dict[str, float] = {}
    """What the kernels were divided by."""
    seconds: dict[str, float] = {}
    """What those of this shard took."""


class RecordingStore:
    """A store that remembers what was taken from it and put into it.

    Parameters
    ----------
    store
        Where it really is.
    """

    def __init__(self, store: Cache) -> None:
        self._store = store
        self._entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return what the store has."""
        data = self._store.get(key)
        if data is not None:
            self._entries[key] = sealed(data, key)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Put data into the store."""
        self._entries[key] = sealed(data, key)
        self._store.put(key, data)

    def expect(self, keys: Sequence[str]) -> None:
        """Tell the store."""
        self._store.expect(keys)

    def tidy(self) -> None:
        """Tell the store."""
        self._store.tidy()

    def warnings(self) -> tuple[Problem, ...]:
        """Ask the store."""
        return self._store.warnings()

    def write(self, file: Path, record: ShardRecord) -> None:
        """Write a shard's file, whole or not at all.

        Raises
        ------
        StubgenError
            CS501 if it cannot be written.
        """
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with _replacing(file) as path:
                with zipfile.ZipFile(path, "w") as archive:
                    archive.comment = bytes(_DIGEST)
                    archive.writestr(zipfile.ZipInfo(_RECORD), msgspec.json.encode(record))
                    for key, data in sorted(self._entries.items()):
                        archive.writestr(zipfile.ZipInfo(entry_name(key)), data)
                with path.open("r+b") as stream:
                    digest = _digest(stream)
                    stream.seek(-_DIGEST, os.SEEK_END)
                    stream.write(digest)
        except OSError as error:
            raise StubgenError(problem("CS501", path=file, reason=error.strerror or error)) from None


@contextlib.contextmanager
def _replacing(file: Path) -> Generator[Path, None, None]:
    """Return a path to write to, which becomes the file if all goes well."""
    unfinished = folders.unique(file.parent, ".shard-")
    try:
        yield unfinished
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def file_name(package: str, shard: Shard) -> str:
    """Return the name of a shard's file."""
    return f"{package}-shard-{shard.number}-of-{shard.count}.zip"


class ShardStore:
    """The files of shards, as a store that only gives.

    Parameters
    ----------
    given
        Files, or folders with such files in them.

    Raises
    ------
    StubgenError
        CS131 for what is no shard, CS133 if two are not of the same run.
    """

    def __init__(self, given: Sequence[Path]) -> None:
        files = _files(given)
        opened_files = [_opened(file) for file in files]
        self._archives = [archive for archive, _ in opened_files]
        records = [record for _, record in opened_files]
        self._records = records
        self.record = records[0]
        self._numbers = {record.number for record in records}
        for file, record in zip(files, records, strict=True):
            reason = _difference(self.record, record)
            if reason:
                raise StubgenError(problem("CS133", path=file, first=files[0], reason=reason))

    @property
    def seconds(self) -> dict[str, float]:
        """What kernels took, each in its shard."""
        return {name: seconds for record in self._records for name, seconds in record.seconds.items()}

    def require_same_project(self, now: Mapping[str, Any]) -> None:
        """Refuse shards of a project whose settings were others.

        Raises
        ------
        StubgenError
            CS136 for each setting that has changed.
        """
        then = self.record.project
        now = msgspec.json.decode(msgspec.json.encode(now))  # as it is in the record
        raise_if_any(
            problem("CS136", name=name.replace("_", "-"), now=now.get(name), then=then.get(name))
            for name in dict.fromkeys([*now, *then])
            if then and now.get(name) != then.get(name)
        )

    def absent(self) -> list[Shard]:
        """Return the shards that are not among the files."""
        count = self.record.count
        return [Shard(number, count) for number in range(1, count + 1) if number not in self._numbers]

    def get(self, key: str) -> bytes | None:
        """Return what is whole in the first file that has it."""
        for archive in self._archives:
            with contextlib.suppress(KeyError, OSError, zipfile.BadZipFile):
                data = opened(_member(archive, entry_name(key)), key)
                if data is not None:
                    return data
        return None

    def put(self, key: str, data: bytes) -> None:
        """Forget it."""

    def expect(self, keys: Sequence[str]) -> None:
        """Do nothing: all is at hand."""

    def tidy(self) -> None:
        """Do nothing."""

    def warnings(self) -> tuple[Problem, ...]:
        """Return none."""
        return ()


class LayeredStore:
    """The files of shards over a store, which gives what they lack and gets what is new."""

    def __init__(self, merged: ShardStore, store: Cache) -> None:
        self._merged, self._store = merged, store
        self.put, self.expect = store.put, store.expect
        self.tidy, self.warnings = store.tidy, store.warnings

    def get(self, key: str) -> bytes | None:
        """Return what the files or else the store have."""
        data = self._merged.get(key)
        return self._store.get(key) if data is None else data


def _files(given: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in given:
        files = sorted(path.glob("*-shard-*-of-*.zip")) if path.is_dir() else [path]
        if not files:
            raise StubgenError(problem("CS131", path=path, reason="there is none in this folder"))
        found += files
    return found


def _opened(file: Path) -> tuple[zipfile.ZipFile, ShardRecord]:
    reason = "it is something else, or damaged"
    try:
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise StubgenError(problem("CS131", path=file, reason="it is no file"))
        with file.open("rb") as stream:
            digest = _digest(stream)
            if stream.read() != digest and zipfile.is_zipfile(file):
                raise StubgenError(problem("CS131", path=file, reason="it is damaged"))
        archive = zipfile.ZipFile(file)
        return archive, msgspec.json.decode(_member(archive, _RECORD), type=ShardRecord)
    except OSError as error:
        reason = error.strerror or str(error)
    except (KeyError, zipfile.BadZipFile, msgspec.MsgspecError, *_ODD):
        pass
    raise StubgenError(problem("CS131", path=file, reason=reason))


def _digest(stream: BinaryIO) -> bytes:
    """Hash a file up to where its own digest stands, and leave off there."""
    left = max(0, stream.seek(0, os.SEEK_END) - _DIGEST)
    stream.seek(0)
    digest = hashlib.sha256()
    while left and (data := stream.read(min(left, 1 << 20))):
        digest.update(data)
        left -= len(data)
    return digest.digest()


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a file of an archive.

    Raises
    ------
    KeyError, OSError, zipfile.BadZipFile
        It is not there, or cannot be read.
    """
    if archive.getinfo(name).file_size > LARGEST:
        raise zipfile.BadZipFile(name)
    try:
        return archive.read(name)
    except _ODD as error:
        raise zipfile.BadZipFile(name) from error


def _difference(first: ShardRecord, other: ShardRecord) -> str:
    if first.count != other.count:
        return f"one is of {other.count} shards, the other of {first.count}"
    if first.times != other.times:
        return "their kernels were divided by other times; give all shards the same file with --times"
    names = [*first.settings, *other.settings]
    changed = next((n for n in names if first.settings.get(n) != other.settings.get(n)), None)
    if changed is None:
        return ""
    return f"{changed} is {other.settings.get(changed)!r} and {first.settings.get(changed)!r}"


class MissingCompiler:
    """In the place of what compiles: says which kernels the shards lack."""

    count = 1

    def __init__(self, merged: ShardStore) -> None:
        self._merged = merged

    @contextlib.contextmanager
    def workers(self, settings: WorkerSettings) -> Generator[MissingCompiler, None, None]:
        """Return itself."""
        del settings
        yield self

    def warnings(self) -> tuple[Problem, ...]:
        """Return none."""
        return ()

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        """Refuse: every shard has the declarations of all modules."""
        self._refuse("what is declared in " + _shortened([module.file for module in modules]))

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        """Refuse."""
        del on_start, on_done
        names = sorted({job.declared.name for job in jobs})
        self._refuse(_shortened(names))

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        """Refuse: shards say what the sources say."""
        self._refuse("what the sources say of " + _shortened([job.declared.name for job in jobs]))

    def _refuse(self, what: str) -> NoReturn:
        absent = self._merged.absent()
        why = (
            f"not given: shard {', '.join(map(str, absent))}"
            if absent
            else "all shards are given, but of other sources, package versions or options"
        )
        raise StubgenError(problem("CS132", what=what, why=why))


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")

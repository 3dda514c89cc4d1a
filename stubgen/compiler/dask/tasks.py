"""What travels between the tool and machines that compile for it: sources, tasks and answers, as bytes.

Everything is sealed as cache entries are, so that damage on the way is seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from stubgen.compiler.jobs import Declared, ModuleJob, WorkerSettings
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.store.cache import opened, sealed

_LARGEST = 64 << 20
"""Bytes of all sources and data files together."""

_Kind = TypeVar("_Kind")


class Run(msgspec.Struct, frozen=True):
    """What all tasks of a run have in common, for one architecture."""

    name: str
    """Nobody else's."""
    settings: WorkerSettings
    """Paths in it and in tasks are those of the machine that the run was started on."""
    base: str
    """The folder that all sources lie below."""
    packages: tuple[str, ...]
    """Names of installed packages that kernel modules import."""
    versions: dict[str, str]
    """What is installed there; see :func:`stubgen.compiler.dask.versions.installed`."""
    patience: float = 60.0
    """Seconds after which what says nothing counts as gone."""


class ClusterTask(msgspec.Struct, frozen=True):
    """Something to be done for a module, or for a kernel in it."""

    kind: Literal["expand", "compile", "facts"]
    module: ModuleJob
    declared: Declared | None = None
    build_name: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What came of a task."""

    worker: str = ""
    differences: tuple[str, ...] = ()
    """What another version is installed of there; then nothing was done."""
    problems: tuple[Problem, ...] = ()
    """Why nothing could be done."""
    lacks_sources: bool = False
    """Whether nothing was done because the sources of the run are not there yet."""
    unusable: str = ""
    """Why this worker cannot do anything, while another may."""
    trouble: str = ""
    """Why the task came to nothing; it may be the task's own fault."""
    result: bytes = b""
    """Encoded: what a worker process returns."""
    ir: bytes = b""
    """Of a compiled kernel."""
    logs: dict[str, str] = {}
    """Texts of the log files that problems name."""


class DamagedError(Exception):
    """What came is not what was sent."""


def pack(data: Any) -> bytes:
    """Encode and seal plain data."""
    return sealed(msgspec.msgpack.encode(data))


def unpack(packed: bytes, kind: type[_Kind]) -> _Kind:
    """Open and decode what :func:`pack` has made.

    Raises
    ------
    DamagedError
        It is damaged.
    """
    data = opened(packed)
    if data is None:
        raise DamagedError("damaged on its way")
    return msgspec.msgpack.decode(data, type=kind)


def pack_sources(files: Iterable[Path], base: Path) -> bytes:
    """Pack files with their paths relative to a folder.

    Raises
    ------
    StubgenError
        CS129 if they are too large to travel.
    """
    files = sorted(files)
    size = sum(path.stat().st_size for path in files)
    if size > _LARGEST:
        raise StubgenError(problem("CS129", size=size >> 20, limit=_LARGEST >> 20))
    return pack({path.relative_to(base).as_posix(): path.read_bytes() for path in files})


def unpack_sources(packed: bytes, folder: Path) -> None:
    """Write files into a folder."""
    for name, data in unpack(packed, dict[str, bytes]).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def common_folder(paths: Sequence[Path]) -> Path:
    """Return the folder that all paths lie below."""
    return Path(os.path.commonpath(paths))


def moved(data: bytes, places: Mapping[str, str]) -> bytes:
    """Put other folders into the strings of encoded data.

    Parameters
    ----------
    data
        Encoded with msgpack.
    places
        By folder, the one in its place; the first that fits counts.
    """
    return msgspec.msgpack.encode(_moved(msgspec.msgpack.decode(data), places))


def _moved(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for place, other in places.items():
            value = value.replace(place, other)
        return value
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        return [_moved(item, places) for item in items]
    if isinstance(value, dict):
        pairs: dict[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        return {_moved(key, places): _moved(item, places) for key, item in pairs.items()}
    return value

"""Remembers what the last run saw, so that a run with nothing to do is over at once.

The record lies in the user's cache folder, by the output folder that it is about. It holds size and time of
every source and of every generated file, the settings, and the versions of what the output depends on. If all
of that is as it was, the output is what a run would generate. A source whose time alone has changed is
compared by its hash. A record that is missing, damaged or another version's means a run like any other.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from stubgen import folders
from stubgen.config import Config, shaping
from stubgen.diagnostics import Problem
from stubgen.inputs import data_files
from stubgen.names import staging_prefix

_TOOLS = ("nvidia-cutlass-dsl", "apache-tvm-ffi", "ziglang", "cute-stubgen", "nvidia-cuda-runtime-cu12")
_ENVIRONMENT = ("CC", "PATH")
"""What the system's toolchain is found by."""

_GPUS = Path("/proc/driver/nvidia/gpus")
"""Where the driver lists the GPUs of a machine."""
_SUBSYSTEM_GPU = Path("/dev/dxg")
"""The GPU of a Windows machine, as Linux inside of it sees it."""


class Stamp(msgspec.Struct, frozen=True):
    """A file as it was."""

    size: int
    time: int
    """Of the last change, in nanoseconds."""
    sha256: str = ""
    """Of a source."""


class Summary(msgspec.Struct, frozen=True):
    """What a run said in the end."""

    package: str
    kernels: int
    warnings: tuple[Problem, ...] = ()


class Record(msgspec.Struct, frozen=True):
    """What a run saw."""

    surroundings: str
    """Hash of settings, versions and the tool itself."""
    folders: dict[str, str]
    """For each folder of kernels, a hash of the names of the Python files in it."""
    sources: dict[str, Stamp]
    """By absolute path."""
    outputs: dict[str, Stamp]
    """By path relative to the output folder."""
    summary: Summary


def unchanged(project: Path, settings: Config) -> Summary | None:
    """Tell whether the output is what a run would generate; ``None`` if that is not known."""
    if not settings.archs and _SUBSYSTEM_GPU.exists():  # which does not tell what it is
        return None
    output = project / settings.output
    try:
        file = _file(output)
        if file is None:
            return None
        record = msgspec.msgpack.decode(file.read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return None
    if record.surroundings != _surroundings(project, settings):
        return None
    same = (
        record.folders == _folders(project, settings)
        and all(_is_same_source(Path(path), stamp) for path, stamp in record.sources.items())
        and record.outputs == dict(_stamps(output, record.outputs))
        and record.outputs.keys()
        == set(_files(output / settings.package, output)) | _outside(record, settings)
        and not _has_leftovers(output, settings.package)
    )
    return record.summary if same else None


def remember(
    project: Path, settings: Config, sources: Iterable[Path], outputs: Iterable[str], summary: Summary
) -> None:
    """Record what a run saw and wrote; if that fails, the next run will have more to do."""
    output = project / settings.output
    with contextlib.suppress(OSError):
        record = Record(
            _surroundings(project, settings),
            _folders(project, settings),
            {str(path): _stamp(path, hashed=True) for path in sources},
            dict(_stamps(output, outputs)),
            summary,
        )
        folder, file = folders.writable("runs"), _file(output)
        if folder is not None and file is not None:
            folders.replace_file(file, msgspec.msgpack.encode(record), prefix="tmp")


def python_files(given: Path) -> Iterator[Path]:
    """Yield a file, or the Python files in a folder."""
    if given.is_file():
        yield given
    for path in _files(given, given):
        if path.endswith(".py"):
            yield given / path


def _has_leftovers(output: Path, package: str) -> bool:
    """Tell whether a run was killed here that no other has cleared up after."""
    return any(name.startswith(staging_prefix(package)) for name in os.listdir(output))  # noqa: PTH208


def _file(output: Path) -> Path | None:
    name = hashlib.sha256(os.fsencode(output.absolute())).hexdigest()
    folder = folders.own("runs")
    return folder / name if folder is not None else None


def _surroundings(project: Path, settings: Config) -> str:
    tool = Path(__file__).parent
    stamps = [
        (path, _stamp(tool / path))
        for folder in (tool, tool.parent / "templates")
        for path in _files(folder, tool)
    ]
    parts = (
        str(project),
        settings.output,
        settings.cache,  # whoever names another one wants it filled
        shaping(settings),
        [str(path) for path in data_files(project, settings)],
        sys.version,
        sys.prefix,
        [(name, _version(name)) for name in _TOOLS],
        [os.environ.get(name) for name in _ENVIRONMENT] if settings.toolchain == "system" else [],
        [] if settings.archs else _gpus(),
        stamps,
    )
    return hashlib.sha256(msgspec.msgpack.encode(parts)).hexdigest()


def _gpus() -> list[str | None]:
    """Tell by which GPU the architecture would be chosen, without asking the driver."""
    models = (path.read_text() for path in sorted(_GPUS.glob("*/information")))
    return [os.environ.get("CUDA_VISIBLE_DEVICES"), *models]


def _folders(project: Path, settings: Config) -> dict[str, str]:
    found: dict[str, str] = {}
    for given in settings.kernels:
        names = "\n".join(path for path in _files(project / given, project) if path.endswith(".py"))
        found[given] = hashlib.sha256(os.fsencode(names)).hexdigest()
    return found


def _files(folder: Path, relative_to: Path) -> Iterator[str]:
    """Yield the files in a folder, sorted, without what Python leaves there."""
    for root, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            yield os.path.relpath(os.path.join(root, name), relative_to)  # noqa: PTH118  # faster


def _outside(record: Record, settings: Config) -> set[str]:
    """Give the generated files beside the package, where others may be too."""
    return {path for path in record.outputs if not path.startswith(f"{settings.package}/")}


def _is_same_source(path: Path, stamp: Stamp) -> bool:
    try:
        now = _stamp(path)
        if now.size != stamp.size:
            return False
        return now.time == stamp.time or _sha256(path) == stamp.sha256
    except OSError:
        return False


def _stamps(folder: Path, paths: Iterable[str]) -> Iterator[tuple[str, Stamp]]:
    for path in paths:
        with contextlib.suppress(OSError):
            yield path, _stamp(folder / path)


def _stamp(path: Path, *, hashed: bool = False) -> Stamp:
    status = path.stat()
    return Stamp(status.st_size, status.st_mtime_ns, _sha256(path) if hashed else "")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None

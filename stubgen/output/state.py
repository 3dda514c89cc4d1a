"""Remembers what the last run saw, so that a run with nothing to do is over at once.

The record lies in the user's cache folder, by the output folder that it is about. It holds size and time of
every source and of every generated file, the settings, and what is installed of what the output depends on.
If all of that is as it was, the output is what a run would generate. A file whose times alone have changed,
or are too new to be sure of, is compared by its hash. A record that is missing, damaged or another
version's means a run like any other.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import stubgen
from stubgen.config.config import Config, shaping
from stubgen.config.datafiles import data_files
from stubgen.model.names import staging_prefix
from stubgen.problems.problem import Problem, StubgenError
from stubgen.sources import installed
from stubgen.system import folders, stamps
from stubgen.system.stamps import Stamp

if TYPE_CHECKING:
    from stubgen.sources.inputs import BuildInputs

_ENVIRONMENT = ("CC", "PATH")
"""What the system's toolchain is found by."""

_GPUS = Path("/proc/driver/nvidia/gpus")
"""Where the driver lists the GPUs of a machine."""
_SUBSYSTEM_GPU = Path("/dev/dxg")
"""The GPU of a Windows machine, as Linux inside of it sees it."""


class Summary(msgspec.Struct, frozen=True):
    """What a run said in the end."""

    package: str
    kernels: int
    warnings: tuple[Problem, ...] = ()


class RunRecord(msgspec.Struct, frozen=True):
    """What a run saw."""

    surroundings: str
    """Hash of settings, of the tool itself and of where Python looks for packages."""
    distributions: dict[str, str]
    """Identities of what is installed and matters; see :func:`stubgen.sources.installed.identity`."""
    folders: dict[str, str]
    """For each folder of kernels, or of packages that may change, a hash of the names of the files in it."""
    sources: dict[str, Stamp]
    """By absolute path."""
    outputs: dict[str, Stamp]
    """By path relative to the output folder."""
    summary: Summary


def unchanged(project: Path, settings: Config) -> Summary | None:
    """Return whether the output is what a run would generate; ``None`` if that is not known."""
    if not settings.archs and _SUBSYSTEM_GPU.exists():  # which does not tell what it is
        return None
    output = project / settings.output
    try:
        file = _file(output)
        if file is None:
            return None
        record = msgspec.msgpack.decode(file.read_bytes(), type=RunRecord)
    except (OSError, msgspec.MsgspecError):
        return None
    if record.surroundings != _surroundings(project, settings):
        return None
    same = (
        all(_listing(Path(folder)) == names for folder, names in record.folders.items())
        and record.outputs.keys()
        == set(_files(output / settings.package, output)) | _outside(record, settings)
        and not _has_leftovers(output, settings.package)
        and all(installed.identity(name) == known for name, known in record.distributions.items())
    )
    if not same:
        return None
    sources = {path: stamps.renewed(Path(path), stamp) for path, stamp in record.sources.items()}
    outputs = {path: stamps.renewed(output / path, stamp) for path, stamp in record.outputs.items()}
    if None in sources.values() or None in outputs.values():
        return None
    if (sources, outputs) != (record.sources, record.outputs):  # so that the next run need not read them
        _write(output, msgspec.structs.replace(record, sources=sources, outputs=outputs))
    return record.summary


def remember(
    project: Path, settings: Config, inputs: BuildInputs, outputs: Iterable[str], summary: Summary
) -> None:
    """Record what a run saw and wrote; if that fails, the next run will have more to do."""
    output = project / settings.output
    given = [project / path for path in settings.kernels]
    searched = {path for folder in given for path in python_files(folder)}
    inputs.parsed.save()
    with contextlib.suppress(OSError, StubgenError):
        record = RunRecord(
            _surroundings(project, settings),
            inputs.distributions,
            {str(folder): _listing(folder) for folder in (*given, *inputs.folders)},
            {
                str(path): inputs.parsed.stamp(path)
                for path in {*inputs.files, *inputs.changeable, *inputs.data, *searched}
            },
            {path: stamps.take(output / path) for path in outputs},
            summary,
        )
        _write(output, record)


def parsed_file(project: Path) -> Path | None:
    """Return where to keep what is known of the text of a project's files."""
    file = _file(project)
    return file.with_suffix(".parsed") if file is not None else None


def _write(output: Path, record: RunRecord) -> None:
    folder, file = folders.writable("runs"), _file(output)
    if folder is not None and file is not None:
        with contextlib.suppress(OSError, UnicodeEncodeError):  # a library may lie where no text leads
            folders.replace_file(file, msgspec.msgpack.encode(record), prefix="tmp")


def python_files(given: Path) -> Iterator[Path]:
    """Yield a file, or the Python files in a folder."""
    if given.is_file():
        yield given
    for path in _files(given, given):
        if path.endswith(".py"):
            yield given / path


def _has_leftovers(output: Path, package: str) -> bool:
    """Return whether a run was killed here that no other has cleared up after."""
    return any(name.startswith(staging_prefix(package)) for name in os.listdir(output))  # noqa: PTH208


def _file(output: Path) -> Path | None:
    name = hashlib.sha256(os.fsencode(output.absolute())).hexdigest()
    folder = folders.own("runs")
    return folder / name if folder is not None else None


def _surroundings(project: Path, settings: Config) -> str:
    tool = Path(stubgen.__file__).parent
    own = [
        (path, (status := os.stat(tool / path)).st_size, status.st_mtime_ns, status.st_ctime_ns)  # noqa: PTH116
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
        os.environ.get("PYTHONPATH"),
        [os.environ.get(name) for name in _ENVIRONMENT] if settings.toolchain == "system" else [],
        [] if settings.archs else _gpus(),
        own,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _gpus() -> list[str | None]:
    """Tell by which GPU the architecture would be chosen, without asking the driver."""
    models = (path.read_text() for path in sorted(_GPUS.glob("*/information")))
    return [os.environ.get("CUDA_VISIBLE_DEVICES"), *models]


def _listing(folder: Path) -> str:
    """Return a hash of the names of the files in a folder that Python runs."""
    names = "\n".join(path for path in _files(folder, folder) if path.endswith((".py", ".so")))
    return hashlib.sha256(os.fsencode(names)).hexdigest()


def _files(folder: Path, relative_to: Path) -> Iterator[str]:
    """Yield the files in a folder, sorted, without what Python leaves there."""
    for root, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            yield os.path.relpath(os.path.join(root, name), relative_to)  # noqa: PTH118  # faster


def _outside(record: RunRecord, settings: Config) -> set[str]:
    """Return the generated files beside the package, where others may be too."""
    return {path for path in record.outputs if not path.startswith(f"{settings.package}/")}

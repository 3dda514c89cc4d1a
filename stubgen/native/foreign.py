"""Fetches from PyPI what libraries for another machine are linked with: files out of that machine's wheels.

The versions are those that are installed here. What was fetched stays in a cache, so that only the first
build needs the network.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import zipfile
from pathlib import Path

from stubgen.native import commands
from stubgen.native.commands import ToolError
from stubgen.problems.problem import StubgenError, problem
from stubgen.system import folders

_GLIBCS = range(17, 46)
"""Minor versions of glibc that a wheel may be for: whichever, as it is not run here."""


def fetch(name: str, version: str, file: str, machine: str) -> Path:
    """Return a file of another machine's wheel.

    Parameters
    ----------
    name, version
        The distribution.
    file
        The file's name; its folder in the wheel does not matter.
    machine
        As in the wheel's name, such as ``aarch64``.

    Raises
    ------
    StubgenError
        CS412 if the wheel cannot be had, or does not have the file; CS405 if the cache cannot be written.
    """
    kept_wheels = folders.own("wheels")
    if kept_wheels is None or not (kept_wheels / f"{name}-{version}-{machine}" / file).is_file():
        kept_wheels = folders.writable_or_temporary("wheels")
    folder = kept_wheels / f"{name}-{version}-{machine}"
    kept = folder / file
    if not kept.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                wheel = _download(name, version, machine, Path(scratch))
                _extract(wheel, file, Path(scratch) / file).replace(kept)
        except OSError as error:
            raise StubgenError(problem("CS405", path=folder, reason=error.strerror or error)) from None
        except _MissingError as error:
            found = problem("CS412", what=f"{name} {version}", machine=machine, reason=error)
            raise StubgenError(found) from None
    return kept


class _MissingError(Exception):
    """Why there is no such file."""


def _download(name: str, version: str, machine: str, folder: Path) -> Path:
    platforms = [f"--platform=manylinux_2_{glibc}_{machine}" for glibc in _GLIBCS]
    command: list[str | Path] = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
        *("--disable-pip-version-check", *platforms, f"--platform=manylinux2014_{machine}"),
        *("--dest", folder, f"{name}=={version}"),
    ]
    try:
        done = commands.run(command, tool="pip")
    except ToolError as error:
        raise _MissingError(error) from None
    if done.returncode:
        raise _MissingError(_reason(done.stderr))
    return next(folder.glob("*.whl"))


def _reason(output: str) -> str:
    """Return the line that says best why pip failed: the last error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return [*lines, *errors][-1].removeprefix("ERROR: ") if lines else "pip failed without a word"


def _extract(wheel: Path, file: str, target: Path) -> Path:
    with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            # The DSL's wheels have stubs of the same name for machines that they are not for.
            if Path(member).name == file and "stubs" not in Path(member).parts:
                target.write_bytes(archive.read(member))
                return target
    raise _MissingError(f"there is no {file} in {wheel.name}")

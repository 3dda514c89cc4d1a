"""Tells build systems which files a generated package is made from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import stubgen
from stubgen.config.config import Config
from stubgen.config.datafiles import data_files
from stubgen.problems.problem import StubgenError, problem
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules


def dependencies(project: Path, settings: Config) -> tuple[Path, ...]:
    """List the files that decide what is generated.

    These are the modules that may declare kernels and what they import of the project and of packages whose
    files may change, folders that are searched for modules, for whatever is new in them, the configuration,
    and the tool itself. Other installed packages are none.

    Parameters
    ----------
    project
        The project's folder, absolute.
    settings
        The configuration.

    Returns
    -------
    tuple of Path
        Absolute and sorted.

    Raises
    ------
    StubgenError
        As :func:`stubgen.sources.modules.kernel_modules` does.
    """
    found = {Path(stubgen.__file__)}
    configuration = project / "pyproject.toml"
    if configuration.is_file():
        found.add(configuration)
    given = [project / path for path in settings.kernels]
    for folder in filter(Path.is_dir, given):
        found.update(_searched(folder))
    inputs = BuildInputs(project, kernel_modules(given, project))
    found.update(data_files(project, settings))
    return tuple(sorted({*found, *inputs.files, *inputs.changeable, *inputs.folders}))


def _searched(folder: Path) -> Iterable[Path]:
    """Yield a folder, and those inside of it that may hold modules."""
    yield folder
    for inner in folder.iterdir():
        if inner.is_dir() and inner.name.isidentifier() and inner.name != "__pycache__":
            yield from _searched(inner)


def write_depfile(depfile: Path, files: Iterable[Path]) -> None:
    """Write a rule for make or Ninja: the target is the file's own name, less ``.d``.

    Raises
    ------
    StubgenError
        CS501 if the file cannot be written.
    """
    target = depfile.with_suffix("") if depfile.suffix == ".d" else depfile
    lines = [f"{_escaped(target)}:", *map(_escaped, files)]
    try:
        depfile.write_text(" \\\n  ".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise StubgenError(problem("CS501", path=depfile, reason=error.strerror)) from None


def _escaped(path: Path) -> str:
    """Write a path as make reads it."""
    return re.sub(r"([ #])", r"\\\1", str(path).replace("$", "$$"))

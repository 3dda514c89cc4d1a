"""Tells build systems which files a generated package is made from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import stubgen
from stubgen import discovery
from stubgen.config import Config
from stubgen.diagnostics import StubgenError, problem, raise_if_any


def inputs(project: Path, settings: Config) -> tuple[Path, ...]:
    """List the files that decide what is generated.

    These are the kernel modules and what they import of the project, folders that are searched for kernel
    modules, for whatever is new in them, the configuration, and the tool itself. Installed packages are none.

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
        As :func:`stubgen.discovery.find_modules` and :func:`stubgen.discovery.source_closure` do.
    """
    found = {Path(stubgen.__file__)}
    configuration = project / "pyproject.toml"
    if configuration.is_file():
        found.add(configuration)
    given = [project / path for path in settings.kernels]
    for folder in filter(Path.is_dir, given):
        found.update(_searched(folder))
    found.update(data_files(project, settings))
    for module in discovery.find_modules(given, project):
        if module.declares:
            _, root = discovery.import_name(module.path)
            found.update(discovery.source_closure(module.path, [root, project]))
    return tuple(sorted(found))


def data_files(project: Path, settings: Config) -> tuple[Path, ...]:
    """List the files that kernel modules read, as the configuration names them.

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
        CS128 for each pattern that no file fits.
    """
    files = {pattern: _fitting(project, pattern) for pattern in settings.data}
    raise_if_any(problem("CS128", pattern=pattern) for pattern, fitting in files.items() if not fitting)
    return tuple(sorted({path for fitting in files.values() for path in fitting}))


def _fitting(project: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in project.glob(pattern) if path.is_file()]
    except (NotImplementedError, ValueError):  # absolute, or empty
        return []


def _searched(folder: Path) -> Iterable[Path]:
    """Give a folder, and those inside of it that may hold modules."""
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
        depfile.write_text(" \\\n  ".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise StubgenError(problem("CS501", path=depfile, reason=error.strerror)) from None


def _escaped(path: Path) -> str:
    """Write a path as make reads it."""
    return re.sub(r"([ #])", r"\\\1", str(path).replace("$", "$$"))

"""Where the imports of a file lead: to other files of the project, or out of it.

This is read with ``ast`` and not with libcst, because it takes in whole projects and needs neither positions
nor scopes: a file of 120 kB takes 0.1 s with one, and 1 s with the other and its scopes.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stubgen.diagnostics import Problem, StubgenError, raise_if_any
from stubgen.discovery import files


class Located(NamedTuple):
    """How far a dotted name leads into the project's files."""

    files: tuple[Path, ...]
    """What Python runs to import it, in order: ``__init__`` files, and the module last."""
    rest: str
    """What the name says about the inside of the last file; empty if it stands for the whole module."""


def import_name(path: Path) -> tuple[str, Path]:
    """Give the name to import a file under, and the folder that has to be on ``sys.path`` for it.

    Parameters
    ----------
    path
        A Python file. In a folder with an ``__init__.py`` it belongs to that package, and so on upwards.

    Returns
    -------
    tuple
        The dotted name, and the absolute folder.
    """
    path = files.absolute(path)
    folder = path.parent
    parts = [] if path.stem == "__init__" else [path.stem]
    while _is_file(folder / "__init__.py"):
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def source_closure(path: Path, roots: Sequence[Path]) -> tuple[Path, ...]:
    """List the files that decide what a module does: itself and all local modules that it imports.

    Imports count wherever they stand: in functions, in ``try``, under ``TYPE_CHECKING``. Those that are made
    by calling :mod:`importlib` cannot be seen.

    Parameters
    ----------
    path
        The module.
    roots
        Folders like those on ``sys.path``. What is found in them is local; installed packages are not.

    Returns
    -------
    tuple
        Absolute paths: the module, then the others in the order of their paths.

    Raises
    ------
    StubgenError
        Files cannot be read (CS205) or parsed (CS203).
    """
    first = files.absolute(path)
    local, _ = _closure(first, roots)
    return (first, *sorted(local - {first}))


def external_imports(path: Path, roots: Sequence[Path]) -> tuple[str, ...]:
    """List the packages that a module needs besides local modules and the standard library.

    Takes and raises what :func:`source_closure` does, whose files are all looked at.

    Returns
    -------
    tuple
        Top-level import names, sorted.
    """
    _, external = _closure(files.absolute(path), roots)
    return tuple(sorted(external - sys.stdlib_module_names))


def locate(name: str, importer: Path, roots: Sequence[Path]) -> Located | None:
    """Find the files behind a dotted name.

    Parameters
    ----------
    name
        A module or something in a module; relative if it starts with dots.
    importer
        Absolute path of the file that imports it.
    roots
        Where absolute names are looked for, in order.

    Returns
    -------
    Located or None
        ``None`` if no local file is behind the name.
    """
    parts = name.lstrip(".")
    level = len(name) - len(parts)
    if not level:
        found = (_locate_in(files.absolute(root), parts.split("."), ()) for root in roots)
        return next((located for located in found if located.files), None)
    if level > len(importer.parents):
        return None
    folder = importer.parents[level - 1]
    package = folder / "__init__.py"
    located = _locate_in(folder, parts.split("."), (package,) if _is_file(package) else ())
    return located if located.files else None


def _is_file(path: Path) -> bool:
    # Path.is_file raises where a folder is closed or a name too long, which is just as much "not found".
    return os.path.isfile(path)  # noqa: PTH113


def _locate_in(folder: Path, parts: Sequence[str], found: tuple[Path, ...]) -> Located:
    """Follow a name downwards from a folder; ``found`` stands for the folder itself."""
    if parts:
        below = folder / parts[0]
        package, module = below / "__init__.py", folder / f"{parts[0]}.py"
        if _is_file(package):
            return _locate_in(below, parts[1:], (*found, package))
        if _is_file(module):
            return Located((*found, module), ".".join(parts[1:]))
        if os.path.isdir(below):  # noqa: PTH112, like _is_file
            inside = _locate_in(below, parts[1:], ())
            if inside.files:
                return Located((*found, *inside.files), inside.rest)
    return Located(found, ".".join(parts))


def _closure(path: Path, roots: Sequence[Path]) -> tuple[set[Path], set[str]]:
    """Give the local files and the names of the external packages that a module reaches."""
    local: set[Path] = set()
    external: set[str] = set()
    problems: list[Problem] = []
    todo = [path]
    while todo:
        current = todo.pop()
        if current in local:
            continue
        local.add(current)
        todo += _packages_around(current)
        try:
            imported = list(_imported_names(current))
        except StubgenError as error:
            problems += error.problems
            continue
        for name in imported:
            located = locate(name, current, roots)
            if located:
                todo += located.files
            elif not name.startswith("."):
                external.add(name.partition(".")[0])
    raise_if_any(problems)
    return local, external


def _packages_around(path: Path) -> Iterator[Path]:
    """Yield the ``__init__`` files that Python runs before it imports a file."""
    for folder in path.parents:
        package = folder / "__init__.py"
        if not _is_file(package):
            return
        yield package


def _imported_names(path: Path) -> Iterator[str]:
    """Yield whatever is imported, dots in front of what is relative.

    What comes after ``from a import`` may be a module or a name in one, so ``a.b`` is yielded for both.
    """
    file = path.as_posix()
    for node in ast.walk(files.parse(files.read(path, file), file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            prefix = f"{node.module}." if node.module else ""
            yield from (f"{dots}{prefix}{alias.name}" for alias in node.names)

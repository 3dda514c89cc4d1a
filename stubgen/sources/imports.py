"""Where the imports of a file lead: to other files of the project, or out of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stubgen.problems.problem import Problem, StubgenError, raise_if_any
from stubgen.sources import files
from stubgen.sources.parsed import ParsedFiles


class Located(NamedTuple):
    """How far a dotted name leads into the project's files."""

    files: tuple[Path, ...]
    """What Python runs to import it, in order: ``__init__`` files, and the module last."""
    rest: str
    """What the name says about the inside of the last file; empty if it stands for the whole module."""


def import_name(path: Path) -> tuple[str, Path]:
    """Return the name to import a file under, and the folder that has to be on ``sys.path`` for it.

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


class Closure(NamedTuple):
    """All that a module is made of."""

    files: tuple[Path, ...]
    """Absolute: the module itself, then the local modules that it imports, in the order of their paths."""
    packages: tuple[str, ...]
    """Top-level import names of all else that these import, but for the standard library; sorted."""


class ImportGraph:
    """Where the imports of files lead, each looked up once.

    Imports count wherever they stand: in functions, in ``try``, under ``TYPE_CHECKING``. Those that are
    made by calling :mod:`importlib` cannot be seen.

    Parameters
    ----------
    parsed
        The files.
    """

    def __init__(self, parsed: ParsedFiles) -> None:
        self.parsed = parsed
        self._edges: dict[tuple[Path, tuple[Path, ...]], tuple[tuple[Path, ...], frozenset[str]]] = {}

    def closure(self, path: Path, roots: Sequence[Path]) -> Closure:
        """Return what a module is made of.

        Parameters
        ----------
        path
            The module.
        roots
            Folders like those on ``sys.path``. What is found in them is local; installed packages are not.

        Raises
        ------
        StubgenError
            Files cannot be read (CS205) or parsed (CS203).
        """
        first, places = files.absolute(path), tuple(roots)
        local: set[Path] = set()
        external: set[str] = set()
        problems: list[Problem] = []
        todo = [first]
        while todo:
            current = todo.pop()
            if current in local:
                continue
            local.add(current)
            try:
                reached, packages = self.edges(current, places)
            except StubgenError as error:
                problems += error.problems
                todo += packages_around(current)
                continue
            todo += reached
            external |= packages
        raise_if_any(problems)
        outside = sorted(external - sys.stdlib_module_names)
        return Closure((first, *sorted(local - {first})), tuple(outside))

    def edges(self, path: Path, roots: tuple[Path, ...]) -> tuple[tuple[Path, ...], frozenset[str]]:
        """Return the local files that a file imports itself, and the packages."""
        if (path, roots) not in self._edges:
            local = dict.fromkeys(packages_around(path))
            external: set[str] = set()
            for name in self.parsed.parsed(path).imports:
                located = locate(name, path, roots)
                if located:
                    local.update(dict.fromkeys(located.files))
                elif not name.startswith("."):
                    external.add(name.partition(".")[0])
            self._edges[path, roots] = tuple(local), frozenset(external)
        return self._edges[path, roots]

    def top_level(self, path: Path) -> Iterator[str]:
        """Yield the packages that a file outside of the project imports; none if it cannot be parsed."""
        try:
            names = self.parsed.parsed(path).imports
        except StubgenError:
            return
        tops = {name.partition(".")[0] for name in names if not name.startswith(".")}
        yield from sorted(tops - sys.stdlib_module_names)


def source_closure(path: Path, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files that a module is made of, as :meth:`ImportGraph.closure` finds them."""
    return ImportGraph(ParsedFiles()).closure(path, roots).files


def external_names(sources: Sequence[Path], roots: Sequence[Path], parsed: ParsedFiles) -> tuple[str, ...]:
    """Return the dotted names of modules, or of something in them, that files import from elsewhere."""
    names = {
        name
        for file in sources
        for name in parsed.parsed(file).imports
        if not name.startswith(".") and locate(name, file, roots) is None
    }
    return tuple(sorted(name for name in names if name.partition(".")[0] not in sys.stdlib_module_names))


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


def packages_around(path: Path) -> Iterator[Path]:
    """Yield the ``__init__`` files that Python runs before it imports a file."""
    for folder in path.parents:
        package = folder / "__init__.py"
        if not _is_file(package):
            return
        yield package

"""Which files lead to this tool when they are imported."""

from __future__ import annotations

import re
from pathlib import Path

from stubgen.problems.problem import StubgenError
from stubgen.sources import files, imports, installed
from stubgen.sources.files import SourceFile
from stubgen.sources.imports import ImportGraph
from stubgen.sources.parsed import ParsedFile

TOOL = "stubgen"
_DISTRIBUTION = "cute-stubgen"
_OWN = Path(__file__).parents[1]

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import\b|import[ \t]+([\w.]+))", re.MULTILINE)
"""What an import looks like in a file that cannot be parsed."""


class ImportSearch:
    """Follows imports until they lead to this tool.

    They do where they name it; where a package that is imported requires its distribution; and where a
    package whose files may change imports it somewhere.

    Parameters
    ----------
    graph
        Where imports lead.
    project
        The project's folder, absolute.
    """

    def __init__(self, graph: ImportGraph, project: Path) -> None:
        self._graph = graph
        self._project = project
        self._packages: dict[str, bool] = {TOOL: True}

    def parsed(self, candidate: SourceFile) -> ParsedFile:
        """Return what the text of a file says; raises CS203 and CS205."""
        return self._graph.parsed.parsed(candidate.path, candidate.file)

    def leads_to_tool(self, candidate: SourceFile) -> bool:
        """Return whether importing a file imports this tool.

        Raises
        ------
        StubgenError
            It seems to, and cannot be parsed (CS203), or it cannot be read (CS205).
        """
        roots = (imports.import_name(candidate.path)[1], self._project)
        try:
            self.parsed(candidate)
        except StubgenError:
            text = files.read(candidate.path, candidate.file)
            if self._seems_to(text, candidate.path, roots):
                raise
            return False  # one of the many files that are no kernels of this Python's
        return self._from(candidate.path, roots)

    def _seems_to(self, text: str, path: Path, roots: tuple[Path, Path]) -> bool:
        if TOOL in text:
            return True
        for match in _IMPORT.finditer(text):
            name = match[1] or match[2]
            located = imports.locate(name, path, roots) if name.strip(".") else None
            if located and any(self._from(file, roots) for file in located.files):
                return True
        return False

    def _from(self, path: Path, roots: tuple[Path, Path]) -> bool:
        """Return whether a file or one that it imports leads out of the project to this tool."""
        seen: set[Path] = set()
        todo = [path]
        while todo:
            current = todo.pop()
            if current in seen or current.is_relative_to(_OWN):
                continue
            seen.add(current)
            try:
                names = self._graph.parsed.parsed(current).imports
                local, packages = self._graph.edges(current, roots)
            except StubgenError:  # importing it says more
                continue
            if any(name.partition(".")[0] == TOOL for name in names):
                return True
            if any(map(self._is_led_to_by, packages)):
                return True
            todo += local
        return False

    def _is_led_to_by(self, package: str) -> bool:
        if package not in self._packages:
            self._packages[package] = False  # while it is looked at
            self._packages[package] = self._requires_tool(package) or any(
                self._is_led_to_by(name)
                for path in installed.changeable_files(package)
                if path.suffix == ".py"
                for name in self._graph.top_level(path)
            )
        return self._packages[package]

    def _requires_tool(self, package: str) -> bool:
        names = installed.providers(package)
        return any(_DISTRIBUTION in installed.with_requirements([name]) for name in names)

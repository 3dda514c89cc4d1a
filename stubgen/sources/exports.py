"""What decorators and exported names mean, over all scanned files.

A best effort: the declarations themselves are found when the modules are imported, in a worker. What is found
here is shown to people, and tells which functions are ``@cute.jit`` functions.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from stubgen.sources import imports
from stubgen.sources.scan import Reference, References, Scan, ScannedCall, ScannedFunction

_JIT = frozenset({"cutlass.cute.jit", "cutlass.cute.experimental.jit", "cutlass.cutlass_dsl.CuTeDSL.jit"})
_DECLARING = (
    "stubgen.{}",
    "stubgen.declare.declarations.{}",
    "stubgen.{}()",
    "stubgen.declare.declarations.{}()",
)
"""Names of a function that declares, without options before the kernel and with."""
_EXPORT = frozenset(name.format("export") for name in _DECLARING)
_FAMILY = frozenset({"stubgen.family", "stubgen.declare.declarations.family"})
_KERNEL = frozenset(name.format("kernel") for name in _DECLARING)

MAX_DEFINITIONS = 100
"""How many meanings of a name are looked at; ``x = x.next`` alone gives it endlessly many."""


class Definition(NamedTuple):
    """Where a name leads in the end."""

    path: Path | None
    """The scanned file that the name belongs to; ``None`` for the name of something that is imported."""
    name: str


class Program:
    """All scanned files together.

    Parameters
    ----------
    scans
        Of each file.
    project
        The project's folder, absolute. Modules are looked for there, after the importer's own folder.
    """

    def __init__(self, scans: Iterable[Scan], project: Path) -> None:
        self._scans = {scan.candidate.path: scan for scan in scans}
        self._roots = {path: (imports.import_name(path)[1], project) for path in self._scans}
        self._locations: dict[tuple[Path, str], imports.Located | None] = {}

    def jit_functions(self, scan: Scan) -> tuple[ScannedFunction, ...]:
        """List the ``@cute.jit`` functions of a file, in its order."""
        return tuple(
            function
            for function in scan.functions
            if any(self._imported_names(scan, decorator) & _JIT for decorator in function.decorators)
        )

    def exported_names(self) -> Mapping[tuple[Path, str], Sequence[str]]:
        """Return what functions are exported as, by file and qualified name."""
        exported: defaultdict[tuple[Path, str], list[str]] = defaultdict(list)
        for scan in self._scans.values():
            for call in scan.calls if scan.declares else ():
                for label, definition in self._labelled(scan, call):
                    if definition.path:
                        exported[definition.path, _qualname(definition.name)].append(label)
        return {function: tuple(dict.fromkeys(labels)) for function, labels in exported.items()}

    def _labelled(self, scan: Scan, call: ScannedCall) -> Iterator[tuple[str, Definition]]:
        """Yield what a call exports, and as what."""
        names = self._imported_names(scan, call)
        if names & _EXPORT:
            for definition in self._definitions(scan, call.first):
                label = call.name or _own_name(definition.name)
                if label:
                    yield label, definition
        elif names & _KERNEL:
            family = self._family_around(scan, call)
            if family:
                for definition in self._definitions(scan, call.first):
                    yield f"family {family}", definition

    def _family_around(self, scan: Scan, call: ScannedCall) -> str | None:
        for function in reversed(call.within):
            for decorator in function.decorators:
                if self._imported_names(scan, decorator) & _FAMILY:
                    return decorator.first_text or _own_name(function.qualname)
        return None

    def _imported_names(self, scan: Scan, call: ScannedCall) -> set[str]:
        """Return the full names that what is called may have, if it is imported."""
        return {d.name for d in self._definitions(scan, call.callee) if d.path is None}

    def _definitions(self, scan: Scan, references: References) -> Sequence[Definition]:
        """List all that a name may lead to: itself, and what it or a beginning of it was bound to."""
        todo = deque((scan.candidate.path, reference) for reference in references)
        seen: set[tuple[Path, Reference]] = set()
        found: list[Definition] = []
        while todo and len(found) < MAX_DEFINITIONS:
            path, reference = todo.popleft()
            if (path, reference) not in seen:
                seen.add((path, reference))
                name, imported = reference
                found.append(Definition(None if imported else path, name))
                todo.extend(self._located(path, name) if imported else self._bound(path, name))
        return found

    def _bound(self, path: Path, name: str) -> Iterator[tuple[Path, Reference]]:
        """Yield what a name of a file stands for, going by assignments and imports there."""
        bindings = self._scans[path].bindings
        for beginning, rest in _splits(name):
            for bound in bindings.get(beginning, ()):
                yield path, bound._replace(name=bound.name + rest)

    def _located(self, path: Path, name: str) -> Iterator[tuple[Path, Reference]]:
        """Yield where an imported name leads to, if it is a scanned file."""
        if (path, name) not in self._locations:
            self._locations[path, name] = imports.locate(name, path, self._roots[path])
        located = self._locations[path, name]
        if located and located.files[-1] in self._scans:
            yield located.files[-1], Reference(located.rest, imported=False)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yield every beginning of a name, and its rest; those of ``f().g`` are ``f``, ``f()`` and all of it."""
    for end in range(1, len(name)):
        if name[end] in ".(":
            yield name[:end], name[end:]
    yield name, ""


def _qualname(name: str) -> str:
    """Return the function that is meant, calls being constructors: ``K()`` is ``K.__call__``."""
    target = f"{name[:-2]}.__call__" if name.endswith("()") else name
    return target.replace("()", "")


def _own_name(name: str) -> str | None:
    """Return the ``__name__`` of what a name leads to; objects have none."""
    return None if name.endswith("()") else name.rpartition(".")[2]

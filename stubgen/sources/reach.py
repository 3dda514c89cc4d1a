"""What a kernel is made of: the statements that its declaration leads to, in any module.

Every kernel also has what its modules do while they are imported, and all that this leads to. A name whose
value may change leads to every statement that has it. Where a module may use names that its text does not
show, all of its statements count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from stubgen.sources import imports
from stubgen.sources.outline import Outline, Statement, joined


class _Node(NamedTuple):
    """A statement."""

    file: Path
    position: int


class _Name(NamedTuple):
    """A name at the top level of a file; all of the file if it is empty."""

    file: Path
    name: str


class Reach:
    """The statements of a kernel module and of the local modules that it imports.

    Parameters
    ----------
    outlines
        Of these modules, the kernel module first.
    roots
        Folders like those on ``sys.path``.
    """

    def __init__(self, outlines: dict[Path, Outline], roots: Sequence[Path]) -> None:
        self._outlines = outlines
        self._roots = roots
        self._module = next(iter(outlines))
        self._located: dict[tuple[Path, str], frozenset[_Name]] = {}

    @cached_property
    def meaning(self) -> str:
        """A hash of everything."""
        return joined(outline.meaning for outline in self._outlines.values())

    def meaning_from(self, line: int) -> str:
        """Return a hash of what the declaration on a line of the module is made of."""
        if any(outline.is_opaque for outline in self._outlines.values()):
            return self.meaning
        start = [
            _Node(self._module, position)
            for position, statement in enumerate(self._outlines[self._module].statements)
            if statement.first <= line <= statement.last
        ]
        return self._hashed(self._reached(start, self._base)) if start else self.meaning

    @cached_property
    def _base(self) -> frozenset[_Node]:
        """What shapes every kernel."""
        loud = [
            _Node(file, position)
            for file, outline in self._outlines.items()
            for position, statement in enumerate(outline.statements)
            if not statement.is_quiet
        ]
        return frozenset(self._reached(loud, ()))

    @cached_property
    def _binders(self) -> dict[_Name, list[_Node]]:
        """By name, the statements that bind it; by file, all of its statements."""
        found: defaultdict[_Name, list[_Node]] = defaultdict(list)
        for file, outline in self._outlines.items():
            for position, statement in enumerate(outline.statements):
                found[_Name(file, "")].append(_Node(file, position))
                for name in statement.binds:
                    found[_Name(file, name)].append(_Node(file, position))
        return dict(found)

    @cached_property
    def _users(self) -> dict[_Name, list[_Node]]:
        """By name whose value may change, the statements that have it."""
        changeable = {_Name(file, name) for file, o in self._outlines.items() for name in o.changeable}
        found: defaultdict[_Name, list[_Node]] = defaultdict(list)
        for file, outline in self._outlines.items():
            for position in range(len(outline.statements)):
                for name in self._names(_Node(file, position)):
                    everything = {other for other in changeable if other.file == name.file}
                    for other in {name} & changeable if name.name else everything:
                        found[other].append(_Node(file, position))
        return dict(found)

    def _reached(self, start: Iterable[_Node], known: Iterable[_Node]) -> set[_Node]:
        reached = set(known)
        todo = list(start)
        while todo:
            node = todo.pop()
            if node in reached:
                continue
            reached.add(node)
            own = [_Name(node.file, name) for name in self._statement(node).binds]
            for name in (*self._names(node), *own):
                todo += self._binders.get(name, ())
                todo += self._users.get(name, ())
        return reached

    def _names(self, node: _Node) -> set[_Name]:
        """Return what the names in a statement stand for, as far as it stands in these files."""
        return {name for use in self._statement(node).uses for name in self._stands_for(node.file, use)}

    def _stands_for(self, file: Path, use: str) -> frozenset[_Name]:
        if (file, use) not in self._located:
            self._located[file, use] = frozenset(self._looked_up(file, use, set()))
        return self._located[file, use]

    def _looked_up(self, file: Path, use: str, seen: set[tuple[Path, str]]) -> set[_Name]:
        """Follow a name through imports."""
        if (file, use) in seen:
            return set()
        seen.add((file, use))
        root, _, rest = use.partition(".")
        names: set[_Name] = {_Name(file, root)} if _Name(file, root) in self._binders else set()
        for name, target in self._outlines[file].imports:
            if name != root:
                continue
            located = imports.locate(f"{target}.{rest}" if rest else target, file, self._roots)
            if located is None or located.files[-1] not in self._outlines:
                continue
            there = located.files[-1]
            first = located.rest.partition(".")[0]
            if not first:
                names.add(_Name(there, ""))
                continue
            onward = self._looked_up(there, located.rest, seen)
            names |= onward or {_Name(there, "")}
        return names

    def _statement(self, node: _Node) -> Statement:
        return self._outlines[node.file].statements[node.position]

    def _hashed(self, reached: set[_Node]) -> str:
        return joined(
            joined(
                statement.meaning
                for position, statement in enumerate(outline.statements)
                if _Node(file, position) in reached
            )
            for file, outline in self._outlines.items()
        )

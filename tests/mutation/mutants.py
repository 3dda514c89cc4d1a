"""Draws mutants of source files, with the operators of mutmut and a few of our own."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list", "reversed": "list"}


def _another_builtin(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Yield calls of ``all`` for ``any``, of ``list`` for ``sorted``, and the like."""
    name = node.func.value if isinstance(node.func, cst.Name) else ""
    if name in _SWAPPED:
        arguments = node.args[:1] if _SWAPPED[name] == "list" else node.args
        yield node.with_changes(func=cst.Name(_SWAPPED[name]), args=arguments)


def _other_condition(node: cst.If | cst.CompIf) -> Iterator[cst.CSTNode]:
    """Yield a condition that is turned round."""
    inner = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), inner))


_OPERATORS: Sequence[tuple[type, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    *mutation_operators,
    (cst.Call, _another_builtin),
    (cst.If, _other_condition),
    (cst.CompIf, _other_condition),
]

_TYPES_ONLY = (
    m.Annotation()
    | m.AnnAssign(annotation=m.Annotation(m.Name("TypeAlias")))
    | m.Assign(value=m.Call(func=m.Name("TypeVar")))
    | m.If(test=m.Name("TYPE_CHECKING"))
    | m.ImportFrom()
    | m.Import()
    | m.Decorator()
    | m.Expr(value=m.SimpleString() | m.ConcatenatedString())
)
"""What is nothing at run time, or ends every run when it is changed: such mutants say nothing about tests."""


_STATEMENTS = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
_CAST = m.Call(func=m.Name("cast"))


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    """Relative to the project's folder."""
    function: str
    """With the class that it is in; empty for a module's own statements."""
    statement: int
    """The line that the statement begins on: what tests execute is known by that."""
    line: int
    last_line: int
    """Of what is changed."""
    key: str
    """Of the change within its function; other code in the file may change and it stays the same."""
    original: cst.CSTNode
    changed: cst.CSTNode


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, file: str, module: cst.Module) -> None:
        self._file = file
        self._module = module
        self._scopes: list[str] = []
        self._statements = [1]
        self._counts: dict[str, int] = {}
        self.mutants: list[Mutant] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_skipped(node):
            return False
        if isinstance(node, _STATEMENTS):
            self._statements.append(self.get_metadata(PositionProvider, node).start.line)
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._scopes.append(node.name.value)
        for kind, operator in _OPERATORS if not m.matches(node, _CAST) else ():
            if isinstance(node, kind):
                self.mutants += (self._mutant(node, changed) for changed in operator(node))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, _STATEMENTS) and not _is_skipped(original_node):
            self._statements.pop()
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._scopes.pop()

    def _mutant(self, node: cst.CSTNode, changed: cst.CSTNode) -> Mutant:
        function = ".".join(self._scopes)
        parts = (self._file, function, self._module.code_for_node(node), self._module.code_for_node(changed))
        text = "\0".join(parts)
        number = self._counts[text] = self._counts.get(text, 0) + 1
        key = hashlib.sha256(f"{text}\0{number}".encode()).hexdigest()[:12]
        place = self.get_metadata(PositionProvider, node)
        lines = (self._statements[-1], place.start.line, place.end.line)
        return Mutant(self._file, function, *lines, key, node, changed)


def _is_skipped(node: cst.CSTNode) -> bool:
    return m.matches(node, _TYPES_ONLY) or _is_cast_type(node)


def _is_cast_type(node: cst.CSTNode) -> bool:
    return m.matches(node, m.Arg(value=m.SimpleString())) and "[" in node.value.value  # type: ignore[attr-defined]


class _Replacement(cst.CSTTransformer):
    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> Any:
        return self._mutant.changed if original_node is self._mutant.original else updated_node


class Source:
    """A file with all its mutants."""

    def __init__(self, root: Path, file: str) -> None:
        self.text = root.joinpath(file).read_text()
        wrapper = MetadataWrapper(cst.parse_module(self.text))
        self._module = wrapper.module
        visitor = _Visitor(file, self._module)
        wrapper.visit(visitor)
        self.mutants = tuple(visitor.mutants)

    def mutated(self, mutant: Mutant) -> str:
        """Return the file's text with one mutant in it."""
        module = self._module.visit(_Replacement(mutant))
        assert isinstance(module, cst.Module)
        return module.code

    def shown(self, mutant: Mutant) -> str:
        """Show what a mutant changes, as lines with ``-`` and ``+``."""
        lines = difflib.unified_diff(
            self.text.splitlines(), self.mutated(mutant).splitlines(), lineterm="", n=0
        )
        return "\n".join(line[:1] + line[1:].strip() for line in list(lines)[3:] if line[:1] in "+-")


def drawn(sources: Iterable[Source], seed: int, count: int) -> list[Mutant]:
    """Draw mutants at random.

    Each mutant's place in the draw follows from the seed and itself alone, so that a change somewhere else
    leaves those that were drawn as they are.
    """
    every = (mutant for source in sources for mutant in source.mutants)
    return sorted(every, key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest())[:count]

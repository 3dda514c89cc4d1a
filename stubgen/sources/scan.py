"""What one file says about kernels, read with libcst.

A scan only takes down what is written. What a decorator or an exported name means can depend on other files;
``exports`` works that out once all files are scanned.
"""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import libcst as cst
from libcst.helpers import get_full_name_for_node_or_raise
from libcst.metadata import (
    BaseMetadataProvider,
    ExpressionContext,
    GlobalScope,
    MetadataWrapper,
    QualifiedName,
    QualifiedNameSource,
    Scope,
)
from libcst.metadata.expression_context_provider import ExpressionContextVisitor
from libcst.metadata.scope_provider import ScopeVisitor

from stubgen.model.text import storable
from stubgen.sources import files
from stubgen.sources.files import SourceFile

MAX_NESTING = 100
"""Levels of the syntax tree. libcst recurses in native code, where too deep a tree ends the process:
measured, between 2,000 and 4,000 levels, of which Python 3.10 itself reads 20,000. It also recurses in up to
nine Python frames a level, of which there may be 1,000."""

_DECLARING = frozenset({"export", "family"})


class Reference(NamedTuple):
    """What an expression names."""

    name: str
    """Dotted, and as libcst qualifies it; what is called has ``()`` after it: ``RMSNorm().run``."""
    imported: bool
    """It starts with a module, with dots in front if that is relative, and not with a name of this file."""


References: TypeAlias = "frozenset[Reference]"
"""What an expression may name, where that depends on conditions; empty if it is no name at all."""


@dataclass(frozen=True)
class ScannedCall:
    """A call of something that has a name; a bare decorator counts as a call without arguments."""

    callee: References
    first: References = frozenset()
    """The first positional argument, as far as it is a name."""
    first_text: str | None = None
    """The first positional argument, if it is a string."""
    name: str | None = None
    """What ``name=`` says in a call before it: a string's text, or the expression that computes it."""
    within: tuple[ScannedFunction, ...] = ()
    """The functions around it, the outermost first."""


@dataclass(frozen=True)
class ScannedFunction:
    """A function or method, at any depth."""

    qualname: str
    line: int
    """Of its ``def``, from 1."""
    doc: str
    decorators: tuple[ScannedCall, ...]


@dataclass(frozen=True)
class Scan:
    """What was read from one file."""

    candidate: SourceFile
    doc: str
    functions: tuple[ScannedFunction, ...]
    calls: tuple[ScannedCall, ...]
    bindings: Mapping[str, References]
    """What was assigned or imported, under the qualified name that it got in this file."""
    declares: bool
    """The file imports stubgen, and speaks of its ``export`` or ``family``."""

    @property
    def imports_stubgen(self) -> bool:
        """Whether any name of the file comes from stubgen."""
        references = (reference for bound in self.bindings.values() for reference in bound)
        return any(r.imported and r.name.partition(".")[0] == "stubgen" for r in references)


def scan(candidate: SourceFile) -> Scan | None:
    """Read a file that may be a kernel module.

    Returns
    -------
    Scan or None
        ``None`` if the file cannot matter, because it lacks the words to declare or to define a kernel. Such
        a file is not parsed: most files of most projects are of this kind.

    Raises
    ------
    StubgenError
        The file cannot be read (CS205) or parsed (CS203).
    """
    text = files.read(candidate.path, candidate.file)
    if "stubgen" not in text and not ("cutlass" in text and "jit" in text):
        return None
    tree = files.parse(text, candidate.file)
    _refuse_deep_nesting(tree, candidate.file)
    try:
        with warnings.catch_warnings():
            # libcst evaluates docstrings, and Python warns about their escape sequences.
            warnings.simplefilter("ignore")
            return _scan_module(candidate, cst.parse_module(text), _function_lines(tree))
    except cst.ParserSyntaxError as error:
        files.refuse(candidate.file, error.raw_line, error.message)
    except RecursionError:
        files.refuse(candidate.file, 1, "it nests too deeply")


def _refuse_deep_nesting(tree: ast.Module, file: str) -> None:
    line = 1
    level: list[ast.AST] = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        line = next((node.lineno for node in level if isinstance(node, ast.stmt | ast.expr)), line)
    if level:
        files.refuse(file, line, f"it nests more than {MAX_NESTING} levels deep")


def _function_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the line of each ``def``, in the order of the text; no two can stand on one line.

    libcst would have to print the whole file to say the same.
    """
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    yield from sorted(function.lineno for function in functions)


def _scan_module(candidate: SourceFile, module: cst.Module, lines: Iterator[int]) -> Scan:
    # A tree that was just parsed has no node twice, which is all that the copy is for.
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    collector = _Collector(module, wrapper.resolve(_Scopes), lines)
    module.visit(collector)
    return Scan(
        candidate=candidate,
        doc=storable(module.get_docstring() or ""),
        functions=tuple(collector.functions),
        calls=tuple(collector.calls),
        bindings={name: frozenset(found) for name, found in collector.bindings.items()},
        declares=collector.imports_stubgen and collector.speaks_of_declaring,
    )


class _Contexts(BaseMetadataProvider[ExpressionContext | None]):
    """libcst's ``ExpressionContextProvider`` in one pass over the tree, not two."""

    def _gen_impl(self, module: cst.Module) -> None:
        module.visit(ExpressionContextVisitor(cast("Any", self), ExpressionContext.LOAD))


class _Scopes(BaseMetadataProvider[Scope | None]):
    """libcst's ``ScopeProvider``."""

    METADATA_DEPENDENCIES = (_Contexts,)

    def _gen_impl(self, module: cst.Module) -> None:
        visitor = _ScopeVisitor(cast("Any", self))
        module.visit(visitor)
        visitor.infer_accesses()

    def get_metadata(self, key: Any, node: cst.CSTNode, default: Any = None) -> Any:
        """Answer for libcst's own provider."""
        provider: Any = super()
        return provider.get_metadata(_Contexts, node, default)


class _ScopeVisitor(ScopeVisitor):
    def on_visit(self, node: cst.CSTNode) -> bool:
        """Leave out what lies between the words, which is most nodes of a tree."""
        return type(node) not in _BETWEEN_WORDS and super().on_visit(node)


_BETWEEN_WORDS = frozenset(
    {
        cst.AssignEqual,
        cst.Comma,
        cst.Dot,
        cst.EmptyLine,
        cst.ParenthesizedWhitespace,
        cst.SimpleWhitespace,
        cst.TrailingWhitespace,
    }
)


class _Collector(cst.CSTVisitor):
    """Takes down functions, calls and bindings, in the order of the text.

    It asks the scopes for qualified names itself, because ``QualifiedNameProvider`` works them out for every
    node of the file, which takes about as long again.
    """

    def __init__(
        self,
        module: cst.Module,
        scopes: Mapping[cst.CSTNode, Scope | None],
        lines: Iterator[int],
    ) -> None:
        super().__init__()
        self.functions: list[ScannedFunction] = []
        self.calls: list[ScannedCall] = []
        self.bindings: defaultdict[str, set[Reference]] = defaultdict(set)
        self.imports_stubgen = False
        self.speaks_of_declaring = False
        self._module = module
        self._scopes = scopes
        self._lines = lines
        self._around: list[ScannedFunction] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Leave out what lies between the words, which is most nodes of a tree."""
        return type(node) not in _BETWEEN_WORDS and super().on_visit(node)

    def on_visit_attribute(self, node: cst.CSTNode, attribute: str) -> None:
        """Do nothing: nothing here asks for attributes, and looking for who would takes long."""

    def on_leave_attribute(self, original_node: cst.CSTNode, attribute: str) -> None:
        """Do nothing, as before."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # noqa: N802
        function = ScannedFunction(
            qualname=self._own_name(node, node.name.value),
            line=next(self._lines),
            doc=storable(node.get_docstring() or ""),
            decorators=tuple(self._decorator(decorator.decorator) for decorator in node.decorators),
        )
        self.functions.append(function)
        self._around.append(function)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:  # noqa: N802
        self._around.pop()

    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        call = self._call(node)
        if call.callee:
            self.calls.append(call)

    def visit_Assign(self, node: cst.Assign) -> None:  # noqa: N802
        for target in node.targets:
            self._bind(target.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:  # noqa: N802
        if node.value:
            self._bind(node.target, node.value)

    def visit_Import(self, node: cst.Import) -> None:  # noqa: N802
        for alias in node.names:
            self._import(alias.evaluated_name)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:  # noqa: N802
        if node.module and not node.relative:
            self._import(get_full_name_for_node_or_raise(node.module))
        if isinstance(self._scopes.get(node), GlobalScope) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                # Other files may import the name from this one in their turn.
                name = alias.evaluated_alias or alias.evaluated_name
                self.bindings[name] |= self._named(node, name)

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802
        self.speaks_of_declaring |= node.value in _DECLARING

    def _import(self, module: str) -> None:
        self.imports_stubgen |= module.partition(".")[0] == "stubgen"

    def _bind(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        references = self._references(value)
        if isinstance(target, cst.Name) and references:
            self.bindings[self._own_name(target, target.value)] |= references

    def _decorator(self, node: cst.BaseExpression) -> ScannedCall:
        return self._call(node) if isinstance(node, cst.Call) else ScannedCall(self._references(node))

    def _call(self, node: cst.Call) -> ScannedCall:
        first = next((arg.value for arg in node.args if not arg.keyword and not arg.star), None)
        options = node.func.args if isinstance(node.func, cst.Call) else ()
        name = next((arg.value for arg in options if arg.keyword and arg.keyword.value == "name"), None)
        return ScannedCall(
            callee=self._references(node.func),
            first=self._references(first) if first else frozenset(),
            first_text=_string(first),
            name=(_string(name) or self._module.code_for_node(name)) if name else None,
            within=tuple(self._around),
        )

    def _references(self, node: cst.BaseExpression) -> References:
        """Return what an expression may name: a name, an attribute of one, what a call of one returns."""
        if isinstance(node, cst.Name):
            return self._named(node, node.value)
        if isinstance(node, cst.Attribute):
            return _extended(self._references(node.value), f".{node.attr.value}")
        if isinstance(node, cst.Call):
            return _extended(self._references(node.func), "()")
        return frozenset()

    def _named(self, node: cst.CSTNode, name: str) -> References:
        return frozenset(
            Reference(qualified.name, qualified.source is QualifiedNameSource.IMPORT)
            for qualified in self._qualified(node, name)
            if qualified.source is not QualifiedNameSource.BUILTIN
        )

    def _own_name(self, node: cst.CSTNode, name: str) -> str:
        """Return the qualified name of what a node defines under a name."""
        qualified = self._qualified(node, name)
        return next((q.name for q in qualified if q.source is QualifiedNameSource.LOCAL), name)

    def _qualified(self, node: cst.CSTNode, name: str) -> Collection[QualifiedName]:
        scope = self._scopes.get(node)
        return scope.get_qualified_names_for(name) if scope else ()


def _extended(references: References, suffix: str) -> References:
    return frozenset(Reference(name + suffix, imported) for name, imported in references)


def _string(node: cst.BaseExpression | None) -> str | None:
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None

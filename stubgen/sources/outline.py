"""What the statements of a module bind, use and do, as far as its text is certain about it.

:mod:`stubgen.sources.reach` follows this from a declaration to all that its kernel is made of. Whatever is
not certain counts as more than it is: a statement that may do something beside binding its names shapes every
kernel of the module, and names that may be looked up in ways that no text shows make the whole module count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from stubgen.sources import declared_effects, files, scopes
from stubgen.sources.quiet import HELPERS, Names, is_quiet_class, is_quiet_value

_DYNAMIC_NAMES = frozenset(
    {
        "globals",
        "locals",
        "vars",
        "eval",
        "exec",
        "compile",
        "setattr",
        "delattr",
        "__import__",
        "__builtins__",
    }
)
_DYNAMIC_ATTRIBUTES = frozenset(
    {
        *("__builtins__", "__class__", "__closure__", "__code__", "__dict__", "__getattr__", "__globals__"),
        *("__setattr__", "__subclasses__", "_getframe", "currentframe", "f_back", "f_globals", "f_locals"),
        *("getmodule", "get_objects", "get_referrers", "import_module", "modules", "reload", "stack"),
    }
)
"""What reaches names without writing them down."""
_KNOWN = frozenset({"cutlass", "stubgen", "typing"})
"""Packages all of whose names may be imported at once: none of these is a module of the project."""


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """A statement at the top level of a module."""

    first: int
    """Its lines, decorators included."""
    last: int
    binds: tuple[str, ...]
    uses: tuple[str, ...]
    """All names in it with their attributes, such as ``near.OFFSET``."""
    meaning: str
    """A hash of its syntax tree."""
    is_quiet: bool
    """Running it binds its names, or declares a kernel, and does nothing else."""


class Outline(msgspec.Struct, frozen=True, array_like=True):
    """A module."""

    statements: tuple[Statement, ...]
    imports: tuple[tuple[str, str], ...]
    """Names that imports bind, wherever they stand, and what they stand for: dotted, relative with dots."""
    changeable: tuple[str, ...]
    """Names whose values may change after they were bound."""
    is_opaque: bool
    """It may use names that its text does not show."""

    @property
    def meaning(self) -> str:
        """A hash of all of it."""
        return joined(statement.meaning for statement in self.statements)


def outline(text: str, shown: str) -> Outline:
    """Return what the statements of a module are.

    Parameters
    ----------
    text
        Its source.
    shown
        How messages call the file.

    Raises
    ------
    StubgenError
        It cannot be parsed (CS203).
    """
    tree = files.parse(text, shown)
    try:
        return _outline(tree)
    except RecursionError:  # nested too deeply to look into
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        lines = text.count("\n") + 1
        return Outline((Statement(1, lines, (), (), digest, is_quiet=False),), (), (), is_opaque=True)


def _outline(tree: ast.Module) -> Outline:
    """Return what a module's statements are; the tree is changed.

    Docstrings, declared effects and what only runs in a script are left out: no compiled code depends on
    them.
    """
    _drop_docstrings(tree)
    declared_effects.drop(tree)
    body = [node for node in tree.body if not _is_for_scripts(node)]
    names = Names.of(tree)
    statements: list[Statement] = []
    fixed: set[str] = set()
    for node in body:
        quiet = _is_quiet(node, names)
        statements.append(
            Statement(
                min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]),
                node.end_lineno or node.lineno,
                tuple(dict.fromkeys(_bound(node))),
                tuple(sorted(_uses(node))),
                hashlib.sha256(ast.dump(node).encode()).hexdigest()[:32],
                quiet,
            )
        )
        if quiet and isinstance(node, ast.ClassDef):
            names.quiet_classes.add(node.name)
        fixed |= {name for name in _bound(node) if _is_fixed(node, fixed, names)}
    bound = [name for statement in statements for name in statement.binds]
    stored = set(scopes.stored_into(tree))
    changeable = {name for name in bound if name not in fixed or bound.count(name) > 1 or name in stored}
    return Outline(
        tuple(statements), tuple(sorted(names.imported)), tuple(sorted(changeable)), _is_opaque(tree, names)
    )


def joined(hashes: Iterable[str]) -> str:
    """Return a hash of hashes."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *_]:
                    del node.body[0]
                case _:
                    pass


def _is_for_scripts(node: ast.stmt) -> bool:
    """Return whether a statement is ``if __name__ == "__main__":``, which no import runs."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]
            ),
            orelse=[],
        ):
            return True
        case _:
            return False


def _is_quiet(node: ast.stmt, names: Names) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return names.is_quiet_function(node)
        case ast.ClassDef():
            return is_quiet_class(node, names)
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(target, ast.Name) for target in targets) and is_quiet_value(value, names)
        case ast.AnnAssign(target=ast.Name(), annotation=annotation, value=value):
            return is_quiet_value(annotation, names) and (value is None or is_quiet_value(value, names))
        case ast.Expr(value=ast.Call(func=function, args=arguments, keywords=keywords)):
            return _declares(function, names) and all(
                is_quiet_value(value, names) for value in (*arguments, *(k.value for k in keywords))
            )
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False


def _declares(function: ast.expr, names: Names) -> bool:
    """Return whether this is ``stubgen.export``, or options given to it."""
    match function:
        case ast.Call(func=inner, args=[], keywords=options):
            return _declares(inner, names) and all(is_quiet_value(option.value, names) for option in options)
        case _:
            return names.full_name(function) in {"stubgen.export", "stubgen.declare.declarations.export"}


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a statement binds, at any depth of ``if`` and the like."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
            return
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
            return
        case _:
            pass
    for child in ast.walk(node):
        match child:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name
            case _:
                pass


def _uses(node: ast.stmt) -> set[str]:
    return set() if isinstance(node, ast.Import | ast.ImportFrom) else set(scopes.used(node))


def _is_fixed(node: ast.stmt, fixed: set[str], names: Names) -> bool:
    """Return whether what a statement binds stays as it is."""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _is_fixed_value(value, fixed, names)
        case ast.ClassDef(body=body):
            attributes = [item.value for item in body if isinstance(item, ast.Assign | ast.AnnAssign)]
            return all(value is None or _is_fixed_value(value, fixed, names) for value in attributes)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Import() | ast.ImportFrom():
            return True
        case _:
            return False


def _is_fixed_value(value: ast.expr, fixed: set[str], names: Names) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name in fixed
        case ast.Attribute():
            return names.full_name(value) is not None
        case ast.Tuple(elts=items):
            return all(_is_fixed_value(item, fixed, names) for item in items)
        case ast.UnaryOp(operand=operand):
            return _is_fixed_value(operand, fixed, names)
        case ast.BinOp(left=left, right=right):
            return _is_fixed_value(left, fixed, names) and _is_fixed_value(right, fixed, names)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return names.full_name(function) in HELPERS and all(
                _is_fixed_value(item, fixed, names) for item in (*arguments, *(k.value for k in keywords))
            )
        case _:
            return False


def _is_opaque(tree: ast.Module, names: Names) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in _DYNAMIC_NAMES and names.full_name(node) is None:
                return True
            case ast.Attribute(attr=name) if name in _DYNAMIC_ATTRIBUTES:
                return True
            case ast.FunctionDef(name="__getattr__") if node in tree.body:
                return True
            case ast.ImportFrom(names=[ast.alias(name="*")], module=module, level=level):
                if level or module is None or module.partition(".")[0] not in _KNOWN:
                    return True
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if any(alias.name.rpartition(".")[2] in _DYNAMIC_ATTRIBUTES for alias in aliases):
                    return True
            case _:
                pass
    return False

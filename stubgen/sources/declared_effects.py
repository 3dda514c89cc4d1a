"""Finds in a module's syntax tree what its declarations say and no compiled code depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_EFFECTS = frozenset({"mutates", "returns", "backward"})
_DECLARING = frozenset({"export", "kernel"})
_BACKWARD = frozenset({"backward"})
_MODULES = frozenset({"stubgen", "stubgen.declare.declarations"})


def drop(tree: ast.Module) -> None:
    """Take ``mutates=``, ``returns=`` and ``backward=`` out of a module's declarations.

    Only where it is certain what they are: the function is called by a name that the module imports from
    stubgen and binds nowhere else, and the value is written out, so that nothing happens where it is made.
    """
    meanings = _meanings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _meaning(node.func, meanings) in _DECLARING:
            node.keywords = [
                keyword
                for keyword in node.keywords
                if keyword.arg not in _EFFECTS or not _is_plain(keyword.value, meanings)
            ]
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Call(func=inner, args=[], keywords=[])) if (
                _meaning(inner, meanings) in _DECLARING
            ):
                node.func = inner  # no options are left
            case _:
                pass


def _meanings(tree: ast.Module) -> dict[str, str]:
    """Return what each name that comes from stubgen stands for there; the package itself is ``""``."""
    bound: dict[str, list[str | None]] = {}
    for node in ast.walk(tree):
        for name, meaning in _bindings(node):
            bound.setdefault(name, []).append(meaning)
    return {
        name: meaning
        for name, (meaning, *others) in bound.items()
        if meaning is not None and all(other == meaning for other in others)
    }


def _bindings(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Yield the names that a node binds, with what they stand for in stubgen, or ``None``."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                if alias.asname or "." not in alias.name:
                    own = alias.name in _MODULES
                    yield alias.asname or alias.name, "" if own else None
                else:  # import a.b binds a, and is what import a binds too
                    root = alias.name.partition(".")[0]
                    yield root, "" if root in _MODULES else None
        case ast.ImportFrom(module=module, names=aliases, level=level):
            own = level == 0 and module in _MODULES
            for alias in aliases:
                yield alias.asname or alias.name, alias.name if own else None
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name, None
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, None
        case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
            yield name, None
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, None
        case ast.MatchMapping(rest=str(name)):
            yield name, None
        case _:
            return


def _meaning(function: ast.expr, meanings: dict[str, str]) -> str | None:
    """Return the function of stubgen that is called, such as ``export``."""
    match function:
        case ast.Name(id=name):
            return meanings.get(name) or None
        case ast.Attribute(value=ast.Name(id=module), attr=name) if meanings.get(module) == "":
            return name
        case _:
            return None


def _is_plain(value: ast.expr, meanings: dict[str, str]) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(_is_plain(item, meanings) for item in items)
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_plain(key, meanings) for key in keys) and all(
                _is_plain(item, meanings) for item in values
            )
        case ast.Call(func=function, args=arguments, keywords=keywords):
            return _meaning(function, meanings) in _BACKWARD and all(
                _is_plain(item, meanings) for item in (*arguments, *(k.value for k in keywords))
            )
        case _:
            return False

"""Which names in a piece of code are those of its module, and not a function's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MAX_TEXT = 1000
"""Longer strings are no annotations."""


def dotted(node: ast.expr) -> str | None:
    """Return a name with its attributes, or ``None`` for what begins with something else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            beginning = dotted(value)
            return beginning and f"{beginning}.{name}"
        case _:
            return None


def used(node: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of the module in some code, each with as many attributes as follow it.

    Names that strings may mean are among them: they may be annotations.

    Parameters
    ----------
    node
        The code.
    own
        Names of the functions around it.
    """
    match node:
        case ast.Attribute() | ast.Name():
            name = dotted(node)
            if name is not None:
                if name.partition(".")[0] not in own:
                    yield name
                return
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Constant(value=str(text)) if len(text) < _MAX_TEXT:
            yield from re.findall(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", text)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            yield from _in_function(node, own)
            return
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from used(child, own)


def stored_into(node: ast.AST, own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of the module whose attributes or items some code sets, and those that it rebinds."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id not in own)
        case ast.Global(names=names):
            yield from names
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            inner = own | _locals(node)
            for child in ast.iter_child_nodes(node):
                yield from stored_into(child, inner)
            return
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from stored_into(child, own)


def _in_function(node: _Function, own: frozenset[str]) -> Iterator[str]:
    """Yield those in a function, whose decorators, defaults and annotations belong to the code around."""
    arguments = node.args
    for value in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
        yield from used(value, own)
    for parameter in _parameters(arguments):
        if parameter.annotation:
            yield from used(parameter.annotation, own)
    inner = own | _locals(node)
    if isinstance(node, ast.Lambda):
        yield from used(node.body, inner)
        return
    for value in (*node.decorator_list, *filter(None, [node.returns])):
        yield from used(value, own)
    for item in node.body:
        yield from used(item, inner)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    optional = [parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional]


def _locals(node: _Function) -> frozenset[str]:
    """Return the names that are certainly a function's own."""
    names = {parameter.arg for parameter in _parameters(node.args)}
    elsewhere: set[str] = set()
    todo: list[ast.AST] = [] if isinstance(node, ast.Lambda) else list(node.body)
    while todo:
        current = todo.pop()
        match current:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Global(names=others) | ast.Nonlocal(names=others):
                elsewhere.update(others)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.ClassDef():
                continue  # scopes of their own
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                continue
            case _:
                pass
        todo += ast.iter_child_nodes(current)
    return frozenset(names - elsewhere)

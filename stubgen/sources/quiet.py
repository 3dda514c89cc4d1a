"""Which expressions, functions and classes do nothing but make a value, whoever runs them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_JIT = ("cutlass.cute.jit", "cutlass.cute.kernel")
DECORATORS = frozenset(
    {
        *_JIT,
        *(
            "stubgen.family",
            "stubgen.declare.declarations.family",
            "dataclasses.dataclass",
            "functools.cache",
        ),
        *("functools.lru_cache", "functools.cached_property", "typing.final", "typing.overload"),
        *("staticmethod", "classmethod", "property"),
    }
)
"""Decorators that note down or wrap what they decorate, and do nothing else."""

HELPERS = frozenset(
    f"{module}.{name}"
    for module in ("stubgen", "stubgen.declare.arguments")
    for name in ("dim", "tensor", "strided", "pointer", "shape", "env_stream", "stream", "scalar")
)
"""Functions that only make a value which never changes."""

_BUILTINS = frozenset(
    {
        *(
            "abs",
            "bool",
            "dict",
            "divmod",
            "enumerate",
            "float",
            "frozenset",
            "int",
            "isinstance",
            "len",
            "list",
        ),
        *("max", "min", "range", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    }
)
_BASES = frozenset(
    {
        "object",
        "typing.NamedTuple",
        "typing.Protocol",
        "enum.Enum",
        "enum.IntEnum",
        "abc.ABC",
        "typing.TypedDict",
    }
)
_ORDINARY = frozenset({"__call__", "__repr__", "__str__", "__eq__", "__hash__"})
"""Methods that nothing calls while an object is made."""


@dataclass
class Names:
    """What the names of a module stand for, where that is certain."""

    imported: frozenset[tuple[str, str]]
    """All that imports bind, and to what."""
    meanings: dict[str, str]
    """Of those that only one import binds and nothing else: the full name; of builtins, their own."""
    quiet_classes: set[str] = field(default_factory=set[str])
    """Classes of the module that were found to be quiet, and have no subclass hook."""
    classes: dict[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])

    @classmethod
    def of(cls, tree: ast.Module) -> Names:
        """Look through a module."""
        imported: set[tuple[str, str]] = set()
        others: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=aliases):
                    for alias in aliases:
                        root = alias.name.partition(".")[0]
                        imported.add((alias.asname, alias.name) if alias.asname else (root, root))
                case ast.ImportFrom(module=module, names=aliases, level=level):
                    prefix = "." * level + (f"{module}." if module else "")
                    imported |= {(alias.asname or alias.name, prefix + alias.name) for alias in aliases}
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    others.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    others.add(name)
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                    others.add(name)
                case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                    others.add(name)
                case _:
                    pass
        targets: dict[str, set[str]] = {}
        for name, target in imported:
            targets.setdefault(name, set()).add(target)
        meanings = {name: name for name in (*DECORATORS, *_BUILTINS, *_BASES) if "." not in name}
        meanings |= {name: next(iter(found)) for name, found in targets.items() if len(found) == 1}
        for name in (*others, *(name for name, found in targets.items() if len(found) > 1)):
            meanings.pop(name, None)
        if any(target.endswith(".*") or target == "*" for _, target in imported):
            meanings.clear()
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        return cls(frozenset(imported), meanings, classes=classes)

    def full_name(self, node: ast.expr) -> str | None:
        """Return what an expression names outside of the module, such as ``cutlass.cute.jit``."""
        match node:
            case ast.Name(id=name):
                return self.meanings.get(name)
            case ast.Attribute(value=value, attr=name):
                beginning = self.full_name(value)
                return beginning and f"{beginning}.{name}"
            case _:
                return None

    def is_quiet_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Return whether defining a function does nothing else."""
        arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += filter(None, (arguments.vararg, arguments.kwarg))
        made = [
            *arguments.defaults,
            *arguments.kw_defaults,
            node.returns,
            *(p.annotation for p in parameters),
        ]
        return all(map(self.is_quiet_decorator, node.decorator_list)) and all(
            value is None or is_quiet_value(value, self) for value in made
        )

    def is_quiet_decorator(self, node: ast.expr) -> bool:
        """Return whether a decorator does nothing but wrap."""
        if isinstance(node, ast.Attribute) and node.attr in {"setter", "getter", "deleter"}:
            return isinstance(node.value, ast.Name)
        if isinstance(node, ast.Call):
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            return self.full_name(node.func) in DECORATORS and all(is_quiet_value(v, self) for v in values)
        return self.full_name(node) in DECORATORS


def is_quiet_class(node: ast.ClassDef, names: Names) -> bool:
    """Return whether defining a class does nothing else: no hook of a base or of a metaclass runs."""
    if node.keywords or not all(map(names.is_quiet_decorator, node.decorator_list)):
        return False
    for base in node.bases:
        own = isinstance(base, ast.Name) and base.id in names.quiet_classes
        if not own and names.full_name(base) not in _BASES:
            return False
    return all(_is_quiet_member(item, names) for item in node.body)


def _is_quiet_member(item: ast.stmt, names: Names) -> bool:
    match item:
        case ast.FunctionDef(name=name):
            return name != "__init_subclass__" and names.is_quiet_function(item)
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(target, ast.Name) for target in targets) and is_quiet_value(value, names)
        case ast.AnnAssign(target=ast.Name(), annotation=annotation, value=value):
            return is_quiet_value(annotation, names) and (value is None or is_quiet_value(value, names))
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False


def is_quiet_value(value: ast.expr, names: Names) -> bool:
    """Return whether an expression makes a value and does nothing else."""
    match value:
        case ast.Constant() | ast.Name() | ast.Lambda():
            return True
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner) | ast.Starred(value=inner):
            return is_quiet_value(inner, names)
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) | ast.BoolOp(values=items):
            return all(is_quiet_value(item, names) for item in items)
        case ast.Dict(keys=keys, values=values):
            return all(key is None or is_quiet_value(key, names) for key in keys) and all(
                is_quiet_value(item, names) for item in values
            )
        case ast.BinOp(left=left, right=right) | ast.Subscript(value=left, slice=right):
            return is_quiet_value(left, names) and is_quiet_value(right, names)
        case ast.Compare(left=left, comparators=others):
            return is_quiet_value(left, names) and all(is_quiet_value(other, names) for other in others)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            given = (*arguments, *(keyword.value for keyword in keywords))
            return _is_quiet_call(function, names) and all(is_quiet_value(item, names) for item in given)
        case _:
            return False


def _is_quiet_call(function: ast.expr, names: Names) -> bool:
    full = names.full_name(function)
    if full is not None:
        return full in HELPERS or full == "dataclasses.field"
    if not isinstance(function, ast.Name) or function.id not in names.quiet_classes:
        return False
    return _makes_quietly(names.classes[function.id], names)


def _makes_quietly(node: ast.ClassDef, names: Names) -> bool:
    """Return whether making an instance of a class sets attributes of it and does nothing else."""
    for base in node.bases:
        own = names.classes.get(base.id) if isinstance(base, ast.Name) else None
        if own is None or own is node or not _makes_quietly(own, names):
            return False
    for item in node.body:
        match item:
            case ast.FunctionDef(name="__init__" | "__post_init__"):
                quiet = _is_quiet_body(item, names)
            case ast.FunctionDef(name=name, decorator_list=decorators):
                hook = name.startswith("__") and name not in _ORDINARY
                quiet = not hook and all(names.full_name(decorator) in _JIT for decorator in decorators)
            case ast.AnnAssign(value=ast.Call()):  # it may have a factory
                quiet = False
            case _:
                quiet = True
        if not quiet:
            return False
    return all(names.full_name(d) == "dataclasses.dataclass" for d in node.decorator_list)


def _is_quiet_body(function: ast.FunctionDef, names: Names) -> bool:
    own = function.args.args[0].arg if function.args.args else ""
    return all(_is_quiet_node(node, own, names) for item in function.body for node in ast.walk(item))


def _is_quiet_node(node: ast.AST, own: str, names: Names) -> bool:
    match node:
        case ast.Call(func=function):
            return names.full_name(function) in _BUILTINS
        case ast.Attribute(ctx=ast.Store(), value=ast.Name(id=name)):
            return name == own
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return False
        case ast.Global() | ast.Nonlocal() | ast.Import() | ast.ImportFrom() | ast.With() | ast.Delete():
            return False
        case ast.Await() | ast.Yield() | ast.YieldFrom():
            return False
        case _:
            return True

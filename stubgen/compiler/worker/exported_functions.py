"""What can be exported: which functions and objects the DSL compiles, as their author wrote them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.findings import Finding, finding
from stubgen.compiler.worker.wording import COMPILED_IN


def find(fn: Any) -> Finding | None:
    """Find out why the DSL does not compile a thing, and what to export instead."""
    name = getattr(fn, "__qualname__", None) or f"an object of {type(fn).__qualname__}"
    target = fn if inspect.isroutine(fn) else getattr(fn, "__call__", None)  # noqa: B004
    match fn:
        case None:
            refused = (
                "the function is None",
                "give the function itself, not a call of it: sg.export(add, a, b)",
            )
        case str():
            refused = f"{fn!r} is a string", "give the function itself, without quotes: sg.export(add, a, b)"
        case type():
            refused = f"{name} is a class", f"export an object of it: sg.export({name}(...), ...)"
        case functools.partial():
            refused = (
                "the function is a functools.partial",
                "export the function itself, and annotate what is to be fixed with cutlass.Constexpr",
            )
        case _ if dsl.is_compile(fn):
            refused = (
                "the function is cute.compile",
                'give the function itself, and options as text: sg.export(options="--opt-level 2")(add, a)',
            )
        case _ if dsl.is_kernel(fn):
            refused = f"{name} is a @cute.kernel", "export a @cute.jit function that launches it"
        case _ if isinstance(getattr(fn, "__self__", None), type):
            refused = f"{name} is a classmethod", "make it a staticmethod, or a function"
        case _ if target is None or not dsl.is_jit(target):
            called = "" if inspect.isroutine(fn) else ", and no object whose __call__ is one"
            refused = (
                f"{name} is no @cute.jit function{called}",
                "decorate what is to be compiled with @cute.jit",
            )
        case _:
            return _body(target, name) or _self(target)
    what, instead = refused
    return finding("CS233", what=what, instead=instead)


_CHANGES_THE_FUNCTION = frozenset({"CS222", "CS228", "CS233", "CS234", "CS235", "CS236", "CS247"})
"""Problems whose remedy is to write the function otherwise."""


def said_of_library(fn: Any, found: Finding) -> Finding:
    """Add to a remedy how it can be followed where the function is an installed library's."""
    target = inspect.unwrap(fn if inspect.isroutine(fn) else type(fn).__call__)
    file = PurePath(getattr(getattr(target, "__code__", None), "co_filename", ""))
    changes_it = found.code in _CHANGES_THE_FUNCTION or found.details.get("instead") == COMPILED_IN
    if not changes_it or "site-packages" not in file.parts:
        return found
    whose = f"{target.__qualname__} is a library's"
    return found._replace(remark=f"; {whose}, so do that in a @cute.jit function of your own that calls it")


def _body(target: Any, name: str) -> Finding | None:
    """Find functions of which the DSL would compile something else than what a call runs."""
    function = getattr(target, "__func__", target)
    if any(not dsl.is_own_wrapper(outer) for outer in _wrappers(function)):
        what = f"{name} is wrapped by another decorator, which the DSL would leave out"
        return finding(
            "CS233", what=what, instead="export the function without it, decorated with @cute.jit alone"
        )
    innermost = inspect.unwrap(function)
    kind = next((text for tells, text in _KINDS.items() if tells(innermost)), None)
    if kind is None:
        return None
    return finding(
        "CS233", what=f"{name} is {kind}", instead="write it as a function that does all when called"
    )


def _wrappers(function: Any) -> Iterator[Any]:
    while hasattr(function, "__wrapped__"):
        yield function
        function = function.__wrapped__


_KINDS: dict[Callable[[Any], bool], str] = {
    inspect.isasyncgenfunction: "an asynchronous generator",
    inspect.iscoroutinefunction: "an async function",
    inspect.isgeneratorfunction: "a generator",
}


def _self(target: Any) -> Finding | None:
    """Find a ``self`` that the DSL would mistake: it tells methods by the name of the first parameter."""
    first = _first_parameter(target)
    if inspect.ismethod(target):
        return None if first == "self" else finding("CS234", first, what="a method", instead="self")
    if first != "self" or owner_of(target):
        return None
    return finding("CS234", first, what="a function", instead="another name")


def is_unbound_method(fn: Any) -> bool:
    """Return whether this is a method that was taken from its class, and so has no object yet."""
    return inspect.isfunction(fn) and _first_parameter(fn) == "self" and owner_of(fn) is not None


def owner_of(fn: Any) -> str | None:
    """Return the name of the class that a function is written in, if it is in one."""
    scope = str(inspect.unwrap(getattr(fn, "__func__", fn)).__qualname__).rpartition(".")[0]
    return scope.rpartition(".")[2] if scope and not scope.endswith("<locals>") else None


def _first_parameter(target: Any) -> str | None:
    function = inspect.unwrap(getattr(target, "__func__", target))
    return next(iter(inspect.signature(function).parameters), None)

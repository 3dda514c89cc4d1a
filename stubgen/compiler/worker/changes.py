"""Notices what kernel modules change in what they share with others: modules, classes, the process itself.

Everything that was imported is looked at before and after: some 200,000 names, which takes 4 ms. What is
replaced or added by code from elsewhere counts; what a package does to itself does not, as it fills its own
caches. So does what is replaced in the DSL's own dicts and lists.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import types
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from typing import Any

from stubgen.compiler.worker.errors import relative_to_project

_DSL = "cutlass"
_TOOL = "stubgen"
_MISSING: Any = object()


class _Names:
    """The names of a module or class, and what they stood for."""

    def __init__(self, unit: str, names: Mapping[str, Any], *, may_grow: bool) -> None:
        self.unit = unit
        """Whose own code may change it: a package, or a single module of the project."""
        self.may_grow = may_grow
        """Whether more names mean nothing: functions import, and the DSL puts names where it compiles."""
        self._names = names
        self.accept()

    def accept(self) -> None:
        """Take what is there now for what should be."""
        self._keys, self._values = [*self._names], [*self._names.values()]

    def differences(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield names with what they stood for and what they stand for now."""
        if _is_same([*self._names.values()], self._values):
            return
        before, after = dict(zip(self._keys, self._values, strict=True)), dict(self._names)
        for key in before | after:
            old, new = before.get(key, _MISSING), after.get(key, _MISSING)
            if old is not new and not _is_same(old, new):
                yield str(key), old, new


def _is_same(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except Exception:  # values compare themselves as they please
        return False


@dataclass(frozen=True)
class _Items:
    """A dict, list or set of the DSL's, and what was in it."""

    container: Any
    items: Any

    def has_changed(self) -> bool:
        """Return whether something was replaced, taken away, or added that is about the DSL's own things."""
        now = self.container
        if isinstance(now, dict):
            replaced = any(key not in now or not _is_same(now[key], old) for key, old in self.items.items())
            added = [(key, value) for key, value in now.items() if key not in self.items]
            return replaced or any(_is_about_dsl(key) and not _is_about_dsl(value) for key, value in added)
        if isinstance(now, list):
            return not _is_same(now[: len(self.items)], self.items)
        return not self.items <= now


def _is_about_dsl(value: Any) -> bool:
    return (_definer(value) or _DSL).partition(".")[0] == _DSL


class Baseline:
    """Everything that is imported, as it was when it was first seen."""

    def __init__(self) -> None:
        self.names: dict[str, _Names] = {}
        self.items: dict[str, _Items] = {}
        self._seen: set[int] = set()
        self.add_new()

    def add_new(self, unit_of: Callable[[types.ModuleType], str] | None = None) -> None:
        """Add what was imported since."""
        modules: list[tuple[str, object]] = list(sys.modules.items())  # anything may be put there
        for name, module in modules:
            if not isinstance(module, types.ModuleType) or id(module) in self._seen or _is_running(module):
                continue
            self._seen.add(id(module))
            unit = unit_of(module) if unit_of else _package(name)
            self._add(name, unit, vars(module), may_grow=unit_of is not None)
            for key, value in list(vars(module).items()):
                if issubclass(type(value), type) and _own(value, name):
                    self._add(f"{name}.{key}", unit, vars(value), may_grow=False)

    def _add(self, name: str, unit: str, names: Mapping[str, Any], *, may_grow: bool) -> None:
        self.names[name] = _Names(unit, names, may_grow=may_grow)
        if unit == _DSL:
            for key, value in names.items():
                if type(value) in (dict, list, set) and not key.startswith("__"):
                    self.items[f"{name}.{key}"] = _Items(value, value.copy())


def _is_running(module: types.ModuleType) -> bool:
    """Return whether a module is being imported, and still making its names."""
    return bool(getattr(module.__spec__, "_initializing", False)) or module.__name__ == "__main__"


def _own(cls: type, module: str) -> bool:
    return cls.__dict__.get("__module__") == module


def _package(name: str) -> str:
    return name.partition(".")[0]


class ProcessChanges:
    """What was changed in this process, and by whom, since it was set up for kernel modules.

    Parameters
    ----------
    baseline
        What there is before.
    project
        The project's folder; its modules count each for itself, installed packages each as a whole.
    """

    def __init__(self, baseline: Baseline, project: str) -> None:
        self._baseline = baseline
        self._project = project
        self._running: list[tuple[str, bool]] = []
        self._noted: dict[str, str] = {}
        self._is_by_packages = True
        _tell_of_imports(self)
        for names in baseline.names.values():
            if any(names.differences()):
                names.accept()
        self._process = _process_state()

    @property
    def mark(self) -> str:
        """All changes, in words; empty if there are none."""
        return "\n".join(f"{what} (by {who})" for what, who in sorted(self._noted.items()))

    @property
    def is_by_packages(self) -> bool:
        """Whether all was changed by installed packages while they were imported."""
        return self._is_by_packages

    def of_dsl(self) -> dict[str, list[str]]:
        """Return what was changed in the DSL, by who did it."""
        found: dict[str, list[str]] = {}
        for what, who in sorted(self._noted.items()):
            if _package(what) == _DSL:
                for each in who.split(", then "):
                    found.setdefault(each, []).append(what)
        return found

    @contextlib.contextmanager
    def by(self, who: str, *, is_package: bool = False) -> Generator[None, None, None]:
        """Hold a module responsible for what is changed meanwhile, unless another runs inside of it."""
        if self._running:
            self._note()
        self._running.append((who, is_package))
        try:
            yield
        finally:
            self._note()
            self._running.pop()

    def has_for(self, name: str) -> bool:
        """Return whether who is held responsible now stays so while a module runs: a package, or itself."""
        return bool(self._running) and (self._running[-1][1] or self._running[-1][0] == name)

    def is_of_project(self, module: types.ModuleType) -> bool:
        """Return whether a module's file lies in the project, and not among what is installed there."""
        return relative_to_project(getattr(module, "__file__", None) or "", self._project) is not None

    def _unit(self, module: types.ModuleType) -> str:
        return module.__name__ if self.is_of_project(module) else _package(module.__name__)

    def _note(self) -> None:
        """Note what has changed since the last time, and take it for granted from now on."""
        trigger, is_package = self._running[-1]
        for owner, names in self._baseline.names.items():
            for key, old, new in [*names.differences()]:
                who = _responsible(names.unit, key, old, new, trigger)
                if who is not None and not (names.may_grow and old is _MISSING):
                    self._add(f"{owner}.{key}", who, trigger, is_package)
                names.accept()
        for what, items in [*self._baseline.items.items()]:
            if items.has_changed():
                self._add(what, trigger, trigger, is_package)
                self._baseline.items[what] = _Items(items.container, items.container.copy())
        state = _process_state()
        for what in self._process.keys() | state.keys():
            if self._process.get(what) != state.get(what):
                self._add(what, trigger, trigger, is_package)
        self._process = state
        self._baseline.add_new(self._unit)

    def _add(self, what: str, who: str, trigger: str, is_package: bool) -> None:
        who = who if is_package or _package(who) == _package(trigger) else f"{who} for {trigger}"
        self._is_by_packages &= is_package
        before = self._noted.get(what)
        self._noted[what] = f"{before}, then {who}" if before else who


def _responsible(unit: str, key: str, old: Any, new: Any, trigger: str) -> str | None:
    """Name who put a value there; ``None`` if its owner did, or if it only fills a cache."""
    if isinstance(new, types.ModuleType) and old in (None, _MISSING):
        return None  # imported late, and kept
    is_private = key.startswith("_")
    if new is _MISSING:
        return None if is_private else trigger
    definer = _definer(new)
    if definer is not None and (_package(definer) in (unit, _TOOL) or definer == unit):
        return None
    is_of_library = definer is not None and _package(definer) not in sys.stdlib_module_names
    if is_of_library and (callable(new) or isinstance(new, property)):
        return definer
    if old is _MISSING or old is None or (is_private and not is_of_library):
        return None
    return definer if is_of_library else trigger


def _definer(value: Any) -> str | None:
    """Name the module that a value's code is in; ``None`` for plain data."""
    while True:
        match value:
            case functools.partial():
                value = value.func
            case staticmethod() | classmethod() | types.MethodType():
                value = value.__func__
            case property():
                value = value.fget or value.fset or value.fdel
            case types.ModuleType():
                return value.__name__
            case _:
                break
    if not isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        value = type(value)
    module = getattr(value, "__module__", None)
    return module if isinstance(module, str) and module != "builtins" else None


def _process_state() -> dict[str, Any]:
    """Return what else a module may change for others."""
    state: dict[str, Any] = {f"the environment variable {key}": value for key, value in os.environ.items()}
    with contextlib.suppress(OSError):  # it was removed
        state["the working folder"] = os.getcwd()  # noqa: PTH109
    for number in signal.Signals:
        state[f"the handler of {number.name}"] = signal.getsignal(number)
    torch: Any = sys.modules.get("torch")
    for name in ("get_default_dtype", "is_grad_enabled"):
        if hasattr(torch, name):
            state[f"torch.{name}()"] = str(getattr(torch, name)())
    return state


# ---------------------------------------------------------------------------------------------------------
# Who runs

_run = SourceFileLoader.exec_module


def _tell_of_imports(changes: ProcessChanges) -> None:
    """Tell these changes of modules that are imported."""

    def exec_module(self: SourceFileLoader, module: types.ModuleType) -> None:
        name = module.__name__
        if changes.has_for(name) or _package(name) in sys.stdlib_module_names:
            _run(self, module)
            return
        with changes.by(name, is_package=not changes.is_of_project(module)):
            _run(self, module)

    SourceFileLoader.exec_module = exec_module  # type: ignore[assignment, method-assign]

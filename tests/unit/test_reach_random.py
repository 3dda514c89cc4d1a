"""That no edit is missed: random modules, each edited in one place, and what their kernels then come to.

The kernels are plain functions, so that a project can be imported and its kernels called, which tells for
certain whether an edit matters to one. What is known by the same hash as before has to come to the same.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules

MODULES = ("reach_k", "reach_a", "reach_b", "reach_c")
"""Each may import those behind it; the first has the kernels."""
KERNELS = ("k0", "k1", "k2")

Files = dict[str, str]


class Writer:
    """Writes one module."""

    def __init__(self, random: Random, others: dict[str, list[str]]) -> None:
        self.random = random
        self.numbers, self.functions, self.tables, self.classes = [], [], [], []  # type: ignore[var-annotated]
        self.lines: list[str] = []
        self._count = 0
        self._others = others
        """The expressions that other modules offer, by module."""
        for module, offered in others.items():
            self._import(module, offered)

    def write(self) -> str:
        """Add some statements, and return the module's text."""
        kinds = [
            self.number, self.pair, self.function, self.branch, self.table, self.fills, self.grows, self.cls,
            self.decorated, self.sets_global, self.sets_attribute, self.loop, self.attempt,
            self.closure, self.elsewhere,
        ]  # fmt: skip
        for _ in range(self.random.randint(4, 9)):
            self.random.choice(kinds)()
        return "\n".join(self.lines) + "\n"

    def offered(self) -> list[str]:
        """Return the names that other modules may use."""
        names = [*self.numbers, *self.functions, *self.tables, *self.classes]
        return [name for name in names if "." not in name]

    def _import(self, module: str, offered: list[str]) -> None:
        style = self.random.choice(["module", "alias", "names", "renamed", "none"])
        if style == "module":
            self.lines.append(f"import {module}")
            self._take([(f"{module}.{name}", name) for name in offered])
        elif style == "alias":
            self.lines.append(f"import {module} as of_{module}")
            self._take([(f"of_{module}.{name}", name) for name in offered])
        elif style == "names" and offered:
            chosen = self.random.sample(offered, min(3, len(offered)))
            self.lines.append(f"from {module} import {', '.join(chosen)}")
            self._take([(name, name) for name in chosen])
        elif style == "renamed" and offered:
            name = self.random.choice(offered)
            self.lines.append(f"from {module} import {name} as {name}_there")
            self._take([(f"{name}_there", name)])

    def _take(self, names: list[tuple[str, str]]) -> None:
        kinds = {"n": self.numbers, "f": self.functions, "t": self.tables, "C": self.classes}
        for spelled, name in names:
            kinds[name[0]].append(spelled)

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}_{self.random.randrange(10**6)}"

    def _add(self, *lines: str) -> None:
        self.lines.append("\n".join(lines))

    def literal(self) -> str:
        return str(self.random.randrange(2, 10_000))

    def value(self) -> str:
        """Return an expression of what there is so far."""
        kinds = {
            "{}": self.numbers, "{}()": self.functions, "{}['a']": self.tables, "{}.v": self.classes,
            "{}().m()": self.classes, "(lambda: {})()": self.numbers,
            "sum([{} for _ in range(2)])": self.numbers,
        }  # fmt: skip
        parts = [self.literal()]
        for _ in range(self.random.randint(0, 2)):
            form, names = self.random.choice(list(kinds.items()))
            if names:
                parts.append(form.format(self.random.choice(names)))
        return f"({' + '.join(parts)}) % 9973"

    def number(self) -> None:
        name = self._new("n")
        self.lines.append(f"{name} = {self.value()}")
        self.numbers.append(name)

    def pair(self) -> None:
        one, two = self._new("n"), self._new("n")
        self.lines.append(f"{one}, {two} = {self.value()}, {self.value()}")
        self.numbers += [one, two]

    def function(self) -> None:
        name = self._new("f")
        self.lines.append(f"def {name}(by={self.value()}):\n    return {self.value()} + by")
        self.functions.append(name)

    def branch(self) -> None:
        name = self._new("n")
        self._add(
            f"if {self.value()} % 2:",
            f"    {name} = {self.value()}",
            "else:",
            f"    {name} = {self.value()}",
        )
        self.numbers.append(name)

    def table(self) -> None:
        name = self._new("t")
        self.lines.append(f"{name} = {{'a': {self.value()}}}")
        self.tables.append(name)

    def fills(self) -> None:
        """A function that changes a table when it is called, perhaps at once."""
        if self.tables:
            name, table = self._new("f"), self.random.choice(self.tables)
            self.lines.append(f"def {name}():\n    {table}['a'] = {self.value()}\n    return {table}['a']")
            self.functions.append(name)
            if self.random.random() < 0.5:
                self.lines.append(f"{name}()")

    def grows(self) -> None:
        own = [name for name in self.numbers if "." not in name]
        if own:
            self.lines.append(f"{self.random.choice(own)} += {self.value()}")

    def cls(self) -> None:
        name = self._new("C")
        inherits = bool(self.classes) and self.random.random() < 0.5
        base = f"({self.random.choice(self.classes)})" if inherits else ""
        if inherits and self.random.random() < 0.5:
            self._add(f"class {name}{base}:", "    def other(self):", f"        return {self.value()}")
        else:
            self._add(
                f"class {name}{base}:",
                f"    v = {self.value()}",
                f"    def m(self, by={self.value()}):",
                f"        return self.v + by + {self.value()}",
            )
        self.classes.append(name)

    def decorated(self) -> None:
        decorator, name = self._new("d"), self._new("f")
        self.lines.append(f"def {decorator}(f):\n    return lambda: f() + {self.value()}")
        self.lines.append(f"@{decorator}\ndef {name}():\n    return {self.value()}")
        self.functions.append(name)

    def sets_global(self) -> None:
        own = [name for name in self.numbers if "." not in name]
        if own:
            name, number = self._new("f"), self.random.choice(own)
            self._add(
                f"def {name}():",
                f"    global {number}",
                f"    {number} = {self.value()}",
                f"    return {number}",
            )
            self.functions.append(name)
            if self.random.random() < 0.5:
                self.lines.append(f"{name}()")

    def sets_attribute(self) -> None:
        if self.classes:
            self.lines.append(f"{self.random.choice(self.classes)}.v = {self.value()}")

    def loop(self) -> None:
        name = self._new("n")
        self.lines.append(f"for {name} in range({self.value()} % 3 + 1):\n    {name} += {self.value()}")
        self.numbers.append(name)

    def attempt(self) -> None:
        name = self._new("n")
        self._add(
            "try:",
            f"    {name} = {self.value()}",
            "except ValueError:",
            f"    {name} = {self.value()}",
        )
        self.numbers.append(name)

    def closure(self) -> None:
        name = self._new("f")
        self._add(
            f"def {name}():",
            f"    kept = {self.value()}",
            "    def inner():",
            f"        return kept + {self.value()}",
            "    return inner()",
        )
        self.functions.append(name)

    def elsewhere(self) -> None:
        """Changes a name of another module."""
        dotted = [name for name in self.numbers if "." in name]
        if dotted:
            self.lines.append(f"{self.random.choice(dotted)} = {self.value()}")


def project(random: Random) -> Files:
    """Return the modules of a random project."""
    files: Files = {}
    offered: dict[str, list[str]] = {}
    for module in reversed(MODULES):
        writer = Writer(random, dict(offered))
        text = writer.write()
        offered[module] = writer.offered()
        if module == MODULES[0]:
            kernels = "".join(f"def {name}():\n    return {writer.value()}\n" for name in KERNELS)
            exports = "".join(f"sg.export({name})\n" for name in KERNELS)
            text = f"import stubgen as sg\n{text}{kernels}def lonely():\n    return 17\n{exports}"
        files[module] = text
    return files


def edited(files: Files, random: Random) -> Files:
    """Return the modules with another number in one place."""
    places = [
        (name, match) for name, text in files.items() for match in re.finditer(r"(?<![\w.])\d{1,4}\b", text)
    ]
    name, match = random.choice([place for place in places if place[1][0] not in {"9973"}])
    text = files[name]
    return {**files, name: f"{text[: match.start()]}{int(match[0]) + 1}{text[match.end() :]}"}


def known_by(folder: Path, files: Files) -> dict[str, str]:
    """Write a project, and return what each of its kernels is known by."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    modules = kernel_modules([folder / f"{MODULES[0]}.py"], folder)
    module = BuildInputs(folder, modules).by_module[folder / f"{MODULES[0]}.py"]
    lines = files[MODULES[0]].splitlines()
    return {name: module.reach.meaning_from(lines.index(f"sg.export({name})") + 1) for name in KERNELS}


def results(folder: Path) -> Iterator[object]:
    """Import the project anew for each kernel, and yield what it comes to."""
    sys.path.insert(0, str(folder))
    try:
        for name in KERNELS:
            for module in MODULES:
                sys.modules.pop(module, None)
            importlib.invalidate_caches()
            yield getattr(importlib.import_module(MODULES[0]), name)()
    finally:
        sys.path.remove(str(folder))


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_an_edit_that_matters_to_a_kernel_is_never_missed(tmp_path_factory: object, seed: int) -> None:
    folder: Path = tmp_path_factory.mktemp("reach")  # type: ignore[attr-defined]
    random = Random(seed)
    before = project(random)
    after = edited(before, random)
    sys.dont_write_bytecode, compiled = True, sys.dont_write_bytecode
    try:
        known, came_to = known_by(folder, before), list(results(folder))
        known_now, come_to = known_by(folder, after), list(results(folder))
    finally:
        sys.dont_write_bytecode = compiled
    for name, old, new in zip(KERNELS, came_to, come_to, strict=True):
        assert old == new or known[name] != known_now[name], (name, before, after)


def test_most_edits_leave_some_kernel_as_it_was(tmp_path: Path) -> None:
    """Else a hash of everything would pass."""
    kept = 0
    for seed in range(60):
        random = Random(seed)
        before = project(random)
        known, now = known_by(tmp_path, before), known_by(tmp_path, edited(before, random))
        kept += any(known[name] == now[name] for name in KERNELS)
    assert kept > 10


def test_an_edit_of_a_function_that_nothing_uses_leaves_all_kernels(tmp_path: Path) -> None:
    files = project(Random(1))
    now = {**files, MODULES[0]: files[MODULES[0]].replace("return 17", "return 18")}
    assert known_by(tmp_path, files) == known_by(tmp_path, now)

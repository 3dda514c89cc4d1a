"""Which edits of a module reach which of its kernels; above all, that none that may is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules

KERNELS = '''
"""Two kernels."""

from dataclasses import dataclass

import near
from near import TABLE, helper, shared_by_all
from cutlass import cute
import cutlass

import stubgen as sg

WIDTH = 4
STATE = {"a": 1}
LIMIT: int = 7


@dataclass
class Config:
    """A record."""

    size: int = 3


class Base:
    scale = 2


class Scale(Base):
    def __init__(self, by=LIMIT):
        self.by = by

    @cute.jit
    def __call__(self, x: cute.Tensor):
        x[0] = x[0] * self.by * self.scale


def used_by_first(x):
    return x + WIDTH + helper(x)


def used_by_second(x):
    return x + near.OFFSET


@cute.jit
def first(x: cute.Tensor, config: "Config" = None):
    x[0] = used_by_first(x[0])


@cute.jit
def second(x: cute.Tensor):
    """Second."""
    x[0] = used_by_second(x[0]) + STATE["a"]


@cute.jit
def third(x: cute.Tensor, n=cutlass.Float32):
    x[0] = TABLE[0]


def fourth_sets_state():
    STATE["a"] = 2


n = sg.dim("n")
v = sg.tensor(cutlass.Float32, n, device="cpu")

sg.export(first, x=v)  # FIRST
sg.export(second, x=v)  # SECOND
sg.export(third, x=v)  # THIRD
sg.export(name="scale")(Scale(3), x=v)  # SCALE
'''
NEAR = """
from farther import DEEP

OFFSET = 1
TABLE = [1, 2]
UNUSED = 5


def helper(x):
    return x * DEEP


def shared_by_all():
    return 1


def fills():
    TABLE.append(3)
"""
FARTHER = "DEEP = 2\nSHALLOW = 3\n"
FILES = {"kernels/k.py": KERNELS, "kernels/near.py": NEAR, "kernels/farther.py": FARTHER}
ALL = {"FIRST", "SECOND", "THIRD", "SCALE"}


def meanings(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """Write a project, and give what each of its kernels is known by."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    modules = kernel_modules([folder / "kernels/k.py"], folder)
    (module,) = BuildInputs(folder, modules).by_module.values()
    lines = files["kernels/k.py"].splitlines()
    marked = {line.rpartition("# ")[2]: i for i, line in enumerate(lines, 1) if line.startswith("sg.export(")}
    assert marked.keys() == ALL
    return {mark: module.reach.meaning_from(line) for mark, line in marked.items()}


def changed(folder: Path, file: str, old: str, new: str) -> set[str]:
    """Tell which kernels an edit reaches."""
    text = FILES[file]
    assert text.count(old) == 1, old
    before = meanings(folder / "before", FILES)
    after = meanings(folder / "after", {**FILES, file: text.replace(old, new)})
    return {mark for mark in ALL if before[mark] != after[mark]}


K, N, F = "kernels/k.py", "kernels/near.py", "kernels/farther.py"

EDITS = {
    "body": (K, "x[0] = TABLE[0]", "x[0] = TABLE[1]", {"THIRD"}),
    "helper": (K, "return x + WIDTH", "return x - WIDTH", {"FIRST"}),
    "constant": (K, "WIDTH = 4", "WIDTH = 8", {"FIRST"}),
    "a constant that is annotated": (K, "LIMIT: int = 7", "LIMIT: int = 8", {"SCALE"}),
    "default": (K, "n=cutlass.Float32", "n=cutlass.Float64", {"THIRD"}),
    "class attribute of a base": (K, "    scale = 2", "    scale = 3", {"SCALE"}),
    "method": (K, "x[0] * self.by", "x[0] + self.by", {"SCALE"}),
    "constructor": (K, "self.by = by", "self.by = by + 1", {"SCALE"}),
    "field of a record in quotes": (K, "size: int = 3", "size: int = 4", {"FIRST"}),
    "what a declaration says": (K, "Scale(3)", "Scale(4)", {"SCALE"}),
    "what all declarations say": (K, 'sg.dim("n")', 'sg.dim("m")', ALL),
    "a value that may change": (K, 'STATE = {"a": 1}', 'STATE = {"a": 3}', {"SECOND"}),
    "what changes it": (K, 'STATE["a"] = 2', 'STATE["a"] = 3', {"SECOND"}),
    "decorator": (K, "@cute.jit\ndef third", "@cute.jit(preprocess=True)\ndef third", {"THIRD"}),
    "a decorator that may do anything": (K, "def fourth", "@print\ndef fourth", ALL),
    "a call at import": (K, "\nn = sg.dim", "\nfourth_sets_state()\nn = sg.dim", ALL),
    "an import": (K, "import near\n", "import near, farther\n", ALL),
    "an alias": (K, "helper, shared_by_all", "shared_by_all as helper, shared_by_all", ALL),
    "a definition in its way": (
        K,
        "def used_by_second",
        "def helper(x): ...\n\n\ndef used_by_second",
        ALL,
    ),
    "a builtin in its way": (K, "def used_by_second", "range = 3\n\n\ndef used_by_second", set[str]()),
    "a star": (K, "import near\n", "import near\nfrom near import *\n", ALL),
    "names that no text shows": (K, "return x + near", "return x + globals()['a'] + near", ALL),
    "a hook of a base class": (K, "    scale = 2", "    scale = 2\n    def __init_subclass__(cls): ...", ALL),
    "docstring": (K, '"""Second."""', '"""Second and last."""', set[str]()),
    "docstring of the module": (K, '"""Two kernels."""', '"""Kernels."""', set[str]()),
    "what scripts run": (
        K,
        "\nn = sg.dim",
        '\nif __name__ == "__main__":\n    print(3)\n\nn = sg.dim',
        set[str](),
    ),
    "attribute of another module": (N, "OFFSET = 1", "OFFSET = 2", {"SECOND"}),
    "helper of another module": (N, "return x * DEEP", "return x + DEEP", {"FIRST"}),
    "what that imports": (F, "DEEP = 2", "DEEP = 3", {"FIRST"}),
    "nothing of interest": (F, "SHALLOW = 3", "SHALLOW = 4", set[str]()),
    "an unused constant": (N, "UNUSED = 5", "UNUSED = 6", set[str]()),
    "a list of another module": (N, "TABLE = [1, 2]", "TABLE = [3, 2]", {"THIRD"}),
    "what changes that list": (N, "TABLE.append(3)", "TABLE.append(4)", {"THIRD"}),
    "a module that sets another's attribute": (N, "UNUSED = 5", "import farther\nfarther.DEEP = 5", ALL),
}


@pytest.mark.parametrize(("file", "old", "new", "reached"), EDITS.values(), ids=EDITS.keys())
def test_what_an_edit_reaches(tmp_path: Path, file: str, old: str, new: str, reached: set[str]) -> None:
    assert changed(tmp_path, file, old, new) == reached

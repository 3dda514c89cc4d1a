"""What declarations say of effects shapes no compiled code, so it is no part of what kernels are found by."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.sources.parsed import ParsedFiles

HEAD = "import stubgen as sg\nfrom stubgen import backward, export as declare\n"
PLAIN = HEAD + "sg.export(f, x)\n"


def meaning(folder: Path, text: str) -> str:
    file = folder / f"k{len(list(folder.iterdir()))}.py"
    file.write_text(text)
    return ParsedFiles().outline(file).meaning


@pytest.mark.parametrize(
    "call",
    [
        'sg.export(mutates=("x",))(f, x)',
        'sg.export(mutates=["x"], returns="x")(f, x)',
        'sg.export(backward=sg.backward("g", grads={"x": "d"}, gives={}))(f, x)',
        'sg.export(backward=backward("g", grads={}, gives={"y": "dy"}))(f, x)',
    ],
)
def test_effects_that_are_written_out_do_not_matter(tmp_path: Path, call: str) -> None:
    assert meaning(tmp_path, HEAD + call + "\n") == meaning(tmp_path, PLAIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Another argument, another function, a value that is computed, a name that means something else.
        ('sg.export(name="x")(f, x)', "sg.export(f, x)"),
        ('f.export(f, x, mutates=("x",))', "f.export(f, x)"),
        ('sg.dim(f, x, mutates=("x",))', "sg.dim(f, x)"),
        ("sg.export(mutates=effect())(f, x)", "sg.export(f, x)"),
        ('sg.export(mutates=("x", g()))(f, x)', "sg.export(f, x)"),
        ('sg.export(backward=f.backward("g"))(f, x)', "sg.export(f, x)"),
        ('sg = g\nsg.export(mutates="x")(f, x)', "sg = g\nsg.export(f, x)"),
        ('def h(sg):\n  sg.export(mutates="x")(f, x)', "def h(sg):\n  sg.export(f, x)"),
        ('import other as sg\nsg.export(mutates="x")(f, x)', "import other as sg\nsg.export(f, x)"),
        ('def declare(): ...\ndeclare(f, x, mutates="x")', "def declare(): ...\ndeclare(f, x)"),
    ],
)
def test_all_else_matters(tmp_path: Path, one: str, other: str) -> None:
    assert meaning(tmp_path, f"{HEAD}{one}\n") != meaning(tmp_path, f"{HEAD}{other}\n")


def test_imported_names_are_followed(tmp_path: Path) -> None:
    with_effects = HEAD + 'declare(f, x, returns=("x",))\n'
    assert meaning(tmp_path, with_effects) == meaning(tmp_path, HEAD + "declare(f, x)\n")

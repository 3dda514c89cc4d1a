"""The folders of the tool are the rooms of the contract in ``pyproject.toml``, and docs/internals.md too.

``python -m tests.unit.test_rooms`` prints the table for docs/internals.md.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def rooms() -> list[str]:
    """Return the rooms of the contract, the lowest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    [contract] = [contract for contract in settings["contracts"] if contract["type"] == "layers"]
    return list(reversed(contract["layers"]))


def table() -> str:
    """Return the rooms, the highest first, with what each says of itself."""
    rows = (f"| `{room}/` | {_said(room)} |" for room in reversed(rooms()))
    return "\n".join(("| room | what is in it |", "|---|---|", *rows))


def _said(room: str) -> str:
    module = ast.parse((ROOT / "stubgen" / room / "__init__.py").read_text())
    [first, *_] = (ast.get_docstring(module) or "").splitlines() or [""]
    return first.removesuffix(".").replace("``", "`")


def test_every_folder_is_a_room_and_every_module_lies_in_one() -> None:
    top = [path for path in (ROOT / "stubgen").iterdir() if path.name not in ("__pycache__", "py.typed")]
    assert sorted(path.name for path in top if path.is_dir()) == sorted(rooms())
    assert sorted(path.name for path in top if not path.is_dir()) == ["__init__.py", "__main__.py"]


def test_the_wheel_of_the_tool_has_every_module_and_template(tmp_path: Path) -> None:
    """A pattern of ``.gitignore`` that fits a room's name leaves it out."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.iterdir()
    packed = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "stubgen").rglob("*.py")}
    assert modules - packed == set()
    templates = [path.name for path in (ROOT / "templates").rglob("*.j2")]
    assert {Path(name).name for name in packed} >= set(templates)


def test_a_reader_can_keep_the_rooms_in_mind() -> None:
    assert len(rooms()) <= 25


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_in_a_line_what_it_is_and_gives_no_names_on(room: str) -> None:
    module = ast.parse((ROOT / "stubgen" / room / "__init__.py").read_text())
    assert _said(room)
    assert len(module.body) == 1


def test_the_documentation_has_the_rooms_in_their_order() -> None:
    written = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8")
    assert table() in written, "python -m tests.unit.test_rooms"


if __name__ == "__main__":
    print(table())


def _modules() -> list[Path]:
    return sorted((ROOT / "stubgen").rglob("*.py"))


def test_no_class_has_the_name_of_another() -> None:
    names = Counter(
        node.name
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_docstrings_say_what_is_returned() -> None:
    beginnings = (
        (ast.get_docstring(node) or "").partition(" ")[0]
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
    )
    assert "Give" not in beginnings

"""What the tool touches of the DSL's private corners is looked for before anything is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from stubgen.compiler.worker.dsl import dsl

COMPILER = Path(dsl.__file__).parents[2]
REQUIRED = {name for _, name in dsl._REQUIRED}


def private_names(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the private attributes that a module has of what it imports from the DSL, with their lines."""
    tree = ast.parse(file.read_text())
    imports = [
        (node.module if isinstance(node, ast.ImportFrom) else alias.name, alias.asname or alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    ours = {name.partition(".")[0] for module, name in imports if f"{module}.".startswith("cutlass.")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Call):
                root = root.func if isinstance(root, ast.Call) else root.value
            if isinstance(root, ast.Name) and root.id in ours and ast.unparse(node.value) != "cutlass":
                yield node.attr, node.lineno


def test_every_private_name_is_looked_for_before_anything_is_compiled() -> None:
    used = {
        f"{file.relative_to(COMPILER)}:{line}: {name}"
        for file in COMPILER.rglob("*.py")
        for name, line in private_names(file)
        if name not in REQUIRED
    }
    assert used == set()
    names = {name for file in COMPILER.rglob("*.py") for name, _ in private_names(file)}
    assert {"_get_dsl", "_convert_single_arg", "_parse_compile_options_from_str"} <= names


@pytest.mark.parametrize(("owner", "name"), dsl._REQUIRED, ids=[name for _, name in dsl._REQUIRED])
def test_a_name_that_the_dsl_lacks_is_told(owner: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert dsl.check() is None
    for holder in owner.__mro__ if isinstance(owner, type) else [owner]:
        if name in vars(holder):
            monkeypatch.delattr(holder, name)
    assert dsl.check() == f"{getattr(owner, '__name__', owner)}.{name}"

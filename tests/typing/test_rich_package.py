"""mypy accepts the package of a library that has something of everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.model.library import Library
from stubgen.render.package_files import render
from tests import typecheckers
from tests.unit import rich


@pytest.mark.parametrize("library", [rich.RICH, rich.FRAMED], ids=lambda library: library.package)
def test_mypy_strict_accepts_it(library: Library, tmp_path: Path) -> None:
    for path, text in render(library).items():
        tmp_path.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(path).write_text(text)
    done = typecheckers.mypy(tmp_path, "-p", library.package)
    assert done.returncode == 0, done.stdout

"""What is printed for a library that has something of everything, as it was reviewed.

``python -m tests.unit.test_expected`` writes it anew; look at what git then shows. That it compiles, and
that type checkers accept it, is tested in ``cpp/`` and ``typing/``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stubgen.model.library import Library
from stubgen.render.native import dispatcher
from stubgen.render.package_files import render
from tests.conftest import ROOT
from tests.unit import rich

EXPECTED = Path(__file__).parent / "expected"
LIBRARIES = {library.package: library for library in (rich.RICH, rich.FRAMED)}
_SAME_FOR_ALL = (
    "_calls.py",
    "_direct.py",
    "_runtime.py",
    "_types.py",
    "config.py",
    "description.hpp",
    "runtime.h",
    "runtime.hpp",
    "py.typed",
)
"""What has no more of the library in it than its name."""


def rendered(library: Library) -> dict[str, str]:
    """Render what the library shapes, by path."""
    texts = {**render(library), f"{library.package}/dispatcher.c": dispatcher.dispatcher(library)}
    return {
        path: text
        for path, text in texts.items()
        if not path.endswith(_SAME_FOR_ALL) and f"{library.package}/lib/" not in path
    }


def _paths(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.txt"):
        yield path.relative_to(EXPECTED).as_posix().removesuffix(".txt")


@pytest.mark.parametrize("package", LIBRARIES)
def test_every_file_is_as_it_was_reviewed(package: str) -> None:
    texts = rendered(LIBRARIES[package])
    assert set(texts) == set(_paths(EXPECTED / package))
    for path, text in texts.items():
        assert text == (EXPECTED / f"{path}.txt").read_text(), path


PRINT = """
import hashlib, json
from tests.unit.test_expected import LIBRARIES, rendered
from stubgen.render.native.dispatcher import exports
texts = {p: t for library in LIBRARIES.values() for p, t in rendered(library).items()}
texts |= {package: repr(exports(library)) for package, library in LIBRARIES.items()}
print(json.dumps({p: hashlib.sha256(t.encode()).hexdigest() for p, t in texts.items()}))
"""


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_order_of_sets_does_not_matter(seed: str) -> None:
    """Texts are alike whatever strings hash to, which is another thing in each process."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = json.loads(done.stdout)
    assert len(found) > 40
    for library in LIBRARIES.values():
        for path, text in rendered(library).items():
            assert found[path] == hashlib.sha256(text.encode()).hexdigest(), path
        assert (
            found[library.package] == hashlib.sha256(repr(dispatcher.exports(library)).encode()).hexdigest()
        )


if __name__ == "__main__":
    for old in EXPECTED.rglob("*.txt"):
        old.unlink()
    for one in LIBRARIES.values():
        for name, content in rendered(one).items():
            target = EXPECTED / f"{name}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)

"""Files that somebody has forged or exchanged: nothing is written elsewhere, run, obeyed or believed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stubgen.model import jsontext
from stubgen.model.library import Library
from stubgen.output import manifest
from stubgen.store import cache
from tests.conftest import run_stubgen
from tests.fuzz.forger import library_file
from tests.tiny import Project
from tests.unit.test_consistency import changed, plain_library

ADD = "modules.0.kernels.0"


def _forge(folder: Path, library: dict[str, Any]) -> Path:
    file = folder / "libops.so"
    file.write_bytes(library_file(msgspec.msgpack.encode(library)))
    return file


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("modules.0.name", "{outside}"),
        ("package", "../outside"),
        (f"{ADD}.name", "../../outside"),
        (f"{ADD}.parameters.0.name", "x=open('{outside}', 'w'), #"),
        (f"{ADD}.frozen.0.name", "x\nopen('{outside}', 'w')"),
        ("modules.0.records.0.name", "Pair: open('{outside}', 'w')\nclass Other"),
    ],
)
def test_stubs_stay_in_their_folder_and_names_are_no_code(path: str, value: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    file = _forge(tmp_path, changed(path, value.format(outside=outside)))
    done = run_stubgen("stubs", file, "-o", tmp_path / "out" / "deep")
    assert done.returncode == 1
    assert "CS507" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["libops.so"]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_a_version_is_nothing_that_cmake_runs(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    version = f'1")\nexecute_process(COMMAND touch {outside})\nset(X "'
    done = run_stubgen(
        "stubs", _forge(tmp_path, {**plain_library(), "version": version}), "-o", tmp_path / "out"
    )
    assert "CS507" in done.stderr
    done = run_stubgen(
        "stubs", _forge(tmp_path, {**plain_library(), "version": "1.2.3"}), "-o", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(x NONE)\n"
        "include(${CMAKE_SOURCE_DIR}/out/ops/lib/cmake/ops/opsConfigVersion.cmake)\n"
        'message(STATUS "is ${PACKAGE_VERSION}")\n'
    )
    done = subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=tmp_path, capture_output=True, text=True)
    assert "is 1.2.3" in done.stdout, done.stderr
    assert not outside.exists()


def test_a_terminal_obeys_nothing_that_a_library_says(tmp_path: Path) -> None:
    doc = "One\x1b]0;title\x07 \x1b[2Jtwo \u202ethree\u2066 \x9b31m"
    file = _forge(tmp_path, changed(f"{ADD}.doc", doc))
    for arguments in (["describe", file], ["describe", file, "add"]):
        done = run_stubgen(*arguments, env={**os.environ, "COLUMNS": "300"})
        assert done.returncode == 0, done.stderr
        assert r"One\x1b]0;title\x07 \x1b[2Jtwo \u202ethree\u2066 \x9b31m" in done.stdout
        assert not set("\x1b\x07\u202e\u2066\x9b") & set(done.stdout)
    done = run_stubgen("describe", file, "--json")
    assert json.loads(done.stdout)["functions"][0]["summary"] == doc
    bad = tmp_path / "\x1b[31mred.so"
    bad.write_bytes(b"no library")
    assert "\x1b" not in run_stubgen("describe", bad).stderr


@pytest.mark.parametrize("command", ["describe", "verify", "diff"])
def test_a_manifest_that_contradicts_itself_is_refused(command: str, tmp_path: Path) -> None:
    forged = changed(f"{ADD}.parameters.0.slot.strides", [1])
    data = msgspec.json.encode({"library": forged, "files": {}})
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / manifest.NAME).write_bytes(data)
    arguments = [tmp_path, tmp_path] if command == "diff" else [tmp_path]
    done = run_stubgen(command, *arguments)
    assert done.returncode == (2 if command == "diff" else 1)
    assert "CS504" in done.stderr
    assert "damaged, or another version's" in done.stderr


def test_what_is_consistent_is_described_compared_and_made(tmp_path: Path) -> None:
    file = _forge(tmp_path, plain_library())
    made = run_stubgen("stubs", file, "-o", tmp_path / "out")
    assert made.returncode == 0, made.stderr
    assert run_stubgen("diff", file, tmp_path / "out").returncode == 0
    read = manifest.read(tmp_path / "out" / "ops" / manifest.NAME)
    assert read is not None
    assert read.library == jsontext.decode(msgspec.json.encode(plain_library()), Library)


Damage = Callable[[Path, bytes], object]


def write_empty(place: Path, size: int) -> None:
    """Write a file of nothing but zeros, which takes no room."""
    with place.open("wb") as file:
        file.truncate(size)


DAMAGES: dict[str, Damage] = {
    "another entry": lambda place, other: place.write_bytes(other),
    "empty": lambda place, _: place.touch(),
    "not compressed": lambda place, _: place.write_bytes(b"x" * 100),
    "endless": lambda place, _: place.symlink_to("/dev/zero"),
    "a pipe": lambda place, _: os.mkfifo(place),
    "a folder": lambda place, _: place.mkdir(),
    "a terabyte": lambda place, _: write_empty(place, 1 << 40),
}
"""What is put in the place of an entry."""


def test_a_cache_of_other_things_is_no_cache(tmp_path: Path) -> None:
    """Entries are replaced by each of these: what comes out is what would come out without a cache."""
    project = Project(tmp_path / "project")
    project.configure('cache = "kept"', 'kernels = ["kernels"]')
    project.generate()
    expected = project.output()
    entries = sorted((project.folder / "kept").glob("*/*.entry"))
    assert len(entries) > 5
    for number, (name, damage) in enumerate(DAMAGES.items()):
        entries = sorted((project.folder / "kept").glob("*/*.entry"))
        of_others = [file.read_bytes() for file in [*entries[1:], entries[0]]]
        for file, other in list(zip(entries, of_others, strict=True))[number % 2 :: 2]:
            file.unlink()
            damage(file, other)
        shutil.rmtree(project.folder / "generated")
        done = project.run("generate")
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert project.output() == expected, name
        for file in entries:  # what cannot be written over
            if file.is_symlink() or not file.is_file():
                file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink(missing_ok=True)


def test_an_entry_is_known_by_its_key(tmp_path: Path) -> None:
    store = cache.FolderCache(tmp_path)
    one, other = cache.key("one"), cache.key("other")
    store.put(one, b"of one")
    (tmp_path / cache.entry_name(other)).parent.mkdir(exist_ok=True)
    shutil.copy(tmp_path / cache.entry_name(one), tmp_path / cache.entry_name(other))
    assert store.get(one) == b"of one"
    assert store.get(other) is None

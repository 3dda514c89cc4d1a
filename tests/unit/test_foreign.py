"""Files out of other machines' wheels: kept, and what is said where they cannot be had."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from stubgen.native import foreign
from stubgen.problems.problem import StubgenError

SHARED = "thing/lib/libthing.so"


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip knows, and an empty cache."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def offer(index: Path, machine: str, files: dict[str, str]) -> Path:
    """Put a wheel there."""
    wheel = index / f"thing-1.0-py3-none-manylinux_2_28_{machine}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        archive.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
        archive.writestr("thing-1.0.dist-info/RECORD", "")
    return wheel


def refused(machine: str = "aarch64") -> str:
    with pytest.raises(StubgenError) as caught:
        foreign.fetch("thing", "1.0", "libthing.so", machine)
    (found,) = caught.value.problems
    assert found.code == "CS412"
    return str(found)


def test_a_file_is_taken_out_of_the_other_machines_wheel_and_kept(index: Path) -> None:
    stub = "thing/lib/stubs/qnx/libthing.so"
    wheel = offer(index, "aarch64", {stub: "for another one", SHARED: "right"})
    offer(index, "x86_64", {SHARED: "of this machine"})
    found = foreign.fetch("thing", "1.0", "libthing.so", "aarch64")
    assert (found.name, found.read_text()) == ("libthing.so", "right")
    wheel.unlink()
    assert foreign.fetch("thing", "1.0", "libthing.so", "aarch64") == found
    assert [path.name for path in found.parent.iterdir()] == ["libthing.so"]


def test_without_the_wheel_it_says_for_what_and_why(index: Path) -> None:
    offer(index, "x86_64", {SHARED: "of this machine"})
    said = refused()
    assert "the wheel of thing 1.0 for aarch64 cannot be had: No matching distribution found" in said


def test_a_wheel_without_the_file_is_named(index: Path) -> None:
    offer(index, "aarch64", {"thing/lib/libother.so": ""})
    assert "there is no libthing.so in thing-1.0-py3-none-manylinux_2_28_aarch64.whl" in refused()

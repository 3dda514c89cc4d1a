"""A run with nothing to do: what was remembered still holds, and whatever changes means a run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stubgen.config.config import Config
from stubgen.output import state
from stubgen.output.state import Summary
from stubgen.problems.problem import Problem
from stubgen.sources import installed
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules

SUMMARY = Summary("ops", 3, (Problem("CS602", "it returns", "do not", kernel="one"),))
OUTPUTS = {"ops/__init__.py": "", "ops/lib/libops.so": "ELF", "pyproject.toml": "[project]"}
SOURCES = {
    "kernels/one.py": "import shared\nimport stubgen as sg\n",
    "kernels/deep/two.py": "import stubgen as sg\n",
    "shared.py": "A = 3\n",
}
SETTINGS = Config(package="ops", archs=("sm_80",))


class Project:
    """A project whose last run is remembered."""

    def __init__(self, folder: Path, settings: Config = SETTINGS) -> None:
        self.folder = folder
        self.output = folder / "generated"
        for path, text in {
            **SOURCES,
            **{f"generated/{path}": text for path, text in OUTPUTS.items()},
        }.items():
            self.write(path, text)
        self.remember(settings)

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        # Older than the record: of what changed just before it nobody knows whether it changed again.
        os.utime(file, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
        return file

    def remember(self, settings: Config = SETTINGS) -> None:
        modules = kernel_modules([self.folder / "kernels"], self.folder)
        state.remember(self.folder, settings, BuildInputs(self.folder, modules), OUTPUTS, SUMMARY)

    def unchanged(self, settings: Config = SETTINGS) -> Summary | None:
        return state.unchanged(self.folder, settings)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def test_where_nothing_changed_the_run_is_known(project: Project) -> None:
    assert project.unchanged() == SUMMARY


def test_nothing_is_known_of_another_project(project: Project, tmp_path: Path) -> None:
    assert state.unchanged(tmp_path / "other", SETTINGS) is None
    assert project.unchanged(msgspec.structs.replace(SETTINGS, output="elsewhere")) is None


def _edited(project: Project) -> None:
    project.write("kernels/one.py", "import stubgen\n")


def _edited_alike(project: Project) -> None:
    """Change a source to one of the same size, a moment later."""
    os.utime(project.write("shared.py", "A = 4\n"), ns=(1, 1))


def _source_gone(project: Project) -> None:
    (project.folder / "shared.py").unlink()


def _kernel_added(project: Project) -> None:
    project.write("kernels/deep/new.py", "")


def _kernel_gone(project: Project) -> None:
    (project.folder / "kernels/deep/two.py").rename(project.folder / "kernels/two.py")


def _output_edited(project: Project) -> None:
    project.write("generated/ops/__init__.py", "edited")


def _output_touched(project: Project) -> None:
    os.utime(project.output / "pyproject.toml", ns=(1, 1))


def _output_gone(project: Project) -> None:
    (project.output / "ops/lib/libops.so").unlink()


def _output_beside_gone(project: Project) -> None:
    (project.output / "pyproject.toml").unlink()


def _output_added(project: Project) -> None:
    project.write("generated/ops/lib/mine.txt", "")


def _killed(project: Project) -> None:
    project.write("generated/.ops.new-x/half.py", "")


@pytest.mark.parametrize(
    "change",
    [
        *(_edited, _edited_alike, _source_gone, _kernel_added, _kernel_gone),
        *(_output_edited, _output_gone, _output_beside_gone, _output_added, _killed),
    ],
)
def test_whatever_changed_means_a_run(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    assert project.unchanged() is None


def _touched(project: Project) -> None:
    os.utime(project.folder / "shared.py", ns=(1, 1))


def _other_file(project: Project) -> None:
    project.write("kernels/deep/notes.txt", "")
    project.write("README.md", "")
    project.write("generated/README", "mine")


def _bytecode(project: Project) -> None:
    project.write("kernels/deep/__pycache__/two.py", "")
    project.write("generated/ops/__pycache__/x.pyc", "")


def _others_litter(project: Project) -> None:
    project.write("generated/.other.new-x/half.py", "")


@pytest.mark.parametrize("change", [_touched, _output_touched, _other_file, _bytecode, _others_litter])
def test_what_does_not_matter_does_not(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    assert project.unchanged() == SUMMARY


@pytest.mark.parametrize(
    "settings",
    [
        {"version": "2.0"},
        {"package": "other"},
        {"archs": ("sm_90a",)},
        {"archs": ()},
        {"cache": "off"},
        {"toolchain": "system"},
        {"kernels": ("kernels/one.py",)},
        {"frameworks": ("torch",)},
    ],
    ids=str,
)
def test_other_settings_mean_a_run(project: Project, settings: dict[str, Any]) -> None:
    assert project.unchanged(msgspec.structs.replace(SETTINGS, **settings)) is None


@pytest.mark.parametrize(
    "settings", [{"timeout": 5}, {"executor": "dask"}, {"scheduler": "tcp://x"}], ids=str
)
def test_how_it_is_compiled_is_no_matter(project: Project, settings: dict[str, Any]) -> None:
    assert project.unchanged(msgspec.structs.replace(SETTINGS, **settings)) == SUMMARY


@pytest.mark.parametrize(
    "name", ["nvidia-cutlass-dsl", "apache-tvm-ffi", "ziglang", "nvidia-cuda-runtime-cu12"]
)
def test_another_version_of_a_tool_means_a_run(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = installed.identity
    monkeypatch.setattr(installed, "identity", lambda n: "another" if n == name else identity(n))
    assert project.unchanged() is None


def test_another_python_means_a_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version", "4.0")
        assert project.unchanged() is None
    with monkeypatch.context() as patch:
        patch.setattr(sys, "prefix", "/elsewhere")
        assert project.unchanged() is None
    assert project.unchanged() == SUMMARY


def test_the_environment_counts_where_it_says_what_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = msgspec.structs.replace(SETTINGS, toolchain="system")
    zig, own = Project(tmp_path / "zig"), Project(tmp_path / "own", system)
    assert own.unchanged(system) == SUMMARY
    monkeypatch.setenv("CC", "/usr/bin/another-cc")
    assert zig.unchanged() == SUMMARY
    assert own.unchanged(system) is None
    own.remember(system)
    assert own.unchanged(system) == SUMMARY
    monkeypatch.setenv("PATH", "/nowhere")
    assert own.unchanged(system) is None


def test_gpus_count_where_they_choose_the_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = tmp_path / "gpus"
    for number, model in (("0001", "H100"), ("0002", "A100")):
        (gpus / number).mkdir(parents=True)
        (gpus / number / "information").write_text(f"Model: {model}")
    monkeypatch.setattr(state, "_GPUS", gpus)
    monkeypatch.setattr(state, "_SUBSYSTEM_GPU", tmp_path / "dxg")
    chosen = msgspec.structs.replace(SETTINGS, archs=())
    fixed, detected = Project(tmp_path / "fixed"), Project(tmp_path / "detected", chosen)
    assert detected.unchanged(chosen) == SUMMARY
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert (fixed.unchanged(), detected.unchanged(chosen)) == (SUMMARY, None)
    detected.remember(chosen)
    assert detected.unchanged(chosen) == SUMMARY
    (gpus / "0002" / "information").write_text("Model: B200")
    assert (fixed.unchanged(), detected.unchanged(chosen)) == (SUMMARY, None)
    detected.remember(chosen)
    (tmp_path / "dxg").touch()
    assert (fixed.unchanged(), detected.unchanged(chosen)) == (SUMMARY, None)


@pytest.mark.parametrize("data", [b"", b"damaged", msgspec.msgpack.encode({"surroundings": "x"})])
def test_a_record_that_cannot_be_read_means_a_run(project: Project, own_cache: Path, data: bytes) -> None:
    [record] = (path for path in own_cache.rglob("*") if path.is_file())
    record.write_bytes(data)
    assert project.unchanged() is None
    project.remember()
    assert project.unchanged() == SUMMARY
    assert [path for path in own_cache.rglob("*") if path.is_file()] == [record], "nothing is left beside it"


def test_each_output_folder_has_a_record_of_its_own(project: Project, own_cache: Path) -> None:
    other = msgspec.structs.replace(SETTINGS, output="other")
    for path, text in OUTPUTS.items():
        project.write(f"other/{path}", text)
    project.remember(other)
    assert project.unchanged() == project.unchanged(other) == SUMMARY
    assert len([path for path in own_cache.rglob("*") if path.is_file()]) == 2


def test_a_record_that_cannot_be_written_is_none(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project.folder / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file / "below"))
    project.remember()
    assert project.unchanged() is None


def test_an_output_that_is_not_there_any_more_means_a_run(project: Project) -> None:
    project.output.rename(project.folder / "moved")
    assert project.unchanged() is None


def test_python_files_are_those_of_a_folder_or_the_file_itself(project: Project) -> None:
    project.write("kernels/deep/notes.txt", "")
    project.write("kernels/__pycache__/x.py", "")
    folder = project.folder / "kernels"
    assert list(state.python_files(folder)) == [folder / "one.py", folder / "deep/two.py"]
    assert list(state.python_files(folder / "one.py")) == [folder / "one.py"]
    assert list(state.python_files(folder / "nothing")) == []


def test_a_source_that_is_read_while_it_changes_is_not_taken_for_known(project: Project) -> None:
    file = project.folder / "shared.py"
    file.write_text("A = 3\n")
    now = time.time_ns()
    os.utime(file, ns=(now, now))
    project.remember()
    file.write_text("A = 4\n")
    os.utime(file, ns=(now + 1, now + 1))
    assert project.unchanged() is None

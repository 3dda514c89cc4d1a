"""Paths that are not UTF-8, and links to nowhere or to themselves: a run works, or says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs
import pytest

from tests.faults.projects import errors

NO_TEXT = os.fsdecode(b"x\xff")
KERNEL = """
import cutlass
from cutlass import cute
import stubgen as sg


@cute.jit
def nothing(a: cutlass.Int32):
    pass


sg.export(nothing, cutlass.Int32)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return written(tmp_path / "project")


def written(folder: Path) -> Path:
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "k.py").write_text(KERNEL)
    (folder / "pyproject.toml").write_text("[tool.cute-stubgen]\n")
    return folder


def run(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stubgen", *arguments],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def the_error(project: Path, *arguments: str, **environment: str) -> str:
    """Run something that says one thing, and leaves nothing behind."""
    before = sorted(project.iterdir())
    done = run(project, *arguments, **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert sorted(project.iterdir()) == before
    (line,) = errors(done)
    return line


# ---------------------------------------------------------------------------------------------------------
# Names that are not UTF-8


@pytest.mark.parametrize("command", ["generate", "check", "list"])
def test_a_project_whose_path_is_not_utf8_is_refused(tmp_path: Path, command: str) -> None:
    project = written(tmp_path / NO_TEXT)
    assert f"CS256: the name of {tmp_path}/x\\udcff is not UTF-8; rename it" in the_error(project, command)


def test_an_output_whose_name_is_not_utf8_is_refused(project: Path) -> None:
    assert "/x\\udcff is not UTF-8" in the_error(project, "generate", "--output", NO_TEXT)


@pytest.mark.parametrize("command", ["generate", "check", "list"])
@pytest.mark.parametrize("name", [f"{NO_TEXT}.py", f"{NO_TEXT}/k.py"])
def test_a_kernel_file_whose_name_is_not_utf8_is_refused(project: Path, name: str, command: str) -> None:
    file = project / "kernels" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(KERNEL)
    shown = name.replace(NO_TEXT, "x\\udcff")
    assert f"CS256: the name of kernels/{shown} is not UTF-8" in the_error(project, command)


def test_a_data_file_whose_name_is_not_utf8_is_refused(project: Path) -> None:
    (project / f"{NO_TEXT}.json").write_text("{}")
    (project / "pyproject.toml").write_text('[tool.cute-stubgen]\ndata = ["*.json"]\n')
    assert "/x\\udcff.json is not UTF-8" in the_error(project, "generate")


def test_a_folder_for_temporary_files_whose_name_is_not_utf8_is_refused(project: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="t") as short:  # sockets lie there: 108 bytes are all
        folder = Path(short) / NO_TEXT
        folder.mkdir()
        assert f"CS256: the name of {short}/x\\udcff is not" in the_error(
            project, "generate", TMPDIR=str(folder)
        )


def test_the_path_of_the_folder_for_temporary_files_may_be_long(project: Path) -> None:
    """Longer than a socket's may be, which is 107 bytes; workers are reached through some."""
    folder = project / ("long" * 30)
    folder.mkdir()
    done = run(project, "generate", TMPDIR=str(folder))
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob("cute-stubgen-*"))


def test_folders_of_the_user_and_of_libraries_need_not_be_utf8(project: Path) -> None:
    library = project / NO_TEXT
    library.mkdir()
    (library / "beside.py").write_text("")
    kernels = project / "kernels" / "k.py"
    kernels.write_text(f"import beside\n{KERNEL}")
    paths = os.pathsep.join([str(library), str(Path(__file__).parents[2])])
    user = project.parent / NO_TEXT
    (user / "cute-stubgen").mkdir(parents=True)
    (user / "cute-stubgen" / "zig").symlink_to(Path(platformdirs.user_cache_dir("cute-stubgen")) / "zig")
    environment = {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(user), "XDG_STATE_HOME": str(user / "state")}
    for expected in ("files changed", "nothing changed"):
        done = run(project, "generate", **environment)
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
    depfile = project / f"{NO_TEXT}.d"
    assert run(project, "generate", "--depfile", str(depfile), **environment).returncode == 0
    assert os.fsencode(library / "beside.py") in depfile.read_bytes()


# ---------------------------------------------------------------------------------------------------------
# Links


@pytest.mark.parametrize("command", ["generate", "check"])
@pytest.mark.parametrize(
    ("link", "target", "output", "reason"),
    [
        ("generated", "generated", "generated", "generated cannot be written: it is a link to itself"),
        ("up", "up", "up/a/generated", "up cannot be written: it is a link to itself"),
        ("generated", "nowhere/a", "generated", "it is a link to nowhere/a, which is not there"),
        ("generated", "pyproject.toml", "generated", "generated cannot be written: Not a directory"),
    ],
    ids=["to itself", "in a loop further up", "dangling", "to a file"],
)
def test_an_output_that_is_a_link_to_no_folder_is_named(
    project: Path, command: str, link: str, target: str, output: str, reason: str
) -> None:
    (project / link).symlink_to(target)
    line = the_error(project, command, "--output", output)
    assert line.startswith("error: CS501:")
    assert reason in line


def test_two_links_to_each_other_are_named(project: Path) -> None:
    (project / "generated").symlink_to("other")
    (project / "other").symlink_to("generated")
    assert "CS501" in (line := the_error(project, "generate"))
    assert "generated cannot be written: it is a link to itself" in line


def test_kernels_that_are_links_to_themselves_are_named(project: Path) -> None:
    (project / "kernels" / "two.py").symlink_to("two.py")
    for command in ("generate", "list"):
        assert "CS205: kernels/two.py cannot be read: Too many levels" in the_error(project, command)
    (project / "more").symlink_to("more")
    assert "CS202: more does not exist" in the_error(project, "generate", "more")


def test_a_link_into_a_loop_of_folders_is_followed(project: Path) -> None:
    (project / "up").symlink_to("..")
    output = "up/project/up/project/generated"
    assert run(project, "generate", "--output", output).returncode == 0
    assert run(project, "check").returncode == 0


@pytest.mark.parametrize("name", ["cute_kernels", "cute_kernels/k.py", "pyproject.toml"])
def test_links_to_themselves_in_the_output_are_foreign(project: Path, name: str) -> None:
    link = project / "generated" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(link.name)
    line = the_error(project, "generate")
    assert f"CS502: {link} is in the way" in line
    done = run(project, "check")
    assert done.returncode == 1
    assert "CS" not in done.stderr

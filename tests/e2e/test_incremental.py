"""What is done again when something changes, and what is not; and that nobody can tell from the result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import EVERYTHING, SECOND, SECOND_ONLY, Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("incremental") / "project")
    assert made.generate() == EVERYTHING
    return made


def made_anew(project: Project, folder: Path) -> dict[str, bytes]:
    """Return what the project generates without anything to reuse."""
    fresh = Project(folder)
    for file in project.kernels.glob("*.py"):
        (fresh.kernels / file.name).write_text(file.read_text())
    (fresh.folder / "pyproject.toml").write_text((project.folder / "pyproject.toml").read_text())
    fresh.generate()
    return fresh.output()


def test_what_is_done_again(project: Project, tmp_path: Path) -> None:
    """One history, because each step needs a project that was generated before."""
    before = project.output()
    assert project.generate() == [], "nothing changed"

    for file in project.kernels.glob("*.py"):
        os.utime(file)
    assert project.generate() == [], "files were only touched"
    assert project.output() == before

    project.edit("second.py", lambda text: f"# More to say.\n{text}")
    assert project.generate() == ["imported second"], "a comment"

    project.edit("first.py", lambda text: text.replace("x = FACTOR * x.", "Scale it."))
    assert project.generate() == ["imported first"], "a docstring"
    assert "Scale it." in project.output()["cute_kernels/first.pyi"].decode()
    assert project.output() == made_anew(project, tmp_path / "comments")

    project.edit("second.py", lambda text: text.replace("x[i] + x", "x[i] - x"))
    assert project.generate() == SECOND_ONLY, "code of one module"

    project.edit("shared.py", lambda text: text.replace("2.0", "3.0"))
    assert project.generate() == ["imported first", "compiled scale"], "what one module imports"

    original = (project.kernels / "second.py").read_text()
    project.edit("second.py", lambda text: text.replace("Float64]", "Float64, cutlass.Int32]"))
    # What a family declares is code of its module, so all of the module is compiled again.
    more = "compiled moved__float32 moved__float64 moved__int32"
    assert project.generate() == ["imported second", more], "one more variant"
    (project.kernels / "second.py").write_text(original)
    assert project.generate() == [], "back to what it was"

    (project.kernels / "third.py").write_text(SECOND.replace("moved", "pushed"))
    added = ["imported third", "compiled pushed__float32 pushed__float64"]
    assert project.generate() == added, "another file in the folder"
    (project.kernels / "third.py").unlink()
    assert project.generate() == [], "which is gone again"
    assert "third" not in "".join(project.output())
    assert project.output() == made_anew(project, tmp_path / "code")


IMPORTED = """
import sys
from stubgen.cli.app import main
sys.argv = ["cute-stubgen", sys.argv[1]]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
print(*{name.partition(".")[0] for name in sys.modules})
"""


def imported_by(command: str, project: Project) -> set[str]:
    """Return the packages that a process has imported in the end."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, command],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"cutlass", "jinja2", "libcst", "torch", "tvm_ffi", "multiprocessing", "elftools"}


@pytest.mark.parametrize("command", ["generate", "check"])
def test_a_run_with_nothing_to_do_imports_next_to_nothing(project: Project, command: str) -> None:
    project.generate()
    assert HEAVY.isdisjoint(imported_by(command, project))


def test_so_it_does_without_architectures(tmp_path: Path) -> None:
    """Then the GPU in the machine decides, if there is one."""
    project = Project(tmp_path)
    (project.folder / "pyproject.toml").write_text("[tool.cute-stubgen]\n")
    project.generate()
    assert HEAVY.isdisjoint(imported_by("generate", project))
    project.environment["CUDA_VISIBLE_DEVICES"] = "7"
    assert "libcst" in imported_by("generate", project)


def test_an_output_that_was_edited_is_mended(project: Project) -> None:
    stub = project.folder / "generated" / "cute_kernels" / "first.pyi"
    text = stub.read_text()
    stub.write_text(text + "# mine\n")
    assert project.generate() == []
    assert stub.read_text() == text


def test_damaged_entries_are_replaced(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.generate()
    before = project.output()
    for entry in (tmp_path / "user" / "cute-stubgen" / "objects").glob("*/*.entry"):
        data = entry.read_bytes()
        entry.write_bytes(data[: len(data) // 2])
    (tmp_path / "generated" / "cute_kernels" / "first.pyi").unlink()
    assert project.generate() == EVERYTHING
    assert project.output() == before
    (tmp_path / "generated" / "cute_kernels" / "first.pyi").unlink()
    assert project.generate() == []


def test_a_shared_folder_serves_another_project(project: Project, tmp_path: Path) -> None:
    setting = f'cache = "{tmp_path / "shared"}"\n'
    settings = project.folder / "pyproject.toml"
    text = settings.read_text()
    settings.write_text(text + setting)
    assert project.generate() == EVERYTHING
    other = Project(tmp_path / "other")
    for file in project.kernels.glob("*.py"):
        (other.kernels / file.name).write_text(file.read_text())
    (other.folder / "pyproject.toml").write_text(text + setting)
    assert other.generate() == []
    assert other.output() == project.output()
    settings.write_text(text)


def test_some_modules_do_not_take_the_place_of_the_whole_package(project: Project, tmp_path: Path) -> None:
    project.generate()
    before = project.output()
    done = project.run("generate", "kernels/second.py")
    assert done.returncode == 1
    assert "CS110" in done.stderr
    assert "also holds kernels/first.py, and would lose that" in done.stderr
    assert done.stderr.endswith("choose another folder with --output\n"), "another --package would be CS503"
    assert "CS110" in project.run("check", "kernels/second.py").stderr
    assert "CS202: kernels/third.py does not exist" in project.run("generate", "kernels/third.py").stderr
    assert project.output() == before
    assert project.generate("kernels") == [], "all modules, by another name"
    assert project.generate("kernels/first.py", project.kernels / "second.py") == []
    assert project.output() == before
    assert project.generate("kernels/second.py", "-o", tmp_path / "apart") == []
    assert {path.name for path in (tmp_path / "apart" / "cute_kernels").glob("*.pyi")} >= {"second.pyi"}
    assert not (tmp_path / "apart" / "cute_kernels" / "first.pyi").exists()


def test_no_cache(project: Project) -> None:
    settings = project.folder / "pyproject.toml"
    text = settings.read_text()
    settings.write_text(f'{text}cache = "off"\n')
    assert project.generate() == EVERYTHING
    assert project.generate() == [], "the record of the last run is not the cache"
    project.edit("second.py", lambda text: f"{text}\n")
    assert project.generate() == EVERYTHING
    settings.write_text(text)

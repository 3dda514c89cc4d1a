"""What build systems are told of the files that a package is made from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import stubgen
from stubgen.build.depfile import dependencies, write_depfile
from stubgen.config.config import Config
from stubgen.problems.problem import StubgenError

KERNELS = "import stubgen as sg\nimport shared\n\nsg.export(shared.kernel)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    kernels = tmp_path / "kernels"
    (kernels / "inner").mkdir(parents=True)
    (kernels / "__pycache__").mkdir()
    (kernels / "norm.py").write_text(KERNELS)
    (kernels / "shared.py").write_text("import deeper\n")
    (kernels / "deeper.py").write_text("")
    (kernels / "unrelated.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_lists_modules_what_they_import_and_where_new_ones_may_appear(project: Path) -> None:
    tool = Path(stubgen.__file__)
    found = [path.relative_to(project).as_posix() for path in dependencies(project, Config()) if path != tool]
    assert found == [
        "kernels",
        "kernels/deeper.py",
        "kernels/inner",
        "kernels/norm.py",
        "kernels/shared.py",
        "pyproject.toml",
    ]
    assert tool in dependencies(project, Config())


def test_lists_only_the_modules_that_are_given(project: Path) -> None:
    found = dependencies(project, Config(kernels=("kernels/norm.py",)))
    assert project / "kernels" not in found
    assert project / "kernels" / "norm.py" in found


def test_make_reads_the_names_as_they_are(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("plain", "with space", "with#hash", "with$dollar")]
    for file in files:
        file.touch()
    depfile = tmp_path / "target.d"
    write_depfile(depfile, files)
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"{tmp_path}/target:\n\ttouch $@\ninclude {depfile}\n")

    def made() -> str:
        done = subprocess.run(
            ["make", "-C", tmp_path, tmp_path / "target"], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "touch" in made()
    assert "is up to date" in made()
    for file in files:
        (tmp_path / "target").touch()
        file.write_text("newer")
        subprocess.run(["touch", "-d", "+5 seconds", file], check=True)
        assert "touch" in made(), file
        subprocess.run(["touch", "-d", "-5 seconds", file], check=True)


@pytest.mark.skipif(shutil.which("ninja") is None, reason="needs ninja")
def test_ninja_reads_the_names_as_they_are(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("plain", "with space", "with#hash", "with$dollar")]
    write_depfile(tmp_path / "target.d", files)
    target = tmp_path / "target"
    rule = f"rule touch\n  command = touch $out\n  depfile = {target}.d\nbuild {target}: touch\n"
    (tmp_path / "build.ninja").write_text(rule)

    def made() -> str:
        command = ["ninja", "-C", tmp_path, "-d", "explain"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def touch(file: Path, seconds: int) -> None:
        subprocess.run(["touch", "-d", f"{seconds:+} seconds", file], check=True)

    for file in files:
        touch(file, -5)
    made()
    assert "no work to do" in made()
    for file in files:
        touch(file, 5)
        assert "touch " in made(), file
        touch(file, -5)
        touch(target, 0)
        assert "no work to do" in made(), file


def test_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(StubgenError, match="CS501"):
        write_depfile(tmp_path / "missing" / "target.d", [])

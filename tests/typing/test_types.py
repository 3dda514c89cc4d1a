"""The generated package under mypy, pyright and stubtest; the wrong calls that they must refuse."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests import typecheckers

HERE = Path(__file__).parent


def marked(file: Path) -> set[int]:
    """Lines that have to be refused."""
    return {n for n, line in enumerate(file.read_text().splitlines(), 1) if "  # wrong" in line}


def mypy_lines(generated: Path, file: Path) -> tuple[set[int], str]:
    done = typecheckers.mypy(generated, file)
    lines = re.findall(rf"{re.escape(file.name)}:(\d+): error", done.stdout)
    assert done.stderr == ""
    return set(map(int, lines)), done.stdout


def pyright_lines(
    generated: Path, folder: Path, *files: Path, package: str = "cute_kernels"
) -> tuple[set[tuple[str, int]], str]:
    """Check copies of files, or the package itself if there are none; pyright wants them in one folder."""
    copies = [Path(shutil.copy(file, folder)) for file in files]
    return typecheckers.pyright(generated, folder, *(copies or [generated / package]))


def test_mypy_strict_accepts_the_package(generated: Path) -> None:
    done = typecheckers.mypy(generated, "-p", "cute_kernels")
    assert done.returncode == 0, done.stdout


def test_stubtest_accepts_the_package_without_an_allowlist(generated: Path) -> None:
    done = typecheckers.stubtest(generated, "cute_kernels")
    assert done.returncode == 0, done.stdout
    assert "Success" in done.stdout


def test_mypy_refuses_exactly_the_wrong_calls(generated: Path) -> None:
    wrong = HERE / "wrong_calls.py"
    lines, output = mypy_lines(generated, wrong)
    assert lines == marked(wrong), output
    assert len(lines) > 40


def test_mypy_accepts_tensors_of_all_frameworks(generated: Path) -> None:
    lines, output = mypy_lines(generated, HERE / "right_calls.py")
    assert lines == set(), output


def test_pyright_strict_accepts_the_package(generated: Path, tmp_path: Path) -> None:
    lines, output = pyright_lines(generated, tmp_path)
    assert lines == set(), output


def test_pyright_refuses_exactly_the_wrong_calls(generated: Path, tmp_path: Path) -> None:
    wrong, right = HERE / "wrong_calls.py", HERE / "right_calls.py"
    lines, output = pyright_lines(generated, tmp_path, wrong, right)
    assert lines == {(wrong.name, line) for line in marked(wrong)}, output

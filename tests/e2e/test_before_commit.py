"""``cute-stubgen check`` before each commit: with pre-commit itself, and without a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tiny import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("commit") / "project")
    made.generate()
    return made


def test_nothing_is_compiled_or_rendered_when_nothing_changed(project: Project) -> None:
    """Where none of it can be imported."""
    broken = ("cutlass", "tvm_ffi", "libcst", "jinja2", "ziglang")
    program = project.folder / "without.py"
    program.write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({broken}))\nfrom stubgen.cli.app import main\nmain()\n"
    )

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, program, "check"],
            cwd=project.folder,
            env=project.environment,
            capture_output=True,
            text=True,
        )

    done = check()
    assert (done.returncode, done.stdout) == (0, "generated is up to date\n"), done.stderr
    stub = project.folder / "generated" / "cute_kernels" / "first.pyi"
    text = stub.read_text()
    stub.write_text(text + "# mine\n")
    assert "None in sys.modules" in check().stderr, "only then is there something to find out"
    stub.write_text(text)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_hook(project: Project, tmp_path: Path) -> None:
    """The definition of this repository, as pre-commit runs it in a project."""
    git = ["git", "-c", "user.name=Any", "-c", "user.email=any@example.org"]
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    (project.folder / ".gitignore").write_text("user/\n__pycache__/\n")
    for folder in (hooks, project.folder):
        subprocess.run([*git, "init", "-q"], cwd=folder, check=True)
        subprocess.run([*git, "add", "--", "."], cwd=folder, check=True)
    subprocess.run([*git, "commit", "-qm", "Hooks"], cwd=hooks, check=True)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "try-repo", hooks, "cute-stubgen-check", "--all-files"],
            cwd=project.folder,
            env={
                **project.environment,
                "PRE_COMMIT_HOME": str(tmp_path / "home"),
                "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            },
            capture_output=True,
            text=True,
        )

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cute-stubgen check" in done.stdout
    assert "Passed" in done.stdout
    project.edit("second.py", lambda text: text.replace("x = x + by.", "Move x."))
    done = run()
    assert done.returncode == 1
    assert "changed: generated/cute_kernels/second.pyi" in done.stdout

"""Users without a home, homes that nobody can write to, and folders that users share."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import Known
from tests.faults.projects import Project, contents, errors
from tests.faults.test_disks import NAMESPACE, READ_ONLY, has_namespaces

NO_ENTRY = ("unshare", "--user", "--map-user=12345")
"""A user that the system has no entry for, and so no home."""

namespaces = pytest.mark.skipif(not has_namespaces(), reason="users may not have namespaces here")


def run(project: Project, *before: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    known = {**project.environment, **environment}
    return subprocess.run(
        [*before, *project.command()],
        cwd=project.folder,
        env={name: value for name, value in known.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("warning: ")]


def nowhere(project: Project) -> dict[str, str | None]:
    """The environment of a user who has no home; the toolchain's own cache is left, for its size."""
    zig = project.folder / "user" / "cute-stubgen" / "zig"
    return {"XDG_CACHE_HOME": None, "XDG_STATE_HOME": None, "HOME": None, "ZIG_GLOBAL_CACHE_DIR": str(zig)}


@namespaces
def test_no_home_at_all(known: Known, project: Project) -> None:
    project.use("new")
    done = run(project, *NO_ENTRY, **nowhere(project))
    assert done.returncode == 0, done.stderr
    assert contents(project.output) == known.new
    (line,) = warnings(done)
    assert line.startswith(
        "warning: CS618: nothing is kept of this run in the user's cache folder: there is no"
    )
    assert sorted(path.name for path in project.folder.iterdir()) == [
        "generated",
        "kernels",
        "pyproject.toml",
        "user",
    ]


@pytest.mark.parametrize("home", ["/dev/null/home", "/proc/home"])
def test_homes_that_nobody_can_create(known: Known, project: Project, home: str) -> None:
    """The first one is what systems give to users that are not to have any."""
    project.use("new")
    done = run(project, **nowhere(project) | {"HOME": home})
    assert done.returncode == 0, done.stderr
    assert contents(project.output) == known.new
    (line,) = warnings(done)
    assert line.startswith(
        f"warning: CS618: nothing is kept of this run in {home}/.cache/cute-stubgen/objects: "
    )


@namespaces
def test_a_home_that_became_read_only(known: Known, project: Project) -> None:
    """What is there is used; what is new is not kept, and that is said once."""
    user = project.folder / "user"
    project.use("old")
    (project.output / "cute_kernels" / "k.pyi").unlink()
    zig = str((user / "cute-stubgen" / "zig").resolve())
    read_only = (*NAMESPACE, "sh", "-c", READ_ONLY, "sh", str(user))
    done = run(project, *read_only, ZIG_GLOBAL_CACHE_DIR=zig)
    assert done.returncode == 0, done.stderr
    assert "2 from the cache" in done.stderr
    assert warnings(done) == []
    assert contents(project.output) == known.old

    project.write("kernels/k.py", (project.folder / "kernels" / "k.py").read_text().replace("2.0", "7.0"))
    done = run(project, *read_only, ZIG_GLOBAL_CACHE_DIR=zig)
    assert done.returncode == 0, done.stderr
    (line,) = warnings(done)
    assert line.startswith(
        f"warning: CS618: nothing is kept of this run in {user}/cute-stubgen/objects: Read-only"
    )

    project.write("kernels/k.py", "import cutlass.cute as cute\nimport stubgen as sg\n1 / 0\nsg.export(1)\n")
    done = run(project, *read_only, ZIG_GLOBAL_CACHE_DIR=zig)
    (line,) = errors(done)
    assert "ZeroDivisionError" in line, "errors with logs are said as ever"


@namespaces
def test_locks_and_logs_that_are_another_users(known: Known, project: Project) -> None:
    """Files that cannot be opened lie where the tool's own would; root may open all, so they are folders."""
    for file in (project.folder / "user").rglob("*.lock"):
        file.unlink()
        file.mkdir()
    project.use("new")
    done = run(project)
    assert done.returncode == 0, done.stderr
    assert contents(project.output) == known.new


def modes(folder: Path) -> dict[str, int]:
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")
    }


@pytest.mark.parametrize(("mask", "files", "folders"), [(0o077, 0o600, 0o700), (0o027, 0o640, 0o750)])
def test_modes_follow_the_umask(project: Project, mask: int, files: int, folders: int) -> None:
    shutil.rmtree(project.output)
    done = run(project, "sh", "-c", f'umask {mask:o}; exec "$@"', "sh")
    assert done.returncode == 0, done.stderr
    shard = run(project, "sh", "-c", f'umask {mask:o}; exec "$@" --shard 1/1', "sh")
    assert shard.returncode == 0, shard.stderr
    assert (project.output / "cute_kernels-shard-1-of-1.zip").is_file()
    for path, mode in modes(project.output).items():
        assert mode == (folders if (project.output / path).is_dir() else files), path


def test_a_cache_that_users_share(known: Known, project: Project) -> None:
    """What a group may write to is for the group, whatever the umask of each member."""
    shared = project.folder / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    project.write("pyproject.toml", f'[tool.cute-stubgen]\narchs = ["sm_90a"]\ncache = "{shared}"\n')
    done = run(project, "sh", "-c", 'umask 077; exec "$@"', "sh")
    assert done.returncode == 0, done.stderr
    found = modes(shared)
    assert any(path.endswith(".entry") for path in found)
    for path, mode in found.items():
        expected = 0o2770 if (shared / path).is_dir() else 0o660
        assert mode == expected or path == "pruned", path
    assert shared.stat().st_mode & 0o7777 == 0o2770

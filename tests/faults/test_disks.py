"""Folders without room, and folders that nobody may write to.

The folders are file systems of the test's own, in a mount namespace of its own, which needs no root where
the system lets users have such namespaces.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.conftest import Known
from tests.faults.projects import Project, contents, errors, litter

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
SMALL = """
set -e
folder=$1 kept=$2 room=$3; shift 3
mount -t tmpfs -o size=64m small "$folder"
cp -a "$kept"/. "$folder"/
free=$(df --output=avail -k "$folder" | tail -1)
head -c $((free - room))k /dev/zero > "$kept.filler" && cp "$kept.filler" "$folder/filler"
status=0; "$@" || status=$?
rm "$folder/filler" "$kept.filler"
rm -rf "$kept"; cp -a "$folder" "$kept"
exit $status
"""
READ_ONLY = """
set -e
folder=$1; shift
mount --bind "$folder" "$folder"
mount -o remount,bind,ro "$folder"
exec "$@"
"""


def has_namespaces() -> bool:
    if shutil.which("unshare") is None:
        return False
    test = [*NAMESPACE, "sh", "-c", "mount -t tmpfs -o size=1m small /mnt"]
    return subprocess.run(test, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_namespaces(), reason="users may not have mount namespaces here")


def run_with(project: Project, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*NAMESPACE, "sh", "-c", script, "sh", *arguments, *project.command()],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_with_room(project: Project, folder: Path, kilobytes: int) -> subprocess.CompletedProcess[str]:
    """Run with a folder in which there is so much room; it holds afterwards what the run has left in it."""
    kept = project.folder.parent / "kept"
    shutil.copytree(folder, kept, symlinks=True)
    done = run_with(project, SMALL, str(folder), str(kept), str(kilobytes))
    shutil.rmtree(folder)
    kept.rename(folder)
    return done


@pytest.mark.parametrize("kilobytes", [0, 20])
def test_no_room_for_the_output(known: Known, project: Project, kilobytes: int) -> None:
    project.use("new")
    done = run_with_room(project, project.output, kilobytes)
    assert done.returncode == 1
    (line,) = errors(done)
    assert "CS501" in line
    assert "No space left on device" in line
    assert contents(project.output) == known.old
    assert litter(project.output) == []
    assert project.generate().returncode == 0
    assert contents(project.output) == known.new


def test_no_room_for_temporary_files(known: Known, project: Project) -> None:
    temporary = project.folder / "temporary"
    temporary.mkdir()
    project.environment["TMPDIR"] = str(temporary)
    project.use("new")
    done = run_with_room(project, temporary, 4)
    assert done.returncode == 1
    (line,) = errors(done)
    assert "No space left on device" in line
    assert "CS901" not in line
    assert contents(project.output) == known.old


def test_no_room_for_the_cache(known: Known, project: Project) -> None:
    """What cannot be kept is made again the next time."""
    cache = project.folder / "user" / "cute-stubgen" / "objects"
    shutil.rmtree(cache)
    cache.mkdir()
    project.use("new")
    done = run_with_room(project, cache, 4)
    assert done.returncode == 0, done.stderr
    assert contents(project.output) == known.new


@pytest.mark.parametrize("folder", ["generated", "."])
def test_a_read_only_folder(known: Known, project: Project, folder: str) -> None:
    project.use("new")
    done = run_with(project, READ_ONLY, str((project.folder / folder).resolve()))
    assert done.returncode == 1
    (line,) = errors(done)
    assert "CS501" in line
    assert "Read-only file system" in line
    assert contents(project.output) == known.old


def test_file_size_limit_of_the_process(known: Known, project: Project) -> None:
    """As full as a disk can be without a file system of one's own: no file may grow."""
    project.use("new")
    limited = ["prlimit", "--fsize=4096", *project.command()]
    done = subprocess.run(
        limited, cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(errors(done)) == 1, done.stderr
    assert os.strerror(errno.EFBIG) in done.stderr
    assert contents(project.output) == known.old

"""Parts of a run, done apart and put together: nobody can tell from the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny import Project, traced


class Runner(Project):
    """A machine of its own that does one shard."""

    def shard(self, given: str, *arguments: object) -> list[str]:
        return self.generate("--shard", given, *arguments)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[Runner]:
    """Three machines, each of which has done its part."""
    folder = tmp_path_factory.mktemp("shards")
    made = [Runner(folder / f"machine{number}") for number in (1, 2, 3)]
    compiled = [machine.shard(f"{number}/3") for number, machine in enumerate(made, 1)]
    assert compiled == [
        ["imported first second", f"compiled {name}"]
        for name in ("scale", "moved__float32", "moved__float64")
    ]
    return made


def outputs(machines: list[Runner]) -> list[Path]:
    return [machine.folder / "generated" for machine in machines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a single run makes."""
    project = Project(tmp_path_factory.mktemp("whole"))
    project.generate()
    return project.output()


def test_merged_shards_are_a_single_run(
    machines: list[Runner], whole: dict[str, bytes], tmp_path: Path
) -> None:
    last = Runner(tmp_path)
    done = last.run("merge", *outputs(machines))
    assert done.returncode == 0, done.stderr
    assert traced(done) == []
    assert last.output() == whole
    assert last.generate() == [], "the run is known as any other"


def test_a_missing_shard_is_named(machines: list[Runner], tmp_path: Path) -> None:
    done = machines[0].run("merge", *outputs([machines[0], machines[2]]), "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "error: CS132: the shards lack moved__float32; not given: shard 2/3; generate every shard"
    )
    assert not (tmp_path / "out").exists()


def test_shards_of_other_sources_are_refused(machines: list[Runner], tmp_path: Path) -> None:
    other = Runner(tmp_path)
    other.edit("shared.py", lambda text: text.replace("2.0", "3.0"))
    done = other.run("merge", *outputs(machines))
    assert done.returncode == 1
    assert "the shards lack what is declared in kernels/first.py; all shards are given, but" in done.stderr


def test_files_and_settings_travel_together(machines: list[Runner], tmp_path: Path) -> None:
    """What was given on the command line need not be given again."""
    folder = tmp_path / "shards"
    for number, machine in enumerate(machines, 1):
        machine.shard(f"{number}/3", "--package", "mine", "-o", folder)
    last = Runner(tmp_path / "last")
    done = last.run("merge", folder, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "mine" / "lib" / "libmine.so").is_file()

    both = last.run("merge", folder, outputs(machines)[0])
    assert both.returncode == 1
    assert "are not of the same run: package is 'cute_kernels' and 'mine'" in both.stderr


@pytest.mark.parametrize("given", ["0/3", "4/3", "1", "1/0", "a/b", "-1/2"])
def test_what_is_no_shard(given: str, machines: list[Runner]) -> None:
    done = machines[0].run("generate", f"--shard={given}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: CS130: {given!r} is no shard")


def test_more_machines_than_kernels(machines: list[Runner]) -> None:
    assert machines[0].shard("9/9") == []


def test_what_holds_no_shard(tmp_path: Path) -> None:
    project = Runner(tmp_path / "project")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.zip").write_bytes(b"not one")
    for path, reason in (
        ("empty", "there is none in this folder"),
        ("file.zip", "it is something else, or damaged"),
        ("nowhere.zip", "No such file or directory"),
    ):
        done = project.run("merge", tmp_path / path)
        assert done.returncode == 1
        assert f"{path} holds no shard: {reason}" in done.stderr

"""Parts of a run, done apart and put together: nobody can tell from the result."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import pytest

from stubgen.build.shards import Division, RecordingStore, Shard, ShardRecord, ShardStore
from stubgen.problems.problem import StubgenError
from stubgen.store.cache import NoCache
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


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--times", "times.json"], "Invalid value for --times: kernels are divided among shards"),
        (["--shard=1/2", "--depfile", "shard.d"], "Invalid value for --depfile: a shard is no file"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    given: list[str], reason: str, machines: list[Runner]
) -> None:
    done = machines[0].run("generate", *given)
    assert done.returncode == 2
    assert reason in " ".join(done.stderr.replace("│", " ").split())


def test_more_machines_than_kernels(machines: list[Runner], tmp_path: Path) -> None:
    assert machines[0].shard("9/9", "-o", tmp_path) == []


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


def test_a_function_without_device_code_is_compiled_once(tmp_path: Path) -> None:
    """Whichever shard has it: for all architectures, as in a single run."""
    folder = tmp_path / "shards"
    for number, name in enumerate(("scale", "moved__float32", "moved__float64"), 1):
        machine = Runner(tmp_path / f"machine{number}")
        machine.configure("frameworks = []")
        text = (machine.folder / "pyproject.toml").read_text().replace('["sm_90a"]', '["sm_90a", "sm_80"]')
        (machine.folder / "pyproject.toml").write_text(text)
        compiled = [line for line in machine.shard(f"{number}/3", "-o", folder) if "compiled" in line]
        assert compiled == [f"compiled {name}"]
    done = machine.run("merge", folder)
    assert done.returncode == 0, done.stderr

    # Now the project is for others.
    (machine.folder / "pyproject.toml").write_text(text.replace('"sm_90a", "sm_80"', '"sm_90a"'))
    done = machine.run("merge", folder)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "error: CS136: archs in pyproject.toml is ['sm_90a'], and was ['sm_90a', 'sm_80'] when the shards"
    )


def test_kernels_are_divided_by_what_they_took(machines: list[Runner], tmp_path: Path) -> None:
    times, folder = tmp_path / "times.json", tmp_path / "shards"
    last = Runner(tmp_path / "last")
    assert last.run("merge", *outputs(machines), "--times", times).returncode == 0
    taken = json.loads(times.read_text())
    assert list(taken) == ["moved__float32", "moved__float64", "scale"]
    assert all(seconds > 0 for seconds in taken.values())

    times.write_text(json.dumps({**taken, "moved__float64": 1000.0}))
    first = Runner(tmp_path / "first").shard("1/2", "--times", times, "-o", folder)
    assert first == ["imported first second", "compiled moved__float64"]
    second = Runner(tmp_path / "second").shard("2/2", "-o", folder)
    assert second == ["imported first second", "compiled moved__float32"], "without the file, by number"
    done = last.run("merge", folder)
    assert done.returncode == 1
    assert "CS133" in done.stderr
    assert "their kernels were divided by other times" in done.stderr

    times.write_text("[]")
    done = last.run("generate", "--shard", "1/2", "--times", times)
    assert done.stderr.startswith("error: CS137: ")


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_every_kernel_has_one_shard(count: int) -> None:
    """All machines divide alike, whichever architecture brings a kernel; no load is far from the others."""
    chance = random.Random(count)
    names = [f"k{number}" for number in range(200)]
    seconds = {name: chance.uniform(0, 9) for name in names if chance.random() < 0.8}
    divisions = [Division(Shard(number, count), seconds) for number in range(1, count + 1)]
    for division in divisions:
        division.add(names[:150])
        division.add(names)
    owned = [[name for name in names if division.has(name)] for division in divisions]
    assert sorted(name for part in owned for name in part) == sorted(names)
    known = [sum(seconds.get(name, 4.5) for name in part) for part in owned]
    assert max(known) - min(known) <= 20


def test_a_flipped_bit_is_seen_and_its_file_named(tmp_path: Path) -> None:
    store = RecordingStore(NoCache())
    for number in range(20):
        store.put(f"{number:064x}", random.Random(number).randbytes(100))
    store.write(tmp_path / "whole.zip", ShardRecord(1, 3, {"package": "k"}))
    whole = (tmp_path / "whole.zip").read_bytes()
    assert zipfile.is_zipfile(tmp_path / "whole.zip")
    damaged = tmp_path / "damaged.zip"
    chance = random.Random(1)
    places = [
        *range(60),
        *(len(whole) - 1 - n for n in range(60)),
        *(chance.randrange(len(whole)) for _ in range(300)),
    ]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        with pytest.raises(StubgenError, match=r"^CS131: .*damaged\.zip holds no shard: it is .*damaged"):
            ShardStore([damaged])
    for size in (0, 1, 31, 32, 33, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:size])
        with pytest.raises(StubgenError, match=r"^CS131: .*damaged\.zip holds no shard: it is .*damaged"):
            ShardStore([damaged])
    damaged.write_bytes(whole)
    assert ShardStore([damaged]).record.number == 1

"""The configuration: what is read, and what each mistake is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.config import config
from stubgen.config.config import Config
from stubgen.config.devices import builtin_profile
from stubgen.problems.problem import Problem, StubgenError


def load(folder: Path, text: str, **overrides: object) -> Config:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return config.load(folder, **overrides)


def refused(folder: Path, text: str, **overrides: object) -> Problem:
    with pytest.raises(StubgenError) as caught:
        load(folder, text, **overrides)
    (found,) = caught.value.problems
    return found


def test_without_a_file_or_a_table_everything_has_its_default(tmp_path: Path) -> None:
    assert config.load(tmp_path) == Config()
    assert load(tmp_path, "") == Config()
    assert load(tmp_path, "[tool.other]\nx = 1") == Config()


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    text = '[tool.cute-stubgen]\npackage = "mine"\narchs = ["sm_80"]\noutput = "out"'
    found = load(tmp_path, text, package=None, archs=("sm_90a",), output="elsewhere", kernels=())
    assert (found.package, found.archs, found.output) == ("mine", ("sm_90a",), "elsewhere")
    assert found.kernels == ("kernels",), "an empty list on the command line is none"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('tool = "x"', "tool is no table"),
        ("[tool]\ncute-stubgen = 3", "tool.cute-stubgen must be a table"),
        ('[tool.cute-stubgen]\nkernel = ["k"]', "unknown key 'kernel' (did you mean kernels?)"),
        (
            "[tool.cute-stubgen]\nzzz = 1",
            "unknown key 'zzz' in tool.cute-stubgen, whose keys are kernels, output",
        ),
        (
            '[tool.cute-stubgen]\nkernels = "k"',
            'tool.cute-stubgen.kernels is a string; it must be a list: kernels = ["k"]',
        ),
        (
            "[tool.cute-stubgen]\narchs = [3]",
            "tool.cute-stubgen.archs: Expected a string, got `int` - at `[0]`",
        ),
        ('[tool.cute-stubgen]\nversion = "one"', "tool.cute-stubgen.version is 'one'; it must be a version"),
        (
            '[tool.cute-stubgen]\nglibc = "new"',
            "tool.cute-stubgen.glibc is 'new'; it must be a version, such as",
        ),
        (
            '[tool.cute-stubgen]\ntoolchain = "gcc"',
            "tool.cute-stubgen.toolchain is 'gcc'; it must be one of zig, system",
        ),
        (
            '[tool.cute-stubgen]\nhost = "z80"',
            "host is 'z80'; it must be one of x86-64-v2, x86-64-v3, native",
        ),
        ('[tool.cute-stubgen.devices.sm_90a]\nsm-count = "x"', "Expected `int`, got a string"),
        ("[tool.cute-stubgen.devices.sm_90a]\nsm-count = 0", "Expected `int` >= 1"),
        (
            "[tool.cute-stubgen.devices.sm_90a]\nsm_count = 1",
            "unknown key 'sm_count' (did you mean sm-count?)",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_said_in_its_own_words(tmp_path: Path, text: str, reason: str) -> None:
    found = refused(tmp_path, text)
    assert found.code == "CS101"
    assert reason in found.message
    assert "$" not in found.message


def test_a_malformed_file_is_reported_at_its_line(tmp_path: Path) -> None:
    found = refused(tmp_path, "[tool.cute-stubgen]\n\noutput = x")
    assert (found.code, str(found.place)) == ("CS101", "pyproject.toml:3")
    assert "Invalid value; " in str(found)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StubgenError, match="CS101"):
        config.load(tmp_path)


def test_what_the_file_says_must_hold_even_where_it_is_overridden(tmp_path: Path) -> None:
    assert refused(tmp_path, "[tool.cute-stubgen]\narchs = [3]", archs=("sm_90a",)).code == "CS101"


@pytest.mark.parametrize("package", ["No", "no-good", "", "torch"])
def test_a_bad_package_name_is_refused(tmp_path: Path, package: str) -> None:
    assert refused(tmp_path, f'[tool.cute-stubgen]\npackage = "{package}"').code == "CS104"


def test_the_project_is_the_nearest_folder_with_a_pyproject(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert config.find_project(inner) == inner
    (tmp_path / "pyproject.toml").touch()
    assert config.find_project(inner) == tmp_path
    (tmp_path / "a" / "pyproject.toml").touch()
    assert config.find_project(inner) == tmp_path / "a"


# ---------------------------------------------------------------------------------------------------------
# Device profiles


def test_a_device_keeps_what_the_file_does_not_say(tmp_path: Path) -> None:
    text = "[tool.cute-stubgen.devices.sm_90a]\nsm-count = 114\nmax-active-clusters = {1 = 114, 2 = 57}"
    found = config.device_profile(load(tmp_path, text), "sm_90a")
    builtin = builtin_profile("sm_90a")
    assert found is not None
    assert builtin is not None
    assert (found.sm_count, found.max_active_clusters) == (114, {1: 114, 2: 57})
    assert (found.name, found.l2_cache) == (builtin.name, builtin.l2_cache)


def test_an_architecture_without_a_profile_needs_every_value(tmp_path: Path) -> None:
    loaded = load(tmp_path, '[tool.cute-stubgen.devices.sm_107a]\nsm-count = 3\nname = "New"')
    assert config.device_profile(loaded, "sm_107f") is None
    with pytest.raises(
        StubgenError, match=r"devices\.sm_107a lacks max-active-clusters, shared-memory-per-sm"
    ):
        config.device_profile(loaded, "sm_107a")


def test_a_cluster_size_is_a_number(tmp_path: Path) -> None:
    loaded = load(tmp_path, "[tool.cute-stubgen.devices.sm_90a.max-active-clusters]\ntwo = 3")
    with pytest.raises(StubgenError, match="no cluster size"):
        config.device_profile(loaded, "sm_90a")


def test_all_that_is_wrong_in_the_file_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.cute-stubgen]\nkernel = ["k"]\nhost = "z80"\n'
        "[tool.cute-stubgen.devices.sm_90a]\nsm-count = 0\n"
    )
    with pytest.raises(StubgenError) as raised:
        config.load(tmp_path)
    assert [p.code for p in raised.value.problems] == ["CS101"] * 3


@pytest.mark.parametrize(
    ("kernels", "output", "said"),
    [
        (["kernels"], "kernels", "kernels is kernels"),
        (["other", "kernels"], "kernels/inner/out", "kernels/inner/out lies in kernels"),
        (["kernels/../kernels/"], "./kernels/out", "./kernels/out lies in kernels/../kernels/"),
        (["linked"], "kernels/out", "kernels/out lies in linked"),
        (["."], ".", ". is ."),
        (["out/mine"], "out", "out would have its package in the place of out/mine"),
        (["out/mine/k.py"], "out", "out would have its package in the place of out/mine/k.py"),
    ],
)
def test_an_output_among_the_kernels_is_refused(
    kernels: list[str], output: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "linked").symlink_to("kernels")
    (tmp_path / "pyproject.toml").write_text('[tool.cute-stubgen]\npackage = "mine"\n')
    with pytest.raises(StubgenError) as raised:
        config.load(tmp_path, kernels=tuple(kernels), output=output)
    (found,) = raised.value.problems
    assert found.code == "CS108"
    assert found.message == f"the output folder {said}, which kernels are read from"
    assert "--output" in found.remedy


def test_an_output_beside_the_kernels_is_not_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "k.py").touch()
    for kernels, output in (
        ("kernels", "kernels_out"),
        ("kernels", "."),
        ("kernels/k.py", "kernels"),
        (".", "generated"),
    ):
        assert config.load(tmp_path, kernels=(kernels,), output=output).output == output


@pytest.mark.parametrize(
    "table",
    ["tool.cute_stubgen", "tool.cutestubgen", "tool.Cute-Stubgen", "tool.cute-stubgens", "cute-stubgen"],
)
def test_a_table_whose_name_is_nearly_right_is_refused(tmp_path: Path, table: str) -> None:
    found = refused(tmp_path, f'[{table}]\npackage = "mine"')
    assert f"unknown table {table} (did you mean tool.cute-stubgen?)" in found.message


@pytest.mark.parametrize("table", ["tool.mypy", "tool.pybind11-stubgen", "tool.cute", "stubgen", "project"])
def test_tables_of_others_are_left_alone(tmp_path: Path, table: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[{table}]\nx = 1")
    assert config.load(tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "[tool.cute-stubgen.devices.sm90a]\nsm-count = 1",
            "devices.sm90a is no GPU architecture (did you mean sm_90a?)",
        ),
        (
            '[tool.cute-stubgen.devices."9.0"]\nsm-count = 1',
            "devices.9.0 is no GPU architecture (did you mean sm_90?)",
        ),
        ("[tool.cute-stubgen.devices.h100]\nsm-count = 1", "devices.h100 is no GPU architecture; one is"),
        (
            '[tool.cute-stubgen]\nframeworks = ["pytorch"]',
            "frameworks has 'pytorch' (did you mean torch?); there are torch, jax",
        ),
        ('[tool.cute-stubgen]\nframeworks = ["tf"]', "frameworks has 'tf'; there are torch, jax"),
        (
            '[tool.cute-stubgen]\narchs = ["sm_80,sm_90a"]',
            'it must be a list of names: archs = ["sm_80", "sm_90a"]',
        ),
        ('[tool.cute-stubgen]\narch = ["sm_80"]', "unknown key 'arch' (did you mean archs?)"),
    ],
)
def test_names_that_are_nearly_right_are_said_with_what_was_meant(
    tmp_path: Path, text: str, reason: str
) -> None:
    found = refused(tmp_path, text)
    assert found.code == "CS101"
    assert reason in found.message


@pytest.mark.parametrize("output", [".", "kernels/..", "{project}"])
def test_the_projects_own_folder_is_no_output(tmp_path: Path, output: str) -> None:
    chosen = output.format(project=tmp_path)
    (tmp_path / "kernels").mkdir()
    assert refused(tmp_path, "[tool.cute-stubgen]", output=chosen).code == "CS109"
    (tmp_path / "pyproject.toml").unlink()
    assert config.load(tmp_path, output=chosen).output == chosen

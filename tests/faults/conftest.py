"""A project that was generated from both of its sources, so that further runs of it are short."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import platformdirs
import pytest

from tests.faults.projects import FACTORS, Project, contents


class Known(NamedTuple):
    """A project, generated from its old sources, and what either of its sources give."""

    project: Project
    old: dict[str, bytes]
    new: dict[str, bytes]


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    project = Project(tmp_path_factory.mktemp("faults") / "project")
    project.share_toolchain(Path(platformdirs.user_cache_dir("cute-stubgen")) / "zig")
    project.write("pyproject.toml", '[tool.cute-stubgen]\narchs = ["sm_90a"]\n')
    outputs = {}
    for version in [*reversed(FACTORS), "old"]:
        project.use(version)
        done = project.generate()
        assert done.returncode == 0, done.stderr
        outputs[version] = contents(project.output)
    assert outputs["old"].keys() == outputs["new"].keys()
    assert outputs["old"] != outputs["new"]
    return Known(project, **outputs)


@pytest.fixture
def project(known: Known, tmp_path: Path) -> Project:
    """A copy of it for one test."""
    return known.project.copy(tmp_path / "project")

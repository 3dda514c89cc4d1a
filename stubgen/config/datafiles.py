"""Files that kernel modules read, as the configuration names them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from stubgen.config.config import Config
from stubgen.model.text import is_storable, storable
from stubgen.problems.problem import problem, raise_if_any


def data_files(project: Path, settings: Config) -> tuple[Path, ...]:
    """List the files that kernel modules read, as the configuration names them.

    Parameters
    ----------
    project
        The project's folder, absolute.
    settings
        The configuration.

    Returns
    -------
    tuple of Path
        Absolute and sorted.

    Raises
    ------
    StubgenError
        CS128 for each pattern that no file fits, CS256 for each file whose name is not UTF-8.
    """
    files = {pattern: _fitting(project, pattern) for pattern in settings.data}
    raise_if_any(problem("CS128", pattern=pattern) for pattern, paths in files.items() if not paths)
    fitting = sorted({path for paths in files.values() for path in paths})
    raise_if_any(problem("CS256", path=storable(str(p))) for p in fitting if not is_storable(str(p)))
    return tuple(fitting)


def _fitting(project: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in project.glob(pattern) if path.is_file()]
    except (NotImplementedError, ValueError):  # absolute, or empty
        return []


def hash_of_files(paths: Sequence[Path], project: Path) -> str:
    """Return a hash of files with their names as seen from the project; empty if there are none."""
    if not paths:
        return ""
    parts = [f"{os.path.relpath(p, project)} {hashlib.sha256(p.read_bytes()).hexdigest()}" for p in paths]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()

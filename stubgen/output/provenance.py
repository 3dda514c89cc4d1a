"""Where a package comes from: the sources of what was compiled, and the versions of what they import."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable
from pathlib import Path

from stubgen.native import elf
from stubgen.output.manifest import GpuCode, Sources
from stubgen.sources.inputs import BuildInputs


def sources(inputs: BuildInputs) -> Sources:
    """Return the files and packages that kernel modules are made of."""
    hashes = {_shown(path, inputs.project): inputs.parsed.sha256(path) for path in inputs.files}
    present = {name: version for name, version in inputs.distributions.items() if version}
    return Sources(dict(sorted(hashes.items())), present)


def gpu_code(library: Path) -> tuple[GpuCode, ...]:
    """List the GPU binaries in a shared library."""
    return tuple(GpuCode(cubin.arch, cubin.size, cubin.sha256) for cubin in elf.cubins(library))


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of those distributions that are installed."""
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def _shown(path: Path, project: Path) -> str:
    """Return a path that is the same wherever the project lies."""
    return Path(os.path.relpath(path, project)).as_posix()

"""Where a package comes from: the sources of what was compiled, and the versions of what they import."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from stubgen import discovery, elf, installed, manifest
from stubgen.manifest import GpuCode, Sources

_OWN = Path(__file__).parent
"""The tool itself, which is local to its own repository; its version says enough."""


def sources(modules: Sequence[discovery.KernelModule], project: Path) -> Sources:
    """Give the files and packages that kernel modules are made of."""
    closure: set[Path] = set()
    imported: set[str] = set()
    for module in modules:
        _, root = discovery.import_name(module.path)
        closure |= set(discovery.source_closure(module.path, [root, project]))
        imported |= set(discovery.external_imports(module.path, [root, project]))
    closure = {path for path in closure if not path.is_relative_to(_OWN)}
    hashes = {_shown(path, project): manifest.sha256(path.read_bytes()) for path in closure}
    return Sources(dict(sorted(hashes.items())), _versions(imported))


def gpu_code(library: Path) -> tuple[GpuCode, ...]:
    """List the GPU binaries in a shared library."""
    return tuple(GpuCode(cubin.arch, cubin.size, cubin.sha256) for cubin in elf.cubins(library))


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Give the versions of those distributions that are installed."""
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def _versions(imported: set[str]) -> dict[str, str]:
    providers = installed.distributions()
    return versions({name for module in imported for name in providers.get(module, ())})


def _shown(path: Path, project: Path) -> str:
    """Give a path that is the same wherever the project lies."""
    return Path(os.path.relpath(path, project)).as_posix()

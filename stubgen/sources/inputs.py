"""What a run depends on beside its settings, found once: files, and what is installed.

The record of the last run, the keys of the cache, the manifest, shards and the workers of a cluster all go by
this one account.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import stubgen
from stubgen.sources import installed
from stubgen.sources.imports import Closure, ImportGraph, import_name
from stubgen.sources.modules import KernelModule
from stubgen.sources.outline import joined
from stubgen.sources.parsed import ParsedFiles
from stubgen.sources.reach import Reach

TOOLS = ("nvidia-cutlass-dsl", "apache-tvm-ffi")
"""Distributions that shape whatever is compiled."""
CUDA_RUNTIMES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")
"""Those that have the CUDA runtime, for CUDA 13 and 12."""
OWN = ("cute-stubgen", "ziglang")
"""Those that shape the rest of a package."""


@dataclass(frozen=True)
class ModuleInputs:
    """What the kernels of one module depend on."""

    files: tuple[Path, ...]
    """The module, and the local modules that it imports; the tool's own are left out."""
    imported: tuple[str, ...]
    """Import names of the packages that these import."""
    text: str
    """Hash of the files as they are."""
    reach: Reach
    """What each kernel is made of."""
    packages: dict[str, str]
    """What tells apart the packages that it imports, and all that these need; see :func:`of_packages`."""


@dataclass(frozen=True)
class BuildInputs:
    """All that a run depends on.

    Parameters
    ----------
    project
        The project's folder, absolute.
    modules
        The kernel modules.
    parsed
        The files that were read for them.
    data
        Other files that they read.
    """

    project: Path
    modules: tuple[KernelModule, ...]
    parsed: ParsedFiles = field(default_factory=ParsedFiles)
    data: tuple[Path, ...] = ()

    @cached_property
    def by_module(self) -> dict[Path, ModuleInputs]:
        """What each module depends on."""
        graph = ImportGraph(self.parsed)
        closures = {module.path: _closure(graph, module.path, self.project) for module in self.modules}
        known = {names: of_packages(names) for names in {closure.packages for closure in closures.values()}}
        return {
            path: ModuleInputs(
                closure.files,
                closure.packages,
                joined(self.parsed.sha256(file) for file in closure.files),
                Reach(
                    {file: self.parsed.outline(file) for file in closure.files},
                    _roots(path, self.project),
                ),
                known[closure.packages],
            )
            for path, closure in closures.items()
        }

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Kernel modules and the local modules that they import, each once."""
        return tuple(sorted({path for module in self.by_module.values() for path in module.files}))

    @cached_property
    def imported(self) -> tuple[str, ...]:
        """Import names of the packages that all modules import."""
        return tuple(sorted({name for module in self.by_module.values() for name in module.imported}))

    @cached_property
    def changeable(self) -> tuple[Path, ...]:
        """Files of packages that may change without another version."""
        return tuple(sorted({path for name in self.imported for path in installed.changeable_files(name)}))

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Folders in which new files of such packages may appear."""
        return tuple(sorted({path for name in self.imported for path in installed.changeable_folders(name)}))

    @cached_property
    def distributions(self) -> dict[str, str]:
        """What tells apart all that is installed and matters, by name; empty for what is not installed."""
        known = {
            name: version for module in self.by_module.values() for name, version in module.packages.items()
        }
        own = {name: installed.identity(name) for name in installed.with_requirements(OWN)}
        return dict(sorted({**known, **own}.items()))


def of_packages(names: Sequence[str]) -> dict[str, str]:
    """Return what tells apart the packages that are imported, what they need, and what drives the compiler.

    Parameters
    ----------
    names
        Import names.

    Returns
    -------
    dict
        Identities of distributions by their names, see :func:`stubgen.sources.installed.identity`. Packages
        that may change without another version stand under their import names, with a hash of their files.
    """
    imported = {name for package in names for name in installed.providers(package)}
    required = installed.with_requirements((*imported, *TOOLS, *CUDA_RUNTIMES))
    contents = {
        name: joined(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
        for name in names
        if (files := installed.changeable_files(name))
    }
    return {**{name: installed.identity(name) for name in required}, **contents}


def _roots(path: Path, project: Path) -> tuple[Path, Path]:
    return import_name(path)[1], project


def _closure(graph: ImportGraph, path: Path, project: Path) -> Closure:
    found = graph.closure(path, _roots(path, project))
    own = Path(stubgen.__file__).parent
    files = tuple(file for file in found.files if not file.is_relative_to(own))
    return Closure(files, _with_unmanaged(found.packages, graph))


def _with_unmanaged(packages: tuple[str, ...], graph: ImportGraph) -> tuple[str, ...]:
    """Add what packages import whose files may change: their own account may be missing or out of date."""
    reached: set[str] = set()
    todo = list(packages)
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        for path in installed.changeable_files(name):
            if path.suffix == ".py":
                todo += graph.top_level(path)
    return tuple(sorted(reached))

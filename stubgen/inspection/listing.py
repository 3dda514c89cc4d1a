"""The ``@cute.jit`` functions of a project and what they are exported as, without importing anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stubgen.config.config import Config
from stubgen.model.library import Kernel, Place
from stubgen.output import manifest
from stubgen.sources.modules import list_functions


class Listed(NamedTuple):
    """A function of the list."""

    function: str
    """As in Python: ``RMSNorm.__call__``."""
    file: str
    line: int
    exported_as: list[str]
    """Public names, or ``family rmsnorm``: what the text tells, then what the last run found."""
    summary: str


def listed(root: Path, settings: Config) -> list[Listed]:
    """List the functions of a project.

    The text does not tell what helpers, libraries and loops export. The package that was generated last does,
    as long as the files of the function and of its declaration are those that it was made of.

    Parameters
    ----------
    root
        The project's folder.
    settings
        Its configuration.

    Raises
    ------
    StubgenError
        What :func:`stubgen.sources.modules.list_functions` raises.
    """
    modules = list_functions([root / path for path in settings.kernels], root)
    recorded = _recorded(root, root / settings.output / settings.package / manifest.NAME)
    return [
        Listed(
            function.qualname,
            module.file,
            function.line,
            list(
                dict.fromkeys([*function.exported_as, *recorded.get(Place(module.file, function.line), ())])
            ),
            (function.doc.splitlines() or [""])[0],
        )
        for module in modules
        for function in module.functions
    ]


def _recorded(root: Path, file: Path) -> dict[Place, list[str]]:
    """Return what a package says its functions were exported as, by their place."""
    found = manifest.read(file)
    if found is None:
        return {}
    current = {name for name, digest in found.sources.files.items() if _sha256(root / name) == digest}
    labels: defaultdict[Place, list[str]] = defaultdict(list)
    for source, kernel in _kernels(found):
        if {source.file, kernel.place.file} <= current:
            labels[source].append(f"family {kernel.variant.family}" if kernel.variant else kernel.name)
    return dict(labels)


def _kernels(found: manifest.Manifest) -> Iterator[tuple[Place, Kernel]]:
    for module in found.library.modules:
        for kernel in module.kernels:
            if kernel.source is not None:
                yield kernel.source, kernel


def _sha256(file: Path) -> str | None:
    try:
        return manifest.sha256(file.read_bytes())
    except OSError:
        return None

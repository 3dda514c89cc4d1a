"""Finds generated packages: by a path to them or into them, or by the name that Python imports them by."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from stubgen.inspection import binaries
from stubgen.model.library import Library
from stubgen.output import manifest
from stubgen.problems.problem import StubgenError, problem


def find_library(given: str, *, partial: bool = False) -> Library:
    """Read what a package was generated from.

    Parameters
    ----------
    given
        The output folder, the package's folder, its ``manifest.json``, the library itself, or the name of
        an installed package.
    partial
        Whether a package will do of which no more is known than the texts in its library tell.

    Raises
    ------
    StubgenError
        CS504: there is no such package, too little is known of it, or its manifest is not one of this
        version. CS407, CS507: what is given is a file, but no whole library.
    """
    if is_library(given):
        return _library_in(Path(given))
    read = manifest.read(find_manifest(given))
    if read is None:
        reason = "its manifest.json is damaged, or another version's"
        raise StubgenError(problem("CS504", path=given, reason=reason))
    if read.library.origin and read.library.origin.is_partial and not partial:
        raise StubgenError(problem("CS504", path=given, reason="no more is known of it than texts tell"))
    return read.library


def find_manifest(given: str) -> Path:
    """Return the manifest of a package that is named as for :func:`find_library`, but for the library itself.

    Raises
    ------
    StubgenError
        CS504: there is none, or there are several.
    """
    manifests = list(_manifests(Path(given))) or list(_installed(given))
    if not manifests:
        raise StubgenError(problem("CS504", path=given, reason="there is no manifest.json"))
    if len(manifests) > 1:
        found = ", ".join(str(path.parent) for path in manifests)
        raise StubgenError(problem("CS504", path=given, reason=f"there are several: {found}"))
    return manifests[0]


def _library_in(file: Path) -> Library:
    """Read the model out of a shared library; nothing in it is run."""
    library = binaries.model_in(file)
    if library is None:
        raise StubgenError(problem("CS504", path=file, reason="it has no metadata of cute-stubgen"))
    return library


def is_library(given: str) -> bool:
    """Return whether a shared library is given, and not a package or its manifest."""
    return Path(given).is_file() and Path(given).name != manifest.NAME


def _manifests(path: Path) -> Iterator[Path]:
    if path.is_file() and path.name == manifest.NAME:
        yield path
    elif (path / manifest.NAME).is_file():
        yield path / manifest.NAME
    elif path.is_dir():
        yield from sorted(path.glob(f"*/{manifest.NAME}"))


def _installed(name: str) -> Iterator[Path]:
    """Find a package without importing it or those that it lies in: importing would load its library."""
    first, *inner = name.split(".")
    if not all(map(str.isidentifier, (first, *inner))):
        return
    spec = importlib.util.find_spec(first)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from _manifests(Path(folder, *inner))

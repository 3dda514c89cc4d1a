"""All that ``cute-stubgen describe`` tells of a package or library."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stubgen.inspection import binaries
from stubgen.inspection.binaries import Binary
from stubgen.inspection.packages import find_library, find_manifest, is_library
from stubgen.inspection.recovery import Unknown
from stubgen.model.library import Library
from stubgen.render.description import Description, describe


class Inspected(msgspec.Struct, frozen=True):
    """A package, and the library in it."""

    description: Description
    binary: Binary | None
    """``None`` for a package without its library."""
    is_partial: bool = False
    """Whether there was nothing to read but the texts in the library, which leave much unknown."""
    unknown: tuple[Unknown, ...] = ()
    """Functions of the library of which too little is known to describe them."""


def inspect(given: str) -> Inspected:
    """Look at a package or library; nothing of it is imported or loaded.

    Parameters
    ----------
    given
        The output folder, the package's folder, its ``manifest.json``, the name of an installed package, or
        a shared library, be it generated or not.

    Raises
    ------
    StubgenError
        CS504: there is no such package. CS407, CS507: the library is damaged, or none that says anything.
    """
    if is_library(given):
        file = Path(given)
        read = binaries.read(file)
        return _inspected(read.library, binaries.binary(file), read.unknown)
    library = find_library(given, partial=True)
    file = find_manifest(given).parent / "lib" / f"lib{library.package}.so"
    return _inspected(library, binaries.binary(file) if file.exists() else None)


def _inspected(library: Library, binary: Binary | None, unknown: tuple[Unknown, ...] = ()) -> Inspected:
    is_partial = library.origin is not None and library.origin.is_partial
    return Inspected(describe(library), binary, is_partial, unknown)

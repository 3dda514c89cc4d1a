"""Files that make the output folder a project that pip can build and install."""

from __future__ import annotations

from stubgen.model import Library
from stubgen.render.templates import fill

VERSION = "0.1.0"
"""Of the generated package."""


def project_files(library: Library) -> dict[str, str]:
    """Give the project files, by path relative to the output folder."""
    return {
        "pyproject.toml": fill(
            "pyproject.toml.j2",
            package=library.package,
            version=VERSION,
            tvm_ffi=library.versions.tvm_ffi,
        )
    }

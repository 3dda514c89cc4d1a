"""Every text file of a generated package."""

from __future__ import annotations

from stubgen.model.library import Library
from stubgen.render.c.c_headers import c_headers
from stubgen.render.cpp.cpp_description import cpp_description
from stubgen.render.cpp.cpp_headers import cpp_headers
from stubgen.render.frameworks import framework_packages
from stubgen.render.project.build_systems import build_system_files
from stubgen.render.python.python_package import python_package


def render(library: Library) -> dict[str, str]:
    """Return every text file of the package itself, by path relative to the output folder."""
    return {
        **python_package(library),
        **framework_packages(library),
        **cpp_headers(library),
        **cpp_description(library),
        **c_headers(library),
        **build_system_files(library),
    }

"""What lets CMake, pkg-config and makefiles find the generated headers and libraries."""

from __future__ import annotations

from stubgen.model.library import Library
from stubgen.render.templates import fill

_PKG_CONFIG = (
    ("", "", "-l{package}", ""),
    ("-static", ", to be linked statically", "-l:lib{package}.a", " -lpthread -ldl -lrt"),
    ("-load", ", to be loaded at run time", "-l{package}_load", " -ldl"),
)
"""For each way to link: ends of the file's name and of the description, the library, what else it needs."""


def build_system_files(library: Library) -> dict[str, str]:
    """Return the files, by path relative to the output folder."""
    package = library.package
    cmake, pkg_config = f"{package}/lib/cmake/{package}", f"{package}/lib/pkgconfig"
    return {
        f"{package}/config.py": fill("project/config.py.j2", package=package),
        f"{cmake}/{package}Config.cmake": fill("project/config.cmake.j2", package=package),
        f"{cmake}/{package}ConfigVersion.cmake": fill(
            "project/config_version.cmake.j2", version=library.version
        ),
        **{
            f"{pkg_config}/{package}{suffix}.pc": fill(
                "project/pkgconfig.pc.j2",
                name=package + suffix,
                remark=remark,
                version=library.version,
                library=linked.format(package=package),
                others=others,
            )
            for suffix, remark, linked, others in _PKG_CONFIG
        },
    }


def about_archives(package: str) -> frozenset[str]:
    """Name those of the files that are about static archives, which not every package has."""
    return frozenset(f"{package}/lib/pkgconfig/{package}{suffix}.pc" for suffix, *_ in _PKG_CONFIG if suffix)

"""Files that make the output folder a project that pip can build and install."""

from __future__ import annotations

from stubgen.model.library import HostCode, Library
from stubgen.native import elf
from stubgen.render.project.requirements import extras, requirements
from stubgen.render.templates import fill

_OLDEST_GLIBC = "2.17"
"""Below this, pip knows only names that stand for a list of libraries and their versions."""


def project_files(library: Library, host: HostCode) -> dict[str, str]:
    """Return the project files, by path relative to the output folder.

    Parameters
    ----------
    library
        What is installed.
    host
        What its shared library asks of the machine; the wheel says so in its name.
    """
    return {
        "pyproject.toml": fill(
            "project/pyproject.toml.j2",
            package=library.package,
            version=library.version,
            requirements=requirements(library),
            extras=extras(library),
            left_out=left_out_of_wheels(library),
        ),
        "hatch_build.py": fill("project/hatch_build.py.j2", tag=wheel_tag(host)),
    }


def left_out_of_wheels(library: Library) -> tuple[str, ...]:
    """Name what wheels lack: the static archive, which is as large as all the rest, and its description."""
    folder = f"{library.package}/lib"
    return f"{folder}/lib{library.package}.a", f"{folder}/pkgconfig/{library.package}-static.pc"


def wheel_tag(host: HostCode) -> str:
    """Return the tag of wheels, such as ``py3-none-manylinux_2_17_x86_64``.

    It says which glibc is needed. ``libtvm_ffi.so`` comes with a wheel that says the same of itself.
    """
    glibc = max(host.glibc or _OLDEST_GLIBC, _OLDEST_GLIBC, key=elf.version_key)
    return f"py3-none-manylinux_{glibc.replace('.', '_')}_{host.machine}"

"""Makes a package around a library that is there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from stubgen.inspection import binaries
from stubgen.model import names
from stubgen.model.library import Family, HostCode, Kernel, Library, Module, Origin
from stubgen.native import elf
from stubgen.output import manifest, provenance
from stubgen.output import package as packages
from stubgen.output.package import Changes
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.render.package_files import render
from stubgen.render.project.build_systems import about_archives
from stubgen.render.project.project_files import project_files

_MACHINES: dict[str, Literal["x86_64", "aarch64"]] = {"x86_64": "x86_64", "aarch64": "aarch64"}


@dataclass(frozen=True)
class Stubs:
    """What was made."""

    library: Library
    output: Path
    changes: Changes
    warnings: tuple[Problem, ...]


def write_stubs(file: Path, output: Path, package: str | None = None) -> Stubs:
    """Write a package with a copy of a library, and stubs, keyword wrappers and headers for it.

    Parameters
    ----------
    file
        The library.
    output
        The folder to write into.
    package
        The name of the package; by default the one that the library was generated for, or else that of
        the file.

    Raises
    ------
    StubgenError
        CS104, CS407, CS507: there is no package to be made; CS501 to CS503: it cannot be written.
    """
    reason = names.package_name_error(package) if package else None
    if package and reason:
        raise StubgenError(problem("CS104", package=package, reason=reason))
    packages.require_writable(output)
    read = binaries.read(file, package)
    host = _host_code(file)
    library = _renamed(read.library, package or read.library.package, file)
    library = msgspec.structs.replace(library, machine=host.machine)
    texts = {**render(library), **project_files(library, host)}
    lacking = about_archives(library.package)  # of a library that was there already there are no archives
    files = {path: text.encode() for path, text in texts.items() if path not in lacking}
    files[f"{library.package}/lib/lib{library.package}.so"] = _content(file)
    files[f"{library.package}/{manifest.NAME}"] = manifest.encode(
        library, files, gpu_code=provenance.gpu_code(file), host=host
    )
    warnings = [
        problem("CS604", kernel=item.name, file=file.name, reason=item.reason) for item in read.unknown
    ]
    soname, own = elf.soname(file), f"lib{library.package}.so"
    if soname not in (None, own):
        warnings.append(problem("CS605", file=own, soname=soname))
    return Stubs(library, output, packages.commit(output, library.package, files), tuple(warnings))


def _host_code(file: Path) -> HostCode:
    """Read what a library asks of a machine; which instructions it uses is not looked for."""
    machine = elf.machine(file)
    if machine not in _MACHINES:
        raise StubgenError(problem("CS507", file=file, reason=f"it is for another machine: {machine}"))
    return HostCode(
        _MACHINES[machine], elf.needed(file), elf.glibc_version(file), elf.libstdcxx_version(file)
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise StubgenError(problem("CS407", file=file, reason=error.strerror)) from None


def _renamed(library: Library, package: str, file: Path) -> Library:
    """Return a package under another name; the symbols in the library keep theirs."""
    if package == library.package:
        return library
    replace = msgspec.structs.replace

    def kept(function: Kernel | Family) -> str:
        return function.linker_symbol(library.package)

    def renamed(module: Module) -> Module:
        kernels = tuple(replace(kernel, entry=kept(kernel)) for kernel in module.kernels)
        families = tuple(replace(family, entry=kept(family)) for family in module.families)
        return replace(module, kernels=kernels, families=families)

    origin = Origin(file.name, library.package)
    return replace(library, package=package, modules=tuple(map(renamed, library.modules)), origin=origin)

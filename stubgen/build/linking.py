"""Links what was compiled into the library of a package, and reads it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stubgen.abi import signature_texts
from stubgen.compiler.local import pool
from stubgen.model.library import Family, HostCode, Kernel, Library
from stubgen.native import archive, hostcode, link
from stubgen.native.link import KernelIR
from stubgen.native.runtimes import Runtimes
from stubgen.native.toolchain import HostTarget, Toolchain
from stubgen.problems.problem import problem, raise_if_any
from stubgen.render.native import dispatcher, linkage, metadata, refusals


@dataclass(frozen=True)
class Linked:
    """The shared library, the archives to link programs with, and the objects that all are made of."""

    shared: Path
    archives: tuple[Path, ...]
    objects: link.Objects


def link_library(
    library: Library,
    kernels: Sequence[KernelIR],
    *,
    toolchain: Toolchain,
    host: HostTarget,
    runtimes: Runtimes,
    work: Path,
    jobs: int,
) -> Linked:
    """Compile the kernels' host code and the C beside it, and link both.

    Parameters
    ----------
    library
        What the C is rendered from.
    kernels
        What the compiler made, in the order it gets in the library.
    toolchain, host
        What compiles, and for which machine.
    runtimes
        What the library is linked with.
    work
        Existing folder for everything that is made.
    jobs
        How many compilers run at once.

    Raises
    ------
    StubgenError
        As for :func:`stubgen.native.link.compile_objects` and :func:`stubgen.native.link.link_objects`.
    """
    described = refusals.descriptions(library)
    sources = {
        "refusals": refusals.refusals(),
        "python": linkage.for_python(library),
        "register": linkage.registration(library),
        "build": linkage.identification(library),
        "frameworks": linkage.for_frameworks(library),
        **metadata.metadata(library),
    }
    objects = link.compile_objects(
        [replace(kernel, description=described[kernel.name]) for kernel in kernels],
        definitions=dispatcher.dispatcher(library),
        sources={name: text for name, text in sources.items() if text},
        toolchain=toolchain,
        host=host,
        runtimes=runtimes,
        work=work,
        jobs=jobs,
    )
    shared = link.link_objects(
        objects,
        work / f"lib{library.package}.so",
        exports=linkage.exports(library),
        toolchain=toolchain,
        host=host,
    )
    archives = archive.library_archives(
        library.package,
        objects,
        keep=linkage.kept_in_archives(library),
        loader=linkage.loader(library),
        toolchain=toolchain,
        host=host,
        work=work,
    )
    return Linked(shared, tuple(archives), objects)


def read_back(library: Library, linked: Linked, host: HostTarget, glibc: str | None) -> HostCode:
    """Compare what was linked with what the compiler reported: symbols, architectures, signatures.

    Parameters
    ----------
    library
        What was reported.
    linked
        What was linked.
    host
        The machine that it was compiled for.
    glibc
        The oldest that the library has to run with, if that matters.

    Returns
    -------
    HostCode
        What the library asks of the machine that it runs on.

    Raises
    ------
    StubgenError
        CS304 for each signature that is another one, CS407, CS408, CS410.
    """
    runtime = linked.objects.runtimes.library
    link.verify_library(
        linked.shared,
        exports=linkage.exports(library),
        archs=[arch for kernel in library.kernels for arch in kernel.archs],
        needs=[runtime.name] if runtime else [],
    )
    found = hostcode.read_host_code(linked.shared, host, glibc)
    if host.runs_here:
        _require_signatures(library, linked.shared, runtime)
    else:
        _require_texts(library, linked.shared)
    return found


def _require_signatures(library: Library, shared: Path, runtime: Path | None) -> None:
    """Call every function wrongly, and compare the signature that it states."""
    expected = _expected_signatures(library)
    counts = {name: count for name, (count, *_) in expected.items()}
    stated = pool.stated_signatures(str(shared), counts, str(runtime) if runtime else None)
    raise_if_any(
        problem("CS304", place=function.place, kernel=name, found=stated[name], expected=abi)
        for name, (_, abi, function) in expected.items()
        if stated[name] != abi
    )


def _require_texts(library: Library, shared: Path) -> None:
    """Look for the signatures in the library, whose functions cannot be called on this machine."""
    data = shared.read_bytes()
    raise_if_any(
        problem("CS304", place=function.place, kernel=name, found="no such text in it", expected=abi)
        for name, (_, abi, function) in _expected_signatures(library).items()
        if _text(function, abi).encode() not in data
    )


def _text(function: Kernel | Family, abi: str) -> str:
    """Return a signature as the function has it; the metadata beside it has it too, but alone."""
    return f"`{abi}`" if isinstance(function, Kernel) else f"{abi}\0"


def _expected_signatures(library: Library) -> dict[str, tuple[int, str, Kernel | Family]]:
    """Give, for each function of the library, the number of its parameters and its signature."""
    expected: dict[str, tuple[int, str, Kernel | Family]] = {}
    for kernel in library.kernels:
        builds = (kernel.build_name(library.package, arch) for arch in kernel.archs)
        for name in (kernel.name, *builds):
            expected[name] = (len(kernel.parameters), kernel.abi, kernel)
    for family in library.families:
        expected[family.name] = (len(family.parameters), signature_texts.stated(family), family)
    return expected

"""Makes static archives that can be linked into any program, next to others of their kind.

The objects of a library share symbols, those of the DSL's runtime and of the CUDA runtime among them, which
another package's archive, or the program itself, may define as well. They are renamed, so that nothing
clashes, and each archive works with the runtimes that it was made with. Objects stay apart, so that a program
gets the kernels that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stubgen import objects
from stubgen.diagnostics import StubgenError, problem
from stubgen.link import Objects, compile_source
from stubgen.runtimes import find_tvm_ffi
from stubgen.toolchain import HostTarget, Toolchain


def library_archives(
    package: str,
    compiled: Objects,
    *,
    keep: Sequence[str],
    loader: str,
    toolchain: Toolchain,
    host: HostTarget,
    work: Path,
) -> list[Path]:
    """Make the archive that programs link instead of the shared library, and the one that loads the latter.

    Parameters
    ----------
    package
        The name of what they are for.
    compiled
        The objects of the library.
    keep
        The symbols that programs use.
    loader
        The C that a program is linked with to load the shared library when it runs.
    toolchain, host
        What compiles, and for which machine.
    work
        Existing folder for the archives.

    Raises
    ------
    StubgenError
        As for :func:`make_archive` and :func:`stubgen.link.compile_source`.
    """
    static = make_archive(
        compiled.own,
        compiled.runtimes.archives,
        work / f"lib{package}.a",
        package=package,
        keep=keep,
        toolchain=toolchain,
        work=work / "renamed",
    )
    loading = compile_source("loader", loader, find_tvm_ffi().include, toolchain, host, work)
    toolchain.archive([loading], work / f"lib{package}_load.a")
    return [static, work / f"lib{package}_load.a"]


def make_archive(
    members: Sequence[Path],
    runtimes: Sequence[Path],
    output: Path,
    *,
    package: str,
    keep: Sequence[str],
    toolchain: Toolchain,
    work: Path,
) -> Path:
    """Put objects into a static archive, and all that they need of others.

    Parameters
    ----------
    members
        The objects.
    runtimes
        Archives whose objects go into it as well.
    output
        The archive to write.
    package
        Put in front of the symbols that programs are not to use.
    keep
        The symbols that programs use; they stay as they are.
    toolchain
        What makes the archive.
    work
        Folder for the objects with their renamed symbols.

    Returns
    -------
    Path
        ``output``.

    Raises
    ------
    StubgenError
        CS405 if something cannot be written; CS402 if the toolchain has no archiver that works.
    """
    contents = {path.name: path.read_bytes() for path in members}
    for archive in runtimes:
        for number, (name, data) in enumerate(objects.archive_members(archive.read_bytes())):
            contents[f"{archive.stem}-{number}-{name}"] = data
    new_name = _renaming(contents, package, set(keep))
    written = [_write(work / name, objects.renamed(data, new_name)) for name, data in contents.items()]
    toolchain.archive(written, output)
    return output


def _renaming(contents: Mapping[str, bytes], package: str, keep: set[str]) -> Callable[[str], str | None]:
    """Rename what one of the objects defines, in all of them; what none defines is somebody else's."""
    own = {s.name for data in contents.values() for s in objects.symbols(data) if s.is_defined} - keep
    return lambda name: f"{package}__hidden__{name}" if name in own else None


def _write(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StubgenError(problem("CS405", path=path, reason=error.strerror)) from None
    return path

"""Makes static archives that can be linked into any program, next to others of their kind.

The objects of a library share symbols, those of the DSL's runtime and of the CUDA runtime among them, which
another package's archive, or the program itself, may define as well. They are renamed, so that nothing
clashes, and each archive works with the runtimes that it was made with. Objects stay apart, so that a program
gets the kernels that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stubgen.native import objects
from stubgen.native.link import Objects, compile_source
from stubgen.native.runtimes import find_tvm_ffi
from stubgen.native.toolchain import HostTarget, Toolchain
from stubgen.problems.problem import StubgenError, problem


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
        CS405 if something cannot be written; what :func:`stubgen.native.link.compile_source` raises.
    """
    static = make_archive(
        compiled.own,
        compiled.runtimes.archives,
        package=package,
        keep=keep,
    )
    loading = compile_source("loader", loader, find_tvm_ffi().include, toolchain, host, work)
    archives = {f"lib{package}.a": static, f"lib{package}_load.a": objects.archive({"loader.o": loading})}
    return [_written(work / name, data) for name, data in archives.items()]


def make_archive(
    members: Mapping[str, bytes], runtimes: Sequence[Path], *, package: str, keep: Sequence[str]
) -> bytes:
    """Return a static archive of objects, with all that they need of others.

    Parameters
    ----------
    members
        The objects, by name.
    runtimes
        Archives whose objects go into it as well.
    package
        Put in front of the symbols that programs are not to use.
    keep
        The symbols that programs use; they stay as they are.
    """
    contents = dict(members)
    for archive in runtimes:
        for number, (name, data) in enumerate(objects.archive_members(archive.read_bytes())):
            contents[f"{archive.stem}-{number}-{name}"] = data
    new_name = _renaming(contents, package, set(keep))
    return objects.archive({name: objects.renamed(data, new_name) for name, data in contents.items()})


def _renaming(contents: Mapping[str, bytes], package: str, keep: set[str]) -> Callable[[str], str | None]:
    """Rename what one of the objects defines, in all of them; what none defines is somebody else's."""
    own = {s.name for data in contents.values() for s in objects.symbols(data) if s.is_defined} - keep
    return lambda name: f"{package}__hidden__{name}" if name in own else None


def _written(path: Path, data: bytes) -> Path:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StubgenError(problem("CS405", path=path, reason=error.strerror)) from None
    return path

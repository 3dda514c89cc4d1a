"""Compares a package with its manifest: which files, and which GPU code, are not what was generated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from stubgen.inspection.packages import find_manifest
from stubgen.native import elf
from stubgen.output import manifest
from stubgen.output.manifest import Manifest
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.render.project.project_files import left_out_of_wheels


def verify(given: str) -> Manifest:
    """Check every byte of a package against its manifest.

    Parameters
    ----------
    given
        The output folder, the package's own folder, or the name of an installed package.

    Returns
    -------
    Manifest
        That of the package, which is whole.

    Raises
    ------
    StubgenError
        CS504: there is no such package; CS506 for each file that is missing, changed or foreign, and for GPU
        code that is not what was built.
    """
    file = find_manifest(given)
    read = manifest.read(file)
    if read is None:
        reason = "its manifest.json is damaged, or another version's"
        raise StubgenError(problem("CS504", path=given, reason=reason))
    problems = list(_problems(read, file.parent, only_package=_is_installed(file, given)))
    if problems:
        raise StubgenError(*problems)
    return read


def _is_installed(file: Path, given: str) -> bool:
    """Return whether the package stands without the files that an output folder has beside it."""
    return Path(given).resolve() != file.parent.parent.resolve()


def _problems(read: Manifest, package: Path, *, only_package: bool) -> Iterator[Problem]:
    root, prefix = package.parent, f"{read.library.package}/"
    expected = {p: h for p, h in read.files.items() if p.startswith(prefix) or not only_package}
    may_lack = left_out_of_wheels(read.library) if only_package else ()
    for path, digest in expected.items():
        reason = _what_is_wrong(root / path, digest)
        if reason and not (path in may_lack and not (root / path).exists()):
            yield problem("CS506", path=path, reason=reason)
            if path.endswith(f"/lib{read.library.package}.so") and (root / path).is_file():
                yield from _gpu_code(read, root / path)
    for found in sorted(package.rglob("*")):
        path = found.relative_to(root).as_posix()
        known = path in expected or path == f"{prefix}{manifest.NAME}" or "__pycache__" in found.parts
        if found.is_file() and not known:
            yield problem("CS506", path=path, reason="was not generated")


def _what_is_wrong(file: Path, digest: str) -> str | None:
    try:
        return None if manifest.sha256(file.read_bytes()) == digest else "was changed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _gpu_code(read: Manifest, library: Path) -> Iterator[Problem]:
    """Say which GPU code of a changed library is another."""
    try:
        found = elf.cubins(library)
    except StubgenError as error:
        yield from error.problems
        return
    expected = Counter((code.sha256, code.arch) for code in read.gpu_code)
    for cubin in found:
        if expected[cubin.sha256, cubin.arch] > 0:
            expected[cubin.sha256, cubin.arch] -= 1
        else:
            reason = f"holds other GPU code for {cubin.arch}: {', '.join(cubin.kernels)}"
            yield problem("CS506", path=library.name, reason=reason)

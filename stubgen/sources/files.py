"""Which files may be kernel modules, and their text."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from stubgen.model.library import Place
from stubgen.model.text import is_storable, storable
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.system import stamps
from stubgen.system.stamps import Stamp


@dataclass(frozen=True)
class SourceFile:
    """A file that may be a kernel module."""

    name: str
    """Public name if it is one: dotted, relative to the folder that was given."""
    path: Path
    """Absolute."""
    file: str
    """Relative to the project with forward slashes, absolute outside of it."""


def absolute(path: Path) -> Path:
    """Make a path absolute and free of ``..``; symbolic links stay, as they do in ``__file__``."""
    return Path(os.path.abspath(path))  # noqa: PTH100, Path.resolve would follow the links.


def candidates(paths: Sequence[Path], project: Path) -> tuple[tuple[SourceFile, ...], tuple[Problem, ...]]:
    """List the Python files that were given or lie in folders that were.

    A file that is reached twice counts once, under its first name. Folders that hold no kernels of the
    project's own are left out: hidden ones, ``__pycache__``, virtual environments.

    Returns
    -------
    tuple
        The candidates, in the order of ``paths`` and sorted within each folder; and what is wrong (CS202,
        CS205, CS256).
    """
    found: dict[Path, SourceFile] = {}
    problems: list[Problem] = []
    for given in map(absolute, paths):
        try:
            for name, path in _reached_from(given, project):
                if not is_storable(str(path)):
                    raise StubgenError(problem("CS256", path=shown(path, project)))
                real = Path(os.path.realpath(path))  # Path.resolve refuses links that lead to themselves
                found.setdefault(real, SourceFile(name, path, shown(path, project)))
        except StubgenError as error:
            problems += error.problems
    return tuple(found.values()), tuple(problems)


def shown(path: Path, project: Path) -> str:
    """Return an absolute path the way that messages and places show it."""
    relative = path.relative_to(project) if path.is_relative_to(project) else path
    return storable(relative.as_posix())


def stamp(path: Path, file: str) -> Stamp:
    """Read a file for its stamp; takes and raises what :func:`load` does."""
    return _content(path, file)[1]


def read(path: Path, file: str) -> str:
    """Read Python source; takes and raises what :func:`load` does."""
    return load(path, file)[0]


def load(path: Path, file: str) -> tuple[str, Stamp]:
    """Read Python source, line ends unchanged and without a byte order mark; return its stamp too.

    Parameters
    ----------
    path
        Where it is.
    file
        How messages call it.

    Raises
    ------
    StubgenError
        It cannot be read, or is not UTF-8 (CS205).
    """
    content, now = _content(path, file)
    try:
        return content.decode("utf-8-sig"), now
    except UnicodeDecodeError as error:
        raise _unreadable(file, f"byte {error.start} is not UTF-8") from None


def _content(path: Path, file: str) -> tuple[bytes, Stamp]:
    try:
        return stamps.read(path)
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from None


def _unreadable(file: str, reason: str) -> StubgenError:
    return StubgenError(problem("CS205", file=file, reason=reason))


def parse(text: str, file: str) -> ast.Module:
    """Parse source with the parser that will read it when it is imported.

    Raises
    ------
    StubgenError
        It has a syntax error, or nests too deeply for Python itself (CS203).
    """
    try:
        with warnings.catch_warnings():
            # Python says it again when the module is imported, where the user expects it.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        refuse(file, error.lineno or 1, error.msg)
    except ValueError as error:  # Null bytes, before Python 3.11.4.
        refuse(file, 1, str(error))
    except (RecursionError, MemoryError):
        refuse(file, 1, "it nests too deeply")


def refuse(file: str, line: int, reason: str) -> NoReturn:
    """Raise CS203 for a place in a file."""
    raise StubgenError(problem("CS203", place=Place(file, line), file=file, reason=reason))


def _reached_from(given: Path, project: Path) -> list[tuple[str, Path]]:
    """List public names and paths of the Python files at a path."""
    if given.is_dir():
        return [(_public_name(path, given), path) for path in _python_files(given, project)]
    if given.exists():
        return [(given.stem, given)]
    where = f" in {project}" if given.is_relative_to(project) else ""
    raise StubgenError(problem("CS202", path=shown(given, project), remark=where))


def _public_name(path: Path, folder: Path) -> str:
    *packages, stem = path.relative_to(folder).with_suffix("").parts
    return ".".join(packages if packages and stem == "__init__" else [*packages, stem])


def _python_files(folder: Path, project: Path) -> list[Path]:
    def unreadable(error: OSError) -> NoReturn:
        # Passed over in silence, its kernels would be missing from the library.
        file = shown(Path(str(error.filename)), project)
        raise StubgenError(problem("CS205", file=file, reason=error.strerror or str(error)))

    files: list[Path] = []
    for current, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not _is_foreign(Path(current, name))]
        files += [Path(current, name) for name in names if _is_module(name)]
    return sorted(files)


def _is_foreign(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name == "__pycache__" or (folder / "pyvenv.cfg").exists()


def _is_module(name: str) -> bool:
    return name.endswith(".py") and not name.startswith(".")

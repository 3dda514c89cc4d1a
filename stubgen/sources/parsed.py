"""What is known of the text of Python files, found out once for each content and kept between runs."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import sys
from pathlib import Path

import msgspec

from stubgen.model.text import storable
from stubgen.sources import files
from stubgen.sources.outline import Outline, joined, outline
from stubgen.system import folders, stamps
from stubgen.system.stamps import Stamp

_RULES = Path(__file__).parent
"""The folder of the code that decides what a text says."""


class ParsedFile(msgspec.Struct, frozen=True, array_like=True):
    """What the text of a Python file says."""

    imports: tuple[str, ...]
    """Whatever it imports, dots in front of what is relative. What comes after ``from a import`` may be a
    module or a name in one, so ``a.b`` is here for both."""
    doc: str


class _Kept(msgspec.Struct):
    """What lies on disk."""

    rules: str
    """By which the texts were understood; see :func:`_rules`."""
    stamps: dict[str, Stamp]
    """By absolute path."""
    texts: dict[str, ParsedFile]
    """By SHA-256 of the content, as are the outlines."""
    outlines: dict[str, Outline]


class ParsedFiles:
    """The Python files of a run; each is read and parsed once, and only if it has changed since the last run.

    Parameters
    ----------
    file
        Where to keep what was parsed; ``None`` keeps nothing.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept = (_read(file) if file else None) or _Kept("", {}, {}, {})
        self._stamps: dict[Path, Stamp] = {}
        self._texts: dict[Path, ParsedFile] = {}
        self._outlines: dict[Path, Outline] = {}

    def sha256(self, path: Path, shown: str | None = None) -> str:
        """Return the hash of a file's content; raises what :meth:`stamp` does."""
        return self.stamp(path, shown).sha256

    def stamp(self, path: Path, shown: str | None = None) -> Stamp:
        """Return what a file was when this run first read it.

        Raises
        ------
        StubgenError
            It cannot be read (CS205).
        """
        if path not in self._stamps:
            kept = self._kept.stamps.get(str(path))
            now = stamps.renewed(path, kept) if kept else None
            self._stamps[path] = now or files.stamp(path, shown or path.as_posix())
        return self._stamps[path]

    def parsed(self, path: Path, shown: str | None = None) -> ParsedFile:
        """Return what the text of a file says.

        Parameters
        ----------
        path
            Absolute.
        shown
            How messages call it.

        Raises
        ------
        StubgenError
            It cannot be read (CS205) or parsed (CS203).
        """
        if path not in self._texts:
            name = shown or path.as_posix()
            known = self._kept.texts.get(self.sha256(path, name))
            self._texts[path] = known or _parsed(self._load(path, name), name)
        return self._texts[path]

    def outline(self, path: Path) -> Outline:
        """Return what the statements of a file are; raises what :meth:`parsed` does."""
        if path not in self._outlines:
            known = self._kept.outlines.get(self.sha256(path))
            name = path.as_posix()
            self._outlines[path] = known or outline(self._load(path, name), name)
        return self._outlines[path]

    def _load(self, path: Path, shown: str) -> str:
        text, self._stamps[path] = files.load(path, shown)  # it may be another since it was hashed
        return text

    def save(self) -> None:
        """Keep what this run has asked for, for the next one; if that fails, that parses again."""
        if self._file is None:
            return
        texts = {self._stamps[path].sha256: parsed for path, parsed in self._texts.items()}
        outlines = {self._stamps[path].sha256: found for path, found in self._outlines.items()}
        kept = _Kept(_rules(), {str(path): stamp for path, stamp in self._stamps.items()}, texts, outlines)
        if kept == self._kept:
            return
        if folders.is_writable(self._file.parent):
            with contextlib.suppress(OSError, UnicodeEncodeError):  # a library may lie where no text leads
                folders.replace_file(self._file, msgspec.msgpack.encode(kept), prefix="tmp")


def _read(file: Path) -> _Kept | None:
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=_Kept)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return kept if kept.rules == _rules() else None


@functools.cache
def _rules() -> str:
    """Return a hash of this tool's code that understands texts, and of the Python that parses them."""
    files = sorted(_RULES.glob("*.py"))
    return joined([sys.version, *(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)])


def _parsed(text: str, shown: str) -> ParsedFile:
    tree = files.parse(text, shown)
    return ParsedFile(tuple(dict.fromkeys(_imports(tree))), storable(ast.get_docstring(tree) or ""))


def _imports(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            prefix = f"{node.module}." if node.module else ""
            names += (f"{dots}{prefix}{alias.name}" for alias in node.names)
    return names

"""Hashes of sources: of their text, and of what the text means to the compiler."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from stubgen import discovery, installed, source_effects


def of_text(paths: Sequence[Path]) -> str:
    """Hash files as they are."""
    return _joined(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)


def of_files(paths: Sequence[Path], project: Path) -> str:
    """Hash files with their names as seen from the project; empty if there are none."""
    names = (os.path.relpath(path, project) for path in paths)
    return _joined([*names, of_text(paths)]) if paths else ""


def of_meaning(paths: Sequence[Path]) -> str:
    """Hash Python files without comments, layout, docstrings, line numbers and declared effects."""
    return _joined(_meaning(path.read_bytes()) for path in paths)


def closure(module: discovery.KernelModule, project: Path) -> tuple[Path, ...]:
    """Give the files that decide what a kernel module declares: itself and the local modules it imports.

    The tool's own are left out: its version speaks for them.
    """
    roots = _roots(module, project)
    own = Path(__file__).parent
    found = discovery.source_closure(module.path, roots)
    return tuple(path for path in found if not path.is_relative_to(own))


def all_sources(module: discovery.KernelModule, project: Path) -> tuple[Path, ...]:
    """Give the closure of a kernel module, and the files of editable packages that it imports."""
    names = discovery.external_imports(module.path, _roots(module, project))
    return (*closure(module, project), *(path for name in names for path in _editable_files(name)))


def imported(module: discovery.KernelModule, project: Path) -> dict[str, str]:
    """Give the versions of the installed packages that a kernel module and its local modules import."""
    return of_packages(imported_names(module, project))


def imported_names(module: discovery.KernelModule, project: Path) -> tuple[str, ...]:
    """Give the names of the installed packages that a kernel module and its local modules import."""
    return discovery.external_imports(module.path, _roots(module, project))


def of_packages(names: Sequence[str]) -> dict[str, str]:
    """Give the versions of installed packages, by distribution.

    Editable ones change without another version; they are known by their content.
    """
    distributions = installed.distributions()
    found = {name for package in names for name in distributions.get(package, ())}
    versions = {name: _version(name) for name in sorted(found)}
    contents = {name: of_text(files) for name in sorted(names) if (files := _editable_files(name))}
    return {**versions, **contents}


def of_distributions(names: Sequence[str]) -> dict[str, str]:
    """Give the versions of distributions, empty for those that are not installed."""
    return {name: _version(name) for name in names}


@cache
def of_tool() -> str:
    """Hash what the compiled code owes to the tool and the versions of what it drives."""
    versions = [_version("nvidia-cutlass-dsl"), _version("apache-tvm-ffi"), *map(str, sys.version_info[:2])]
    return _joined([of_text(shaping_sources()), *versions])


def shaping_sources() -> tuple[Path, ...]:
    """Give the parts of the tool that shape what is compiled: all that a worker imports."""
    own = Path(__file__).parent
    return discovery.source_closure(own / "compiler" / "worker.py", [own.parent])


@cache
def _meaning(text: bytes) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return hashlib.sha256(text).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _has_doc(
            node
        ):
            del node.body[0]
    source_effects.drop(tree)
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _has_doc(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _roots(module: discovery.KernelModule, project: Path) -> list[Path]:
    _, root = discovery.import_name(module.path)
    return [root, project]


@cache
def _editable_files(package: str) -> tuple[Path, ...]:
    """Give the Python files of a package, if it is installed from a folder that its author works in."""
    if not any(map(_is_editable, installed.distributions().get(package, ()))):
        return ()
    spec = importlib.util.find_spec(package)
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    own = Path(__file__).parent
    return tuple(path for folder in folders if folder != own for path in sorted(folder.rglob("*.py")))


def _is_editable(distribution: str) -> bool:
    origin = importlib.metadata.distribution(distribution).read_text("direct_url.json")
    return bool(origin and json.loads(origin).get("dir_info", {}).get("editable"))


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _joined(hashes: object) -> str:
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()  # type: ignore[arg-type]

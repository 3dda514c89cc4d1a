"""What is installed: which distributions packages come from, what these need, and what tells them apart."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import stubgen

_CODE = (".py", ".so")
"""What files that Python runs end in."""


@cache
def distributions() -> Mapping[str, list[str]]:
    """Return the distributions by package; looked up once, as it reads what all have installed."""
    return importlib.metadata.packages_distributions()


@cache
def providers(package: str) -> tuple[str, ...]:
    """Return the distributions that a package comes from.

    Some install their packages into a folder of their own, and have Python look there.
    """
    names = distributions()
    if package in names:
        return tuple(sorted(set(names[package])))
    owners = {
        path.relative_to(folder).parts[0]
        for path in _places(package)
        for folder in map(Path, sys.path)
        if path.is_relative_to(folder) and path != folder
    }
    return tuple(sorted({name for owner in owners for name in names.get(owner, ())}))


def with_requirements(names: Iterable[str]) -> tuple[str, ...]:
    """Return distributions and all that they require, at any depth, under their normal names.

    What is required but not installed is among them: it may be installed later. Extras are not followed.
    """
    reached: set[str] = set()
    todo: list[str] = [canonicalize_name(name) for name in names]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += _requirements(name)
    return tuple(sorted(reached))


@cache
def identity(distribution: str) -> str:
    """Return what tells a distribution from another of its name; empty if it is not installed.

    That is its version. A build that comes from no index may be another one under the same version, so its
    files count too; those of an editable one do not, because they change at any time.
    """
    try:
        installed = importlib.metadata.distribution(distribution)
        version = installed.version
    except importlib.metadata.PackageNotFoundError:
        return ""
    origin = installed.read_text("direct_url.json")
    if origin is None or _is_editable(origin):
        return version
    files = sorted(
        f"{file} {file.hash.value}"
        for file in installed.files or ()
        if file.hash is not None and not file.parts[0].endswith(".dist-info")
    )
    content = hashlib.sha256("\n".join(files).encode()).hexdigest()
    return f"{version}+{content[:12]}"


@cache
def changeable_files(package: str) -> tuple[Path, ...]:
    """Return the files of a package that may change without another version.

    That is one that is installed editable, or that no distribution has installed, as packages on
    ``PYTHONPATH``.
    """
    names = providers(package)
    origins = [importlib.metadata.distribution(name).read_text("direct_url.json") for name in names]
    if names and not any(map(_is_editable, origins)):
        return ()
    own = Path(stubgen.__file__).parent
    return tuple(
        path
        for place in _places(package)
        if place != own
        for path in ([place] if place.is_file() else sorted(place.rglob("*")))
        if path.suffix in _CODE and path.is_file()
    )


def changeable_folders(package: str) -> tuple[Path, ...]:
    """Return the folders in which new files of such a package may appear."""
    if not changeable_files(package):
        return ()
    return tuple(place for place in _places(package) if place.is_dir())


def forget() -> None:
    """Look again at what is installed."""
    for remembered in (distributions, providers, identity, changeable_files, _requirements):
        remembered.cache_clear()


def _places(package: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):  # a module in sys.modules without a spec
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(folder) for folder in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.has_location and spec.origin else []


@cache
def _requirements(distribution: str) -> tuple[str, ...]:
    try:
        stated = importlib.metadata.requires(distribution) or ()
    except importlib.metadata.PackageNotFoundError:
        return ()
    return tuple(canonicalize_name(name) for text in stated if (name := _required_here(text)))


def _required_here(stated: str) -> str:
    """Return the name in a requirement, empty if it is for other machines or for an extra."""
    try:
        requirement = Requirement(stated)
    except InvalidRequirement:
        return ""
    marker = requirement.marker
    return requirement.name if marker is None or marker.evaluate({"extra": ""}) else ""


def _is_editable(origin: str | None) -> bool:
    if not origin:
        return False
    stated: Any = json.loads(origin)
    return bool(stated.get("dir_info", {}).get("editable"))

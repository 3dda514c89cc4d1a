"""The configuration: ``[tool.cute-stubgen]`` in the project's ``pyproject.toml``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec

from stubgen import names
from stubgen.devices import builtin_profile
from stubgen.diagnostics import StubgenError, did_you_mean, problem
from stubgen.model import DeviceProfile, Place

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ToolchainName: TypeAlias = Literal["zig", "system"]
HostName: TypeAlias = Literal["x86-64-v2", "x86-64-v3", "native"]

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]


class DeviceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What to tell kernels of one architecture about the GPU; unset values come from the built-in profile."""

    name: str | None = None
    sm_count: _Count | None = None
    max_active_clusters: dict[str, _Count] | None = None
    """By cluster size; keys are strings because TOML's are."""
    shared_memory_per_sm: _Count | None = None
    shared_memory_per_block: _Count | None = None
    l2_cache: _Count | None = None
    max_threads_per_sm: _Count | None = None
    registers_per_sm: _Count | None = None


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """All settings. Paths are relative to the project's folder."""

    kernels: tuple[str, ...] = ("kernels",)
    """Kernel modules, or folders of them."""
    output: str = "generated"
    """Folder that the package is generated into."""
    package: str = "cute_kernels"
    """Name of the generated package and library."""
    archs: tuple[str, ...] = ()
    """GPU architectures to build for."""
    toolchain: ToolchainName = "zig"
    """What compiles the host code and links: PyPI's ziglang, or the machine's own compiler."""
    host: HostName = "x86-64-v2"
    """CPU that the host code is compiled for."""
    devices: dict[str, DeviceSettings] = {}
    """Device profiles, by architecture."""


def find_project(start: Path) -> Path:
    """Give the nearest folder from ``start`` upwards with a ``pyproject.toml``, or else ``start`` itself."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file():
            return folder
    return start


def load(project: Path, **overrides: Any) -> Config:
    """Read a project's configuration.

    Parameters
    ----------
    project
        Folder with the ``pyproject.toml``; without one, everything has its default.
    **overrides
        Values from the command line; ``None`` and ``()`` mean not given.

    Raises
    ------
    StubgenError
        CS101 if the file is no TOML, or has a key or a value that it should not have; CS104 for the package.
    """
    table: Any = _table(project / "pyproject.toml")
    given = {key: value for key, value in overrides.items() if value not in (None, ())}
    try:
        msgspec.convert(table, Config)  # on its own first: what it says must hold even where it is overridden
        config = msgspec.convert({**table, **given}, Config)
    except msgspec.ValidationError as error:
        raise _invalid("pyproject.toml", _reason(error)) from None
    reason = names.why_no_package(config.package)
    if reason:
        raise StubgenError(problem("CS104", package=config.package, reason=reason))
    return config


def _table(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(file.name, error) from None
    try:
        tool: Any = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise _malformed(file.name, str(error)) from None
    try:
        return msgspec.convert(tool, dict[str, Any]).get("cute-stubgen", {})
    except msgspec.ValidationError:
        raise _invalid(file.name, "tool is no table") from None


def _reason(error: msgspec.ValidationError) -> str:
    """Put msgspec's message into the words of the file: ``$.archs`` is ``tool.cute-stubgen.archs``."""
    text, at, path = str(error).partition(" - at ")
    path = path.strip("`").removeprefix("$").removeprefix("key in ").strip("`")
    quoted = re.search("[`'](.+?)[`']", text)
    if quoted and text.startswith("Object contains unknown field"):
        text = f"unknown key {quoted[1]!r}{did_you_mean(quoted[1], _keys(path))}"
    elif quoted and text.startswith("Invalid enum value"):
        text = f"{quoted[1]!r} is none of {', '.join(_CHOICES.get(path, ()))}"
    text = text.replace(" | null", "")
    for name, toml in (("`object`", "a table"), ("`array`", "an array"), ("`str`", "a string")):
        text = text.replace(name, toml)
    return f"{text} - at tool.cute-stubgen{path if at else ''}"


_CHOICES = {".toolchain": get_args(ToolchainName), ".host": get_args(HostName)}


def _keys(path: str) -> tuple[str, ...]:
    """Give the keys of the table at a path of msgspec's."""
    table = DeviceSettings if path.startswith(".devices") else Config
    return table.__struct_encode_fields__


def _malformed(file: str, reason: str) -> StubgenError:
    """Take the place out of tomllib's message: ``Invalid value (at line 2, column 11)``."""
    at = re.search(r" \(at line (\d+), column \d+\)$", reason)
    if at is None:
        return _invalid(file, reason)
    return _invalid(file, reason[: at.start()], Place(file, int(at[1])))


def _invalid(file: str, reason: object, place: Place | None = None) -> StubgenError:
    return StubgenError(problem("CS101", place=place, file=file, reason=reason))


def device_profile(config: Config, arch: str) -> DeviceProfile | None:
    """Give what kernels of an architecture are told about the GPU, or ``None`` if nothing is known."""
    profile = builtin_profile(arch)
    settings = config.devices.get(arch)
    if settings is None:
        return profile
    given: dict[str, Any] = {
        field: value
        for field in settings.__struct_fields__
        if (value := getattr(settings, field)) is not None
    }
    if "max_active_clusters" in given:
        given["max_active_clusters"] = _clusters(arch, given["max_active_clusters"])
    if profile is not None:
        return msgspec.structs.replace(profile, **given)
    required = (f for f in msgspec.structs.fields(DeviceProfile) if f.required)
    lacking = [f.name.replace("_", "-") for f in required if f.name not in given]
    if lacking:
        raise _invalid("pyproject.toml", f"devices.{arch} lacks {', '.join(lacking)}")
    return DeviceProfile(**given)


def _clusters(arch: str, given: dict[str, int]) -> dict[int, int]:
    try:
        return {int(size): count for size, count in given.items()}
    except ValueError:
        raise _invalid(
            "pyproject.toml", f"devices.{arch}.max-active-clusters has a key that is no cluster size"
        ) from None

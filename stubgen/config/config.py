"""The configuration: ``[tool.cute-stubgen]`` in the project's ``pyproject.toml``."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_origin

import msgspec
from packaging.version import InvalidVersion, Version

from stubgen.config.devices import builtin_profile
from stubgen.model import archs, names
from stubgen.model.library import DeviceProfile, Framework, Place
from stubgen.model.spelling import VERSION
from stubgen.model.text import is_storable, storable
from stubgen.problems.problem import Problem, StubgenError, arch_meant, did_you_mean, problem, raise_if_any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ToolchainName: TypeAlias = Literal["zig", "system"]
HostName: TypeAlias = Literal["x86-64-v2", "x86-64-v3", "native", "aarch64"]
RuntimeName: TypeAlias = Literal["static", "shared"]

ExecutorName: TypeAlias = Literal["local", "dask"]

_TABLE = "cute-stubgen"
_CLOSE = 0.85
"""How much of the letters two names have in common that are taken for the same one; the most is 1."""

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
    version: str = "0.1.0"
    """Of the generated package."""
    archs: tuple[str, ...] = ()
    """GPU architectures to build for."""
    toolchain: ToolchainName = "zig"
    """What compiles the host code and links: PyPI's ziglang, or the machine's own compiler."""
    host: HostName = "x86-64-v2"
    """CPU that the host code is compiled for."""
    runtime: RuntimeName = "static"
    """Whether the DSL's runtime is in the library, or found in the installed DSL when that is loaded."""
    glibc: str | None = None
    """The oldest glibc that the library has to run with."""
    frameworks: tuple[Framework, ...] = ()
    """What the package gets modules for: ``torch``, ``jax``."""
    devices: dict[str, DeviceSettings] = {}
    """Device profiles, by architecture."""
    cache: str = ""
    """Folder or URL that compiled kernels are kept in; by default the user's own folder, none for ``off``."""
    timeout: _Count = 600
    """Seconds that compiling one kernel, or importing one module, may take."""
    executor: ExecutorName = "local"
    """What compiles: processes of this machine, or a Dask cluster."""
    scheduler: str | None = None
    """Address of the Dask cluster's scheduler."""
    cluster_timeout: _Count = 60
    """Seconds after which a scheduler or worker that says nothing counts as gone, and a cluster as empty."""
    data: tuple[str, ...] = ()
    """Files that kernel modules read while they are imported: patterns, relative to the project."""


OF_THE_MACHINE = ("output", "cache", "timeout", "executor", "scheduler", "cluster_timeout")
"""Settings that may differ between machines that make the same."""


def shaping(settings: Config) -> dict[str, Any]:
    """Return the settings that shape what is generated, as plain data."""
    plain: dict[str, Any] = msgspec.to_builtins(settings)
    return {name: value for name, value in plain.items() if name not in OF_THE_MACHINE}


def find_project(start: Path) -> Path:
    """Return the nearest folder from ``start`` upwards with a ``pyproject.toml``, or else ``start``."""
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
        CS101 if the file is no TOML, and for each key and value that is wrong in it; CS104 for the package;
        CS108 for an output folder among the kernels, CS109 for one that is the project's own, CS256 for
        paths that are not UTF-8.
    """
    table: Any = _table(project / "pyproject.toml")
    given = {key: value for key, value in overrides.items() if value not in (None, ())}
    # The file on its own first: what it says must hold even where it is overridden.
    raise_if_any(_problem(reason) for reason in _wrong(table, Config, "tool.cute-stubgen"))
    config = msgspec.convert({**table, **given}, Config)
    reason = names.package_name_error(config.package)
    if reason:
        raise StubgenError(problem("CS104", package=config.package, reason=reason))
    raise_if_any(_problem(reason) for reason in _contradictions(config))
    for path in (project, *(project / path for path in (config.output, *config.kernels))):
        if not is_storable(str(path)):
            raise StubgenError(problem("CS256", path=storable(str(path))))
    raise_if_any(_overlaps(project, config))
    if _real(project / config.output) == _real(project) and (project / "pyproject.toml").is_file():
        raise StubgenError(problem("CS109", output=config.output))
    return config


def _overlaps(project: Path, config: Config) -> Iterator[Problem]:
    """Find kernels that the output would lie among, or take the place of."""
    output = _real(project / config.output)
    for given in config.kernels:
        kernels = _real(project / given)
        if kernels.is_relative_to(output / config.package):
            overlap = "would have its package in the place of"
        elif kernels == _real(project) != output:
            continue  # a project without folders; what is generated declares nothing, so it is left alone
        elif kernels.is_dir() and output.is_relative_to(kernels):
            overlap = "is" if output == kernels else "lies in"
        else:
            continue
        yield problem("CS108", output=config.output, overlap=overlap, kernels=given)


def _real(path: Path) -> Path:
    """Follow links as far as they lead; ``Path.resolve`` raises where they lead to themselves."""
    return Path(os.path.realpath(path))


def _is_version(text: str) -> bool:
    """Return whether a version is one to Python, and no more: ``Version`` takes spaces around it."""
    try:
        return VERSION.fullmatch(text) is not None and bool(Version(text))
    except InvalidVersion:
        return False


def _contradictions(config: Config) -> Iterator[str]:
    """Say what is wrong with values that have the right type."""
    if not _is_version(config.version):
        yield (
            f"tool.cute-stubgen.version is {config.version!r}; it must be a version as Python has them, "
            'such as "1.2.3"'
        )
    if config.glibc and not re.fullmatch(r"2\.[0-9]+", config.glibc):
        yield f'tool.cute-stubgen.glibc is {config.glibc!r}; it must be a version, such as "2.28"'
    known = [f"sm_{number}{suffix}" for number in archs.DEVICES for suffix in ("", "a")]
    for name in config.devices:
        try:
            archs.parse(name)
        except ValueError:
            hint = arch_meant(name, known)
            yield f"tool.cute-stubgen.devices.{name} is no GPU architecture{hint}; one is written like sm_90a"
    for name in config.archs:
        if re.search(r"[,\s]", name):
            apart = ", ".join(f'"{part}"' for part in re.split(r"[,\s]+", name) if part)
            yield f"tool.cute-stubgen.archs has {name!r}; it must be a list of names: archs = [{apart}]"
    if config.executor == "dask" and not config.scheduler:
        yield 'executor "dask" needs scheduler, the address of one, such as "tcp://10.0.0.1:8786"'
    if config.host == "aarch64" and config.toolchain != "zig":
        yield 'host "aarch64" needs toolchain "zig": the machine\'s own compiler is for this machine'


def _table(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(file.name, error) from None
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _malformed(file.name, str(error)) from None
    try:
        tool = msgspec.convert(whole.get("tool", {}), dict[str, Any])
    except msgspec.ValidationError:
        raise _invalid(file.name, "tool is no table") from None
    raise_if_any(
        _problem(f"unknown table {name} (did you mean tool.{_TABLE}?)")
        for prefix, table in (("", whole), ("tool.", tool))
        for name in (f"{prefix}{key}" for key in table)
        if _looks_like_ours(name)
    )
    return tool.get(_TABLE, {})


def _looks_like_ours(name: str) -> bool:
    """Return whether the name of a table is the tool's but for its spelling."""
    letters = re.sub(r"[^a-z]", "", name.removeprefix("tool.").lower())
    close = difflib.SequenceMatcher(None, letters, _TABLE.replace("-", "")).ratio() > _CLOSE
    return close and name != f"tool.{_TABLE}"


def _wrong(table: Any, kind: type[msgspec.Struct], path: str) -> Iterator[str]:
    """Say of each key of a table what is wrong with it."""
    if not isinstance(table, dict):
        yield f"{path} must be a table"
        return
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in cast("dict[str, Any]", table).items():
        if key not in fields:
            hint = did_you_mean(key, fields)
            yield f"unknown key {key!r}{hint} in {path}, whose keys are {', '.join(fields)}"
        elif key == "devices" and isinstance(value, dict):
            for arch, settings in cast("dict[str, Any]", value).items():
                yield from _wrong(settings, DeviceSettings, f"{path}.{key}.{arch}")
        else:
            yield from _wrong_value(value, fields[key], f"{path}.{key}")


def _wrong_value(value: Any, kind: Any, path: str) -> Iterator[str]:
    if get_origin(kind) is tuple and isinstance(value, list):
        choices, items = _choices(get_args(kind)[0]), msgspec.convert(value, list[Any])
        for item in items if choices else ():
            if isinstance(item, str) and item not in choices:
                yield f"{path} has {item!r}{did_you_mean(item, choices)}; there are {', '.join(choices)}"
                return
    choices = _choices(kind)
    if choices and value not in choices:
        yield f"{path} is {value!r}; it must be one of {', '.join(choices)}"
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if isinstance(value, str) and get_origin(kind) is tuple:
            yield f'{path} is a string; it must be a list: {path.rpartition(".")[2]} = ["{value}"]'
        else:
            yield f"{path}: {_in_toml(str(error))}"


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _in_toml(text: str) -> str:
    """Put msgspec's message into the words of the file."""
    text = text.replace(" | null", "").replace(" - at `$", " - at `")
    for name, toml in (("`object`", "a table"), ("`array`", "an array"), ("`str`", "a string")):
        text = text.replace(name, toml)
    return text


def _malformed(file: str, reason: str) -> StubgenError:
    """Take the place out of tomllib's message: ``Invalid value (at line 2, column 11)``."""
    at = re.search(r" \(at line (\d+), column \d+\)$", reason)
    if at is None:
        return _invalid(file, reason)
    return _invalid(file, reason[: at.start()], Place(file, int(at[1])))


def _problem(reason: str) -> Problem:
    return problem("CS101", file="pyproject.toml", reason=reason)


def _invalid(file: str, reason: object, place: Place | None = None) -> StubgenError:
    return StubgenError(problem("CS101", place=place, file=file, reason=reason))


def device_profile(config: Config, arch: str) -> DeviceProfile | None:
    """Return what kernels of an architecture are told about the GPU, or ``None`` if nothing is known."""
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

"""The options that commands share, and the settings that they make."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from stubgen.config import config
from stubgen.config.config import ExecutorName, HostName, ToolchainName
from stubgen.model.text import storable


class FrameworkName(str, enum.Enum):
    """What a module can be made for; a list of literals is nothing that typer knows."""

    torch = "torch"
    jax = "jax"


Kernels = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KERNELS]...", help="Kernel modules, or folders of them.", show_default=False),
]
ProjectFolder = Annotated[
    Path | None,
    typer.Option(
        "--project",
        "-C",
        exists=True,
        file_okay=False,
        help="The project's folder; found from here upwards by default.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Folder to generate into.", show_default=False)
]
Package = Annotated[
    str | None, typer.Option("--package", "-p", help="Name of the package.", show_default=False)
]
Arch = Annotated[
    list[str] | None,
    typer.Option("--arch", help="GPU architectures, such as sm_90a,sm_100a.", show_default=False),
]
Framework = Annotated[
    list[FrameworkName] | None,
    typer.Option(help="Make a module for it: torch, jax.", show_default=False),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        help="Worker processes; by default as many as cores and memory allow.",
        show_default=False,
    ),
]
Toolchain = Annotated[
    ToolchainName | None,
    typer.Option(help="zig (from PyPI, the default) or system.", show_default=False),
]
Host = Annotated[
    HostName | None,
    typer.Option(
        help="CPU for the host code: x86-64-v2 (the default), x86-64-v3, native, aarch64.", show_default=False
    ),
]
Timeout = Annotated[
    int | None,
    typer.Option(min=1, metavar="SECONDS", help="Limit for one kernel; 600 by default.", show_default=False),
]
Executor = Annotated[
    ExecutorName | None,
    typer.Option(help="What compiles: local (the default) or dask.", show_default=False),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of the Dask cluster's scheduler.", show_default=False),
]
Depfile = Annotated[
    Path | None,
    typer.Option(
        help="Write a rule for make or Ninja that lists all inputs; its target is FILE without .d.",
        metavar="FILE",
        show_default=False,
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Compile only the I-th of N parts of the kernels, into a file for cute-stubgen merge.",
        show_default=False,
    ),
]
Times = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What kernels took: merge writes it, and generate --shard divides by it, if it is there.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class CommandSettings:
    """What the command line gives, to be laid over the project's configuration."""

    def __init__(
        self,
        kernels: list[str] | None,
        project: Path | None,
        output: str | None = None,
        package: str | None = None,
        archs: list[str] | None = None,
        toolchain: str | None = None,
        host: str | None = None,
        frameworks: Sequence[FrameworkName] | None = None,
        **more: object,
    ) -> None:
        self._project = project
        self._given: dict[str, Any] = {
            "kernels": tuple(str(Path(path).absolute()) for path in kernels or ()),
            "output": None if output is None else str(Path(output).absolute()),
            "package": package,
            "archs": tuple(
                storable(name) for given in archs or () for name in re.split(r"[,\s]+", given) if name
            ),
            "toolchain": toolchain,
            "host": host,
            "frameworks": tuple(dict.fromkeys(name.value for name in frameworks or ())),
            **more,
        }

    def load(self, known: Mapping[str, Any] | None = None) -> tuple[Path, config.Config]:
        """Return the project's folder and its configuration, of which some may be known."""
        root = self._project.resolve() if self._project else config.find_project(Path.cwd())
        return root, config.load(root, **{**self._given, **(known or {})})

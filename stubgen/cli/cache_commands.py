"""``cute-stubgen cache``: what is kept of earlier runs, and how to get rid of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from stubgen.cli.options import Json, ProjectFolder
from stubgen.cli.printing import out, print_json, reporting_errors
from stubgen.config import config
from stubgen.model.text import counted
from stubgen.store import cache
from stubgen.store.cache import FolderCache
from stubgen.store.opening import local_folder
from stubgen.store.remote import shown_url

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

_Limit = Annotated[
    str,
    typer.Option(metavar="SIZE", help="What all entries together may take, such as 500M or 2G."),
]

app = typer.Typer(help="Look at what is kept of earlier runs, or remove it.", no_args_is_help=True)


@app.command()
def info(project: ProjectFolder = None, as_json: Json = False) -> None:
    """Show where compiled kernels are kept, and how much there is."""
    with reporting_errors(as_json):
        setting, store = _store(project)
        found: dict[str, Any] = {"setting": shown_url(setting), "folder": None, "entries": 0, "bytes": 0}
        if store is not None:
            contents = store.contents()
            found |= {
                "folder": str(contents.folder),
                "entries": contents.entries,
                "bytes": contents.size,
                "limit": cache.DEFAULT_LIMIT,
            }
        if as_json:
            print_json(found)
        elif store is None:
            out.print('nothing is kept: cache = "off"', markup=False)
        else:
            size, limit = _shown(found["bytes"]), _shown(cache.DEFAULT_LIMIT)
            out.print(f"{found['folder']}: {_entries(found['entries'])}, {size} of {limit}", markup=False)
            if "://" in setting:
                out.print(
                    f"it stands in front of {shown_url(setting)}, which these commands leave alone",
                    markup=False,
                )


@app.command()
def prune(project: ProjectFolder = None, limit: _Limit = f"{cache.DEFAULT_LIMIT // 2**30}G") -> None:
    """Remove what was not used for longest, until the rest is within a limit."""
    room = _size(limit)
    with reporting_errors(False):
        _remove(project, room)


@app.command()
def clear(project: ProjectFolder = None) -> None:
    """Remove everything; the next run compiles all kernels that it needs."""
    with reporting_errors(False):
        _remove(project, 0)


def _store(project: Path | None) -> tuple[str, FolderCache | None]:
    """Return the project's setting, and the folder of this machine that it means."""
    root = project.resolve() if project else config.find_project(Path.cwd())
    setting = config.load(root).cache
    return setting, local_folder(setting, root)


def _remove(project: Path | None, limit: int) -> None:
    _, store = _store(project)
    removed = 0 if store is None else store.prune(limit=limit)
    left = 0 if store is None else store.contents().size
    out.print(f"removed {_entries(removed)}; {_shown(left)} left", markup=False)


def _entries(count: int) -> str:
    return counted(count, "entry", "entries")


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no size; write it like 500M or 2G", param_hint="--limit")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _shown(size: int) -> str:
    """Say a number of bytes in words."""
    unit, divisor = next(((u, d) for u, d in reversed(_UNITS.items()) if size >= d), ("", 1))
    return f"{size} bytes" if not unit else f"{size / divisor:.1f} {unit}iB"

"""Opens the store that a configuration names: a folder, one elsewhere with a folder in front, or none."""

from __future__ import annotations

from pathlib import Path

from stubgen.store.cache import Cache, FolderCache, NoCache, unkept
from stubgen.store.remote import open_remote
from stubgen.system import folders


def open_cache(setting: str, project: Path) -> Cache:
    """Return the store that a configuration names.

    Parameters
    ----------
    setting
        A folder, relative to the project, or the URL of a store elsewhere; ``""`` for the user's own folder,
        ``"off"`` for none.
    project
        The project's folder.

    Raises
    ------
    StubgenError
        CS120 or CS121 for a URL that nothing here can read.
    """
    if setting == "off":
        return NoCache()
    local = local_folder(setting, project)
    if "://" in setting:
        return open_remote(setting, local or NoCache())
    return local or NoCache(unkept("the user's cache folder", "there is no home"))


def local_folder(setting: str, project: Path) -> FolderCache | None:
    """Return the folder of this machine that is meant; the user's own before a store elsewhere."""
    if setting == "off":
        return None
    folder = project / setting if setting and "://" not in setting else folders.own("objects")
    return FolderCache(folder) if folder is not None else None

"""What this machine has for worker processes: cores and memory, as far as a container lets us have them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

WORKER_MEMORY = 760 * 2**20
"""Bytes that a worker process takes at most, as measured with kernels of eight code bases."""

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")

_MEMORY_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Of control groups, versions 2 and 1: the limit, what is used, and how much of that is only cached files."""


def workers() -> int:
    """Return how many worker processes this machine has room for, at least one."""
    memory = available_memory()
    fitting = cores() if memory is None else memory // WORKER_MEMORY
    return max(1, min(cores(), fitting))


def cores(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Return the number of cores that this process may use."""
    count = len(os.sched_getaffinity(0))
    for folder in _own_groups(groups, own):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        if quota.isdigit() and period.isdigit():
            count = min(count, max(1, round(int(quota) / int(period))))
    return count


def available_memory(
    info: Path = Path("/proc/meminfo"), groups: Path = _GROUPS, own: Path = _OWN
) -> int | None:
    """Return the bytes of memory that may still be used; ``None`` if the system does not say."""
    free = [int(line.split()[1]) * 1024 for line in _text(info).splitlines() if "MemAvailable" in line]
    for folder in _own_groups(groups, own):
        free += _free_in(folder)
    return min(free, default=None)


def _free_in(folder: Path) -> Iterator[int]:
    for limit, usage, cached in _MEMORY_FILES:
        most, used = _text(folder / limit), _text(folder / usage)
        if most.isdigit() and used.isdigit():
            reclaimable = sum(
                int(line.split()[1])
                for line in _text(folder / "memory.stat").splitlines()
                if line.startswith(f"{cached} ")
            )
            yield max(0, int(most) - int(used) + reclaimable)


def _own_groups(root: Path, own: Path) -> Iterator[Path]:
    """Yield the folders of the control groups that this process is in, with those around them."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        mounted = root / controllers if controllers else root
        group = mounted / path.strip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(mounted))


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""

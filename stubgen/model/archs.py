"""Which GPU runs what was built for which architecture.

Libraries carry machine code only, no PTX. Code for ``sm_90a`` runs on compute capability 9.0 alone, code for
``sm_100f`` on its family (the same major version, this minor one or a later), and so does code for a plain
``sm_80``. Source: "Binary compatibility" and "Family-specific features" in the CUDA programming guide. The
dispatcher follows the same rules in C: ``templates/native/dispatcher.c.j2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

DEVICES = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
"""The compute capabilities that there are, ten times the major version plus the minor one."""

ON_ITS_OWN = frozenset({72, 87, 110})
"""Integrated GPUs, which share no code with others of their major version."""

_RENAMED = {101: 110}
"""Thor was 10.1 up to CUDA 12."""


class Arch(NamedTuple):
    """An architecture, such as ``sm_90a``."""

    number: int
    """The compute capability, ten times the major version plus the minor one."""
    suffix: str = ""
    """``a``: for this one alone; ``f``: for its family; empty: plain."""

    @property
    def specificity(self) -> int:
        """How much of the hardware the code may use, as a number to compare by."""
        return {"a": 2, "f": 1}.get(self.suffix, 0)

    def runs_on(self, device: int) -> bool:
        """Return whether a GPU of a compute capability can run code for this architecture."""
        device = _RENAMED.get(device, device)
        if device == self.number:
            return True
        if self.suffix == "a" or device in ON_ITS_OWN or self.number in ON_ITS_OWN:
            return False
        return device // 10 == self.number // 10 and device > self.number


def parse(name: str) -> Arch:
    """Read the name of an architecture.

    Raises
    ------
    ValueError
        It is none.
    """
    match = re.fullmatch(r"sm_(\d+)([af]?)", name)
    if match is None:
        raise ValueError(f"{name!r} is no GPU architecture; one is written like sm_90a")
    number = int(match[1])
    return Arch(_RENAMED.get(number, number), match[2])


def meant_by(name: str, known: Iterable[str]) -> str | None:
    """Return the architecture that was meant by a name that is none, or that of a compute capability.

    >>> meant_by("sm90a", ["sm_90", "sm_90a"]), meant_by("8.O", ["sm_80"]), meant_by("sm_75", ["sm_80"])
    ('sm_90a', 'sm_80', None)
    """
    spelled = re.fullmatch(
        r"(?:sm|compute|cc|cuda|arch)?([\do]{2,3})([a-z]?)", re.sub(r"\W|_", "", name.lower())
    )
    if spelled is None:
        return None
    number = int(spelled[1].replace("o", "0"))  # a letter for a digit
    same = [arch for arch in known if parse(arch).number == number]
    return next((arch for arch in same if parse(arch).suffix == spelled[2]), same[0] if same else None)


def best(names: Iterable[str], device: int) -> str | None:
    """Choose the build for a GPU: the latest that it can run, and of those the most specific.

    >>> best(["sm_80", "sm_90", "sm_90a"], 90), best(["sm_80", "sm_90a"], 89), best(["sm_90a"], 100)
    ('sm_90a', 'sm_80', None)
    """
    fitting = [name for name in names if parse(name).runs_on(device)]
    return max(fitting, key=lambda name: preference(parse(name)), default=None)


def preference(arch: Arch) -> tuple[int, int]:
    """Return a number for each architecture: of those that a GPU can run, the highest is best."""
    return (arch.number, arch.specificity)


@cache
def share_a_device(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether some GPU runs code from either set; without architectures, code runs anywhere."""
    if not first or not second:
        return True
    return any(best(first, device) and best(second, device) for device in _devices(first, second))


def _devices(*sets: tuple[str, ...]) -> Iterable[int]:
    """Return all GPUs that matter, those that nobody has heard of yet included."""
    named = {parse(name).number for names in sets for name in names}
    return sorted({*DEVICES, *named})

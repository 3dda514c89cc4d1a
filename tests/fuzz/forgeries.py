"""Forges the plain data of models, manifests, entries and shards, as somebody may who knows the formats."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import msgspec

MARK = "EXECUTED"
"""What stands in all texts that would do something, if they were more than texts."""

_TEXTS = (
    "",
    " ",
    "..",
    "../../outside",
    "/{root}/outside",
    "{root}/outside/a",
    "a/../../../outside",
    "inner\\..\\outside",
    "class",
    "None",
    "__init__",
    "_calls",
    "_runtime",
    "kwargs",
    "kwargs.torch",
    "lib",
    "Tensor",
    "self",
    "a b",
    "größe",
    "名",
    "²",
    "a\nb",
    "a\0b",
    "\x1b]0;title\x07\x1b[2J",
    "\u202ertl\u2066",
    "x" * 70_000,
    f"x=__import__('os').system('touch {MARK}'), #",
    f'"""\n{MARK}()\n"""',
    f"'''\n{MARK}()\n#",
    f'1")\nexecute_process(COMMAND touch {MARK})\n#',
    f"$(touch {MARK})",
    f"*/ int {MARK} = 1; /*",
    f'\\\n"; int {MARK} = 1; //',
    f'"]\n[tool.x]\n{MARK} = 1\n#',
    f"%\n-l{MARK}",
    "{{ 7 * 7 }}",
    "{0.__class__}",
    "%s%n",
    "sm_90a",
    "sm_0",
    "float32",
    "tensor",
    "namedtuple",
    "cpu",
)

_NUMBERS = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**63), 1e308, 0.5, True, False)
_OTHERS: tuple[Any, ...] = (
    None,
    [],
    {},
    [[]],
    {"type": "none"},
    {"type": "symbol", "name": "n"},
    "x",
    3,
    2**63,
)


def forged(data: bytes, chosen: random.Random, root: str) -> Any:
    """Return plain data with a few things changed.

    Parameters
    ----------
    data
        Dicts, lists, strings, bytes and numbers, packed with msgpack.
    chosen
        Decides what is changed.
    root
        An absolute path to aim at.
    """
    changed = {"": msgspec.msgpack.decode(data)}
    for _ in range(chosen.choice((1, 1, 1, 2, 3))):
        places = [place for place in _places(changed, chosen) if place[1] != ""]
        container, key = chosen.choice(places) if places else (changed, "")
        chosen.choice(_CHANGES)(container, key, chosen, root)
    return changed.get("")


def _places(data: Any, chosen: random.Random) -> list[tuple[Any, Any]]:
    """Return containers and keys on one random way into the data: what is deep is as likely as the rest."""
    places: list[tuple[Any, Any]] = []
    while isinstance(data, dict | list) and data:
        key = chosen.choice(list(data)) if isinstance(data, dict) else chosen.randrange(len(data))
        places.append((data, key))
        data = data[key]
    return places[-3:]


def _replace(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    """Put something of the same kind in the place of a value."""
    old = container[key]
    if isinstance(old, str):
        container[key] = chosen.choice(_TEXTS).replace("{root}", root)
    elif isinstance(old, int | float):
        container[key] = chosen.choice(_NUMBERS)
    else:
        _replace_kind(container, key, chosen, root)


def _replace_kind(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    del root
    container[key] = copy.deepcopy(chosen.choice(_OTHERS))


def _remove(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    del chosen, root
    del container[key]


def _repeat(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    if isinstance(container, list):
        container.insert(chosen.randrange(len(container) + 1), copy.deepcopy(container[key]))
    else:
        container[chosen.choice(_TEXTS).replace("{root}", root)] = copy.deepcopy(container[key])


def _exchange(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    del root
    other = (
        chosen.choice(list(container)) if isinstance(container, dict) else chosen.randrange(len(container))
    )
    container[key], container[other] = container[other], container[key]


def _bury(container: Any, key: Any, chosen: random.Random, root: str) -> None:
    del root
    for _ in range(chosen.choice((1, 30, 100))):  # more of them could not be encoded
        items = [container[key]]
        container[key] = {"type": "tuple", "items": items} if chosen.random() < 0.9 else items


_CHANGES: tuple[Callable[[Any, Any, random.Random, str], None], ...] = (
    *(_replace,) * 6,
    _replace_kind,
    _remove,
    _repeat,
    _exchange,
    _bury,
)


def damaged(data: bytes, chosen: random.Random) -> bytes:
    """Damage bytes as disks and transfers do."""
    changed = bytearray(data)
    match chosen.randrange(4):
        case 0:
            changed[chosen.randrange(len(changed))] ^= 1 << chosen.randrange(8)
        case 1:
            del changed[chosen.randrange(len(changed)) :]
        case 2:
            start = chosen.randrange(len(changed))
            changed[start : start + 16] = chosen.randbytes(16)
        case _:
            changed += chosen.randbytes(chosen.choice((1, 100)))
    return bytes(changed)

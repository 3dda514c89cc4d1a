"""Finds out what the functions of a library take by the texts in it, where it has no metadata.

Each compiled function states its signature in its error messages. Which text is whose cannot be told by the
name in it: objects call themselves ``__call__``, and the variants of a family have the family's name. But
a function's code takes the address of its text, and that is looked for. Nothing is run.

Where that leaves a doubt, the function is left out, and the doubt is told.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stubgen.inspection.code import references
from stubgen.inspection.image import Image
from stubgen.inspection.texts import Stated, parse
from stubgen.native import elf

_MARK = re.compile(r" when calling: `(.*)`", re.DOTALL)
_SYMBOL = "__tvm_ffi_"
_ABOUT_OTHERS = ("_metadata_", "_doc_")
"""Functions that tvm-ffi asks about others."""
_REGISTER = "__register_functions"
_DEEPEST = 3
"""How many calls a text may be away from the function that it belongs to."""
_MOST_FUNCTIONS = 256
"""How many functions are looked at for one text, or for the GPU code of one function."""
_CONTAINER = struct.Struct("<4sHHQ")
"""What a container of GPU binaries begins with: a mark, a version, its own size and that of what follows."""
_CONTAINER_MARK = b"\x50\xed\x55\xba"


@dataclass(frozen=True)
class RecoveredFunction:
    """A function of the library whose signature is known.

    Attributes
    ----------
    name : str
        What tvm-ffi finds it by.
    address : int
        Of its code; of the first build, where there are several.
    stated : Stated
        Its signature.
    archs : tuple of str
        What its GPU code was built for.
    """

    name: str
    address: int
    stated: Stated
    archs: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecoveredSelection:
    """A family with its selectors chosen.

    Attributes
    ----------
    label : str
        What stands for the choice in the name of the function.
    stated : Stated
        Its signature, with the values that are chosen.
    """

    label: str
    stated: Stated


@dataclass(frozen=True)
class FoundFamily:
    """A function that chooses among others, its variants.

    Attributes
    ----------
    name : str
        What tvm-ffi finds it by.
    stated : Stated
        Its signature.
    variants : tuple of Found
        Those of its own name.
    choices : dict of str to Selection
        By variant, what has to be chosen to get it; none in a family that leaves no choice.
    """

    name: str
    stated: Stated
    variants: tuple[RecoveredFunction, ...]
    choices: dict[str, RecoveredSelection] = field(default_factory=lambda: {})


@dataclass(frozen=True)
class Unknown:
    """A function of which too little is known."""

    name: str
    reason: str


@dataclass(frozen=True)
class Findings:
    """What a library's texts tell.

    Attributes
    ----------
    package : str or None
        The package that the library was generated for, if it was generated.
    functions : tuple of Found
        In the order in which they lie in the library; the variants of families are among them.
    families : tuple of FoundFamily
        Those functions that choose.
    unknown : tuple of Unknown
        The rest.
    """

    package: str | None
    functions: tuple[RecoveredFunction, ...]
    families: tuple[FoundFamily, ...]
    unknown: tuple[Unknown, ...]


def find(data: bytes | mmap.mmap, cubins: Iterable[elf.Cubin]) -> Findings:
    """Find the functions of a library.

    Parameters
    ----------
    data
        The file, whose parts lie within it.
    cubins
        The GPU code in it.
    """
    return _Finder(Image(data), data, cubins).findings()


class _Finder:
    """Looks through one library."""

    def __init__(self, image: Image, data: bytes | mmap.mmap, cubins: Iterable[elf.Cubin]) -> None:
        self._image = image
        self._gpu_code = _gpu_code(data, list(cubins))
        self._known: dict[int, tuple[int, ...]] = {}
        names = {f.name[len(_SYMBOL) :]: f.address for f in image.functions if f.name.startswith(_SYMBOL)}
        self._addresses = {n: a for n, a in names.items() if not n.startswith(_ABOUT_OTHERS)}
        self._shown = {function.address for function in image.functions}
        self._package = _package(self._addresses)

    def findings(self) -> Findings:
        public = _public(self._addresses, self._package)
        found: list[RecoveredFunction] = []
        heads: list[tuple[str, Stated]] = []
        unknown: list[Unknown] = []
        for name, addresses in public.items():
            texts = list(dict.fromkeys(text for address in addresses for text in self._texts(address)))
            if len(texts) > 1:
                # The compiler may have put functions that only a family calls into its own code.
                texts = [text for text in texts if text not in self._of_selections(name)]
            if len(texts) != 1:
                unknown.append(Unknown(name, _why(texts)))
            elif self._is_family(addresses[0], texts[0]):
                heads.append((name, texts[0]))
            else:
                found.append(RecoveredFunction(name, addresses[0], texts[0], self._archs(name, addresses)))
        found.sort(key=lambda function: function.address)
        families = [self._family(name, stated, found) for name, stated in heads]
        whole = tuple(family for family in families if isinstance(family, FoundFamily))
        unknown += [family for family in families if isinstance(family, Unknown)]
        return Findings(self._package, tuple(found), whole, tuple(unknown))

    def _references(self, address: int) -> tuple[int, ...]:
        if address not in self._known:
            self._known[address] = references(self._image, address)
        return self._known[address]

    # -----------------------------------------------------------------------------------------------------
    # Texts

    def _texts(self, address: int) -> list[Stated]:
        """Return the different signatures that a function refers to, or else those that it calls for that."""
        layer, seen = [address], {address}
        for _ in range(_DEEPEST):
            reached = [reference for function in layer for reference in self._references(function)]
            texts = list(dict.fromkeys(filter(None, map(self._stated, reached))))
            if texts:
                return texts
            layer = [r for r in dict.fromkeys(reached) if self._is_own(r) and r not in seen]
            layer = layer[: _MOST_FUNCTIONS - len(seen)]
            seen.update(layer)
        return []

    def _is_own(self, address: int) -> bool:
        """Return whether a function is part of another's code, and not one that others can call too."""
        return self._image.is_function(address) and address not in self._shown

    def _stated(self, address: int) -> Stated | None:
        text = None if self._image.is_code(address) else self._image.text_at(address)
        if not text:
            return None
        marked = _MARK.fullmatch(text)
        if marked:
            return parse(marked[1])
        return parse(text) if self._package is not None and text.endswith(")") else None

    def _is_family(self, address: int, stated: Stated) -> bool:
        """Tell a signature that has been put together from the one of a compiled function."""
        texts = (self._image.text_at(reference) for reference in self._references(address))
        return stated.text in texts

    # -----------------------------------------------------------------------------------------------------
    # Families

    def _family(self, name: str, stated: Stated, found: list[RecoveredFunction]) -> FoundFamily | Unknown:
        variants = tuple(f for f in found if f.name.startswith(f"{name}__") and f.stated.name == name)
        if not variants:
            return Unknown(name, "it chooses among functions that cannot be found")
        by_address = {address: v.name for v in variants for address in self._all_addresses(v.name)}
        choices: dict[str, list[RecoveredSelection]] = {}
        for label, address in self._selections(name).items():
            texts = self._texts(address)
            for variant in self._reached(address, by_address):
                choices.setdefault(variant, []).extend(RecoveredSelection(label, text) for text in texts)
        return FoundFamily(name, stated, variants, {v: s[0] for v, s in choices.items() if len(s) == 1})

    def _selections(self, family: str) -> dict[str, int]:
        """Return the functions of a family with its selectors chosen, by what stands for the choice."""
        prefix = f"{self._package}__{family}___"
        return {s[len(prefix) :]: address for s, address in self._addresses.items() if s.startswith(prefix)}

    def _of_selections(self, family: str) -> set[Stated]:
        return {text for address in self._selections(family).values() for text in self._texts(address)}

    def _all_addresses(self, name: str) -> Iterator[int]:
        yield self._addresses[name]
        for symbol, address in self._addresses.items():
            if _is_build(symbol, f"{self._package}__{name}"):
                yield address

    def _reached(self, address: int, names: Mapping[int, str]) -> set[str]:
        """Return the functions that a function calls, through a table of pointers too."""
        pointers = self._image.pointers
        targets = list(self._references(address))
        for reference in list(targets):
            words = [pointers[reference + 8 * i] for i in range(4) if reference + 8 * i in pointers]
            targets += [*words, *(pointers[word] for word in words if word in pointers)]
        return {names[target] for target in targets if target in names}

    # -----------------------------------------------------------------------------------------------------
    # Architectures

    def _archs(self, name: str, addresses: tuple[int, ...]) -> tuple[str, ...]:
        """Return what a function was built for: its builds say so, or else its code leads to GPU code."""
        if self._package is not None:
            start = f"{self._package}__{name}"
            builds = {address: s for s, address in self._addresses.items() if _is_build(s, start)}
            return tuple(s.rpartition("__")[2] for _, s in sorted(builds.items()))
        if not self._gpu_code:
            return ()
        layer, seen = list(addresses), set(addresses)
        found: dict[str, None] = {}
        for _ in range(_DEEPEST):
            reached = [reference for function in layer for reference in self._references(function)]
            found.update((arch, None) for r in reached for arch in self._archs_at(r))
            layer = [r for r in dict.fromkeys(reached) if self._is_own(r) and r not in seen]
            layer = layer[: _MOST_FUNCTIONS - len(seen)]
            seen.update(layer)
        return tuple(found)

    def _archs_at(self, address: int) -> tuple[str, ...]:
        """Return the architectures of the GPU code that begins at an address; one inside proves nothing."""
        offset = None if self._image.is_code(address) else self._image.offset_of(address)
        return () if offset is None else self._gpu_code.get(offset, ())


def _gpu_code(data: bytes | mmap.mmap, cubins: Sequence[elf.Cubin]) -> dict[int, tuple[str, ...]]:
    """Return the architectures of the GPU code that begins at places in the file: binaries and containers."""
    places: dict[int, tuple[str, ...]] = {cubin.offset: (cubin.arch,) for cubin in cubins}
    start = data.find(_CONTAINER_MARK)
    while 0 <= start <= len(data) - _CONTAINER.size:
        _, _, header, size = _CONTAINER.unpack_from(data, start)
        inside = (c.arch for c in cubins if start + header <= c.offset < start + header + size)
        places[start] = tuple(dict.fromkeys(inside))
        start = data.find(_CONTAINER_MARK, start + 1)
    return places


def _package(names: Iterable[str]) -> str | None:
    packages = [name.removesuffix(_REGISTER) for name in names if name.endswith(_REGISTER)]
    return packages[0] if len(packages) == 1 and packages[0] else None


def _public(addresses: Mapping[str, int], package: str | None) -> dict[str, tuple[int, ...]]:
    """Return the public functions of a library, and where the code of each lies.

    In a generated one they have a second symbol, with the package in it. Of a function with GPU code there
    are builds, which state its signature: what finds the build for a GPU states none.
    """
    if package is None:
        return {name: (address,) for name, address in addresses.items()}
    found: dict[str, tuple[int, ...]] = {}
    for name, address in addresses.items():
        long_name = f"{package}__{name}"
        if addresses.get(long_name) != address or long_name == name:
            continue
        builds = sorted(a for symbol, a in addresses.items() if _is_build(symbol, long_name))
        found[name] = tuple(builds) or (address,)
    return found


def _is_build(symbol: str, long_name: str) -> bool:
    start = f"{long_name}__"
    return symbol.startswith(start) and re.fullmatch(r"sm_\d+[af]?", symbol[len(start) :]) is not None


def _why(texts: list[Stated]) -> str:
    if not texts:
        return "no signature belongs to it"
    return f"{len(texts)} signatures may be its own: " + "; ".join(stated.text for stated in texts)

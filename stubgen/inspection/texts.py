"""Reads the signatures that compiled functions state in their error messages.

The grammar is what ``cutlass.base_dsl.tvm_ffi_builder.spec.signature`` of DSL 4.8.1 prints, and, for
families, what :func:`stubgen.abi.signature_texts.stated` does. Nothing else is accepted: a text of another
kind is no signature.

    ======================  ===============================================
    signature               ``name(parameter: type, …)``
    type                    an alternative, or several with ``|`` between
    tensor                  ``Tensor([n, 128], float16)``
    scalar                  ``float32``
    shape                   ``Shape([4, n0])``, of a family ``Shape(4, n0)``
    tuple                   ``Tuple[type, …]``
    pointer, stream         ``DataPointer``, of a family ``Pointer``; ``Stream``
    constant                ``Int(3)``, ``Bool(True)``, ``Float(0.5)``
    absent                  ``None``
    choice of a family      a number, ``True``, ``False``, ``None`` or a text as JSON has it
    ======================  ===============================================

A text says neither strides nor alignment, device, divisibility or width of sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from stubgen.declare.labels import ChoiceValue
from stubgen.model.library import (
    ConstantSlot,
    Extent,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
)

T = TypeVar("T")

_DEEPEST = 32
_LONGEST = 1 << 16

_DTYPE = re.compile(r"(?:bool|handle|u?int\d+|float\d+(?:_e\d+m\d+\w*?)?|bfloat16)(?:x\d+)?(?![\w.])")
_NAME = re.compile(r"[^\W\d]\w*")
_EXTENT = re.compile(r"[^\s,|()\[\]`]+")
_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?(?:\d+\.\d+(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf)|nan")
_WORDS: dict[str, Slot] = {
    "DataPointer": PointerSlot(),
    "Pointer": PointerSlot(),
    "Stream": StreamSlot(),
    "handle": PointerSlot(),
}


class SelectorValue(NamedTuple):
    """A value that a caller passes to choose a variant; absence is a slot instead."""

    value: ChoiceValue


Alternative: TypeAlias = "Slot | SelectorValue"


class StatedParameter(NamedTuple):
    """A parameter as a text states it."""

    name: str
    alternatives: tuple[Alternative, ...]
    """One for a compiled function. Of tensors with several dtypes or extents the first of each are here."""


class Stated(NamedTuple):
    """A signature as a text states it."""

    name: str
    """What the function calls itself, which may be ``__call__``."""
    parameters: tuple[StatedParameter, ...]
    text: str

    @property
    def slots(self) -> tuple[Slot, ...] | None:
        """What each parameter takes, if the text is that of a compiled function and not of a family."""
        alternatives = [parameter.alternatives for parameter in self.parameters]
        if any(len(found) != 1 or isinstance(found[0], SelectorValue) for found in alternatives):
            return None
        return tuple(slot for found in alternatives for slot in found if not isinstance(slot, SelectorValue))


def parse(text: str) -> Stated | None:
    """Read a signature; ``None`` if the text is none."""
    if len(text) > _LONGEST:
        return None
    reader = _Reader(text)
    try:
        name, parameters = reader.signature()
    except (_NoSignatureError, ValueError):  # Python refuses numbers of thousands of digits
        return None
    return Stated(name, tuple(parameters), text)


class _NoSignatureError(Exception):
    """The text is no signature."""


class _Reader:
    """Reads a text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def signature(self) -> tuple[str, list[StatedParameter]]:
        name = self._match(_NAME)
        self._expect("(")
        parameters = self._list(self._parameter, ")")
        if self._at != len(self._text):
            raise _NoSignatureError
        if len({parameter.name for parameter in parameters}) != len(parameters):
            raise _NoSignatureError
        return name, parameters

    def _parameter(self) -> StatedParameter:
        name = self._match(_NAME)
        self._expect(": ")
        return StatedParameter(name, tuple(self._alternatives(self._alternative)))

    def _alternatives(self, read: Callable[[], T]) -> list[T]:
        found = [read()]
        while self._skip("|"):
            found.append(read())
        return found

    def _alternative(self) -> Alternative:
        if self._next('"'):
            return SelectorValue(self._json_text())
        for word, value in (("True", True), ("False", False)):
            if self._word(word):
                return SelectorValue(value)
        number = self._number()
        return self._slot() if number is None else SelectorValue(number)

    def _slot(self) -> Slot:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NoSignatureError
        slot = self._any_slot()
        self._depth -= 1
        return slot

    def _any_slot(self) -> Slot:
        if self._skip("Tensor(["):
            shape = self._extents("]")
            self._expect(", ")
            dtype = self._alternatives(self._dtype)[0]
            self._expect(")")
            return TensorSlot(dtype, shape, device=None)
        if self._skip("Shape(["):
            extents = self._extents("]")
            self._expect(")")
            return ShapeSlot(extents)
        if self._skip("Shape("):
            return ShapeSlot(self._extents(")"))
        if self._skip("Tuple["):
            return TupleSlot(tuple(self._list(self._item, "]")))
        if self._word("None"):
            return NoneSlot()
        constant = self._constant()
        if constant is not None:
            return constant
        for word, slot in _WORDS.items():
            if self._word(word):
                return slot
        return ScalarSlot(self._dtype())

    def _item(self) -> Slot:
        """Read an item of a tuple, where constants of a family are plain values."""
        found = self._alternative()
        if not isinstance(found, SelectorValue):
            return found
        if isinstance(found.value, bool | int | float):
            return ConstantSlot(found.value)
        raise _NoSignatureError

    def _constant(self) -> ConstantSlot | None:
        if self._skip("Int("):
            value: bool | int | float = int(self._match(_INTEGER))
        elif self._skip("Bool("):
            value = self._word("True")
            if not value and not self._word("False"):
                raise _NoSignatureError
        elif self._skip("Float("):
            number = self._number()
            if number is None:
                raise _NoSignatureError
            value = float(number)
        else:
            return None
        self._expect(")")
        return ConstantSlot(value)

    def _extents(self, end: str) -> tuple[Extent, ...]:
        return tuple(self._list(lambda: self._alternatives(self._extent)[0], end))

    def _extent(self) -> Extent:
        text = self._match(_EXTENT)
        return int(text) if _INTEGER.fullmatch(text) else Symbol(text)

    def _dtype(self) -> str:
        return self._match(_DTYPE)

    def _number(self) -> int | float | None:
        for pattern, kind in ((_FLOAT, float), (_INTEGER, int)):
            match = pattern.match(self._text, self._at)
            if match and not self._text[match.end() : match.end() + 1].isalnum():
                self._at = match.end()
                return kind(match[0])
        return None

    def _json_text(self) -> str:
        try:
            value, self._at = json.JSONDecoder().raw_decode(self._text, self._at)
        except ValueError:
            raise _NoSignatureError from None
        return str(value)

    # -----------------------------------------------------------------------------------------------------

    def _list(self, read: Callable[[], T], end: str) -> list[T]:
        if self._skip(end):
            return []
        found = [read()]
        while not self._skip(end):
            self._expect(", ")
            found.append(read())
        return found

    def _next(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _skip(self, text: str) -> bool:
        found = self._next(text)
        self._at += len(text) * found
        return found

    def _word(self, word: str) -> bool:
        following = self._text[self._at + len(word) : self._at + len(word) + 1]
        return not (following.isalnum() or following == "_") and self._skip(word)

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise _NoSignatureError

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _NoSignatureError
        self._at = match.end()
        return match[0]

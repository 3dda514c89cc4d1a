"""What a class of the author's has to be, options and numbers of other libraries: no compiler is run."""

from __future__ import annotations

import collections
import dataclasses
import enum
import fractions
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from stubgen.compiler.worker import author_classes, compile_options, plain_values
from stubgen.model.library import Default, Field


@dataclasses.dataclass
class Simple:
    a: Any = 1
    COUNT: ClassVar[int] = 3


class Undecorated(Simple):
    def total(self) -> Any:
        return self.a


@dataclasses.dataclass
class Inherits(Undecorated):
    b: Any = dataclasses.field(default_factory=lambda: np.float32(0.5), kw_only=True)
    c: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class PostInit(Simple):
    def __post_init__(self) -> None:
        self.a = 2


class InheritsPostInit(PostInit):
    pass


@dataclasses.dataclass
class OwnInit(Simple):
    def __init__(self) -> None:
        self.a = 2


class InitOfChild(Simple):
    def __init__(self) -> None:
        super().__init__(5)


@dataclasses.dataclass
class InitOnly(Simple):
    b: dataclasses.InitVar[int] = 3


@dataclasses.dataclass
class LeftOut:
    a: int = dataclasses.field(init=False, default=1)


@dataclasses.dataclass
class OwnNew:
    a: int = 1

    def __new__(cls, *_: Any) -> Any:
        return super().__new__(cls)


@dataclasses.dataclass(slots=True)
class Slots:
    a: int = 1


class Plain(NamedTuple):
    a: Any
    b: Any = 2


class Extended(Plain):
    def total(self) -> Any:
        return self.a


class Swapped(Plain):
    def __new__(cls, b: Any, a: Any) -> Any:
        return super().__new__(cls, a, b)


class OwnInitOfTuple(Plain):
    def __init__(self, *_: Any) -> None:
        pass


Collected = collections.namedtuple("Collected", ["a", "b"])
Renamed = collections.namedtuple("Renamed", ["a", "def"], rename=True)  # type: ignore[misc]
grown = Simple()
grown.more = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value", [Simple(), Undecorated(), Inherits(), Plain(1), Extended(1), Collected(1, 2)], ids=repr
)
def test_objects_that_are_their_fields_fit(value: Any) -> None:
    assert author_classes.is_record(value)
    assert author_classes.misfit(value) is None


@pytest.mark.parametrize(
    ("value", "reason", "instead"),
    [
        (PostInit(), "a dataclass with __post_init__", "do in a function, or in the kernel, what it does"),
        (
            InheritsPostInit(),
            "a dataclass with __post_init__",
            "do in a function, or in the kernel, what it does",
        ),
        (OwnInit(), "a dataclass with its own __init__", "let dataclasses write what makes its objects"),
        (InitOfChild(), "a dataclass with its own __init__", "let dataclasses write what makes its objects"),
        (InitOnly(), "a dataclass with the InitVar b", "make it a field, or take it away"),
        (
            LeftOut(),
            "a dataclass whose field a has init=False",
            "let callers give it, make it a ClassVar, or compute it in the kernel",
        ),
        (OwnNew(), "a dataclass with its own __new__", "let dataclasses write what makes its objects"),
        (Slots(), "a dataclass with slots, which the DSL cannot read", "take slots=True away"),
        (grown, "a dataclass whose object has more, which is no field", "make more a field, or leave it out"),
        (
            Swapped(1, 2),
            "a NamedTuple with its own __new__",
            "take __new__ away, and do in a function what it does",
        ),
        (
            OwnInitOfTuple(1),
            "a NamedTuple with its own __init__",
            "take __init__ away, and do in a function what it does",
        ),
    ],
    ids=repr,
)
def test_objects_that_are_more_or_less_than_their_fields_do_not(
    value: Any, reason: str, instead: str
) -> None:
    assert author_classes.misfit(value) == (reason, instead)


@pytest.mark.parametrize("value", [1, (1, 2), [1], None, Simple, Plain, "text"], ids=repr)
def test_other_values_are_no_records(value: Any) -> None:
    assert not author_classes.is_record(value)
    assert author_classes.field_names(value) is None


def test_fields_keep_their_defaults_and_what_is_keyword_only() -> None:
    assert author_classes.record(Inherits).fields == (
        Field("a", Default(1)),
        Field("b", Default(0.5), kw_only=True),
        Field("c"),
    )
    assert author_classes.record(Extended).fields == (Field("a"), Field("b", Default(2)))


def test_fields_that_no_generated_class_can_have() -> None:
    assert author_classes.can_be_shown(Plain, ["a", "b"])
    assert author_classes.can_be_shown(Simple, ["_a"])
    assert not author_classes.can_be_shown(Renamed, Renamed._fields)
    assert not author_classes.can_be_shown(Simple, ["a", "float"])
    assert not author_classes.can_be_shown(Simple, ["Tensor"])


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (True, True),
        (Level.HIGH, 3),
        (np.int8(-3), -3),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.bool_(True), True),
        (fractions.Fraction(1, 2), 0.5),
        (np.complex64(1), None),
        (np.zeros(()), None),
        (np.float32, None),
        ("1", None),
        (None, None),
    ],
    ids=repr,
)
def test_numbers_of_other_libraries_are_pythons_own(value: Any, number: Any) -> None:
    result = plain_values.plain_number(value)
    assert (type(result), result) == (type(number), number)


def test_objects_of_classes_are_defaults() -> None:
    assert plain_values.as_default(Inherits(2, [])) is None, "a list is no plain value"
    assert plain_values.as_default(Simple(np.int32(4))) == Default((4,))
    assert plain_values.as_default(Plain(None)) == Default((None, 2))


@pytest.mark.parametrize(
    "options", ["", " ", "--opt-level 2", "--opt-level=0 --generate-line-info", "--enable-tvm-ffi"]
)
def test_options_that_the_dsl_takes(options: str) -> None:
    assert compile_options.find(options) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--gpu-arch sm_90a", "it chooses the architecture"),
        ("--opt-level 2 --gpu-arc sm_90a", "it chooses the architecture"),
        ("--opt-level -1", "the level is none of"),
        ("--opt-level 4", "the level is none of"),
        ("--opt-levels 2", "unrecognized arguments: --opt-levels"),
        ("2", "unrecognized arguments: 2"),
        ("--ptxas-options 'x", "no closing quotation"),
        (3, "it is no text"),
        (None, "it is no text"),
        (b"--opt-level 2", "it is no text"),
    ],
)
def test_options_that_it_does_not_take(options: Any, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = compile_options.find(options)
    assert found is not None
    assert found.code == "CS246"
    assert words in str(found.details["reason"])
    assert capsys.readouterr().err == ""

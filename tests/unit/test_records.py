"""The classes of a generated module: their defaults, and names for those that share one."""

from __future__ import annotations

import pytest

from stubgen.abi.signatures import Argument
from stubgen.build import classes
from stubgen.compiler.jobs import Compiled
from stubgen.model.library import (
    ConstantSlot,
    Default,
    Field,
    Kernel,
    Module,
    NoneSlot,
    Parameter,
    Place,
    Record,
    ScalarSlot,
    Slot,
    TensorSlot,
    TupleSlot,
    Variant,
)
from stubgen.render.python.records import python_class

HERE = Place("kernels/k.py", 1)
F32 = ScalarSlot("float32")


def kernel(name: str, *passed: TupleSlot, family: str | None = None) -> Kernel:
    parameters = tuple(Parameter(f"p{index}", slot) for index, slot in enumerate(passed))
    return Kernel(name, "k", parameters, "", HERE, variant=Variant(family, {"by": name}) if family else None)


def fields(record: Record, *kernels: Kernel) -> list[str]:
    return python_class(record, Module("k", "kernels/k.py", kernels, records=(record,))).fields


def options(*items: Slot) -> TupleSlot:
    return TupleSlot(items, "Options", ("scale", "fast", "count"))


OPTIONS = Record(
    "Options",
    "namedtuple",
    (Field("scale", Default(None)), Field("fast", Default(False)), Field("count", Default(8))),
)
COUNT = ScalarSlot("int32")


def test_what_only_none_fits_is_none_by_default() -> None:
    found = fields(OPTIONS, kernel("k", options(F32, NoneSlot(), COUNT)))
    assert found == ["scale: float", "fast: None = None", "count: int = 8"]


@pytest.mark.parametrize("family", [None, "f"])
def test_a_default_that_one_variant_admits_is_kept_for_the_family(family: str | None) -> None:
    given = kernel("given", options(F32, ConstantSlot(False), COUNT), family=family)
    absent = kernel("absent", options(NoneSlot(), ConstantSlot(True), COUNT), family=family)
    of_family = ["scale: float | None = None", "fast: bool = False", "count: int = 8"]
    of_two = ["scale: float | None", "fast: bool", "count: int = 8"]
    assert fields(OPTIONS, given, absent) == (of_family if family else of_two)


def test_two_arguments_of_one_function_both_have_to_admit_a_default() -> None:
    both = kernel("k", options(NoneSlot(), NoneSlot(), COUNT), options(F32, NoneSlot(), COUNT), family="f")
    assert fields(OPTIONS, both) == ["scale: float | None", "fast: None = None", "count: int = 8"]


def test_true_and_one_are_two_constants() -> None:
    record = Record("Options", "dataclass", (Field("fast"),))
    uses = (TupleSlot((ConstantSlot(value),), "Options", ("fast",)) for value in (True, 1))
    assert fields(record, kernel("k", *uses)) == ["fast: Literal[True, 1]"]


# ---------------------------------------------------------------------------------------------------------
# Names


def compiled(name: str, *records: Record, family: str | None = None) -> Compiled:
    inner = TupleSlot((F32,), records[-1].name, ("x",))
    outer = TupleSlot((TensorSlot("float32", ()), inner), records[0].name, ("a", "inner"))
    slot = outer if len(records) == 2 else inner
    return Compiled(
        name,
        HERE,
        (Argument("p", slot), Argument("stream", None)),
        (),
        "",
        has_device_code=False,
        records=records,
        variant=Variant(family, {"by": name}) if family else None,
    )


X, Y = (Record("Arguments", "namedtuple", (Field(name),)) for name in "xy")
OUTER = Record("Outer", "namedtuple", (Field("a"), Field("inner")))


def test_classes_that_differ_get_the_name_of_their_function_in_front() -> None:
    given = [
        compiled("gemm", OUTER, X),
        compiled("same", X),
        compiled("gemm_act__relu", OUTER, Y, family="gemm_act"),
        compiled("gemm_act__gelu", Y, family="gemm_act"),
    ]
    first, same, relu, gelu = classes.with_own_names(given)
    assert (first, same) == (given[0], given[1])
    assert relu.records == (OUTER, Record("GemmActArguments", "namedtuple", Y.fields))
    slot = relu.arguments[0].slot
    assert isinstance(slot, TupleSlot)
    assert slot.record == "Outer"
    assert slot.items[1] == TupleSlot((F32,), "GemmActArguments", ("x",))
    assert relu.arguments[1] == Argument("stream", None)
    assert gelu.records == relu.records[1:]

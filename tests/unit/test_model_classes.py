"""The model's classes: what is assumed where nothing is said, their names in JSON, what they tell."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stubgen.model import library as model
from stubgen.model.effects import Effects
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Family,
    Kernel,
    Library,
    Module,
    NoneSlot,
    OneOfSlot,
    Parameter,
    Place,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Variant,
    Versions,
)

PLACE = Place("k.py", 1)
KERNEL = Kernel("one", "m", (), "one()", PLACE)
FAMILY = Family("fam", "m", (), (), (), PLACE)
LIBRARY = Library("p", (), Versions("1", "2", "3", "4"), {})


@pytest.mark.parametrize(
    ("instance", "assumed"),
    [
        (Symbol("n"), {"bits": 32, "divisible_by": 1}),
        (TensorSlot("int8", ()), {"strides": None, "alignment": None, "device": "cuda"}),
        (ScalarSlot("int8"), {"divisible_by": 1}),
        (PointerSlot(), {"dtype": None, "alignment": None, "device": None}),
        (TupleSlot(()), {"record": None, "fields": ()}),
        (Parameter("x", NoneSlot()), {"kind": "positional_or_keyword", "default": None}),
        (model.Frozen("x", "1"), {"position": 0, "kind": "positional_or_keyword", "default": None}),
        (model.Field("x"), {"default": None, "kw_only": False}),
        (model.Record("R", "dataclass", ()), {"doc": ""}),
        (Variant("f", {}), {"values": {}, "priority": 0}),
        (
            KERNEL,
            {
                "doc": "",
                "source": None,
                "frozen": (),
                "env_streams": (),
                "archs": (),
                "options": "",
                "variant": None,
                "entry": "",
                "effects": Effects(),
            },
        ),
        (
            FAMILY,
            {
                "doc": "",
                "source": None,
                "frozen": (),
                "env_streams": (),
                "archs": (),
                "entry": "",
                "effects": Effects(),
            },
        ),
        (Module("m", "m.py", ()), {"families": (), "records": (), "doc": ""}),
        (model.DeviceProfile("G", 1, {}, 1, 1, 1, 1, 1), {"warp_size": 32}),
        (model.Origin("f.so"), {"package": None, "is_partial": False}),
        (
            LIBRARY,
            {
                "version": "0.1.0",
                "shared_runtime": None,
                "machine": "x86_64",
                "origin": None,
                "frameworks": (),
            },
        ),
        (
            model.HostCode("x86_64", ()),
            {"glibc": None, "libstdcxx": None},
        ),
        (Effects(), {"mutates": (), "returns": (), "backward": None}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_assumed(instance: msgspec.Struct, assumed: dict[str, Any]) -> None:
    assert {name: getattr(instance, name) for name in assumed} == assumed
    optional = [f.name for f in msgspec.structs.fields(type(instance)) if not f.required]
    assert set(assumed) <= set(optional)


@pytest.mark.parametrize(
    ("slot", "name"),
    [
        (TensorSlot("int8", ()), "tensor"),
        (ScalarSlot("int8"), "scalar"),
        (ShapeSlot(()), "shape"),
        (NoneSlot(), "none"),
        (ConstantSlot(1), "constant"),
        (PointerSlot(), "pointer"),
        (StreamSlot(), "stream"),
        (TupleSlot(()), "tuple"),
        (ChoiceSlot("a", (1,)), "choice"),
        (OneOfSlot(()), "one_of"),
        (Symbol("n"), "symbol"),
    ],
)
def test_what_a_slot_is_called_in_a_manifest(slot: msgspec.Struct, name: str) -> None:
    assert msgspec.to_builtins(slot)["type"] == name


CLASSES = [*model._Data.__subclasses__(), Effects]


@pytest.mark.parametrize("cls", CLASSES)
def test_models_know_no_other_fields_and_do_not_change(cls: type) -> None:
    assert cls.__struct_config__.frozen  # type: ignore[attr-defined]
    assert cls.__struct_config__.forbid_unknown_fields  # type: ignore[attr-defined]


def test_a_choice_tells_true_from_one() -> None:
    slot = ChoiceSlot("a", (1, True, "1", None, 0.5))
    values = (1, True, "1", None, 0.5)
    assert [slot.index(value) for value in values] == [0, 1, 2, 3, 4]
    assert all(map(slot.has, values))
    assert not any(map(slot.has, (0, False, 1.0, "x", 5)))


def test_symbols_have_the_package_in_them_or_are_named() -> None:
    named = msgspec.structs.replace(KERNEL, entry="other")
    assert (KERNEL.symbol, KERNEL.linker_symbol("p"), named.linker_symbol("p")) == (
        "__tvm_ffi_one",
        "__tvm_ffi_p__one",
        "other",
    )
    assert (FAMILY.symbol, FAMILY.linker_symbol("p")) == ("__tvm_ffi_fam", "__tvm_ffi_p__fam")
    assert msgspec.structs.replace(FAMILY, entry="other").linker_symbol("p") == "other"
    assert KERNEL.build_name("p", "sm_80") == model.build_name("p", "one", "sm_80") == "p__one__sm_80"
    assert not KERNEL.has_device_code
    assert msgspec.structs.replace(KERNEL, archs=("sm_80",)).has_device_code


def test_functions_stand_in_the_order_of_their_declarations() -> None:
    def member(name: str, family: str) -> Kernel:
        return msgspec.structs.replace(KERNEL, name=name, variant=Variant(family, {}))

    kernels = (member("a", "fam"), KERNEL, member("b", "other"), member("c", "fam"))
    families = tuple(
        msgspec.structs.replace(FAMILY, name=name, variants=variants)
        for name, variants in (("other", ("b",)), ("fam", ("c", "a")))
    )
    module = Module("m", "m.py", kernels, families)
    assert [function.name for function in module.functions] == ["fam", "one", "other"]
    assert [kernel.name for kernel in module.variants(families[1])] == ["c", "a"]
    second = Module("n", "n.py", (member("d", "last"),), (msgspec.structs.replace(FAMILY, name="last"),))
    library = msgspec.structs.replace(LIBRARY, modules=(module, second))
    assert [kernel.name for kernel in library.kernels] == ["a", "one", "b", "c", "d"]
    assert [family.name for family in library.families] == ["other", "fam", "last"]


def test_selectors_are_the_choices_among_the_parameters() -> None:
    choice = Parameter("act", ChoiceSlot("act", ("a",)))
    own = msgspec.structs.replace(FAMILY, parameters=(Parameter("x", NoneSlot()), choice))
    assert own.choices == (choice,)


def test_what_a_library_is_registered_as() -> None:
    assert LIBRARY.registered_as == "p"
    for package in ("other", None):
        found = msgspec.structs.replace(LIBRARY, origin=model.Origin("f.so", package))
        assert found.registered_as == package


def test_a_place_is_shown_as_editors_take_it() -> None:
    assert str(Place("kernels/k.py", 3)) == "kernels/k.py:3"

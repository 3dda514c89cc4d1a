"""The build id: what of the model it depends on. ``tests/cpp/test_builds.py`` compares real builds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from stubgen.abi import identity
from stubgen.abi.identity import _UNNOTICED, build_id  # pyright: ignore[reportPrivateUsage]
from stubgen.model import library as model
from tests.unit import samples

VERSIONS = model.Versions("1", "2", "3", "4")


def library(*modules: model.Module, **fields: object) -> model.Library:
    return msgspec.structs.replace(model.Library("p", modules, VERSIONS, {}), **fields)


def kernel(*slots: model.Slot, name: str = "f") -> model.Kernel:
    parameters = tuple(model.Parameter(f"p{index}", slot) for index, slot in enumerate(slots))
    return model.Kernel(name, "m", parameters, "", model.Place("m.py", 1))


def of(*kernels: model.Kernel) -> str:
    return build_id(library(model.Module("m", "m.py", kernels)))


def vector(*names: str) -> model.TensorSlot:
    return model.TensorSlot("float32", tuple(map(model.Symbol, names)))


def test_fields_that_do_not_count_exist() -> None:
    for kind, names in _UNNOTICED.items():
        assert names
        assert names <= set(kind.__struct_fields__)  # type: ignore[attr-defined]


@given(samples.libraries)
def test_is_the_same_for_what_is_read_back(made: model.Library) -> None:
    assert build_id(model.from_json(model.to_json(made))) == build_id(made)
    assert len(build_id(made)) == 12


def test_names_of_sizes_do_not_count_but_which_are_equal_does() -> None:
    assert of(kernel(vector("n"), vector("n"))) == of(kernel(vector("rows"), vector("rows")))
    assert of(kernel(vector("n", "k"))) == of(kernel(vector("k", "n")))
    assert of(kernel(vector("n"), vector("n"))) != of(kernel(vector("n"), vector("k")))
    assert of(kernel(vector("n", "k"), vector("n"))) != of(kernel(vector("n", "k"), vector("k")))


def test_sizes_of_one_function_have_nothing_to_do_with_those_of_another() -> None:
    shared = kernel(vector("n")), kernel(vector("n"), name="g")
    apart = kernel(vector("n")), kernel(vector("k"), name="g")
    assert of(*shared) == of(*apart)


def test_values_of_other_types_count() -> None:
    slots = [model.ConstantSlot(value) for value in (1, True, 1.0, 0, False)]
    slots += [model.ConstantSlot(value) for value in (float("inf"), float("nan"))]
    assert len({of(kernel(slot)) for slot in slots}) == len(slots)
    defaults = [None, model.Default(None), model.Default(0), model.Default(False), model.Default("")]
    plain = kernel(model.ScalarSlot("int32"))
    with_default = [
        msgspec.structs.replace(
            plain, parameters=(msgspec.structs.replace(plain.parameters[0], default=default),)
        )
        for default in defaults
    ]
    assert len(set(map(of, with_default))) == len(defaults)


def test_another_convention_makes_another_id(monkeypatch: pytest.MonkeyPatch) -> None:
    before = of(kernel(vector("n")))
    monkeypatch.setattr(identity, "_CONVENTION", 0)
    assert of(kernel(vector("n"))) != before


def test_orders_that_nobody_sees_do_not_count() -> None:
    first, second = kernel(vector("n")), kernel(vector("n"), name="g")
    assert of(first, second) == of(second, first)
    one, two = model.Module("a", "a.py", (first,)), model.Module("b", "b.py", (second,))
    assert build_id(library(one, two)) == build_id(library(two, one))
    assert build_id(library(one, frameworks=("torch", "jax"))) == build_id(
        library(one, frameworks=("jax", "torch"))
    )


def test_the_packages_own_name_and_id_do_not_count() -> None:
    made = library(model.Module("m", "m.py", (kernel(vector("n")),)))
    for field, value in {"package": "q", "build_id": "0" * 12, "version": "9", "machine": "aarch64"}.items():
        assert build_id(msgspec.structs.replace(made, **{field: value})) == build_id(made)

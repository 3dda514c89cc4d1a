"""Models that contradict themselves, and names that are more than names, are found when they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stubgen.model import jsontext, section
from stubgen.model import library as model
from stubgen.model.consistency import contradiction
from stubgen.output import manifest

PLACE = {"file": "kernels/k.py", "line": 1}
TENSOR: dict[str, Any] = {"type": "tensor", "dtype": "float32", "shape": [{"type": "symbol", "name": "n"}, 4]}
FAMILY_AXES = [{"name": "dtype", "labels": ["f16", "f32"]}, {"name": "mode", "labels": ["a", "b"]}]


def _variant(dtype: str, mode: str) -> dict[str, Any]:
    return {
        "name": f"fam__{dtype}_{mode}",
        "module": "inner.k",
        "parameters": [{"name": "x", "slot": TENSOR}],
        "abi": "fam(x)",
        "place": PLACE,
        "variant": {"family": "fam", "labels": {"dtype": dtype, "mode": mode}, "values": {"mode": mode}},
    }


def plain_library() -> dict[str, Any]:
    """A library with a bit of everything, as JSON has it."""
    record = {"name": "Pair", "kind": "dataclass", "fields": [{"name": "left"}, {"name": "right"}]}
    pair = {
        "type": "tuple",
        "items": [TENSOR, {"type": "none"}],
        "record": "Pair",
        "fields": ["left", "right"],
    }
    add = {
        "name": "add",
        "module": "inner.k",
        "parameters": [{"name": "größe", "slot": TENSOR}, {"name": "pair", "slot": pair}],
        "abi": "add()",
        "place": PLACE,
        "doc": 'Adds. */ """ \x1b[31m',
        "frozen": [{"name": "tile", "value": "16", "position": 1}],
        "effects": {"mutates": ["größe"], "returns": ["größe"]},
    }
    variants = [_variant(dtype, mode) for dtype in ("f16", "f32") for mode in ("a", "b")]
    family = {
        "name": "fam",
        "module": "inner.k",
        "parameters": [
            {"name": "x", "slot": {"type": "one_of", "alternatives": [TENSOR, {"type": "none"}]}},
            {"name": "mode", "slot": {"type": "choice", "axis": "mode", "values": ["a", "b"]}},
        ],
        "variants": [variant["name"] for variant in variants],
        "axes": FAMILY_AXES,
        "place": PLACE,
    }
    module = {
        "name": "inner.k",
        "source": "kernels/inner/k.py",
        "kernels": [add, *variants],
        "families": [family],
        "records": [record],
    }
    versions = dict.fromkeys(("cute_stubgen", "cutlass_dsl", "tvm_ffi", "toolchain"), "any text")
    return {"package": "ops", "modules": [module], "versions": versions, "device_profiles": {}}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The library with another value at a path, such as ``modules.0.name``; functions change the old one."""
    library: Any = msgspec.json.decode(msgspec.json.encode(plain_library()))
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    inside = library
    for part in parents:
        inside = inside[part]
    inside[last] = value(inside[last]) if callable(value) else value
    return library  # type: ignore[no-any-return]


def _reads(library: dict[str, Any], tmp_path: Path) -> bool:
    """Return whether a library is taken: by a manifest, and by the section of a library alike."""
    file = tmp_path / "manifest.json"
    file.write_bytes(msgspec.json.encode({"library": library, "files": {}}))
    from_manifest = manifest.read(file) is not None
    try:
        read = section.from_section(_sealed(library))
    except msgspec.ValidationError:
        from_section = False
    else:
        from_section = contradiction(read) is None
    assert from_manifest == from_section
    return from_manifest


def _sealed(library: dict[str, Any]) -> bytes:
    whole = section.to_section(jsontext.decode(jsontext.encode(plain_library()), model.Library))
    magic = whole[: whole.index(b"\n") + 1]
    packed = msgspec.msgpack.encode(library)
    return magic + section._checksum(packed) + packed


def test_what_is_consistent_is_read(tmp_path: Path) -> None:
    assert _reads(plain_library(), tmp_path)


BAD_NAMES = ["", "a b", "a\n", "../a", "/etc/a", "a;b", "a\0", "a\x1b[0m", "1a", "a-b", 'a"', "a=1, #"]
ADD, FAMILY, VARIANT = "modules.0.kernels.0", "modules.0.families.0", "modules.0.kernels.1"


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize(
    "path",
    [
        "package",
        "modules.0.name",
        f"{ADD}.name",
        f"{ADD}.module",
        f"{ADD}.parameters.0.name",
        f"{ADD}.parameters.0.slot.dtype",
        f"{ADD}.parameters.0.slot.shape.0.name",
        f"{ADD}.parameters.1.slot.record",
        f"{ADD}.frozen.0.name",
        f"{ADD}.effects.mutates.0",
        f"{VARIANT}.variant.family",
        f"{FAMILY}.name",
        f"{FAMILY}.variants.0",
        f"{FAMILY}.axes.0.name",
        f"{FAMILY}.parameters.1.slot.axis",
        "modules.0.records.0.name",
        "modules.0.records.0.fields.0.name",
    ],
)
def test_names_are_no_more_than_names(path: str, name: str, tmp_path: Path) -> None:
    assert not _reads(changed(path, name), tmp_path)


@pytest.mark.parametrize(
    "version", ['1")\nexecute_process(COMMAND x)', "1.0\n", " 1", "$HOME", "${x}", "1;2", ""]
)
def test_versions_are_no_more_than_versions(version: str, tmp_path: Path) -> None:
    assert not _reads({**plain_library(), "version": version}, tmp_path)
    assert _reads({**plain_library(), "version": "1.0rc1.post2+local.3"}, tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("requirement", 'x"; import os #'),
        ("requirement", "x\ny"),
        ("distribution", "x y"),
        ("file", "../x.so"),
        ("file", "lib/../x.so"),
        ("file", "/lib/x.so"),
        ("file", 'lib/"x.so'),
        ("version", "1\n"),
    ],
)
def test_a_runtime_is_found_by_plain_words(key: str, value: str, tmp_path: Path) -> None:
    runtime = {"distribution": "a-b", "version": "1.2", "requirement": "a-b==1.*", "file": "lib/x.so"}
    assert _reads({**plain_library(), "shared_runtime": runtime}, tmp_path)
    assert not _reads({**plain_library(), "shared_runtime": {**runtime, key: value}}, tmp_path)


def _twice(items: list[Any]) -> list[Any]:
    return [*items, items[0]]


def _without_last(items: list[Any]) -> list[Any]:
    return items[:-1]


def _nested(slot: Any) -> Any:
    for _ in range(100):
        slot = {"type": "tuple", "items": [slot]}
    return slot


CONTRADICTIONS: list[tuple[str, Any]] = [
    ("modules", _twice),
    ("modules", []),
    ("modules.0.kernels", []),
    ("modules.0.name", "kwargs"),
    ("modules.0.name", "_runtime"),
    ("modules.0.name", "class.k"),
    ("modules.0.kernels", _twice),
    ("modules.0.families", _twice),
    ("modules.0.records", _twice),
    ("modules.0.records", []),
    ("modules.0.records.0.name", "Tensor"),
    ("modules.0.records.0.fields", _twice),
    ("modules.0.records.0.fields", _without_last),
    ("modules.0.records.0.fields.0.name", "class"),
    ("modules.0.families", []),
    (f"{ADD}.name", "fam"),
    (f"{ADD}.name", "Pair"),
    (f"{ADD}.name", "lambda"),
    (f"{ADD}.module", "k"),
    (f"{ADD}.parameters", _twice),
    (f"{ADD}.parameters.0.name", "class"),
    (f"{ADD}.parameters.0.slot.strides", [1]),
    (f"{ADD}.parameters.0.slot.shape.1", 2**63),
    (f"{ADD}.parameters.0.slot.alignment", 0),
    (f"{ADD}.parameters.0.slot.shape.0.divisible_by", 0),
    (f"{ADD}.parameters.0.slot", {"type": "choice", "axis": "mode", "values": ["a"]}),
    (f"{ADD}.parameters.0.slot", {"type": "one_of", "alternatives": [TENSOR]}),
    (f"{ADD}.parameters.0.slot", _nested),
    (f"{ADD}.parameters.1.slot.items", _without_last),
    (f"{ADD}.parameters.1.slot.fields", ["right", "left"]),
    (f"{ADD}.parameters.1.slot.items.0", {"type": "one_of", "alternatives": [TENSOR]}),
    (f"{ADD}.frozen.0.position", 9),
    (f"{ADD}.effects.mutates", ["other"]),
    (f"{ADD}.effects.returns", ["other"]),
    (f"{VARIANT}.variant.family", "other"),
    (f"{VARIANT}.variant.labels", {"dtype": "f16"}),
    (f"{VARIANT}.variant.labels.dtype", "f64"),
    (f"{VARIANT}.variant.values", {}),
    (f"{VARIANT}.variant.values.mode", "c"),
    (f"{VARIANT}.parameters.0.name", "y"),
    (f"{FAMILY}.variants", _twice),
    (f"{FAMILY}.variants", _without_last),
    (f"{FAMILY}.variants", []),
    (f"{FAMILY}.variants.0", "add"),
    (f"{FAMILY}.variants.0", "nobody"),
    (f"{FAMILY}.axes", _twice),
    (f"{FAMILY}.axes", _without_last),
    (f"{FAMILY}.axes.0.labels", [f"f{i}" for i in range(600_000)]),
    (f"{FAMILY}.parameters.0.slot.alternatives", []),
    (f"{FAMILY}.parameters.1.slot.values", []),
    (f"{FAMILY}.parameters.1.slot.axis", "dtype"),
]


@pytest.mark.parametrize(("path", "value"), CONTRADICTIONS, ids=lambda item: None)
def test_a_contradiction_is_found(path: str, value: Any | Callable[[Any], Any], tmp_path: Path) -> None:
    assert not _reads(changed(path, value), tmp_path)

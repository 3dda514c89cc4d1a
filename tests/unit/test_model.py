"""The model: pure data that survives JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from stubgen.model import jsontext
from stubgen.model.library import (
    ConstantSlot,
    Default,
    Kernel,
    Library,
    Module,
    Parameter,
    Place,
    ScalarSlot,
    Versions,
    from_json,
    to_json,
)
from stubgen.output import manifest
from tests.unit.samples import libraries

patient = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=60)


@patient
@given(libraries)
def test_a_library_survives_json_unchanged(library: Library) -> None:
    data = to_json(library)
    again = from_json(data)
    assert again == library
    assert repr(again) == repr(library), "1, 1.0 and True are equal, but not the same"
    assert to_json(again) == data


@patient
@given(libraries)
def test_a_manifest_gives_back_library_and_hashes(library: Library) -> None:
    data = manifest.encode(library, {"b": b"2", "a": b"1"})
    read = msgspec.json.decode(data, type=manifest.Manifest)
    assert read.library == library
    assert list(read.files) == ["a", "b"]
    assert len(read.files["a"]) == 64


def library_of(default: Default) -> Library:
    parameter = Parameter("x", ScalarSlot("float32"), default=default)
    kernel = Kernel("k", "m", (parameter,), "k(x: float32)", Place("k.py", 1))
    return Library("p", (Module("m", "k.py", (kernel,)),), Versions("1", "2", "3", "4"), {})


@pytest.mark.parametrize("value", [True, 1, 1.0, 0, False, "", None, (), (1, 1.0, True, None)])
def test_values_keep_their_type(value: bool | int | float | str | tuple[int, ...] | None) -> None:
    (kernel,) = from_json(to_json(library_of(Default(value)))).kernels
    default = kernel.parameters[0].default
    assert default is not None
    assert repr(default.value) == repr(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (math.inf, {"$float": "inf"}),
        (-math.inf, {"$float": "-inf"}),
        (math.nan, {"$float": "nan"}),
        ((1.5, math.inf, None), [1.5, {"$float": "inf"}, None]),
    ],
)
def test_numbers_that_json_cannot_write_keep_their_value(
    value: float | tuple[float, ...], written: object
) -> None:
    library = library_of(Default(value))
    data = manifest.encode(library, {})
    (module,) = json.loads(data)["library"]["modules"]
    assert module["kernels"][0]["parameters"][0]["default"] == {"value": written}
    assert repr(jsontext.decode(data, manifest.Manifest).library) == repr(library)


def test_what_looks_like_such_a_number_stays_what_it_is() -> None:
    for data in ({"float": "inf"}, {"$float": "1.5"}, {"$float": "inf", "and": 1}, "inf", ["nan"]):
        assert jsontext.decode(jsontext.encode(data), object) == data


@pytest.mark.parametrize(
    "path", ["../elsewhere", "p/../../elsewhere", "/etc/passwd", "p//x", "./p/x", "", "..", "p/\0"]
)
def test_a_manifest_of_other_files_is_none(path: str, tmp_path: Path) -> None:
    file = tmp_path / manifest.NAME
    library = library_of(Default(1))
    file.write_bytes(manifest.encode(library, {"p/..x": b"1", "p/x": b""}))
    assert manifest.read(file) is not None
    file.write_bytes(manifest.encode(library, {path: b"1", "p/x": b""}))
    assert manifest.read(file) is None
    file.write_bytes(manifest.encode(msgspec.structs.replace(library, package=f"../{path}"), {}))
    assert manifest.read(file) is None


def test_models_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable type: 'ConstantSlot'"):
        ConstantSlot(1).value = 2  # type: ignore[misc]


def test_fields_of_another_version_are_refused() -> None:
    data = to_json(library_of(Default(None))).replace(b'"package"', b'"pack": 1, "package"', 1)
    with pytest.raises(msgspec.ValidationError, match="pack"):
        from_json(data)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"library": {}}', "\0"])
def test_a_manifest_of_another_version_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "manifest.json"
    assert manifest.read(file) is None
    file.write_text(text)
    assert manifest.read(file) is None


def test_the_model_needs_neither_the_dsl_nor_the_disk() -> None:
    code = "import sys, stubgen.model.library; print('cutlass' in sys.modules, 'tvm_ffi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]

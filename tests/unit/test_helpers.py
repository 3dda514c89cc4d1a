"""What the helpers of declarations record, as it was written and where nothing was."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import stubgen as sg
from stubgen.declare.arguments import Dim, PointerArg, StreamArg, StridedArg, TensorArg
from stubgen.declare.declarations import Call, Options, declared_in
from stubgen.declare.gradients import Gradients


@pytest.mark.parametrize(
    ("recorded", "cls", "fields"),
    [
        (sg.dim("n"), Dim, ("n", 1, 32)),
        (sg.dim("n", divisible_by=8, bits=64), Dim, ("n", 8, 64)),
        (sg.tensor("f32"), TensorArg, ("f32", (), None, None, None, "cuda")),
        (
            sg.tensor("f32", 4, "n", align=16, order=(0, 1), strides=(1, 4), device="cpu"),
            TensorArg,
            ("f32", (4, "n"), (1, 4), (0, 1), 16, "cpu"),
        ),
        (sg.strided("f32"), StridedArg, ("f32", (), 1, -1, "cuda", None, 64)),
        (
            sg.strided("f32", 4, "n", vector=8, unit=None, align=16, bits=32, device="cpu"),
            StridedArg,
            ("f32", (4, "n"), 8, None, "cpu", 16, 32),
        ),
        (sg.pointer("f32"), PointerArg, ("f32", None, "cuda")),
        (sg.pointer("f32", align=16, device="cpu"), PointerArg, ("f32", 16, "cpu")),
        (sg.stream(), StreamArg, (False,)),
        (sg.env_stream(), StreamArg, (True,)),
    ],
    ids=str,
)
def test_a_helper_records_what_was_written(recorded: Any, cls: type, fields: tuple[Any, ...]) -> None:
    assert type(recorded) is cls
    assert tuple(getattr(recorded, field.name) for field in dataclasses.fields(cls)) == fields


def test_a_size_is_the_same_object_or_another() -> None:
    one, other = sg.dim("n"), sg.dim("n")
    assert one != other
    assert {one, other, one} == {one, other}


def test_a_way_back_is_recorded() -> None:
    found = sg.backward("f", grads={"out": "dout"}, gives={"x": "dx"})
    assert found == Gradients("f", {"out": "dout"}, {"x": "dx"})


@pytest.mark.parametrize("cls", [Dim, TensorArg, StridedArg, PointerArg, StreamArg])
def test_what_was_recorded_does_not_change(cls: type) -> None:
    values = {field.name: None for field in dataclasses.fields(cls)}
    recorded = cls(**values)
    name = dataclasses.fields(cls)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError, match=name):
        setattr(recorded, name, 1)


WAY_BACK = sg.backward("f", grads={}, gives={})


def test_a_kernel_is_what_was_written() -> None:
    call = sg.kernel(print, 1, x=2)
    assert (call.fn, call.args, call.kwargs, call.options) == (print, (1,), {"x": 2}, Options())
    written: dict[str, Any] = {
        "options": "--opt-level 2",
        "min_arch": "sm_90a",
        "priority": 2,
        "mutates": ("a",),
        "returns": "b",
        "backward": WAY_BACK,
    }
    call = sg.kernel(**written)(print, x=1)
    assert (call.fn, call.args, call.kwargs) == (print, (), {"x": 1})
    assert dataclasses.asdict(call.options) == {**dataclasses.asdict(Options(**written)), "name": None}
    assert Options() == Options(None, "", None, 0, (), (), None)


def test_an_export_is_what_was_written(tmp_path: Any) -> None:
    file = tmp_path / "exported.py"
    options = "options='-O', min_arch='sm_90a', mutates='a', returns='b'"
    text = f"import stubgen as sg\nsg.export({options})(\n    print, 1, x=3)"
    exec(compile(f"{text}\nsg.export(len)\n", str(file), "exec"), {})
    first, second = declared_in(str(file))
    call = first.build()
    assert isinstance(call, Call)
    assert (call.fn, call.args, call.kwargs) == (print, (1,), {"x": 3})
    assert call.options == Options(None, "-O", "sm_90a", 0, "a", "b", None)
    assert (first.name, first.file, first.line, first.family, first.labels) == (
        "print",
        str(file),
        2,
        None,
        None,
    )
    call = second.build()
    assert isinstance(call, Call)
    assert (call.fn, call.args, call.kwargs, call.options) == (len, (), {}, Options())
    assert (second.name, second.line) == ("len", 4)

"""Which functions PyTorch and JAX can have, what is wrong with their effects, and what makes outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stubgen.families.families import families
from stubgen.frameworks import eligibility, functional
from stubgen.frameworks.functional import Functional, Like, NotDerivableError, Output
from stubgen.model.effects import Backward, Effects
from stubgen.model.library import (
    ChoiceSlot,
    ConstantSlot,
    Family,
    Framework,
    Frozen,
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
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Versions,
)
from stubgen.problems.problem import StubgenError
from tests.dispatch.models import tensor, variant

N, M = Symbol("n"), Symbol("m")
HOST, GPU = tensor("float32", N), tensor("float32", N, device="cuda")
F32 = ScalarSlot("float32")
NONE = NoneSlot()


def effects(mutates: str = "", returns: str = "", backward: Backward | None = None) -> Effects:
    return Effects((*mutates.split(), *returns.split()), tuple(returns.split()), backward)


def kernel(name: str, own: Effects | None = None, /, line: int = 1, **slots: Slot) -> Kernel:
    parameters = tuple(Parameter(n, slot) for n, slot in slots.items())
    return Kernel(name, "m", parameters, "", Place("m.py", line), effects=own or Effects())


def family(name: str, rows: Sequence[dict[str, Slot]], own: Effects, **values: Any) -> list[Kernel]:
    made = []
    for index, slots in enumerate(rows):
        labels = {"kind": f"k{index}"}
        frozen = [Frozen("mode", repr(values["mode"][index]), 0)] if values else []
        chosen = {"kind": values["mode"][index]} if values else None
        one = variant(name, slots, labels, values=chosen, frozen=frozen)
        made.append(msgspec.structs.replace(one, effects=own))
    return made


def module(*kernels: Kernel) -> Module:
    return Module("m", "m.py", kernels, families(kernels))


def library(*kernels: Kernel, names: tuple[Framework, ...] = ("torch", "jax")) -> Library:
    return Library("p", (module(*kernels),), Versions("", "", "", ""), {}, frameworks=names)


# ---------------------------------------------------------------------------------------------------------
# Which functions there are

CHOICES = ChoiceSlot("kind", ("a", None)), ChoiceSlot("kind", (1, "a"))


@pytest.mark.parametrize(
    ("slots", "torch", "jax"),
    [
        ({"x": HOST}, None, None),
        ({"x": GPU, "f": F32, "i": ScalarSlot("int8"), "b": ScalarSlot("bool"), "n": NONE}, None, None),
        ({"x": HOST, "c": ConstantSlot(1)}, None, None),
        ({"x": HOST, "p": PointerSlot()}, "p is a pointer", "p is a pointer"),
        ({"x": HOST, "s": StreamSlot()}, "s is a CUDA stream", "s is a CUDA stream"),
        ({"x": HOST, "s": ShapeSlot(())}, "s is a shape", "s is a shape"),
        ({"x": HOST, "t": TupleSlot((HOST,))}, "t is a tuple", "t is a tuple"),
        ({"x": HOST, "t": TupleSlot((HOST,), "Pair", ("x",))}, "t is Pair", "t is Pair"),
        ({"x": HOST, "c": CHOICES[0]}, None, None),
        (
            {"x": HOST, "c": CHOICES[1]},
            "c is one of values of several types",
            "c is one of values of several types",
        ),
        ({"x": OneOfSlot((HOST, NONE))}, None, None),
        ({"x": OneOfSlot((HOST, tensor("int8", N)))}, None, None),
        ({"x": HOST, "o": OneOfSlot((F32, ScalarSlot("float64"), NONE))}, None, None),
        *(
            ({"x": HOST, "o": OneOfSlot(given)}, why, why)
            for why in ("o is one of several kinds of values",)
            for given in (
                (HOST, F32),
                (F32, ScalarSlot("int8")),
                (ScalarSlot("bool"), ScalarSlot("uint8")),
                (ShapeSlot(()), NONE),
            )
        ),
        ({"f": F32}, "it takes no tensor", "it takes no tensor"),
        ({}, "it takes no tensor", "it takes no tensor"),
        ({"x": HOST, "größe": F32}, "größe is no name in ASCII", "größe is no name in ASCII"),
        ({"x": HOST, "y": GPU}, None, "its tensors are on host and GPU"),
        ({"x": HOST, "y": tensor("int8", N, M, strides=(1, Symbol("s")))}, None, "y is not row-major"),
        ({"x": HOST, "y": tensor("int8", N, M, strides=(Symbol("s"), 2))}, None, "y is not row-major"),
        ({"x": HOST, "y": tensor("int8", 4, 8, strides=(16, 1))}, None, "y is not row-major"),
        ({"x": HOST, "y": tensor("int8", 4, 8, strides=(8, 1))}, None, None),
        ({"x": HOST, "y": tensor("int8", 1, 8, strides=(99, 1))}, None, None),
        ({"x": HOST, "y": tensor("int8", N, M, strides=(Symbol("s"), 1))}, None, None),
        ({"x": HOST, "y": TensorSlot("int8", (N, M), None, None, "cpu")}, None, None),
        (
            {
                "x": HOST,
                "y": OneOfSlot((tensor("int8", N, M), tensor("int8", N, M, strides=(1, Symbol("s"))))),
            },
            None,
            None,
        ),
    ],
    ids=str,
)
def test_why_a_framework_has_a_function_or_not(
    slots: dict[str, Slot], torch: str | None, jax: str | None
) -> None:
    one = kernel("one", **slots)
    assert (eligibility.why_not("torch", one), eligibility.why_not("jax", one)) == (torch, jax)


def test_a_module_of_pytorch_takes_its_own_name() -> None:
    one = kernel("functional", x=HOST)
    assert eligibility.why_not("torch", one) == "a module is called so"
    assert eligibility.why_not("jax", one) is None


def test_what_is_shown_and_what_is_left_out_are_all() -> None:
    one, two, both = kernel("one", x=HOST), kernel("two", f=F32), kernel("both", x=HOST, y=GPU)
    own = library(one, two, both)
    assert [(m.name, f.name) for m, f in eligibility.shown(own, "torch")] == [("m", "one"), ("m", "both")]
    assert list(eligibility.left_out(own, "torch")) == [("two", "it takes no tensor")]
    assert [f.name for _, f in eligibility.shown(own, "jax")] == ["one"]
    assert list(eligibility.left_out(own, "jax")) == [
        ("two", "it takes no tensor"),
        ("both", "its tensors are on host and GPU"),
    ]


@pytest.mark.parametrize(
    ("slot", "optional"),
    [
        *(
            (NONE, True),
            (HOST, False),
            (F32, False),
            (OneOfSlot((HOST, NONE)), True),
            (OneOfSlot((HOST,)), False),
        ),
        *((ChoiceSlot("a", (1, None)), True), (ChoiceSlot("a", (1, 0)), False), (PointerSlot(), False)),
    ],
    ids=str,
)
def test_what_may_be_none(slot: Slot, optional: bool) -> None:
    assert functional.is_optional(slot) == optional


# ---------------------------------------------------------------------------------------------------------
# What is wrong


def problems(*kernels: Kernel, names: tuple[Framework, ...] = ("torch", "jax")) -> list[str]:
    try:
        eligibility.require(library(*kernels, names=names))
    except StubgenError as error:
        return [f"{p.code} {p.place}: {p.message}; {p.remedy}" for p in error.problems]
    return []


def test_effects_have_to_be_said_where_a_framework_needs_them() -> None:
    def said(names: str) -> str:
        return (
            f"CS240 m.py:1: one does not say which tensors it writes to, which its function for {names} has "
            'to know; declare it, as in mutates=("y",)'
        )

    one = kernel("one", x=HOST, y=HOST, f=F32)
    assert problems(one) == [said("PyTorch and JAX")]
    assert problems(one, names=("jax",)) == [said("JAX")]
    assert problems(one, names=("torch",)) == [said("PyTorch")]
    assert problems(one, names=()) == []
    assert problems(kernel("one", x=GPU, y=HOST)) == [said("PyTorch")]
    assert problems(kernel("one", x=HOST, p=PointerSlot())) == []
    assert problems(kernel("one", effects("y"), x=HOST, y=HOST)) == []


def test_effects_are_of_tensors() -> None:
    one = kernel("one", effects("f z", "g"), x=HOST, f=F32, g=TupleSlot((HOST,)), o=OneOfSlot((HOST, NONE)))
    texts = problems(one)
    assert [text.partition(";")[0] for text in texts] == [
        "CS241 m.py:1: mutates of one names 'f', which is no tensor",
        "CS241 m.py:1: mutates of one names 'z', which is no parameter of it",
        "CS241 m.py:1: returns of one names 'g', which is no tensor",
    ]
    assert all(text.endswith("name parameters that are tensors: x, o") for text in texts)
    assert problems(kernel("one", effects("f"), f=F32)) == [
        "CS241 m.py:1: mutates of one names 'f', which is no tensor; name parameters that are tensors: none"
    ]


def test_variants_have_the_same_effects() -> None:
    two = [
        *family("fam", [{"x": HOST}], effects("x")),
        *family("fam", [{}, {"x": tensor("int8", N)}, {"x": tensor("int16", N)}], effects())[1:],
    ]
    [text] = problems(*two)
    assert text.startswith(
        "CS243 kernels/module.py:1: fam__k1 says something else of its effects than fam__k0, and both are "
        "variants of fam"
    )
    assert problems(*family("fam", [{"x": HOST}, {"x": tensor("int8", N)}], effects("x"))) == []


def test_what_cannot_be_made_cannot_be_returned() -> None:
    [text] = problems(kernel("one", effects(returns="y"), x=HOST, y=tensor("float32", M)))
    assert text.startswith("CS244 m.py:1: one returns y, but no input has its size m, dimension 0")


BACKWARD = Backward("two", {"y": "dy"}, {"x": "dx"})


def _forward(own: Backward) -> Kernel:
    return kernel("one", effects(returns="y", backward=own), x=HOST, f=F32, y=HOST)


def _backward(name: str = "two", own: Effects | None = None, line: int = 9, **slots: Slot) -> Kernel:
    slots = slots or {"dy": HOST, "f": F32, "dx": HOST}
    return kernel(name, own or effects(returns="dx"), line=line, **slots)


@pytest.mark.parametrize(
    ("forward", "other", "reasons"),
    [
        (_forward(BACKWARD), _backward(), []),
        (_forward(BACKWARD), _backward("three"), ["is 'two', which is no function of this package"]),
        (
            _forward(BACKWARD),
            _backward(own=effects("dx")),
            ["is two, which declares no returns"],
        ),
        (
            _forward(BACKWARD),
            _backward(dy=HOST, p=PointerSlot(), dx=HOST),
            ["is two, which PyTorch cannot call: p is a pointer"],
        ),
        (
            _forward(BACKWARD),
            _backward(dy=HOST, z=GPU, dx=HOST),
            ["is two, which JAX cannot call: its tensors are on host and GPU"],
        ),
        (
            _forward(BACKWARD),
            _backward(own=effects("dy", "dx")),
            ["cannot be used: dy would be changed in place"],
        ),
        (
            kernel("one", effects("x", "y", BACKWARD), x=HOST, f=F32, y=HOST),
            _backward(),
            ["cannot be used: x would be changed in place"],
        ),
        (
            _forward(Backward("two", {"y": "dy", "x": "dy"}, {"x": "dx"})),
            _backward(),
            ["has grads for x, which is no output"],
        ),
        (
            _forward(Backward("two", {"y": "dz"}, {"x": "dx"})),
            _backward(),
            [
                "is two, which has no parameter dz to take a gradient",
                "is two, which takes dy: nothing is called so in the forward function",
            ],
        ),
        (
            _forward(Backward("two", {"y": "dy"}, {"f": "dx", "y": "dx"})),
            _backward(),
            [
                "gives a gradient of f, which is no tensor that is passed",
                "gives a gradient of y, which is no tensor that is passed",
            ],
        ),
        (
            _forward(Backward("two", {"y": "dy"}, {"x": "df"})),
            _backward(),
            ["is two, which does not return df"],
        ),
        (
            _forward(BACKWARD),
            _backward(dy=HOST, f=F32, y=HOST, w=HOST, dx=HOST),
            ["is two, which takes w: nothing is called so in the forward function"],
        ),
    ],
    ids=lambda value: "" if isinstance(value, list) else value.name,
)
def test_the_way_back_leads_somewhere(forward: Kernel, other: Kernel, reasons: list[str]) -> None:
    texts = [text for text in problems(forward, other) if text.startswith("CS242")]
    assert [text.partition(";")[0] for text in texts] == [
        f"CS242 m.py:1: the backward of one {reason}" for reason in reasons
    ]
    assert problems(forward, other) == texts


def test_a_backward_that_cannot_be_made_is_reported_once_where_it_is() -> None:
    other = _backward(dy=HOST, f=F32, dx=tensor("float32", M))
    [text] = problems(_forward(BACKWARD), other)
    assert text.startswith("CS244 m.py:9: two returns dx, but")


# ---------------------------------------------------------------------------------------------------------
# Outputs


def made(*kernels: Kernel) -> Functional:
    own = module(*kernels)
    return functional.functional(own.functions[0], own)


def test_outputs_are_made_of_inputs() -> None:
    one = kernel(
        "one",
        effects("x", "sum fixed all"),
        x=tensor("float16", N, M),
        y=tensor("float32", M, 8),
        k=F32,
        sum=tensor("float64", M, N),
        fixed=tensor("float16", 4, 8),
        all=tensor("bool"),
    )
    found = made(one)
    assert [p.name for p in found.parameters] == ["x", "y", "k"]
    assert found.outputs == (
        Output("sum", (Like("x", 1), Like("x", 0)), "float64", None),
        Output("fixed", (4, 8), "float16", None),
        Output("all", (), "bool", None),
    )
    assert (found.changed, found.beside, found.order) == (("x",), ("x", "y"), (0, 1, 2, 3, 4, 5))
    assert found.choices == ()


def test_what_is_written_but_optional_is_left_absent() -> None:
    rows = [{"out": HOST, "aux": aux, "x": HOST} for aux in (NONE, tensor("float64", N))]
    found = made(*family("fam", rows, effects("aux", "out")))
    assert [p.name for p in found.parameters] == ["x"]
    assert (found.changed, found.order) == ((), (1, functional.ABSENT, 0))
    assert found.outputs == (Output("out", (Like("x", 0),), "float32", None),)


def _rows(*pairs: tuple[str, str]) -> list[dict[str, Slot]]:
    return [{"x": tensor(x, N), "out": tensor(out, N)} for x, out in pairs]


def test_a_dtype_that_follows_an_input_is_that_of_the_input() -> None:
    found = made(
        *family("fam", _rows(("float16", "float16"), ("float32", "float32")), effects(returns="out"))
    )
    assert found.outputs == (Output("out", (Like("x", 0),), Like("x"), None),)


def test_a_dtype_that_inputs_leave_open_is_chosen() -> None:
    rows = _rows(("float16", "float16"), ("float16", "float32"), ("float32", "float32"))
    found = made(*family("fam", rows, effects(returns="out")))
    assert found.outputs == (Output("out", (Like("x", 0),), Like("x"), "out_dtype"),)
    assert (found.choices, found.order) == (("out_dtype",), (0, 2))
    taken = [{"x": row["x"], "out_dtype": F32, "out": row["out"]} for row in rows]
    found = made(*family("fam", taken, effects(returns="out")))
    assert (found.choices, found.order) == (("out_dtype_",), (0, 1, 3))


def test_extents_that_differ_between_variants_are_seen_in_inputs() -> None:
    rows = [
        {"w": tensor("int8", k), "x": tensor(d, N, k), "out": tensor("int8", k, N)}
        for d, k in (("int8", 4), ("int16", 8))
    ]
    found = made(*family("fam", rows, effects(returns="out")))
    assert found.outputs == (Output("out", (Like("w", 0), Like("x", 0)), "int8", None),)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"x": HOST, "out": NONE}, {"x": tensor("int8", N), "out": HOST}], "it is absent in some variants"),
        (
            [{"x": HOST, "out": HOST}, {"x": tensor("int8", N), "out": tensor("float32", N, 1)}],
            "its rank differs from variant to variant",
        ),
        (
            [{"x": tensor("int8", N, M), "out": tensor("int8", N, M, strides=(1, Symbol("s")))}],
            "it is not row-major",
        ),
        (
            [{"x": HOST, "out": tensor("float32", 4)}, {"x": tensor("int8", N), "out": tensor("float32", 8)}],
            "no input has its size 4, dimension 0",
        ),
        ([{"x": HOST, "out": tensor("int8", N, M)}], "no input has its size m, dimension 1"),
        (
            _rows(("float16", "int8"), ("float32", "int16")),
            "no input has its dtype, int8 or int16",
        ),
        ([{"x": F32, "out": tensor("float32", 4)}], "no input shows the device to make it on"),
        ([{"x": GPU, "out": HOST}], "no input shows the device to make it on"),
    ],
    ids=str,
)
def test_what_does_not_follow_from_inputs_is_not_made(rows: list[dict[str, Slot]], reason: str) -> None:
    kernels = family("fam", rows, effects(returns="out"))
    own = Module("m", "m.py", tuple(kernels), families(kernels))
    with pytest.raises(NotDerivableError) as caught:
        functional.functional(own.functions[0], own)
    assert (str(caught.value), caught.value.output) == (reason, "out")


def test_inputs_that_are_not_always_there_show_nothing() -> None:
    rows: list[dict[str, Slot]] = [
        {"w": NONE, "x": HOST, "out": HOST},
        {"w": HOST, "x": tensor("int8", N), "out": HOST},
    ]
    found = made(*family("fam", rows, effects(returns="out")))
    assert (found.outputs[0].shape, found.beside) == ((Like("x", 0),), ("x",))


def test_devices_and_tensors_of_a_function() -> None:
    one = kernel("one", x=HOST, o=OneOfSlot((GPU, NONE)), f=F32, t=TupleSlot((GPU,)))
    assert functional.tensors(one) == ("x", "o")
    assert functional.devices(one) == {"cpu", "cuda"}
    unknown = kernel("one", x=TensorSlot("int8", (N,), None, None, None))
    assert functional.devices(unknown) == {"cuda"}
    assert isinstance(module(*family("fam", _rows(("int8", "int8")), effects("x"))).functions[0], Family)


def test_a_dtype_is_chosen_beside_a_selector() -> None:
    pairs = [("float16", "float16"), ("float16", "float32"), ("float32", "float32")]
    rows = [{"x": tensor(x, N), "out": tensor(out, N)} for x, out in pairs for _ in range(2)]
    kernels = [
        msgspec.structs.replace(
            variant("fam", slots, {"t": f"t{index // 2}", "mode": "ab"[index % 2]}),
            effects=effects(returns="out"),
        )
        for index, slots in enumerate(rows)
    ]
    found = made(*kernels)
    assert [p.name for p in found.parameters] == ["x", "mode"]
    assert found.outputs == (Output("out", (Like("x", 0),), Like("x"), "out_dtype"),)
    assert found.order == (0, 3, 1)

"""The module for PyTorch, called for real: eager, compiled, exported, traced, differentiated."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, WrapperDescriptorType
from typing import Any

import pytest
import torch
import tvm_ffi
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.xdist_group("torch")


@pytest.fixture(scope="module")
def native(framed_output: Path) -> ModuleType:
    import framed.torch

    return framed.torch


@pytest.fixture(scope="module")
def pure(native: ModuleType) -> ModuleType:
    import framed.torch.functional

    return framed.torch.functional


def vectors(count: int, n: int = 4, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    torch.manual_seed(7)
    return [torch.randn(n, dtype=dtype) for _ in range(count)]


# ---------------------------------------------------------------------------------------------------------
# Eager


def test_nothing_is_imported_that_was_not_asked_for(run_apart: Callable[[str], str]) -> None:
    code = """
import sys
import framed
print([name for name in ("torch", "jax") if f"framed.{name}" in sys.modules])
import framed.torch
import importlib.util
print(importlib.util.find_spec("torch._dynamo") is not None)
print("torch._dynamo" in sys.modules, "jax" in sys.modules)
import torch._dynamo
print(any("framed" in type(finder).__module__ for finder in sys.meta_path))
import torch
x = torch.ones(3)
torch.compile(lambda x: framed.torch.scale(x, 3.0), fullgraph=True, backend="eager")(x)
print(x.tolist())
"""
    assert run_apart(code).splitlines() == ["[]", "True", "False False", "False", "[3.0, 3.0, 3.0]"]


def test_a_function_is_the_native_function(native: ModuleType) -> None:
    assert isinstance(native.axpby, tvm_ffi.Function)
    assert isinstance(type(native.axpby).__call__, WrapperDescriptorType), "no Python stands before a call"
    x, y, out = vectors(3)
    native.axpby(2.0, x, 3.0, y, out)
    assert torch.allclose(out, 2 * x + 3 * y)


def test_a_function_says_what_it_is(native: ModuleType) -> None:
    import framed.cpu

    assert repr(native.scale) == "<kernel framed.torch.scale(x: Tensor, factor: float, /) -> None>"
    assert native.axpby.__doc__ == framed.cpu.axpby.__doc__
    assert pickle.loads(pickle.dumps(native.axpby)) is native.axpby


def test_what_operators_cannot_take_is_left_out_and_named(native: ModuleType, pure: ModuleType) -> None:
    assert not {"at_pointer", "of_pair"} & {*dir(native), *dir(pure)}
    assert "at_pointer  p is a pointer\nof_pair     pair is a tuple\n" in str(native.__doc__)
    assert not hasattr(pure, "scale"), "it has nothing to return"


def test_outputs_are_made_by_their_declaration(pure: ModuleType) -> None:
    x, y = vectors(2, dtype=torch.float64)
    assert torch.allclose(pure.axpby(2.0, x, beta=3.0, y=y), 2 * x + 3 * y)
    twos = pure.twos(torch.zeros(5, 3))
    assert (twos.dtype, twos.tolist()) == (torch.int32, [[2, 2]] * 5)
    assert pure.product_backward(x, y, 1, x)[1].tolist() == (x * x).tolist()


def test_callers_choose_a_dtype_where_the_inputs_leave_a_choice(pure: ModuleType) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for given, found in (
        (None, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ):
        sums = pure.row_sums(x, out_dtype=given)
        assert (sums.dtype, sums.tolist()) == (found, [3.0, 12.0])
    assert pure.row_sums(x.double()).dtype == torch.float64


def test_what_is_changed_and_not_returned_is_passed_still(pure: ModuleType) -> None:
    x, total = vectors(2)
    before = total.clone()
    assert torch.equal(pure.cumulate(x, total), x + before)
    assert torch.equal(total, before + x)


@pytest.mark.parametrize("kind", ["identity", "relu", "negate"])
def test_strings_and_absent_tensors_choose_a_variant(pure: ModuleType, kind: str) -> None:
    x, bias = vectors(2)
    want = {"identity": x, "relu": x.relu(), "negate": -x}[kind]
    assert torch.equal(pure.activated(x, kind, None), want)
    assert torch.equal(pure.activated(x, kind, bias=bias), want + bias)


def test_wrong_calls_say_what_is_wrong(native: ModuleType, pure: ModuleType) -> None:
    x, y, out = vectors(3)
    with pytest.raises(ValueError, match=r"out is Tensor\(.*, expected dtype float32 when calling: `axpby\("):
        native.axpby(2.0, x, 3.0, y, out.double())
    with pytest.raises(ValueError, match=r"y\.shape\[0\] is \d, but n is \d from x\.shape\[0\]"):
        pure.axpby(2.0, x, 3.0, y[:2])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        pure.axpby(2.0, x, 3.0)
    with pytest.raises(TypeError, match="No variant accepts"):
        pure.activated(x, "tanh", None)
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'out'"):
        torch.ops.framed.axpby(2.0, x, 3.0, y, "out")


# ---------------------------------------------------------------------------------------------------------
# Operators


def calls() -> dict[str, tuple[Any, ...]]:
    """Arguments for every operator, by its name."""
    x, y, out = vectors(3)
    wide = torch.randn(4, 3)
    gradient = (x.double().requires_grad_(), y.double().requires_grad_(), 2)
    return {
        "axpby.default": (2.0, x, 3.0, y, out),
        "axpby.functional": (2.0, x, 3.0, y),
        "scale.default": (x.clone(), 3.0),
        "cumulate.default": (x, y.clone(), out),
        "cumulate.functional": (x, y.clone()),
        "fill.default": (torch.empty(3, dtype=torch.float64), True, 3, 0.5),
        "twos.default": (wide, torch.empty(4, 2, dtype=torch.int32)),
        "twos.functional": (wide,),
        "product.default": (x, y, 1, out),
        "product.functional": gradient,
        "product_backward.default": (x, y, 1, x, torch.empty(4), torch.empty(4)),
        "product_backward.functional": (x, y, 1, x),
        "activated.default": (x, "relu", y, out),
        "activated.functional": (x, "negate", None),
        "row_sums.default": (wide, torch.empty(4), out),
        "row_sums.functional": (wide, torch.float64),
    }


def test_there_is_a_call_for_every_operator(native: ModuleType, pure: ModuleType) -> None:
    expected = {f"{name}.default" for name in native.__all__} | {
        f"{name}.functional" for name in pure.__all__
    }
    assert calls().keys() == expected


@pytest.mark.parametrize("name", calls())
def test_opcheck_passes(native: ModuleType, pure: ModuleType, name: str) -> None:
    packet, overload = name.split(".")
    operator = getattr(getattr(torch.ops.framed, packet), overload)
    found = torch.library.opcheck(operator, calls()[name])
    assert set(found.values()) == {"SUCCESS"}


def test_a_schema_marks_what_is_written(native: ModuleType) -> None:
    shown = str(torch.ops.framed.row_sums.default._schema)
    assert shown == "framed::row_sums(Tensor x, Tensor(a1!)? largest, Tensor(a2!) out) -> ()"


# ---------------------------------------------------------------------------------------------------------
# Compiled, exported, traced


class Block(torch.nn.Module):
    """Calls both kinds of function: what makes its output, and what writes into what it is given."""

    def __init__(self, native: ModuleType, pure: ModuleType) -> None:
        super().__init__()
        self.native, self.pure = native, pure
        self.weight = torch.nn.Parameter(torch.tensor(0.5), requires_grad=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        self.native.axpby(2.0, x, 3.0, y, out)
        made = self.pure.product(out, y, 2) * self.weight
        self.native.scale(made, 0.25)
        return self.pure.activated(made + out, "relu", bias=None)


def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = 2 * x + 3 * y
    return (out * y * y * 0.5 * 0.25 + out).relu()


@pytest.fixture
def block(native: ModuleType, pure: ModuleType) -> Block:
    torch._dynamo.reset()
    return Block(native, pure)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_torch_compile_gives_what_eager_gives(block: Block, backend: str) -> None:
    compiled = torch.compile(block, fullgraph=True, backend=backend, dynamic=True)
    for n in (4, 9):
        x, y = vectors(2, n)
        eager = block(x, y)
        assert torch.allclose(eager, reference(x, y))
        assert torch.allclose(compiled(x, y), eager)


def test_a_compiled_function_changes_what_it_is_passed(native: ModuleType) -> None:
    torch._dynamo.reset()
    (x,) = vectors(1)
    before = x.clone()

    @torch.compile(fullgraph=True, backend="aot_eager")
    def double(x: torch.Tensor) -> torch.Tensor:
        native.scale(x, 2.0)
        return x + 1

    assert torch.equal(double(x), 2 * before + 1)
    assert torch.equal(x, 2 * before)


def test_a_compiled_function_refuses_what_an_eager_one_refuses(pure: ModuleType) -> None:
    torch._dynamo.reset()
    x, y = vectors(2)
    call = torch.compile(
        lambda x, y: pure.axpby(1.0, x, 1.0, y.double()), fullgraph=True, backend="aot_eager"
    )
    with pytest.raises(ValueError, match=r"y is Tensor\(.* float64, CPU\), expected dtype float32 when"):
        call(x, y)


@pytest.mark.parametrize("strict", [False, True])
def test_torch_export_keeps_operators(block: Block, strict: bool) -> None:
    x, y = vectors(2)
    n = torch.export.Dim("n")
    exported = torch.export.export(block, (x, y), strict=strict, dynamic_shapes=({0: n}, {0: n}))
    targets = {str(node.target) for node in exported.graph.nodes if "framed" in str(node.target)}
    assert targets == {
        "framed.axpby.default",
        "framed.product.functional",
        "framed.scale.default",
        "framed.activated.functional",
    }
    longer = vectors(2, 11)
    assert torch.allclose(exported.module()(*longer), reference(*longer))


def test_tensors_without_memory_are_traced_and_not_touched(native: ModuleType, pure: ModuleType) -> None:
    with FakeTensorMode():
        x = torch.empty(4)
        native.scale(x, 2.0)
        made = pure.row_sums(torch.empty(7, 3), out_dtype=torch.float64)
    assert isinstance(made, FakeTensor)
    assert (made.shape, made.dtype) == ((7,), torch.float64)


def test_outputs_on_the_meta_device_are_not_computed(pure: ModuleType) -> None:
    x = torch.empty(7, 3, device="meta")
    for made in (pure.row_sums(x), torch.ops.framed.row_sums.functional(x, None)):
        assert (made.device.type, made.shape, made.dtype) == ("meta", (7,), torch.float32)


def test_make_fx_records_an_operator(native: ModuleType) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        native.scale(x, 2.0)
        return x

    graph = make_fx(call, tracing_mode="fake")(torch.ones(3)).graph
    assert [n.target for n in graph.nodes if n.op == "call_function"] == [torch.ops.framed.scale.default]


# ---------------------------------------------------------------------------------------------------------
# Gradients


@pytest.mark.parametrize("power", [1, 2])
def test_gradients_are_those_of_finite_differences(pure: ModuleType, power: int) -> None:
    x, y = (v.requires_grad_() for v in vectors(2, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda x, y: pure.product(x, y, power), (x, y))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_gradients_are_the_eager_ones(pure: ModuleType, backend: str) -> None:
    torch._dynamo.reset()
    x, y = (v.requires_grad_() for v in vectors(2, dtype=torch.float64))

    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (pure.product(x.sin(), y, 2) * x).sum()

    want = torch.autograd.grad((x.sin() * y * y * x).sum(), (x, y))
    for function in (loss, torch.compile(loss, fullgraph=True, backend=backend)):
        found = torch.autograd.grad(function(x, y), (x, y))
        assert all(torch.allclose(a, b) for a, b in zip(found, want, strict=True))


def test_a_gradient_that_nobody_declared_is_refused(pure: ModuleType) -> None:
    x, y = vectors(2)
    made = pure.axpby(1.0, x.requires_grad_(), 1.0, y)
    assert made.requires_grad
    with pytest.raises(NotImplementedError, match=r"axpby\.functional has no gradient"):
        made.sum().backward()
    with torch.no_grad():
        assert not pure.axpby(1.0, x, 1.0, y).requires_grad

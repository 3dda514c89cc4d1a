"""What of PyTorch sees the kernels: every mode, tracer and transform, and what those that cannot say."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import torch._dynamo.testing
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from tests.frameworks.torch_draws import Careless, Overriding, Plain, Seeing, SeeingFunctions, Wrapper, seen

pytestmark = pytest.mark.xdist_group("torch")

AXPBY = ["framed.axpby.default", "framed.axpby.functional"]


@pytest.fixture(scope="module")
def native(framed_output: Path) -> ModuleType:
    return importlib.import_module("framed.torch")


@pytest.fixture(scope="module")
def pure(native: ModuleType) -> ModuleType:
    return importlib.import_module("framed.torch.functional")


@pytest.fixture
def both(native: ModuleType, pure: ModuleType) -> Callable[[Tensor], Tensor]:
    """Call a function that writes into its arguments, and one that does not: ``x`` to ``4 * x``."""

    def call(x: Tensor) -> Tensor:
        out = torch.empty_like(x)
        native.axpby(2.0, x, 1.0, x, out)
        made: Tensor = pure.axpby(1.0, out, 1.0, x)
        return made

    return call


@pytest.fixture
def x() -> Tensor:
    return torch.arange(1.0, 5.0)


@pytest.fixture
def d() -> Tensor:
    return torch.rand(3, 4, dtype=torch.float64)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    torch._dynamo.reset()
    seen.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def of_framed(names: Any) -> list[str]:
    return [str(name) for name in names if "framed" in str(name)]


def test_calls_take_and_refuse_what_those_of_the_plain_functions_do(native: ModuleType, x: Tensor) -> None:
    with pytest.raises(
        TypeError,
        match=r"^axpby\(\) takes 'x' by position only; framed\.kwargs\.\w+\.axpby takes it by keyword$",
    ):
        native.axpby(2.0, x=x)
    with pytest.raises(TypeError, match=r"^axpby\(\) has no parameter 'z'$"):
        native.axpby(z=x)
    out = torch.zeros(3, dtype=torch.float64)
    native.fill(out, np.bool_(True), 2, 0.5)
    assert out.tolist() == [1.0, 2.0, 0.5]


def test_functional_forms_take_numpys_numbers_as_plain_functions_do(pure: ModuleType, x: Tensor) -> None:
    for one in (np.bool_(True), np.int64(1), np.float64(1), True):
        assert torch.equal(pure.axpby(one, x, one, x), 2 * x)
    expected = torch.ops.framed.product.functional(x, x, 1)
    for given in (x, x.clone().requires_grad_()):
        assert torch.equal(pure.product(given, x, np.int64(1)), expected)
    for no_choice in (np.bool_(True), True, np.float64(1.5)):
        with pytest.raises(TypeError, match=r"No variant accepts|expected 1 or 2"):
            pure.product(x, x, no_choice)


# ---------------------------------------------------------------------------------------------------------
# Tracers and modes


@pytest.mark.parametrize("options", [
    {"tracing_mode": "real"}, {"tracing_mode": "fake"}, {"tracing_mode": "symbolic"}, {"pre_dispatch": True},
], ids=str)  # fmt: skip
def test_make_fx_records_the_operators(both: Callable[[Tensor], Tensor], x: Tensor, options: Any) -> None:
    traced = make_fx(both, **options)(x)
    assert of_framed(node.target for node in traced.graph.nodes) == AXPBY
    assert torch.equal(traced(x + 1), 4 * (x + 1))


def test_jit_trace_records_the_operators(both: Callable[[Tensor], Tensor], x: Tensor) -> None:
    traced = torch.jit.trace(both, (x,), check_trace=False)
    assert str(traced.graph).count("framed::axpby") == 2
    assert torch.equal(traced(x + 1), 4 * (x + 1))


def test_a_dispatch_mode_and_a_function_mode_see_the_operators(
    both: Callable[[Tensor], Tensor], x: Tensor
) -> None:
    for mode in (Seeing(), SeeingFunctions()):
        seen.clear()
        with mode:
            assert torch.equal(both(x), 4 * x)
        assert of_framed(seen) == AXPBY


@pytest.mark.parametrize("profile", [
    torch.profiler.profile,
    torch.autograd.profiler.profile,
    lambda: torch.autograd.profiler.profile(use_kineto=False),
], ids=["profiler", "autograd", "legacy"])  # fmt: skip
def test_the_profiler_sees_a_name(both: Callable[[Tensor], Tensor], x: Tensor, profile: Any) -> None:
    with profile() as profiler:
        both(x)
    (event,) = (event for event in profiler.key_averages() if event.key == "framed::axpby")
    assert event.count == 2


def test_a_default_device_watches_nothing(
    native: ModuleType, x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch.device("cpu"):
        native.scale(x, 2.0)
        array = np.ones(3, np.float32)
        native.scale(array, 2.0)
    assert x.tolist() == [2, 4, 6, 8]
    assert array.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "mode",
    [torch.inference_mode, torch.no_grad, lambda: torch.autocast("cpu", torch.bfloat16)],
    ids=["inference", "no_grad", "autocast"],
)
def test_modes_that_only_change_what_torch_does_leave_calls_direct(
    both: Callable[[Tensor], Tensor], x: Tensor, mode: Any
) -> None:
    from framed.torch._direct import is_direct

    with mode():
        assert is_direct(x, 1.0, None, "relu", torch.nn.Parameter(x))
        made = both(x)
    assert (made.dtype, made.tolist()) == (x.dtype, (4 * x).tolist())


def test_functionalize_takes_functions_that_make_their_outputs(
    native: ModuleType, pure: ModuleType, x: Tensor
) -> None:
    traced = make_fx(torch.func.functionalize(lambda x: pure.axpby(1.0, x, 1.0, x)))(x)
    assert of_framed(node.target for node in traced.graph.nodes) == ["framed.axpby.functional"]
    assert torch.equal(traced(x + 1), 2 * (x + 1))
    with pytest.raises(
        NotImplementedError, match=r"framed\.axpby\.default: it writes .*framed\.torch\.functional\.axpby"
    ):
        torch.func.functionalize(lambda x: native.axpby(1.0, x, 1.0, x, x))(x)
    with pytest.raises(
        NotImplementedError, match=r"framed\.scale\.default: it writes into its arguments; [^,]*outputs$"
    ):
        torch.func.functionalize(lambda x: native.scale(x, 2.0))(x)


def test_aot_inductor_runs_what_was_exported(
    both: Callable[[Tensor], Tensor], x: Tensor, tmp_path: Path
) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return both(x)

    exported = torch.export.export(Module(), (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
    package = torch._inductor.aoti_compile_and_package(exported, package_path=str(tmp_path / "model.pt2"))
    longer = torch.arange(9.0)
    assert torch.equal(torch._inductor.aoti_load_package(package)(longer), 4 * longer)


def test_threads_are_watched_apart(both: Callable[[Tensor], Tensor], x: Tensor) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def watched() -> list[str]:
        with Seeing():
            both(x)
        return of_framed(seen)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(watched).result() == AXPBY
        seen.clear()
        assert torch.equal(pool.submit(both, x).result(), 4 * x)
        with Seeing():
            pool.submit(both, x).result()
        assert of_framed(seen) == []


# ---------------------------------------------------------------------------------------------------------
# Tensors that are not plain


def test_wrappers_are_unwrapped_by_their_own_rules(native: ModuleType, pure: ModuleType, x: Tensor) -> None:
    wrapper = Wrapper(x.clone())
    native.scale(wrapper, 3.0)
    assert torch.equal(wrapper.held, 3 * x)
    made = pure.axpby(1.0, wrapper, 1.0, x)
    assert isinstance(made, Wrapper)
    assert torch.equal(made.held, 4 * x)


@pytest.mark.parametrize("kind", [Plain, Overriding])
def test_subclasses_with_memory_are_what_they_are(
    native: ModuleType, pure: ModuleType, x: Tensor, kind: Any
) -> None:
    given = x.clone().as_subclass(kind)
    native.scale(given, 3.0)
    made = pure.axpby(1.0, given, 1.0, x)
    assert type(made) is kind
    assert made.tolist() == (4 * x).tolist()


@pytest.mark.parametrize(("make", "instead"), [
    (Careless, "Careless.*the torch.Tensor that it wraps"),
    (torch.Tensor.to_sparse, r"sparse_coo.*x\.to_dense\(\)"),
    (torch.Tensor.to_mkldnn, r"_mkldnn.*x\.to_dense\(\)"),
    (lambda x: torch.quantize_per_tensor(x, 1.0, 0, torch.quint8), r"QUInt8Tensor.*x\.dequantize\(\)"),
], ids=["wrapper", "sparse", "mkldnn", "quantized"])  # fmt: skip
def test_tensors_without_memory_of_their_own_are_refused(
    native: ModuleType, pure: ModuleType, x: Tensor, make: Any, instead: str
) -> None:
    given, out = make(x), torch.empty(4)
    for call in (
        lambda: native.axpby(1.0, given, 1.0, x, out),
        lambda: pure.axpby(1.0, given, 1.0, x),
        lambda: torch.ops.framed.axpby.functional(1.0, given, 1.0, x),
    ):
        with pytest.raises(TypeError, match=rf"framed\.axpby\.\w+: x \(.*{instead}"):
            call()


def test_a_negated_view_is_read_and_written_as_what_it_shows(native: ModuleType, pure: ModuleType) -> None:
    memory = torch.ones(3)
    view = torch._neg_view(memory)
    assert pure.axpby(2.0, view, 0.0, view).tolist() == [-2, -2, -2]
    native.scale(view, 3.0)
    assert (view.tolist(), memory.tolist()) == ([-3, -3, -3], [3, 3, 3])


def test_zeros_without_memory_are_not_written_to(native: ModuleType, x: Tensor) -> None:
    with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
        native.axpby(1.0, x, 0.0, x, torch._efficientzerotensor(4))


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_what_a_run_would_refuse_is_refused_where_nothing_is_computed(
    native: ModuleType, pure: ModuleType, device: str
) -> None:
    def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=device)

    with contextlib.nullcontext() if device == "meta" else FakeTensorMode():
        assert pure.axpby(1.0, empty(3), 1.0, empty(3)).shape == (3,)
        with pytest.raises(
            TypeError, match=r"axpby\.functional: x is int32\[3\], expected float32 \| float64"
        ):
            pure.axpby(1.0, empty(3, dtype=torch.int32), 1.0, empty(3, dtype=torch.int32))
        with pytest.raises(
            TypeError, match=r"scale\.default: x is float32\[3, 1\], expected float32, shape \(n,\)"
        ):
            native.scale(empty(3, 1), 2.0)
        with pytest.raises(
            TypeError, match=r"fill\.default: out is float64\[4\], expected float64, shape \(3,\)"
        ):
            native.fill(empty(4, dtype=torch.float64), True, 1, 1.0)
        with pytest.raises(
            TypeError, match=r"cumulate\.default: total is float32\[4\], expected .*; n is 3$"
        ):
            native.cumulate(empty(3), empty(4), empty(3))


def test_looking_at_symbolic_sizes_does_not_specialise_a_program(native: ModuleType) -> None:
    counted = torch._dynamo.testing.CompileCounter()

    @torch.compile(backend=counted, fullgraph=True)
    def program(x: Tensor, total: Tensor, out: Tensor) -> None:
        native.cumulate(x, total, out)

    for size in (3, 5, 8):
        arguments = [torch.ones(size) for _ in range(3)]
        for tensor in arguments:
            torch._dynamo.mark_dynamic(tensor, 0)
        program(*arguments)
    assert counted.frame_count == 1


def test_meta_tensors_among_others_are_refused(native: ModuleType, pure: ModuleType, x: Tensor) -> None:
    with pytest.raises(TypeError, match=r"framed\.axpby\.functional: some tensors are on the meta device"):
        pure.axpby(1.0, x, 1.0, x.to("meta"))
    with pytest.raises(TypeError, match=r"framed\.axpby\.default: some tensors are on the meta device"):
        native.axpby(1.0, x, 1.0, x, x.to("meta"))


def test_fake_tensors_need_no_mode(native: ModuleType, pure: ModuleType, x: Tensor) -> None:
    fake = FakeTensorMode().from_tensor(x)
    native.scale(fake, 2.0)
    assert isinstance(pure.axpby(1.0, fake, 1.0, fake), FakeTensor)


def test_distributed_tensors_are_refused_and_awaited_ones_awaited(run_apart: Callable[[str], str]) -> None:
    code = """
import torch, framed.torch as native, framed.torch.functional as pure
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from tests.frameworks.torch_draws import distributed
x = torch.ones(3)
print(pure.axpby(1.0, AsyncCollectiveTensor(x), 1.0, x).tolist())
given = distributed(x)
parameter = torch.nn.Parameter(given, requires_grad=False)
for call, arguments in (
    (native.scale, (given, 2.0)), (pure.axpby, (1.0, x, 1.0, given)), (pure.axpby, (1.0, parameter, 1.0, x))
):
    try:
        call(*arguments)
    except NotImplementedError as error:
        print(str(error).splitlines()[-1])
print(pure.axpby(1.0, given.to_local(), 1.0, x).tolist())
"""
    first, *refused, last = run_apart(code).splitlines()
    assert first == last == "[2.0, 2.0, 2.0]"
    advice = "call it with .to_local() of each DTensor, as in torch.distributed.tensor.experimental.local_map"
    functional = f"framed.axpby.functional: {advice}"
    assert refused == [f"framed.scale.default: {advice}", functional, functional]


# ---------------------------------------------------------------------------------------------------------
# Transforms and derivatives


def test_vmap_calls_for_each_element(native: ModuleType, pure: ModuleType, d: Tensor) -> None:
    assert torch.allclose(torch.vmap(lambda x: pure.product(x, x, 2))(d), d**3)
    with pytest.raises(
        NotImplementedError, match=r"framed\.axpby\.default: it writes .*framed\.torch\.functional\.axpby"
    ):
        torch.vmap(lambda x: native.axpby(1.0, x, 1.0, x, x))(d)


def test_reverse_mode_transforms_differentiate(pure: ModuleType, d: Tensor) -> None:
    x, y = d[0], d[1]
    for product in (pure.product, torch.ops.framed.product.functional):

        def cubed(x: Tensor, product: Any = product) -> Any:
            return product(x, y, 2)

        def total(x: Tensor) -> Any:
            return cubed(x).sum()

        diagonal = torch.diag(y * y)
        assert torch.allclose(torch.func.grad(total)(x), y * y)
        assert torch.allclose(torch.func.vjp(cubed, x)[1](d[2])[0], d[2] * y * y)
        assert torch.allclose(torch.func.jacrev(cubed)(x), diagonal)
        assert torch.allclose(torch.vmap(torch.func.grad(total))(d), (y * y).expand(3, 4))
        assert torch.allclose(torch.autograd.functional.jacobian(cubed, x, vectorize=True), diagonal)
        given = x.clone().requires_grad_()
        (batched,) = torch.autograd.grad(
            cubed(given), given, torch.eye(4, dtype=torch.float64), is_grads_batched=True
        )
        assert torch.allclose(batched, diagonal)
    with pytest.raises(NotImplementedError, match=r"axpby\.functional has no gradient"):
        torch.func.grad(lambda x: pure.axpby(1.0, x, 1.0, x).sum())(x)


def test_forward_mode_is_refused(pure: ModuleType, d: Tensor) -> None:
    def dual(function: Callable[[Tensor], Any]) -> None:
        with forward_ad.dual_level():
            function(forward_ad.make_dual(d[0], d[1]))

    for function in (
        lambda x: pure.product(x, x, 2),
        lambda x: pure.axpby(1.0, x, 1.0, x),
        lambda x: torch.ops.framed.axpby.functional(1.0, x, 1.0, x),
    ):
        for transform in (
            dual,
            lambda function: torch.func.jvp(function, (d[0],), (d[1],)),
            lambda function: torch.func.jacfwd(function)(d[0]),
        ):
            with pytest.raises(
                NotImplementedError, match=r"framed\.\w+\.functional has no forward-mode derivative"
            ):
                transform(function)
    with forward_ad.dual_level():
        assert torch.equal(pure.axpby(1.0, d[0], 1.0, d[0]), 2 * d[0]), "nothing here has a tangent"


def test_a_declared_backward_is_an_operator_where_something_watches(pure: ModuleType, d: Tensor) -> None:
    x = d[0].clone().requires_grad_()
    out = pure.product(x, d[1], 2).sum()
    with Seeing():
        out.backward()
    assert of_framed(seen) == ["framed.product_backward.functional"]
    given = Wrapper(d[0].clone()).requires_grad_()
    (found,) = torch.autograd.grad(
        pure.product(given, d[1], 2), given, Wrapper(torch.ones(4, dtype=torch.float64))
    )
    assert isinstance(found, Wrapper)
    assert torch.allclose(found.held, d[1] ** 2)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_run_again(pure: ModuleType, d: Tensor, reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    x = d[0].clone().requires_grad_()
    checkpoint(lambda x: pure.product(x, d[1], 2).sin(), x, use_reentrant=reentrant).sum().backward()
    assert x.grad is not None
    assert torch.allclose(x.grad, (d[0] * d[1] ** 2).cos() * d[1] ** 2)


# ---------------------------------------------------------------------------------------------------------
# Floats


def compilations(function: Callable[..., Any], calls: list[tuple[Any, ...]], **options: Any) -> int:
    count = 0

    def backend(graph: Any, examples: Any) -> Any:
        nonlocal count
        count += 1
        return torch._dynamo.backends.debugging.aot_eager(graph, examples)

    compiled = torch.compile(function, fullgraph=True, backend=backend, **options)
    for arguments in calls:
        assert torch.allclose(compiled(*arguments), function(*arguments))
    return count


def test_floats_of_tensors_and_of_sizes_do_not_compile_again(pure: ModuleType) -> None:
    vectors = [torch.ones(n) for n in range(3, 8)]
    assert (
        compilations(lambda x: pure.axpby(1 / x.shape[0], x, 1.0, x), [(x,) for x in vectors], dynamic=True)
        == 1
    )
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        calls = [(vectors[0], torch.tensor(k)) for k in (0.5, 1.5, 2.5)]
        assert compilations(lambda x, k: pure.axpby(k.item(), x, 1.0, x), calls) == 1


# ---------------------------------------------------------------------------------------------------------
# Wrong calls


def test_functional_forms_say_what_is_no_tensor(pure: ModuleType, x: Tensor) -> None:
    for wrong, kind in (
        (np.ones(4, np.float32), "numpy.ndarray"),
        ([1.0], "list"),
        (None, "NoneType"),
        (2.0, "float"),
    ):
        with pytest.raises(TypeError, match=rf"^framed::axpby: x must be a torch\.Tensor, not {kind}: "):
            pure.axpby(1.0, wrong, 1.0, x)
    with pytest.raises(TypeError, match=r"^framed::row_sums: x must be a torch\.Tensor, not numpy\.ndarray"):
        pure.row_sums(np.ones((2, 3)))
    with pytest.raises(TypeError, match=r"^framed::axpby: x must be a torch\.Tensor, not NoneType"):
        torch.ops.framed.axpby.functional(1.0, None, 1.0, x)
    with pytest.raises(ValueError, match=r"^framed::row_sums: too few dimensions .*: x \(\)$"):
        pure.row_sums(torch.tensor(1.0))


def test_an_array_and_a_tensor_may_be_mixed_where_nothing_is_made(native: ModuleType, x: Tensor) -> None:
    out: Any = np.empty(4, np.float32)
    native.axpby(1.0, x, 1.0, np.ones(4, np.float32), out)
    assert out.tolist() == (x + 1).tolist()
    with Seeing(), pytest.raises(RuntimeError, match="'y' but instead found type 'ndarray'"):
        native.axpby(1.0, x, 1.0, np.ones(4, np.float32), out)

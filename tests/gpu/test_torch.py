"""The operators for PyTorch on a real GPU: compiled, in CUDA graphs, on other streams, differentiated.

Needs ``PYTHONPATH=generated`` and nothing of the DSL, as ``test_kernels.py`` does. What the kernels compute
is tested there; here it is that every way of calling them gives the same.
"""

from __future__ import annotations

import math
import shutil

import pytest

torch = pytest.importorskip("torch")

from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402  (after the check for torch)

HIDDEN, HEADS, HEAD_DIM = 1024, 16, 64
EPS = 1e-5

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="inductor needs a C compiler"
)
each_backend = pytest.mark.parametrize(
    "backend", ["eager", "aot_eager", pytest.param("inductor", marks=needs_compiler)]
)


@pytest.fixture
def native(library):
    return library("torch")


@pytest.fixture
def pure(library):
    return library("torch.functional")


@pytest.fixture
def block(native, pure):
    torch._dynamo.reset()
    return Block(native, pure).requires_grad_(False)


class Block(torch.nn.Module):
    """A layer of a transformer made of the kernels: what makes its output, and what writes into it."""

    def __init__(self, native, pure) -> None:
        super().__init__()
        self.native, self.pure = native, pure

        def parameter(*shape: int) -> torch.nn.Parameter:
            values = torch.randn(shape, device="cuda") / math.sqrt(shape[-1])
            return torch.nn.Parameter(values.bfloat16())

        self.weight = parameter(HIDDEN)
        self.into, self.out = parameter(3 * HIDDEN, HIDDEN), parameter(HIDDEN, HIDDEN)

    def forward(self, x):
        batch, length, _ = x.shape
        rows = x.reshape(-1, HIDDEN)
        packed = self.pure.gemm(self.pure.rmsnorm(rows, self.weight, EPS), self.into, "none")
        q, k, v = packed.view(batch, length, 3, HEADS, HEAD_DIM).unbind(2)
        attended = self.pure.attention(q, k, v, 1 / math.sqrt(HEAD_DIM), True)
        mixed = self.pure.gemm(attended.view(-1, HIDDEN), self.out, "gelu") + rows
        normalised = torch.empty_like(mixed)
        self.native.rmsnorm(mixed, self.weight, normalised, EPS)
        return self.pure.softmax(normalised).view_as(x)


def inputs(batch: int = 2, length: int = 128):
    return torch.randn(batch, length, HIDDEN, device="cuda").bfloat16()


def test_outputs_that_are_made_are_those_that_are_written(native, pure):
    x = inputs()[0]
    out, c = torch.empty_like(x), torch.empty(128, 128, device="cuda")
    weight = torch.randn(HIDDEN, device="cuda").bfloat16()
    native.rmsnorm(x, weight, out, EPS)
    assert torch.equal(pure.rmsnorm(x, weight, eps=EPS), out)
    native.softmax(x, out)
    assert torch.equal(pure.softmax(x), out)
    native.gemm(x, x, c, "relu")
    made = pure.gemm(x, x, "relu", c_dtype=torch.float32)
    assert made.dtype == torch.float32
    assert torch.equal(made, c)
    assert pure.gemm(x, x, "relu").dtype == torch.bfloat16
    q, k, v = (inputs(2, 64).view(2, 64, HEADS, HEAD_DIM) for _ in range(3))
    out, lse = torch.empty_like(q), torch.empty(2, HEADS, 64, device="cuda")
    native.attention(q, k, v, out, lse, 0.125, False)
    assert torch.equal(pure.attention(q, k, v, 0.125, False), out)


@each_backend
def test_torch_compile_gives_what_eager_gives(block, backend):
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    for batch, length in ((2, 128), (1, 200), (3, 64)):  # the last two with sizes that are symbols
        x = inputs(batch, length)
        assert torch.equal(compiled(x), block(x))


@needs_compiler
def test_cuda_graphs_of_torch_compile_give_what_eager_gives(block):
    compiled = torch.compile(block, fullgraph=True, mode="reduce-overhead", dynamic=False)
    for _ in range(4):  # runs, records, replays
        x = inputs()
        torch.compiler.cudagraph_mark_step_begin()
        assert torch.equal(compiled(x).clone(), block(x))


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_captured_graph_gives_what_eager_gives(block, compiled):
    call = torch.compile(block, fullgraph=True, backend="aot_eager") if compiled else block
    x = inputs()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # whatever is made at the first call must not be captured
        call(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call(x)
    for _ in range(3):
        x.copy_(inputs())
        graph.replay()
        assert torch.equal(out, block(x))


@pytest.mark.parametrize("how", ["native", "functional", "operator", "compiled"])
def test_work_goes_to_the_current_stream(native, pure, how):
    """Its input is there only after a long wait on that stream."""
    torch._dynamo.reset()

    def write(x, out):
        native.softmax(x, out)

    call = {
        "native": native.softmax,
        "functional": lambda x, out: out.copy_(pure.softmax(x)),
        "operator": torch.ops.cute_kernels.softmax.default,
        "compiled": torch.compile(write, fullgraph=True, backend="aot_eager"),
    }[how]
    x, late = torch.zeros(64, 4096, device="cuda"), torch.randn(64, 4096, device="cuda")
    out = torch.empty_like(x)
    call(x, out)
    want = torch.empty_like(x)
    native.softmax(late, want)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        x.copy_(late)
        call(x, out)
    stream.synchronize()
    assert torch.equal(out, want)


def operator_calls():
    x = torch.randn(8, 1024, device="cuda")
    half = x.bfloat16()
    vector = torch.randn(1000, device="cuda")
    weight = torch.randn(1024, device="cuda").bfloat16()
    q, k, v = (torch.randn(1, 70, 2, 64, device="cuda").half() for _ in range(3))
    return {
        "rmsnorm.default": (half, weight, torch.empty_like(half), EPS),
        "rmsnorm.functional": (half, weight, EPS),
        "softmax.default": (x, torch.empty_like(x)),
        "softmax.functional": (x.clone().requires_grad_(),),
        "softmax_backward.functional": (x, x.clone()),
        "gemm.default": (half, half.clone(), torch.empty(8, 8, device="cuda"), "gelu"),
        "gemm.functional": (half, half.clone(), "none", torch.float32),
        "attention.default": (q, k, v, torch.empty_like(q), torch.empty(1, 2, 70, device="cuda"), 0.1, True),
        "attention.functional": (q, k, v, 0.1, False),
        "axpby.functional": (2.0, vector, 3.0, vector.clone()),
        "add_one.default": (vector, torch.empty_like(vector)),
        "double_add.functional": (vector, None),
    }


@pytest.mark.parametrize(
    "name",
    [
        "rmsnorm.default",
        "rmsnorm.functional",
        "softmax.default",
        "softmax.functional",
        "softmax_backward.functional",
        "gemm.default",
        "gemm.functional",
        "attention.default",
        "attention.functional",
        "axpby.functional",
        "add_one.default",
        "double_add.functional",
    ],
)
def test_opcheck_passes(native, pure, name):
    packet, overload = name.split(".")
    operator = getattr(getattr(torch.ops.cute_kernels, packet), overload)
    found = torch.library.opcheck(operator, operator_calls()[name])
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("rows", [0, 1, 3, 1000])
@pytest.mark.parametrize("columns", [1024, 4096, 8192])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_the_gradient_of_softmax(pure, comparison, rows, columns, dtype):
    x = torch.randn(rows, columns, device="cuda").to(dtype).requires_grad_()
    grad = torch.randn(rows, columns, device="cuda").to(dtype)
    out = pure.softmax(x)
    (found,) = torch.autograd.grad(out, x, grad)
    assert found.dtype == dtype
    out, grad = out.detach().double(), grad.double()
    products = out * grad
    want = out * (grad - products.sum(1, keepdim=True))
    # 32 products are added up by each thread, and then at most 1024 threads in pairs.
    bound = (32 + 10 + 4) * FLOAT32 + UNIT_ROUNDOFF[dtype]
    scale = out * (grad.abs() + products.abs().sum(1, keepdim=True))
    comparison.check("softmax_backward", found, want, bound=bound, scale=scale)


@each_backend
def test_compiled_gradients_are_the_eager_ones(pure, backend):
    torch._dynamo.reset()
    x = torch.randn(64, 4096, device="cuda", requires_grad=True)

    def loss(x):
        return (pure.softmax(x) * pure.softmax(x)).sum()  # its gradient is an expanded number at first

    want = torch.autograd.grad((x.double().softmax(1) ** 2).sum(), x)[0]
    for function in (loss, torch.compile(loss, fullgraph=True, backend=backend)):
        (found,) = torch.autograd.grad(function(x), x)
        torch.testing.assert_close(found.double(), want.double(), rtol=1e-3, atol=1e-9)


def test_a_gradient_that_nobody_declared_is_refused(pure):
    x = torch.randn(1000, device="cuda", requires_grad=True)
    with pytest.raises(NotImplementedError, match="has no gradient"):
        pure.add_one(x).sum().backward()

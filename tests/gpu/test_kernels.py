"""Every generated kernel, compared with a float64 reference on a real GPU.

Needs ``PYTHONPATH=generated`` and nothing of the DSL. Bounds are what the roundings along the way
can add up to, in units of the dtype's rounding error; they are not fitted to what was seen.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from . import reference  # noqa: E402  (after the check for torch)
from .reference import FLOAT32, UNIT_ROUNDOFF  # noqa: E402

# Around nothing, one element, a warp, a block, many blocks.
LENGTHS = [0, 1, 2, 31, 33, 255, 256, 257, 1000, 65_536, 1_000_003]
ROWS = [0, 1, 2, 3, 5, 133, 1000]
WIDTHS = [1024, 4096, 8192]

each_length = pytest.mark.parametrize("n", LENGTHS)


def _label(value: object) -> str:
    return str(value).removeprefix("torch.")


# -----------------------------------------------------------------------------------------------
# elementwise


@each_length
def test_add_one(library, memory, comparison, n):
    a, b = memory.randn(n), memory.output(n)
    library("elementwise").add_one(a, b)
    comparison.check("add_one", b, a.double() + 1, bound=FLOAT32)


@each_length
def test_add_constant(library, memory, comparison, n):
    a, b = memory.randn(n), memory.output(n)
    library("elementwise").add_constant(a, b, 2.5)
    comparison.check("add_constant", b, a.double() + 2.5, bound=FLOAT32)


def test_add_constant_in_place(library, memory, comparison):
    before = torch.randn(1000, device="cuda")
    a = memory.inout(before)
    library("elementwise").add_constant(a, a, -0.75)
    comparison.check("add_constant", a, before.double() - 0.75, bound=FLOAT32)


def test_add_constant_by_keyword_has_its_default(library, memory, comparison):
    a, b = memory.randn(1000), memory.output(1000)
    library("kwargs.elementwise").add_constant(b=b, a=a)
    comparison.check("add_constant", b, a.double() + 1, bound=FLOAT32)


@each_length
def test_axpby(library, memory, comparison, n):
    x, y, out = memory.randn(n), memory.randn(n), memory.output(n)
    library("elementwise").axpby(1.5, x, -0.375, y, out)
    first, second = 1.5 * x.double(), -0.375 * y.double()
    scale = first.abs() + second.abs()
    comparison.check("axpby", out, first + second, bound=2 * FLOAT32, scale=scale)


@each_length
def test_scale_on_an_explicit_stream(library, memory, comparison, n):
    before = torch.randn(n, device="cuda")
    x = memory.inout(before)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    library("elementwise").scale(x, 3.25, stream.cuda_stream)
    stream.synchronize()
    comparison.check("scale", x, 3.25 * before.double(), bound=FLOAT32)


def test_the_kernel_runs_on_the_current_stream(library, memory, comparison):
    """The input is written late on a side stream; on any other stream the kernel would read NaN."""
    a, b = memory.inout(torch.full((1000,), torch.nan)), memory.output(1000)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(50_000_000)
        a.fill_(1.0)
        library("elementwise").add_constant(a, b, 2.0)
        torch.cuda.current_stream().synchronize()
    comparison.check("add_constant", b, torch.full_like(b, 3.0).double(), bound=0.0)


# -----------------------------------------------------------------------------------------------
# structures


@each_length
def test_lerp_takes_a_tuple(library, memory, comparison, n):
    start, end, out = memory.randn(n), memory.randn(n), memory.output(n)
    library("structures").lerp((start, end), 0.25, out)
    want = start.double() + 0.25 * (end.double() - start.double())
    scale = start.double().abs() + end.double().abs()
    comparison.check("lerp", out, want, bound=3 * FLOAT32, scale=scale)


@each_length
def test_polynomial_takes_a_tuple_of_any_length(library, memory, comparison, n):
    x, out = memory.randn(n), memory.output(n)
    coefficients = tuple(memory.randn(n) for _ in range(3))
    library("structures").polynomial(x, coefficients, out)
    terms = [c.double() * x.double() ** k for k, c in enumerate(coefficients)]
    scale = sum(term.abs() for term in terms)
    comparison.check("polynomial", out, sum(terms), bound=6 * FLOAT32, scale=scale)


@each_length
def test_affine_takes_a_named_tuple(library, memory, comparison, n):
    x, out = memory.randn(n), memory.output(n)
    library("structures").affine((x, 1.75, None), out)
    comparison.check("affine", out, 1.75 * x.double(), bound=FLOAT32)


@each_length
def test_moving_average_takes_a_dataclass(library, memory, comparison, n):
    signal, out = memory.randn(n), memory.output(n)
    library("structures").moving_average((signal, 2.5, 8, True), out)
    want = reference.moving_average(signal, 2.5, 8)
    scale = reference.moving_average(signal.abs(), 2.5, 8)
    comparison.check("moving_average", out, want, bound=10 * FLOAT32, scale=scale)


@each_length
def test_load_takes_a_pointer(library, memory, comparison, n):
    source, out = memory.randn(n), memory.output(n + 300)
    library("structures").load(source.data_ptr(), n, out)
    comparison.check("load", out[:n], source.double(), bound=0.0)
    assert not out[n:].any()


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 1000), (1000, 1), (17, 31), (513, 257)])
def test_transpose_takes_a_shape(library, memory, comparison, rows, columns):
    x, out = memory.randn(rows * columns), memory.output(rows * columns + 7)
    library("structures").transpose((rows, columns), x, out)
    want = x.view(rows, columns).T.flatten().double()
    comparison.check("transpose", out[: rows * columns], want, bound=0.0)
    assert out[rows * columns :].isnan().all()


@each_length
def test_double_add_takes_none(library, memory, comparison, n):
    x, out = memory.randn(n), memory.output(n)
    library("structures").double_add(x, None, out)
    comparison.check("double_add", out, 2 * x.double(), bound=0.0)


@each_length
def test_double_add_takes_a_bias(library, memory, comparison, n):
    x, bias, out = memory.randn(n), memory.randn(n), memory.output(n)
    library("structures").double_add_given(x, bias, out)
    comparison.check("double_add_given", out, 2 * x.double() + bias.double(), bound=FLOAT32)


# -----------------------------------------------------------------------------------------------
# norm

# The sum of a row's squares has a chain of at most 32 additions in a thread and 10 between threads.
RMSNORM_ROUNDINGS = 64


@pytest.mark.parametrize("m", ROWS)
@pytest.mark.parametrize("hidden", WIDTHS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rmsnorm(library, memory, comparison, dtype, hidden, m):
    dtype = getattr(torch, dtype)
    x, weight = memory.randn(m, hidden, dtype=dtype), memory.randn(hidden, dtype=dtype)
    out = memory.output(m, hidden, dtype=dtype)
    library("norm").rmsnorm(x, weight, out, 1e-5)
    bound = UNIT_ROUNDOFF[dtype] + RMSNORM_ROUNDINGS * FLOAT32
    comparison.check("rmsnorm", out, reference.rmsnorm(x, weight, 1e-5), bound=bound)


def test_rmsnorm_of_zeros_is_saved_by_eps(library, memory, comparison):
    x, weight = memory.input(torch.zeros(2, 1024).half()), memory.randn(1024, dtype=torch.half)
    out = memory.output(2, 1024, dtype=torch.half)
    library("norm").rmsnorm(x, weight, out, 1e-5)
    comparison.check("rmsnorm", out, torch.zeros(2, 1024, device="cuda").double(), bound=0.0)


def test_rmsnorm_by_keyword_and_in_place(library, memory, comparison):
    before, weight = (
        torch.randn(7, 4096, device="cuda").half(),
        memory.randn(4096, dtype=torch.half),
    )
    x = memory.inout(before)
    library("kwargs.norm").rmsnorm(eps=1e-5, out=x, weight=weight, x=x)
    bound = UNIT_ROUNDOFF[torch.half] + RMSNORM_ROUNDINGS * FLOAT32
    comparison.check("rmsnorm", x, reference.rmsnorm(before, weight, 1e-5), bound=bound)


# -----------------------------------------------------------------------------------------------
# softmax


def _softmax_bound(x: torch.Tensor) -> float:
    """Three roundings of an exponent as large as the row's spread, and those of the sum."""
    spread = (x.double().amax(1) - x.double().amin(1)).max().item() if x.numel() else 0.0
    return UNIT_ROUNDOFF[x.dtype] + (3 * spread + 64) * FLOAT32


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax(library, memory, comparison, dtype, columns, rows):
    dtype = getattr(torch, dtype)
    x = memory.input(4 * torch.randn(rows, columns, device="cuda").to(dtype))
    out = memory.output(rows, columns, dtype=dtype)
    library("softmax").softmax(x, out)
    comparison.check("softmax", out, reference.softmax(x), bound=_softmax_bound(x))


@pytest.mark.parametrize("shift", [-3e38, -1e4, 1e4, 3e38])
@pytest.mark.parametrize("columns", WIDTHS)
def test_softmax_of_large_values_does_not_overflow(library, memory, comparison, columns, shift):
    x = torch.full((3, columns), shift)
    x[1, 5] = 0.0
    x = memory.input(x)
    out = memory.output(3, columns)
    library("softmax").softmax(x, out)
    comparison.check("softmax", out, reference.softmax(x), bound=64 * FLOAT32)


@pytest.mark.parametrize("columns", WIDTHS)
def test_softmax_leaves_masked_elements_out(library, memory, comparison, columns):
    x = torch.randn(5, columns, device="cuda").bfloat16()
    x[:, columns // 3 :] = -torch.inf
    x = memory.input(x)
    out = memory.output(5, columns, dtype=torch.bfloat16)
    library("softmax").softmax(x, out)
    want, bound = reference.softmax(x), _softmax_bound(x[:, : columns // 3])
    comparison.check("softmax", out, want, bound=bound)
    assert not out[:, columns // 3 :].any()


def test_softmax_in_place(library, memory, comparison):
    before = torch.randn(133, 4096, device="cuda")
    x = memory.inout(before)
    library("softmax").softmax(x, x)
    comparison.check("softmax", x, reference.softmax(before), bound=_softmax_bound(before))


def test_softmax_of_more_than_two_to_the_31_elements(library, comparison):
    rows, columns = 2**18 + 3, 8192
    if torch.cuda.mem_get_info()[0] < 3 * 2 * rows * columns:
        pytest.skip("too little memory on this GPU")
    x = torch.zeros(rows, columns, dtype=torch.bfloat16, device="cuda")
    x[-5:] = torch.randn(5, columns, device="cuda")
    out = torch.full_like(x, torch.nan)
    library("softmax").softmax(x, out)
    want = reference.softmax(x[-5:])
    comparison.check("softmax", out[-5:], want, bound=_softmax_bound(x[-5:]))
    assert (out[:-5] == 2.0**-13).all()


# -----------------------------------------------------------------------------------------------
# gemm

GEMM_SHAPES = [
    (1, 1, 8),
    (1, 129, 64),
    (127, 3, 8),
    (128, 128, 32),
    (128, 128, 4096),
    (129, 257, 40),
    (77, 333, 1000),
    (300, 1, 2056),
    (512, 640, 1024),
    (1000, 1000, 96),
    (2048, 2048, 2048),
    (0, 16, 16),
    (16, 0, 16),
]


each_gemm = pytest.mark.parametrize("shape", GEMM_SHAPES, ids=lambda shape: "x".join(map(str, shape)))
each_activation = pytest.mark.parametrize("activation", ["none", "relu", "gelu"])


@each_gemm
@each_activation
@pytest.mark.parametrize("out", ["same", "float32"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gemm(library, memory, comparison, dtype, out, activation, shape):
    m, n, k = shape
    dtype = getattr(torch, dtype)
    a, b = memory.randn(m, k, dtype=dtype), memory.randn(n, k, dtype=dtype)
    c = memory.output(m, n, dtype=dtype if out == "same" else torch.float32)
    library("gemm").gemm(a, b, c, activation)
    _check_gemm(comparison, a, b, c, activation)


@each_gemm
@each_activation
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gemm_with_column_major_b(library, memory, comparison, dtype, activation, shape):
    m, n, k = shape
    n = (n + 7) // 8 * 8
    if not n:
        pytest.skip("torch gives an empty matrix the strides (1, 1), so it is neither row- nor column-major")
    dtype = getattr(torch, dtype)
    a, b = memory.randn(m, k, dtype=dtype), memory.randn(k, n, dtype=dtype).T
    c = memory.output(m, n, dtype=dtype)
    library("gemm").gemm(a, b, c, activation)
    _check_gemm(comparison, a, b, c, activation)


@each_activation
def test_no_activation_hides_what_is_not_a_number(library, memory, activation):
    x = torch.ones(2, 8, dtype=torch.half)
    x[1, 3] = torch.nan
    a, b, c = memory.input(x), memory.randn(16, 8, dtype=torch.half), memory.output(2, 16)
    library("gemm").gemm(a, b, c, activation)
    assert c[0].isfinite().all()
    assert c[1].isnan().all()


def _check_gemm(comparison, a, b, c, activation):
    product, scale = reference.gemm(a, b)
    # Tensor cores cut off, rather than round, what they add to the accumulator, once per 8 of k. No
    # activation is steeper than 1.13, and what rounds in it adds less than 8 roundings.
    bound = UNIT_ROUNDOFF[c.dtype] + 1.13 * (a.shape[1] / 8 + 16) * 2 * FLOAT32
    name = f"{_label(a.dtype)}->{_label(c.dtype)}"
    kernel = "gemm" if activation == "none" else f"gemm {activation}"
    want = reference.ACTIVATIONS[activation](product)
    comparison.check(kernel, c, want, bound=bound, scale=scale, dtype=name)


# -----------------------------------------------------------------------------------------------
# What a kernel cannot work with is refused before it runs


def test_misaligned_rows_are_refused(library):
    x = torch.zeros(2 * 1024 + 1, device="cuda")[1:].view(2, 1024)
    with pytest.raises(ValueError, match="aligned to 16 bytes"):
        library("softmax").softmax(x, torch.empty_like(x))


def test_rows_of_a_length_that_vectors_do_not_divide_are_refused(library):
    a, c = torch.zeros(16, 12, device="cuda").half(), torch.zeros(16, 16, device="cuda").half()
    with pytest.raises(TypeError, match=r"No variant accepts .*multiples of 8"):
        library("gemm").gemm(a, a, c, "none")


# -----------------------------------------------------------------------------------------------
# Families


@pytest.mark.parametrize("hidden", WIDTHS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=_label)
def test_a_family_gives_what_its_variant_gives(library, memory, dtype, hidden):
    x, weight = memory.randn(3, hidden, dtype=dtype), memory.randn(hidden, dtype=dtype)
    found, own = (memory.output(3, hidden, dtype=dtype) for _ in range(2))
    rmsnorm = library("norm").rmsnorm
    rmsnorm(x, weight, found, 1e-5)
    rmsnorm.variants[f"{_label(dtype)}_{hidden}"](x, weight, own, 1e-5)
    assert torch.equal(found, own)


def test_what_no_variant_accepts_is_refused(library):
    x = torch.zeros(2, 1000, device="cuda")
    with pytest.raises(TypeError, match=r"No variant accepts .*1000.* when calling: `softmax"):
        library("softmax").softmax(x, x)
    x = torch.zeros(2, 1024).cpu()
    with pytest.raises(ValueError, match=r"CPU\), expected it on a GPU when calling: `softmax"):
        library("softmax").softmax(x, x)


SPOILT_CAPTURE = """
import contextlib
import torch
from cute_kernels import elementwise

x = torch.ones(8, device="cuda")
elementwise.add_constant(x, x, 1.0)
torch.cuda.synchronize()
with torch.cuda.stream(torch.cuda.Stream()):
    torch.cuda.CUDAGraph().capture_begin()
    with contextlib.suppress(RuntimeError):
        torch.cuda.synchronize()  # not allowed meanwhile: what is captured is spoilt
    try:
        elementwise.add_constant(x, x, 1.0)
    except RuntimeError as error:
        print(error, flush=True)
"""


def test_what_cuda_refuses_is_said_with_the_function():
    """In a process of its own, of which PyTorch can make no more use afterwards."""
    done = subprocess.run([sys.executable, "-c", SPOILT_CAPTURE], capture_output=True, text=True, timeout=300)
    assert "cudaErrorStreamCaptureInvalidated in add_constant, built for sm_" in done.stdout, done.stderr

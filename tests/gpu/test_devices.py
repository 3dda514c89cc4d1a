"""Kernels on another GPU than the current one; skips where there is only one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

Library = Callable[[str], ModuleType]

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs"
)


@pytest.fixture
def other() -> str:
    """Return the last GPU, the current one being the first."""
    assert torch.cuda.current_device() == 0
    return f"cuda:{torch.cuda.device_count() - 1}"


def test_a_kernel_runs_where_its_tensors_are(library: Library, other: str) -> None:
    a = torch.arange(1000.0, device=other)
    b = torch.full_like(a, torch.nan)
    library("elementwise").add_constant(a, b, 2.5)
    assert torch.equal(b, a + 2.5)
    assert torch.cuda.current_device() == 0


def test_a_family_runs_where_its_tensors_are(library: Library, other: str) -> None:
    x = torch.randn(33, 1024, device=other).to(torch.bfloat16)
    out, here = torch.full_like(x, torch.nan), torch.empty_like(x, device="cuda:0")
    library("softmax").softmax(x, out)
    library("softmax").softmax(x.to("cuda:0"), here)
    assert torch.equal(out.to("cuda:0"), here)


def test_the_stream_is_that_of_the_tensors_gpu(library: Library, other: str) -> None:
    stream = torch.cuda.Stream(other)
    a = torch.ones(1 << 20, device=other)
    b = torch.zeros_like(a)
    torch.cuda.synchronize(other)
    with torch.cuda.device(other), torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # a tenth of a second: the kernel waits for it on this stream alone
        library("elementwise").add_constant(a, b, 1.0)
        assert not stream.query()
    stream.synchronize()
    assert torch.equal(b, a + 1)


def test_threads_use_a_gpu_each(library: Library) -> None:
    add_constant = library("elementwise").add_constant
    sums = list(range(torch.cuda.device_count()))

    def work(device: int) -> bool:
        torch.cuda.set_device(device)
        a = torch.arange(4096.0, device=f"cuda:{device}")
        b = torch.empty_like(a)
        for number in range(200):
            add_constant(a, b, float(number + device))
        return torch.cuda.current_device() == device and torch.equal(b, a + (199 + device))

    with ThreadPoolExecutor(len(sums)) as pool:
        assert all(pool.map(work, sums))


def test_the_build_is_that_of_the_tensors_gpu(library: Library, other: str) -> None:
    out = torch.zeros(1, dtype=torch.int32, device=other)
    library("device").built_for(out)
    major, _ = torch.cuda.get_device_capability(other)
    assert int(out) // 10 == major


def test_operators_run_where_their_tensors_are(library: Library, other: str) -> None:
    functional = library("torch.functional")
    x = torch.randn(7, 1024, device=other).to(torch.bfloat16)
    out = functional.softmax(x)
    assert out.device == x.device
    assert torch.allclose(out.float(), torch.softmax(x.float(), -1), atol=2e-3)

"""Which build of a library the GPU gets, and what a build that is not used costs.

The second library, ``other_archs``, is built for GPUs that the machine has not got::

    cute-stubgen generate kernels/device.py --package other_archs --arch sm_80 --arch sm_100a --output FOLDER
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

Library = Callable[[str], ModuleType]


def capability() -> int:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor


def test_the_build_for_this_gpu_is_chosen(library: Library) -> None:
    import torch

    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    library("device").built_for(out)
    built_for = int(out)
    # The library has one build for this GPU's own architecture, or one of the same major version.
    assert built_for // 10 == capability() // 10
    assert built_for <= capability()


def test_every_variant_of_a_family_runs_on_this_gpu(library: Library) -> None:
    import torch

    norm = library("norm")
    for dtype in (torch.float16, torch.bfloat16):
        for hidden in (1024, 4096, 8192):
            x = torch.randn(3, hidden, device="cuda").to(dtype)
            weight = torch.randn(hidden, device="cuda").to(dtype)
            by_family, by_variant = torch.empty_like(x), torch.empty_like(x)
            norm.rmsnorm(x, weight, by_family, 1e-5)
            norm.rmsnorm.variants[f"{str(dtype).removeprefix('torch.')}_{hidden}"](
                x, weight, by_variant, 1e-5
            )
            assert torch.equal(by_family, by_variant)


def test_a_library_without_a_build_for_this_gpu_says_so() -> None:
    import torch

    try:
        other = importlib.import_module("other_archs.device")
    except ImportError:
        pytest.skip("there is no package other_archs; see above")
    if capability() // 10 in (8, 10):
        pytest.skip("the package other_archs has a build for this GPU")
    out = torch.zeros(1, dtype=torch.int32, device="cuda")
    message = f"built_for has no build for cuda:0, which is sm_{capability()}; it is built for sm_80, sm_100a"
    with pytest.raises(RuntimeError) as caught:
        other.built_for(out)
    assert str(caught.value) == message
    assert int(out) == 0


@pytest.mark.parametrize("threads", [32])
def test_first_calls_from_many_threads_are_right(threads: int) -> None:
    """A process of its own, so that these are the first calls of all."""
    code = f"""
import threading
import torch
from cute_kernels import device, norm

outs = [torch.zeros(1, dtype=torch.int32, device="cuda") for _ in range({threads})]
x = torch.randn(64, 4096, device="cuda").half()
weight = torch.ones(4096, device="cuda").half()
results = [torch.empty_like(x) for _ in range({threads})]
barrier = threading.Barrier({threads})

def first_call(index):
    barrier.wait()
    device.built_for(outs[index])
    norm.rmsnorm(x, weight, results[index], 1e-5)

all_threads = [threading.Thread(target=first_call, args=(i,)) for i in range({threads})]
for thread in all_threads: thread.start()
for thread in all_threads: thread.join()
torch.cuda.synchronize()
assert len({{int(out) for out in outs}}) == 1 and int(outs[0]) > 0, outs
assert all(torch.equal(result, results[0]) for result in results)
assert torch.isfinite(results[0]).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_what_is_not_called_takes_no_gpu_memory() -> None:
    """Free memory as the driver sees it, in a process of its own.

    The driver hands out memory in large pieces, so one kernel may find room in what it has; all do not. The
    inputs are there before, so that torch takes none in between.
    """
    code = """
import torch
def free():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]
rows, products, heads = [], [], []
for dtype in (torch.float16, torch.bfloat16):
    rows += [torch.randn(4, n, device="cuda").to(dtype) for n in (1024, 4096, 8192)]
    a = torch.randn(64, 64, device="cuda").to(dtype)
    products += [(a, a, torch.empty(64, 64, dtype=out, device="cuda")) for out in (dtype, torch.float32)]
    heads += [torch.randn(1, 64, 4, size, device="cuda").to(dtype) for size in (64, 128)]
lse = torch.empty(1, 4, 64, device="cuda")
weights, outs = [row[0].clone() for row in rows], [part.clone() for part in heads]
before = free()
import cute_kernels
imported = free()
for family in (cute_kernels.norm.rmsnorm, cute_kernels.gemm.gemm, cute_kernels.attention.attention):
    list(family.variants.values())
looked_up = free()
for row, weight in zip(rows, weights):
    cute_kernels.norm.rmsnorm(row, weight, row, 1e-5)
for a, b, c in products:
    for word in ("none", "relu", "gelu"):
        cute_kernels.gemm.gemm(a, b, c, word)
for part, out in zip(heads, outs):
    for causal in (False, True):
        for given in (None, lse):
            cute_kernels.attention.attention(part, part, part, out, given, 0.1, causal)
called = free()
print(before - imported, imported - looked_up, looked_up - called)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    by_import, by_look_up, by_calls = map(int, done.stdout.split())
    print(f"import {by_import} bytes, looking variants up {by_look_up} bytes, calling all {by_calls} bytes")
    assert by_import == 0
    assert by_look_up == 0
    assert by_calls > 0

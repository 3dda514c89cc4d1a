"""What a call of a GPU kernel costs the CPU: generated functions, and other ways to launch the same kernel.

The kernel adds a number to 256 floats, so that launching it is all that takes time. Candidates take turns in
every round; ratios are taken within a round. The DSL and Triton are left out where not installed. The calls
from C and C++ are made afterwards, in a program of their own.

Runs anywhere with a GPU, torch and tvm-ffi; nothing of the tool is needed::

    PYTHONPATH=generated python -m benchmarks gpu_calls
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROUNDS = 60
CALLS = 400
"""In a round; fewer than the launches that a GPU queues, so that no call waits for it."""

LIMITS = {
    "generated / bare": 1.02,
    "cute.compile, by position / generated": 1.0,
    "Triton / generated": 2.5,
}
"""The first at most, the others at least."""

TRITON = """
import triton
import triton.language as tl

@triton.jit
def add_constant(a, b, offset, n, SIZE: tl.constexpr):
    i = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(b + i, tl.load(a + i, mask=i < n) + offset, mask=i < n)
"""

Call = Callable[[], object]


def candidates(folder: Path) -> dict[str, Call]:
    """Return what is timed, by name; each call adds 2.5 to ``a``."""
    import cute_kernels
    import torch
    import tvm_ffi
    from cute_kernels import elementwise
    from cute_kernels.kwargs import elementwise as keyword_module

    from benchmarks import first_result

    a = torch.arange(256.0, device="cuda")
    b = torch.empty_like(a)
    library = Path(cute_kernels.__file__).parent / "lib" / "libcute_kernels.so"
    bare = tvm_ffi.load_module(str(library))["add_constant"]
    generated, keyword = elementwise.add_constant, keyword_module.add_constant

    schema = "(Tensor a, Tensor(b!) b, float offset) -> ()"

    @torch.library.custom_op("benchmarks::add_constant", mutates_args=("b",), schema=schema)
    def operator(a: Any, b: Any, offset: float) -> None:
        generated(a, b, offset)

    calls: dict[str, Call] = {
        "bare": lambda: bare(a, b, 2.5),
        "generated": lambda: generated(a, b, 2.5),
        "generated, by keyword": lambda: keyword(a=a, b=b, offset=2.5),
        "torch.library.custom_op": lambda: operator(a, b, 2.5),
    }
    if importlib.util.find_spec("triton"):
        kernel = _imported(folder, "triton_of_benchmark", TRITON).add_constant
        calls["Triton"] = lambda: kernel[(1,)](a, b, 2.5, 256, SIZE=256)
    if importlib.util.find_spec("cutlass"):
        compiled = first_result.compiled(_imported(folder, "kernel_of_benchmark", first_result.KERNEL))
        calls["cute.compile, by position"] = lambda: compiled(a, b, 2.5)
        calls["cute.compile, by keyword"] = lambda: compiled(a=a, b=b, offset=2.5)
    for name, call in calls.items():
        b.zero_()
        call()
        assert torch.equal(b, a + 2.5), name
    return calls


def measure() -> dict[str, Any]:
    """Time all candidates.

    Returns
    -------
        For each the quartiles of the microseconds of a call; for pairs the median of their ratios.
    """
    import torch

    with tempfile.TemporaryDirectory() as name:
        calls = candidates(Path(name))
        rounds = [_round(calls, shift, torch.cuda.synchronize) for shift in range(ROUNDS)]
        cost = {name: statistics.quantiles([r[name] for r in rounds], n=4) for name in calls}
        cost |= _native(Path(name))
    rounded = {name: [round(q, 3) for q in quartiles] for name, quartiles in cost.items()}
    ratios = {
        f"{name} / generated": round(statistics.median(r[name] / r["generated"] for r in rounds), 3)
        for name in calls
        if name not in ("generated", "bare")
    }
    ratios["generated / bare"] = round(statistics.median(r["generated"] / r["bare"] for r in rounds), 4)
    return {
        "unit": "us a call: lower quartile, median, upper quartile",
        "cost": rounded,
        "ratio": ratios,
        "limits": LIMITS,
    }


def _round(calls: dict[str, Call], shift: int, wait: Callable[[], object]) -> dict[str, float]:
    """Time each candidate once, beginning with another one every round."""
    names = list(calls)
    start = shift % len(names)
    return {name: _once(calls[name], wait) for name in names[start:] + names[:start]}


def _once(call: Call, wait: Callable[[], object]) -> float:
    for _ in range(20):
        call()
    wait()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    taken = time.perf_counter() - start
    wait()
    return taken / CALLS * 1e6


def _native(folder: Path) -> dict[str, list[float]]:
    """Time calls from C and C++, where there is a compiler for the program that makes them."""
    if not shutil.which("nvcc"):
        return {}
    from cute_kernels import config

    flags = [*config.compiler_flags(), *config.linker_flags("shared"), *config.runtime_path_flags()]
    for_nvcc = [part for flag in flags for part in _for_nvcc(flag)]
    program = folder / "gpu_calls"
    source = HERE / "gpu_calls.cu"
    subprocess.run(["nvcc", "-std=c++17", "-O2", source, *for_nvcc, "-o", program], check=True)
    done = subprocess.run([program, str(ROUNDS), str(CALLS)], capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return {name: statistics.quantiles(times, n=4) for name, times in found.items()}


def _for_nvcc(flag: str) -> list[str]:
    return ["-Xlinker", flag.removeprefix("-Wl,")] if flag.startswith("-Wl,") else [flag]


def _imported(folder: Path, name: str, source: str) -> Any:
    """Import source text from a file: both compilers read what they compile from one."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

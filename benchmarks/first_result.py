"""From the start of a process to its first result on a GPU: generated package and compiling in the process.

The import of torch and the start of CUDA, which both ways need alike, are not counted: each process does them
first, and then tells how long the rest takes. Processes of both kinds take turns. Where the DSL is not
installed, only the generated package is measured.

Runs anywhere with a GPU, torch and tvm-ffi; nothing of the tool is needed::

    PYTHONPATH=generated python -m benchmarks first_result
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROUNDS = 7

_BEFORE = """
import time
import torch
a = torch.arange(1000.0, device="cuda")
b = torch.empty_like(a)
torch.cuda.synchronize()
start = time.perf_counter()
"""

_AFTER = """
torch.cuda.synchronize()
print(time.perf_counter() - start)
assert torch.equal(b, a + 2.5)
"""

_GENERATED = f"""{_BEFORE}
from cute_kernels import elementwise
elementwise.add_constant(a, b, 2.5)
{_AFTER}"""

KERNEL = """
import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream


@cute.kernel
def _add_constant(a: cute.Tensor, b: cute.Tensor, offset: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 256 + thread
    if i < a.shape[0]:
        b[i] = a[i] + offset


@cute.jit
def add_constant(a: cute.Tensor, b: cute.Tensor, offset: cutlass.Float32, stream: CUstream):
    blocks = cute.ceil_div(a.shape[0], 256)
    _add_constant(a, b, offset).launch(grid=[blocks, 1, 1], block=[256, 1, 1], stream=stream)
"""

_COMPILED = f"""{_BEFORE}
import kernel_of_benchmark
from benchmarks import first_result
first_result.compiled(kernel_of_benchmark)(a, b, 2.5)
{_AFTER}"""


def compiled(kernel: Any) -> Any:
    """Compile the kernel of the module made of :data:`KERNEL` in this process."""
    import cutlass
    from cutlass import cute
    from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

    vector = make_fake_compact_tensor(cutlass.Float32, (cute.sym_int32(),))
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    offset = cutlass.Float32(0)
    return cute.compile(kernel.add_constant, vector, vector, offset, stream, options="--enable-tvm-ffi")


def measure() -> dict[str, Any]:
    """Time both ways.

    Returns
    -------
        Milliseconds: lower quartile, median, upper quartile; and the ratio of the medians.
    """
    ways = {"generated": _GENERATED}
    if importlib.util.find_spec("cutlass"):
        ways["cute.compile"] = _COMPILED
    with tempfile.TemporaryDirectory() as folder:
        # The DSL reads the source of what it compiles, so that has to be in a file.
        Path(folder, "kernel_of_benchmark.py").write_text(KERNEL)
        for name, code in ways.items():
            Path(folder, f"{name}.py").write_text(code)
        rounds = [{name: _once(Path(folder, f"{name}.py")) for name in ways} for _ in range(ROUNDS)]
    costs = {name: statistics.quantiles([r[name] * 1e3 for r in rounds], n=4) for name in ways}
    result: dict[str, Any] = {
        "unit": "ms: lower quartile, median, upper quartile",
        "cost": {name: [round(q, 2) for q in cost] for name, cost in costs.items()},
    }
    if len(ways) > 1:
        result["ratio"] = round(costs["cute.compile"][1] / costs["generated"][1], 1)
    return result


def _once(script: Path) -> float:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.splitlines()[-1])

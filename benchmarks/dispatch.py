"""What finding the variant costs: native dispatch, the variant itself, and a Python dict.

The targets are real host kernels, one for each dtype, compiled by the DSL. Each stands behind many symbols,
as the builds of many variants that differ in dtype and row length, for four architectures. Which one a call
means is found out as in any library; only the GPU's architecture is made up, since there is no GPU here.

Native costs are those of a loop in C in the same library, over one call and over calls of all variants in
turn, direct and through the family; Python's are those of calls with torch tensors.
"""

from __future__ import annotations

import ctypes
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
DTYPES = ("float32", "float64", "int32", "int64")
ROUNDS = 200
CALLS = 2_000

_HARNESS = """
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Nanoseconds a call, over the given calls in turn; each has a matrix of one row and a vector of one. */
double time_calls(const TVMFFISafeCallType* functions, const DLDataType* dtypes, const int64_t* columns,
                  int count, int repeats) {
  static int64_t data[1024], sums[1];
  int64_t (*shapes)[2] = malloc(sizeof(int64_t[2]) * (size_t)count);
  int64_t (*strides)[2] = malloc(sizeof(int64_t[2]) * (size_t)count);
  int64_t one = 1;
  DLTensor (*tensors)[2] = calloc((size_t)count, sizeof(DLTensor[2]));
  TVMFFIAny (*args)[2] = calloc((size_t)count, sizeof(TVMFFIAny[2]));
  for (int i = 0; i < count; ++i) {
    shapes[i][0] = 1;
    shapes[i][1] = strides[i][0] = columns[i];
    strides[i][1] = 1;
    tensors[i][0] = (DLTensor){data, {kDLCPU, 0}, 2, dtypes[i], shapes[i], strides[i], 0};
    tensors[i][1] = (DLTensor){sums, {kDLCPU, 0}, 1, dtypes[i], &one, &one, 0};
    for (int j = 0; j < 2; ++j) {
      args[i][j].type_index = kTVMFFIDLTensorPtr;
      args[i][j].v_ptr = &tensors[i][j];
    }
  }
  TVMFFIAny result = {0};
  int failed = 0;
  double start = seconds();
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (int i = 0; i < count; ++i) failed |= functions[i](NULL, args[i], 2, &result);
  double took = seconds() - start;
  free(shapes), free(strides), free(tensors), free(args);
  return failed ? -1.0 : took * 1e9 / repeats / count;
}
"""


def measure() -> dict[str, Any]:
    """Measure families of 64 and of 1,000 variants.

    Returns
    -------
        For each the medians and quartiles of the costs, what dispatch adds within a round, and how long
        generating and compiling its C takes.
    """
    with tempfile.TemporaryDirectory() as folder:
        ir = _compile_targets(Path(folder))
        return {
            f"{len(DTYPES) * lengths} variants, {len(ARCHS)} architectures": _measure(
                lengths, ir, Path(folder)
            )
            for lengths in (16, 250)
        }


def _compile_targets(folder: Path) -> dict[str, str]:
    """Return the LLVM IR of a host kernel for each dtype; the DSL gets a process of its own."""
    code = f"""
import sys
import cutlass
from cutlass import AddressSpace, cute
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.jit
def first(x: cute.Tensor, out: cute.Tensor):
    out[0] = x[0, 0]

for name in {DTYPES!r}:
    dtype = getattr(cutlass, name.capitalize())
    x = make_fake_compact_tensor(
        dtype, (cute.sym_int32(), cute.sym_int32()), stride_order=(1, 0), memspace=AddressSpace.generic
    )
    out = make_fake_compact_tensor(dtype, (1,), memspace=AddressSpace.generic)
    compiled = cute.compile(first, x, out, options="--enable-tvm-ffi")
    compiled.export_to_c(f"{folder}/{{name}}.ll", f"target_{{name}}", export_only_tvm_ffi_symbols=True)
"""
    script = folder / "targets.py"
    script.write_text(code)
    subprocess.run([sys.executable, script], check=True, stdout=subprocess.DEVNULL)
    return {dtype: (folder / f"{dtype}.ll").read_text() for dtype in DTYPES}


def _library(lengths: int) -> Any:
    """Describe a library with one family: every dtype with every row length."""
    from stubgen.families.families import families
    from stubgen.model.library import (
        Kernel,
        Library,
        Module,
        Parameter,
        Place,
        Symbol,
        TensorSlot,
        Variant,
        Versions,
    )

    kernels = tuple(
        Kernel(
            name=f"sums__{dtype}_{columns}",
            module="sums",
            parameters=(
                Parameter("x", TensorSlot(dtype, (Symbol("rows"), columns), device="cpu")),
                Parameter("out", TensorSlot(dtype, (1,), device="cpu")),
            ),
            abi="",
            place=Place("sums.py", 1),
            archs=ARCHS,
            variant=Variant("sums", {"dtype": dtype, "columns": str(columns)}),
        )
        for dtype, columns in itertools.product(DTYPES, range(1, lengths + 1))
    )
    module = Module("sums", "sums.py", kernels, families(kernels))
    return Library("bench", (module,), Versions("", "", "", ""), {})


def _measure(lengths: int, ir: dict[str, str], folder: Path) -> dict[str, Any]:
    from stubgen.native import link
    from stubgen.native.host_ir import IRFile
    from stubgen.native.toolchain import HostTarget, Source, ZigToolchain
    from stubgen.render.native import dispatcher

    work = folder / str(lengths)
    work.mkdir()
    start = time.process_time()
    library = _library(lengths)
    text = dispatcher.dispatcher(library)
    generated = time.process_time() - start
    # A GPU of compute capability 9.0, wherever the calls come from.
    seam = "#define _POSIX_C_SOURCE 199309L\n#define COMPUTE_CAPABILITY_OF(device) (90 + 0 * (device))"
    definitions = "\n".join([seam, text, _HARNESS])
    compiler = ZigToolchain()
    whole = link.companion_source(definitions, static_runtime=False)
    include = [link.find_tvm_ffi().include]
    first = Source.of(work / "dispatcher.c", whole.encode())
    compiler.compile_c(first, HostTarget(), include)  # fill zig's cache
    again = Source.of(work / "dispatcher.c", f"{whole}\n/* once more */\n".encode())
    start = time.monotonic()
    compiler.compile_c(again, HostTarget(), include)
    compiled = time.monotonic() - start
    shared = link.link_library(
        [link.KernelIR(f"target_{d}", IRFile(_with_builds(d, ir[d], library, work)), False) for d in DTYPES],
        work / "libbench.so",
        exports=[*dispatcher.exports(library), "time_calls"],
        definitions=definitions,
        toolchain=compiler,
        work=work,
    )
    return {
        "unit": "ns a call: lower quartile, median, upper quartile",
        **_native(shared, library),
        **_python(shared, library),
        "generating the C, s of CPU": round(generated, 3),
        "compiling it, s": round(compiled, 2),
    }


def _with_builds(dtype: str, ir: str, library: Any, work: Path) -> Path:
    """Put a target behind the symbols of all builds of its dtype."""
    aliases = [
        f"@__tvm_ffi_{kernel.build_name(library.package, arch)} = alias i32 (ptr, ptr, i32, ptr), "
        f"ptr @__tvm_ffi_target_{dtype}"
        for kernel in library.kernels
        if kernel.variant.labels["dtype"] == dtype
        for arch in kernel.archs
    ]
    path = work / f"{dtype}.ll"
    path.write_text("\n".join([ir, *aliases, ""]))
    return path


def _native(shared: Path, library: Any) -> dict[str, Any]:
    """Time calls from C, of one variant and of all in turn."""
    import tvm_ffi  # noqa: F401  # brings the library that the other needs

    loaded = ctypes.CDLL(str(shared))
    loaded.time_calls.restype = ctypes.c_double
    kernels = library.kernels
    builds = [_address(loaded, f"__tvm_ffi_{k.build_name(library.package, 'sm_90a')}") for k in kernels]
    family = [_address(loaded, library.families[0].symbol)] * len(kernels)
    dtypes = [_dtype(kernel.variant.labels["dtype"]) for kernel in kernels]
    columns = [int(kernel.variant.labels["columns"]) for kernel in kernels]

    def cost(functions: Sequence[int], chosen: Sequence[int]) -> float:
        count = len(chosen)
        took: float = loaded.time_calls(
            (ctypes.c_void_p * count)(*(functions[i] for i in chosen)),
            (ctypes.c_uint32 * count)(*(dtypes[i] for i in chosen)),
            (ctypes.c_int64 * count)(*(columns[i] for i in chosen)),
            count,
            max(1, 20_000 // count),
        )
        assert took >= 0, "a call failed"
        return took

    middle, every = [len(kernels) // 2], range(len(kernels))
    return {
        title: _compared(
            [{"direct": cost(builds, chosen), "family": cost(family, chosen)} for _ in range(ROUNDS)]
        )
        for title, chosen in {"C, one variant": middle, "C, all variants in turn": every}.items()
    }


def _python(shared: Path, library: Any) -> dict[str, Any]:
    """Time calls from Python: the variant itself, the family, and a dict that is asked for the variant."""
    import torch
    import tvm_ffi

    module = tvm_ffi.load_module(str(shared))
    kernel = library.kernels[len(library.kernels) // 2]
    dtype, columns = kernel.variant.labels.values()
    x, out = (
        torch.ones(1, int(columns), dtype=getattr(torch, dtype)),
        torch.ones(1, dtype=getattr(torch, dtype)),
    )
    table = {
        (getattr(torch, k.variant.labels["dtype"]), int(k.variant.labels["columns"])): module[k.name]
        for k in library.kernels
    }
    given = {"variant": module[kernel.name], "family": module["sums"], "table": table, "x": x, "out": out}
    setup = "; ".join(f"{name} = given[{name!r}]" for name in given)
    timers = {
        name: timeit.Timer(call, setup, timer=time.thread_time, globals={"given": given})
        for name, call in {
            "direct": "variant(x, out)",
            "family": "family(x, out)",
            "dict": "table[x.dtype, x.shape[1]](x, out)",
        }.items()
    }
    rounds = [
        {name: timer.timeit(CALLS) / CALLS * 1e9 for name, timer in timers.items()} for _ in range(ROUNDS)
    ]
    return {"Python": _compared(rounds)}


def _compared(rounds: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Return the costs, and what each candidate adds to the direct call of the same round."""
    names = list(rounds[0])
    costs = {
        name: [round(q, 1) for q in statistics.quantiles([r[name] for r in rounds], n=4)] for name in names
    }
    added = {
        f"{name} adds": round(statistics.median(r[name] - r["direct"] for r in rounds), 1)
        for name in names
        if name != "direct"
    }
    return {**costs, **added}


def _address(loaded: ctypes.CDLL, symbol: str) -> int:
    address = ctypes.cast(getattr(loaded, symbol), ctypes.c_void_p).value
    assert address is not None
    return address


def _dtype(name: str) -> int:
    import tvm_ffi

    dtype: Any = tvm_ffi.dtype(name)
    return int(dtype.type_code) | int(dtype.bits) << 8 | 1 << 16

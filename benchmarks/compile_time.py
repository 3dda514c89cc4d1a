"""What including the generated headers costs a compiler, beyond an empty unit and tvm-ffi's own headers."""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.native import include_flags

ROUNDS = 15

UNITS = {
    "C, empty": ("empty.c", "extern int unused;\n"),
    "C, one header": ("one.c", "#include <cute_kernels/host.h>\n"),
    "C, all headers": ("all.c", "#include <cute_kernels.h>\n"),
    "C++, tvm-ffi alone": (
        "tvm_ffi.cpp",
        "#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/function.h>\n",
    ),
    "C++, one header": ("one.cpp", "#include <cute_kernels/host.hpp>\n"),
    "C++, all headers": ("all.cpp", "#include <cute_kernels.hpp>\n"),
}


def measure() -> dict[str, Any]:
    """Compile each unit many times, in turns.

    Returns
    -------
        Milliseconds of CPU time that the compiler takes (lower quartile, median, upper quartile); for pairs
        the median of their differences.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder, file) for name, (file, _) in UNITS.items()}
        for name, (_, text) in UNITS.items():
            files[name].write_text(text)
        rounds = [{name: _seconds(file) * 1e3 for name, file in files.items()} for _ in range(ROUNDS)]
    cost = {name: [round(q, 1) for q in statistics.quantiles([r[name] for r in rounds])] for name in UNITS}
    pairs = [
        ("C, one header", "C, empty"),
        ("C, all headers", "C, empty"),
        ("C++, one header", "C++, tvm-ffi alone"),
        ("C++, all headers", "C++, tvm-ffi alone"),
    ]
    return {
        "unit": "ms of CPU time: lower quartile, median, upper quartile",
        "cost": cost,
        "difference": {
            f"{a} - {b}": round(statistics.median(r[a] - r[b] for r in rounds), 1) for a, b in pairs
        },
    }


def _seconds(source: Path) -> float:
    compiler = ["cc", "-std=c11"] if source.suffix == ".c" else ["c++", "-std=c++17"]
    command = [*compiler, "-O2", "-c", *include_flags(), str(source), "-o", "/dev/null"]
    before = _children()
    subprocess.run(command, check=True)
    return _children() - before


def _children() -> float:
    """Return the CPU time that child processes have taken so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

"""What a call costs from C and C++: the generated headers, the registry, and arguments packed by hand.

All call the same function, with three tensors and two scalars, on the CPU. Ways take turns in every round, so
that what else the machine does hits all alike; differences are taken within a round. The clock is the
thread's own CPU time.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.native import LIBRARY, compiled

ROUNDS = 600
CALLS = 5_000


def measure() -> dict[str, Any]:
    """Build the program and run it.

    Returns
    -------
        For each way the nanoseconds of a call (lower quartile, median, upper quartile); for pairs the median
        of their differences.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "native_call")
        compiled(Path(__file__).with_suffix(".cpp"), program, "-O2", "-std=c++17", str(LIBRARY))
        done = subprocess.run([program, str(ROUNDS), str(CALLS)], capture_output=True, text=True, check=True)
    head, *lines = done.stdout.splitlines()
    names = head.split("\t")
    rounds = [dict(zip(names, map(float, line.split("\t")), strict=True)) for line in lines]
    cost = {name: [round(q, 2) for q in statistics.quantiles([r[name] for r in rounds])] for name in names}
    pairs = [("C", "raw"), ("C++", "raw"), ("registry", "tvm-ffi's own"), ("registry, kept", "raw")]
    return {
        "unit": "ns a call: lower quartile, median, upper quartile",
        "cost": cost,
        "difference": {
            f"{a} - {b}": round(statistics.median(r[a] - r[b] for r in rounds), 2) for a, b in pairs
        },
    }

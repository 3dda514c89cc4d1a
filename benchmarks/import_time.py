"""What importing the generated package costs beyond ``import tvm_ffi``, each time in a new process."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PROCESSES = 30

CODE = """
import json, sys, time
import tvm_ffi
before = set(sys.modules)
start = time.perf_counter()
import cute_kernels
seconds = time.perf_counter() - start
loaded = sorted({name.partition(".")[0] for name in set(sys.modules) - before})
everything = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({"ms": seconds * 1e3, "loaded": loaded, "all": everything}))
"""


def measure() -> dict[str, Any]:
    """Import the package in many processes.

    Returns
    -------
        Milliseconds (lower quartile, median, upper quartile), and which top-level modules the import loaded.
    """
    runs = [_run() for _ in range(PROCESSES)]
    quartiles = statistics.quantiles([run["ms"] for run in runs], n=4)
    return {
        "unit": "ms beyond import tvm_ffi: lower quartile, median, upper quartile",
        "cost": [round(q, 2) for q in quartiles],
        "loaded": runs[-1]["loaded"],
        "cutlass or jinja2 loaded": any(name in runs[-1]["all"] for name in ("cutlass", "jinja2")),
    }


def _run() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={"PYTHONPATH": str(ROOT / "generated"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result

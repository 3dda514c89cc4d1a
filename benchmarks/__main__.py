"""Run the benchmarks and keep their results: ``python -m benchmarks [NAME]...``."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import call_cost, compile_time, dispatch, import_time, native_call, scale

BENCHMARKS: dict[str, Callable[[], dict[str, Any]]] = {
    "call_cost": call_cost.measure,
    "compile_time": compile_time.measure,
    "dispatch": dispatch.measure,
    "import_time": import_time.measure,
    "native_call": native_call.measure,
    "scale": scale.measure,
}


def machine() -> dict[str, str]:
    """Describe where a measurement was made."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return {
        "cpu": model[0].partition(":")[2].strip() if model else platform.machine(),
        "python": platform.python_version(),
        "tvm_ffi": metadata.version("apache-tvm-ffi"),
        "nvidia-cutlass-dsl": metadata.version("nvidia-cutlass-dsl"),
    }


def main() -> None:
    """Run the benchmarks that the command line names, or all."""
    for name in sys.argv[1:] or BENCHMARKS:
        result = {"benchmark": name, "machine": machine(), **BENCHMARKS[name]()}
        text = json.dumps(result, indent=2)
        Path(__file__).with_name(f"{name}.json").write_text(text + "\n")
        print(text)


if __name__ == "__main__":
    main()

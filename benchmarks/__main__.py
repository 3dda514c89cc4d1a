"""Run the benchmarks and keep their results: ``python -m benchmarks [NAME]...``, and draw them all."""

from __future__ import annotations

import importlib
import importlib.util
import json
import platform
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = ("call_cost", "compile_time", "dispatch", "frameworks", "import_time", "native_call", "scale")
ON_A_GPU = ("first_result", "gpu_calls", "throughput")


def machine() -> dict[str, str]:
    """Describe where a measurement was made."""
    model = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    described = {
        "cpu": model[0].partition(":")[2].strip() if model else platform.machine(),
        "python": platform.python_version(),
    }
    for name in ("apache-tvm-ffi", "nvidia-cutlass-dsl", "torch", "triton"):
        try:
            described[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return described | _gpu()


def _gpu() -> dict[str, str]:
    """Describe the GPU, if there is one."""
    if importlib.util.find_spec("torch") is None:
        return {}
    import torch

    if not torch.cuda.is_available():
        return {}
    driver = Path("/proc/driver/nvidia/version")
    line = driver.read_text().splitlines()[0] if driver.exists() else ""
    version = next((word for word in line.split() if word[:1].isdigit()), "unknown")
    return {"gpu": torch.cuda.get_device_name(), "driver": version}


def main() -> None:
    """Run the benchmarks that the command line names, or all that this machine can run."""
    chosen = sys.argv[1:] or [*BENCHMARKS, *(ON_A_GPU if _gpu() else ())]
    known = (*BENCHMARKS, *ON_A_GPU, "chart")
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"There is no benchmark {unknown[0]!r}; there are {', '.join(known)}.")
    for name in chosen:
        if name == "chart":
            continue
        measured = importlib.import_module(f"benchmarks.{name}").measure()
        text = json.dumps({"benchmark": name, "machine": machine(), **measured}, indent=2)
        HERE.joinpath(f"{name}.json").write_text(text + "\n")
        print(text)
    if importlib.util.find_spec("matplotlib"):
        importlib.import_module("benchmarks.chart").draw()
    else:
        print("matplotlib is not installed, so benchmarks/results.svg stays as it is.", file=sys.stderr)


if __name__ == "__main__":
    main()

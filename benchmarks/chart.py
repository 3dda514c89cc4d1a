"""Draws the results that lie beside this file as JSON: ``python -m benchmarks chart``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CHART = HERE / "results.svg"

OURS, OTHERS = "#2a6f97", "#b8b8b8"

Bars = dict[str, tuple[float, float, float]]
"""By name: lower quartile, median, upper quartile."""


def _cost(result: dict[str, Any]) -> Bars:
    return {name: tuple(quartiles) for name, quartiles in result["cost"].items()}


def _figures(result: dict[str, Any]) -> Bars:
    return {name: (value, value, value) for name, value in result["figures"].items() if "TFLOP" not in name}


PANELS: dict[str, tuple[str, str, Callable[[dict[str, Any]], Bars]]] = {
    "call_cost": ("A call from Python, on the CPU", "ns", _cost),
    "native_call": ("A call from C and C++", "ns", _cost),
    "frameworks": ("A call through frameworks and bindings", "ns", _cost),
    "gpu_calls": ("Launching a small kernel", "us", _cost),
    "first_result": ("From the start of a process to its first result", "ms", _cost),
    "throughput": ("Bandwidth of kernels on rows", "GB/s", _figures),
}
"""By benchmark: title, unit, and what is drawn of its result."""

THEIRS = ("cute.compile", "torch", "Triton", "copy", "pybind11", "nanobind", "tvm-ffi", "raw", "bare")
"""What bars of others begin with."""


def draw() -> None:
    """Write the chart, the same bytes for the same results."""
    import matplotlib as mpl

    mpl.use("svg")
    # Without these two, names inside of the file are random and the text is made of curves.
    mpl.rcParams["svg.hashsalt"] = "cute-stubgen"
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    found = {
        name: json.loads(path.read_text()) for name in PANELS if (path := HERE / f"{name}.json").exists()
    }
    counts = [len(PANELS[name][2](result)) for name, result in found.items()]
    figure, axes = pyplot.subplots(
        len(found),
        figsize=(9, 0.3 * sum(counts) + 1.05 * len(found)),
        height_ratios=counts,
        squeeze=False,
        layout="constrained",
    )
    for axis, (name, result) in zip(axes[:, 0], found.items(), strict=True):
        _panel(axis, name, result)
    figure.savefig(CHART, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    # Matplotlib leaves blanks at the ends of lines.
    CHART.write_text("".join(f"{line.rstrip()}\n" for line in CHART.read_text().splitlines()))


def _panel(axis: Any, name: str, result: dict[str, Any]) -> None:
    title, unit, read = PANELS[name]
    bars = read(result)
    medians = [median for _, median, _ in bars.values()]
    spread = [
        [median - low for low, median, _ in bars.values()],
        [high - median for _, median, high in bars.values()],
    ]
    colours = [OTHERS if bar.startswith(THEIRS) else OURS for bar in bars]
    drawn = axis.barh(list(bars), medians, xerr=spread, color=colours, error_kw={"linewidth": 0.8})
    axis.bar_label(drawn, fmt="%.4g", padding=6, fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.12)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    where = result["machine"].get("gpu", result["machine"].get("cpu", ""))
    axis.set_title(f"{title} ({unit}; {where})", loc="left", fontsize=9)

"""What calls cost with this repository's package and with one that was generated before, in one process.

``python -m benchmarks.against OLD`` compares ``generated/`` with the output folder ``OLD``, which another
revision of the tool has made of the same kernels. Both take turns in every round; a ratio above 1 says that
calls have become slower. On a machine with a GPU, launches are timed too.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine

ROOT = Path(__file__).parents[1]
ROUNDS = 300
CALLS = 1_000
OLD, NEW = "package_before", "package_now"


def measure(old: Path, new: Path = ROOT / "generated") -> dict[str, Any]:
    """Time the same calls of two packages.

    Parameters
    ----------
    old, new
        Output folders.

    Returns
    -------
        For each call the median nanoseconds before and now, and the quartiles of their ratio within a round.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, output in ((OLD, old), (NEW, new)):
            (Path(folder) / name).symlink_to(output.resolve() / "cute_kernels")
        sys.path.insert(0, folder)
        pairs = {**_on_the_host(), **_on_a_gpu()}
        return {name: _compared(*pair) for name, pair in pairs.items()}


Pair = tuple[timeit.Timer, timeit.Timer, int]


def _on_the_host() -> dict[str, Pair]:
    import torch

    x, y, out = (torch.ones(4) for _ in range(3))
    rows, sums = torch.ones(4, 3), torch.zeros(4)
    return {
        "3 tensors, 2 scalars": _pair("host", "host_axpby", "f(2.0, x, 3.0, y, out)", x=x, y=y, out=out),
        "the same by keyword": _pair(
            "kwargs.host", "host_axpby", "f(alpha=2.0, x=x, beta=3.0, y=y, out=out)", x=x, y=y, out=out
        ),
        "2 tensors": _pair("host", "host_add_constant", "f(x, out, 1.0)", x=x, out=out),
        "a family": _pair("host", "host_activate", 'f(rows, "square", sums)', rows=rows, sums=sums),
        "a class of arguments": _pair("host", "host_affine", "f((x, 2.0, None), out)", x=x, out=out),
        "eager torch": _pair("torch", "host_axpby", "f(2.0, x, 3.0, y, out)", x=x, y=y, out=out),
    }


def _on_a_gpu() -> dict[str, Pair]:
    import torch

    if not torch.cuda.is_available():
        return {}
    a = torch.arange(256.0, device="cuda")
    b = torch.empty_like(a)
    return {
        "a launch": _pair("elementwise", "add_constant", "f(a, b, 2.5)", a=a, b=b),
        "a launch by keyword": _pair(
            "kwargs.elementwise", "add_constant", "f(a=a, b=b, offset=2.5)", a=a, b=b
        ),
    }


def _pair(module: str, function: str, call: str, **given: Any) -> Pair:
    """Return the timers of a call, before and now, and how often to make it in a round."""
    on_gpu = any(getattr(value, "is_cuda", False) for value in given.values())
    clock: Callable[[], float] = time.perf_counter if on_gpu else time.thread_time
    timers = []
    for package in (OLD, NEW):
        names = {"f": getattr(importlib.import_module(f"{package}.{module}"), function), **given}
        setup = "; ".join(f"{name} = given[{name!r}]" for name in names)
        timer = timeit.Timer(call, setup, timer=clock, globals={"given": names})
        timer.timeit(10)
        timers.append(timer)
    return timers[0], timers[1], CALLS // 4 if on_gpu else CALLS  # fewer launches than a GPU queues


def _compared(before: timeit.Timer, now: timeit.Timer, calls: int) -> dict[str, Any]:
    rounds = list(_rounds(before, now, calls))
    medians = [round(statistics.median(column), 1) for column in zip(*rounds, strict=True)]
    ratios = statistics.quantiles([second / first for first, second in rounds], n=4)
    return {"before": medians[0], "now": medians[1], "now / before": [round(ratio, 4) for ratio in ratios]}


def _rounds(before: timeit.Timer, now: timeit.Timer, calls: int) -> Iterator[tuple[float, float]]:
    for number in range(ROUNDS):
        order = (before, now) if number % 2 else (now, before)
        taken = {timer: timer.timeit(calls) / calls * 1e9 for timer in order}
        _wait()
        yield taken[before], taken[now]


def _wait() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    print(
        json.dumps({"unit": "ns a call", "machine": machine(), "calls": measure(Path(sys.argv[1]))}, indent=2)
    )

"""What a call costs from Python: generated functions, the bare native function, ``cute.compile``'s object.

All call the same function, with three torch tensors and two scalars, on the CPU. Candidates take turns in
every round, so that what else the machine does hits all alike; ratios are taken within a round. The clock is
the thread's own CPU time, which stands still while another process has the core.
"""

from __future__ import annotations

import statistics
import sys
import time
import timeit
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
ROUNDS = 400
CALLS = 2_000


def candidates() -> dict[str, timeit.Timer]:
    """Return what is timed, by name: nothing but the call, with its arguments at hand."""
    sys.path[:0] = [str(ROOT / "generated"), str(ROOT / "kernels")]
    import cute_kernels.kwargs.host as keyword_module
    import torch
    import tvm_ffi
    from cute_kernels import host as positional_module
    from cutlass import AddressSpace, Float32, cute
    from cutlass.cute.runtime import make_fake_compact_tensor
    from host import host_axpby

    n = cute.sym_int32()
    fake = make_fake_compact_tensor(Float32, (n,), memspace=AddressSpace.generic)
    jit = cute.compile(host_axpby, Float32(0), fake, Float32(0), fake, fake, options="--enable-tvm-ffi")

    library = ROOT / "generated" / "cute_kernels" / "lib" / "libcute_kernels.so"
    bare = tvm_ffi.load_module(str(library))["host_axpby"]
    generated = positional_module.host_axpby
    keyword = keyword_module.host_axpby
    x, y, out = (torch.ones(4) for _ in range(3))
    by_position, by_keyword = "f(2.0, x, 3.0, y, out)", "f(alpha=2.0, x=x, beta=3.0, y=y, out=out)"

    def timer(function: object, call: str) -> timeit.Timer:
        names = {"f": function, "x": x, "y": y, "out": out}
        # As locals: looking up globals would be timed with the call.
        setup = "; ".join(f"{name} = given[{name!r}]" for name in names)
        return timeit.Timer(call, setup, timer=time.thread_time, globals={"given": names})

    return {
        "bare": timer(bare, by_position),
        "generated": timer(generated, by_position),
        "generated, kwargs, by position": timer(keyword, by_position),
        "generated, kwargs, by keyword": timer(keyword, by_keyword),
        "cute.compile, by position": timer(jit, by_position),
        "cute.compile, by keyword": timer(jit, by_keyword),
    }


def measure() -> dict[str, Any]:
    """Time all candidates.

    Returns
    -------
        For each the median nanoseconds of a call and the quartiles; for pairs the median of their ratios.
    """
    timed = candidates()
    rounds = [_round(timed, shift) for shift in range(ROUNDS)]
    costs = {
        name: [round(q, 1) for q in statistics.quantiles([r[name] for r in rounds], n=4)] for name in timed
    }
    pairs = {
        "generated / bare": ("generated", "bare"),
        "cute.compile / generated, by position": ("cute.compile, by position", "generated"),
        "cute.compile / generated, by keyword": ("cute.compile, by keyword", "generated, kwargs, by keyword"),
    }
    ratios = {
        title: round(statistics.median(r[a] / r[b] for r in rounds), 3) for title, (a, b) in pairs.items()
    }
    return {"unit": "ns a call: lower quartile, median, upper quartile", "cost": costs, "ratio": ratios}


def _round(timed: dict[str, timeit.Timer], shift: int) -> dict[str, float]:
    """Time each candidate once, beginning with another one every round."""
    names = list(timed)
    start = shift % len(names)
    return {name: timed[name].timeit(CALLS) / CALLS * 1e9 for name in names[start:] + names[:start]}

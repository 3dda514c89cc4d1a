"""What a call costs through PyTorch and through bindings: all call the same function, on the CPU.

The functions of ``cute_kernels.torch`` against the plain native one, the operator that they are in traced
code, a thin Python function that would choose between the two, and extensions that bind the function with
pybind11 and nanobind. Candidates take turns in every round; ratios are taken within a round. The clock is
the thread's own CPU time.
"""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.native import LIBRARY, ROOT, include_flags

ROUNDS = 200
CALLS = 1_000


def measure() -> dict[str, Any]:
    """Build the extensions, and time all candidates.

    Returns
    -------
        For each the nanoseconds of a call (lower quartile, median, upper quartile), and the median of its
        ratio to the plain function.
    """
    with tempfile.TemporaryDirectory() as folder:
        timed = candidates(Path(folder))
        rounds = [_round(timed, shift) for shift in range(ROUNDS)]
    costs = {name: [round(q, 1) for q in statistics.quantiles([r[name] for r in rounds])] for name in timed}
    ratios = {
        f"{name} / plain": round(statistics.median(r[name] / r["cute_kernels.host"] for r in rounds), 3)
        for name in timed
        if name != "cute_kernels.host"
    }
    return {"unit": "ns a call: lower quartile, median, upper quartile", "cost": costs, "ratio": ratios}


def candidates(folder: Path) -> dict[str, timeit.Timer]:
    """Return what is timed, by name: nothing but the call, with its arguments at hand."""
    sys.path[:0] = [str(ROOT / "generated"), str(folder)]
    import torch

    with_pybind11, with_nanobind = pybind11_extension(folder), nanobind_extension(folder)
    import cute_kernels.torch
    import cute_kernels.torch.functional
    from cute_kernels import host

    plain, operator = host.host_axpby, torch.ops.cute_kernels.host_axpby.default
    compiling = torch.compiler.is_compiling

    def thin(alpha: float, x: Any, beta: float, y: Any, out: Any, /) -> None:
        if compiling():
            operator(alpha, x, beta, y, out)
        else:
            plain(alpha, x, beta, y, out)

    x, y, out = (torch.ones(4) for _ in range(3))
    into, pure = "f(2.0, x, 3.0, y, out)", "f(2.0, x, 3.0, y)"

    def timer(function: object, call: str = into) -> timeit.Timer:
        names = {"f": function, "x": x, "y": y, "out": out}
        # As locals: looking up globals would be timed with the call.
        setup = "; ".join(f"{name} = given[{name!r}]" for name in names)
        return timeit.Timer(call, setup, timer=time.thread_time, globals={"given": names})

    return {
        "cute_kernels.host": timer(plain),
        "cute_kernels.torch": timer(cute_kernels.torch.host_axpby),
        "cute_kernels.torch.functional": timer(cute_kernels.torch.functional.host_axpby, pure),
        "thin Python function": timer(thin),
        "torch.ops": timer(operator),
        "torch.ops, functional": timer(torch.ops.cute_kernels.host_axpby.functional, pure),
        "torch.library.custom_op": timer(custom_operator(plain)),
        "pybind11": timer(with_pybind11.axpby),
        "nanobind": timer(with_nanobind.axpby),
    }


def custom_operator(plain: Callable[..., None]) -> Any:
    """Return the operator that a library writes by hand today."""
    import torch

    def axpby(alpha: float, x: Any, beta: float, y: Any, out: Any) -> None:
        plain(alpha, x, beta, y, out)

    tensors = dict.fromkeys(("x", "y", "out"), torch.Tensor)
    axpby.__annotations__ = {"alpha": float, "beta": float, **tensors, "return": None}
    return torch.library.custom_op("by_hand::axpby", axpby, mutates_args=("out",))


def pybind11_extension(folder: Path) -> ModuleType:
    """Bind the function as extensions of PyTorch do."""
    import torch
    from torch.utils import cpp_extension

    flags = [f"-I{path}" for path in cpp_extension.include_paths()]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
    libraries += ["-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"]
    return _extension(folder, "with_pybind11", ["bound_with_pybind11.cpp"], flags, libraries)


def nanobind_extension(folder: Path) -> ModuleType:
    """Bind the function with nanobind."""
    import nanobind

    root = Path(nanobind.include_dir()).parent
    flags = [f"-I{path}" for path in (nanobind.include_dir(), root / "ext" / "robin_map" / "include")]
    sources = ["bound_with_nanobind.cpp", root / "src" / "nb_combined.cpp"]
    return _extension(folder, "with_nanobind", sources, [*flags, "-DNDEBUG", "-fno-strict-aliasing"], [])


def _extension(
    folder: Path, name: str, sources: list[Any], flags: list[str], libraries: list[str]
) -> ModuleType:
    file = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    here = Path(__file__).parent
    command = [
        "c++",
        "-O2",
        "-std=c++20",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        *include_flags(),
        *flags,
    ]
    command += [f"-I{sysconfig.get_path('include')}", *(str(here / source) for source in sources)]
    command += [str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", *libraries, "-o", str(file)]
    subprocess.run(command, check=True)
    return importlib.import_module(name)


def _round(timed: dict[str, timeit.Timer], shift: int) -> dict[str, float]:
    """Time each candidate once, beginning with another one every round."""
    names = list(timed)
    start = shift % len(names)
    return {name: timed[name].timeit(CALLS) / CALLS * 1e9 for name in names[start:] + names[:start]}

"""What generating costs at scale: a synthetic project of up to 1,000 small kernels that run on the CPU.

CPU seconds are those of the process and all that it starts, its compiler processes included; wall seconds
mean something only on a machine with nothing else to do, so the load is reported with them.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IN_A_MODULE = 50
TINY_KERNELS = 120
ARCH = "sm_90a"
NO_OP_RUNS = 15
IMPORTS = 15

LIMITS = {
    "no-op run of 100 exports, wall s": 0.3,
    "no-op run of 1000 exports, wall s": 0.8,
    "one kernel of 1000 changed, CPU s": 6,
    "list of 1000 exports, CPU s": 1.5,
    "this repository's kernels, cold run / bare cute.compile, CPU": 1.2,
    "120 tiny kernels, cold run / bare cute.compile, CPU": 1.2,
    "this repository's kernels, 2 workers / 1 worker, times faster": 1.7,
    "1000 exports, 2 workers / 1 worker, times faster": 1.7,
    "peak memory of the parent at 1000 exports, MB": 200,
    "import of 1000 functions beyond tvm_ffi, ms": 25,
}

MODULE = '''
"""Kernels {first} to {last}."""

import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor, by: cutlass.Float32, times: cutlass.Constexpr[int]):
    """y = (x + times) * by."""
    for i in range(x.shape[0]):
        y[i] = (x[i] + float(times)) * by


v = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
'''
EXPORT = 'sg.export(name="scale_{n}")(scale, x=v, y=v, by=cutlass.Float32, times={n})\n'

BARE = """
import importlib
import sys
from pathlib import Path

from cutlass import cute

from stubgen.sources.imports import import_name
from stubgen.sources.modules import kernel_modules
from stubgen.compiler.worker import arguments
from stubgen.compiler.worker import worker
from stubgen.compiler.jobs import WorkerSettings
from stubgen.declare.declarations import declared_in
from stubgen.config.devices import builtin_profile

out, project, kernels, arch = sys.argv[1:]
assert not worker._set_up(WorkerSettings(project, arch, builtin_profile(arch), out))
for module in kernel_modules([Path(kernels)], Path(project)):
    name, root = import_name(module.path)
    sys.path[:0] = [project, str(root)]
    importlib.import_module(name)
    for declaration in declared_in(str(module.path)):
        call = declaration.build()
        if call is None:
            continue
        bound = arguments.bind(call)
        options = f"--enable-tvm-ffi --gpu-arch={arch} {call.options.options}"
        compiled = cute.compile(call.fn, *bound.args, options=options, **bound.kwargs)
        compiled.export_to_c(f"{out}/{declaration.name}.o", declaration.name)
"""
"""What the tool is compared with: the same kernels compiled one after the other in one process."""

IMPORT = """
import json, time
import tvm_ffi
start = time.perf_counter()
import cute_kernels
print((time.perf_counter() - start) * 1e3)
"""

PEAK = """
import re, sys
from stubgen.cli.app import app
if __name__ == "__main__":  # its workers import this file
    try:
        app()
    finally:
        with open("/proc/self/status") as status:
            print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1], file=sys.stderr)
"""
"""Its own peak: ``ru_maxrss`` begins with that of the process that started this one."""


@dataclass(frozen=True)
class Run:
    """What running the tool took."""

    wall: float
    cpu: float
    stderr: str


class Project:
    """A project of so many kernels; all share a cache."""

    def __init__(self, folder: Path, kernels: int) -> None:
        self.folder = folder
        self.sources = folder / "kernels"
        self.sources.mkdir(parents=True)
        (folder / "pyproject.toml").write_text(f'[tool.cute-stubgen]\narchs = ["{ARCH}"]\n')
        for first in range(0, kernels, IN_A_MODULE):
            numbers = range(first, min(first + IN_A_MODULE, kernels))
            text = MODULE.format(first=first, last=numbers[-1])
            text += "".join(EXPORT.format(n=n) for n in numbers)
            (self.sources / f"scales_{first}.py").write_text(text)
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "user")}

    def generate(self, *arguments: str) -> Run:
        """Generate."""
        return self.run(["-m", "stubgen", "generate", *arguments])

    def run(self, arguments: list[str]) -> Run:
        """Run Python in the project's folder."""
        before, start = _cpu(), time.monotonic()
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return Run(time.monotonic() - start, _cpu() - before, done.stderr)

    def forget(self) -> None:
        """Make the next run one that has everything to do, but for the toolchain's own files."""
        for name in ("../user/cute-stubgen/objects", "../user/cute-stubgen/runs", "generated"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


def measure() -> dict[str, Any]:
    """Generate synthetic projects.

    Returns
    -------
        The figures, the limits that they are to keep, and the load of the machine before and after.
    """
    load = os.getloadavg()[0]
    adopt_orphans()
    with _folder() as folder:
        figures = {**_cold(folder), **_no_op(folder, 100), **_no_op(folder, 1000)}
    return {
        "figures": figures,
        "limits": LIMITS,
        "load before and after": [round(load, 1), round(os.getloadavg()[0], 1)],
        "cores": len(os.sched_getaffinity(0)),
    }


def _cold(folder: Path) -> dict[str, Any]:
    """Compare runs that have everything to do with the bare compiler, and with each other."""
    Project(folder / "first", 1).generate()  # the toolchain builds something once
    real, tiny = Project(folder / "real", 0), Project(folder / "tiny", TINY_KERNELS)
    shutil.copytree(ROOT / "kernels", real.sources, dirs_exist_ok=True)
    return {
        **_cold_run(real, "this repository's kernels", folder),
        **_cold_run(tiny, f"{TINY_KERNELS} tiny kernels", folder),
    }


def _cold_run(project: Project, what: str, folder: Path) -> dict[str, Any]:
    out = folder / f"bare-{project.folder.name}"
    out.mkdir()
    script = folder / "bare.py"
    script.write_text(BARE)
    one = project.generate("--jobs", "1")
    project.forget()
    two = project.generate("--jobs", "2")
    library = project.folder / "generated" / "cute_kernels" / "lib" / "libcute_kernels.so"
    bare = project.run([str(script), str(out), str(project.folder), str(project.sources), ARCH])
    return {
        f"{what}, library, MB": round(library.stat().st_size / 1e6, 2),
        f"{what}, cold run, wall s": round(one.wall, 1),
        f"{what}, cold run, CPU s": round(one.cpu, 1),
        f"{what}, bare cute.compile and export_to_c, CPU s": round(bare.cpu, 1),
        f"{what}, cold run / bare cute.compile, CPU": round(one.cpu / bare.cpu, 2),
        f"{what}, 2 workers / 1 worker, times faster": round(one.wall / two.wall, 2),
        f"{what}, 2 workers / 1 worker, CPU": round(two.cpu / one.cpu, 2),
    }


def _no_op(folder: Path, kernels: int) -> dict[str, Any]:
    """Measure a project that is generated already."""
    project = Project(folder / str(kernels), kernels)
    peak = folder / "peak.py"
    peak.write_text(PEAK)
    project.forget()
    alone = project.generate("--jobs", "1")
    project.forget()
    first = project.run([str(peak), "generate", "--jobs", "2"])
    runs = [project.generate() for _ in range(NO_OP_RUNS)]
    found: dict[str, Any] = {
        f"no-op run of {kernels} exports, wall s": round(statistics.median(run.wall for run in runs), 3),
        f"no-op run of {kernels} exports, CPU s": round(statistics.median(run.cpu for run in runs), 3),
        f"first run of {kernels} exports, CPU s": round(first.cpu, 1),
        f"first run of {kernels} exports, wall s": round(first.wall, 1),
        f"{kernels} exports, 2 workers / 1 worker, times faster": round(alone.wall / first.wall, 2),
        f"peak memory of the parent at {kernels} exports, MB": round(int(first.stderr.split()[-1]) / 1024),
    }
    found |= _changed(project, kernels)
    imports = [_import(project.folder / "generated") for _ in range(IMPORTS)]
    found[f"import of {kernels} functions beyond tvm_ffi, ms"] = round(statistics.median(imports), 1)
    return found


def _changed(project: Project, kernels: int) -> dict[str, Any]:
    """Measure what a changed kernel costs, and listing, in CPU time: other processes do not change that."""
    file = project.sources / "scales_0.py"
    file.write_text(file.read_text().replace("times=1,", f"times={kernels + 1},"))
    changed = project.generate("--jobs", "1")
    listed = project.run(["-m", "stubgen", "list"])
    return {
        f"one kernel of {kernels} changed, CPU s": round(changed.cpu, 1),
        f"list of {kernels} exports, CPU s": round(listed.cpu, 1),
    }


def _import(generated: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        env={"PYTHONPATH": str(generated), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    milliseconds: float = json.loads(done.stdout)
    return milliseconds


def adopt_orphans() -> None:
    """Have this process inherit the compiler processes of tools that have ended, with their CPU time."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _cpu() -> float:
    """Return the CPU seconds of all processes that were started and have ended, orphans among them."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cute-stubgen-scale-") as folder:
        yield Path(folder)

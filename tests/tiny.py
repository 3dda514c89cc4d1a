"""A tiny project of functions for the CPU, and a command that says what it really compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

SHARED = '''
"""What two kernels share."""

FACTOR = 2.0  # a comment
'''

FIRST = '''
"""The first module."""

import cutlass
from cutlass import cute
from shared import FACTOR

import stubgen as sg


@cute.jit
def scale(x: cute.Tensor):
    """x = FACTOR * x."""
    for i in range(x.shape[0]):
        x[i] = FACTOR * x[i]


sg.export(scale, x=sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu"))
'''

SECOND = '''
"""The second module."""

import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def shift(x: cute.Tensor, by: cutlass.Float32):
    """x = x + by."""
    for i in range(x.shape[0]):
        x[i] = x[i] + x.element_type(by)


@sg.family(dtype=[cutlass.Float32, cutlass.Float64])
def moved(dtype):
    return sg.kernel(shift, x=sg.tensor(dtype, sg.dim("n"), device="cpu"), by=cutlass.Float32)
'''

FILES = {"shared.py": SHARED, "first.py": FIRST, "second.py": SECOND}

TRACER = """
import sys
from stubgen.compiler.local import pool

compile_them, expand_them = pool.Pool.compile, pool.Pool.expand

def compile(self, jobs, *watch):
    in_order = sorted(jobs, key=lambda job: (job.module.name, job.declared.index))
    print("compiled", *(job.declared.name for job in in_order), file=sys.stderr)
    return compile_them(self, jobs, *watch)

def expand(self, modules):
    print("imported", *(module.name for module in modules), file=sys.stderr)
    return expand_them(self, modules)

pool.Pool.compile, pool.Pool.expand = compile, expand
from stubgen.cli.app import main
if __name__ == "__main__":
    main()
"""
"""Says what the worker processes are really asked for."""


class Project:
    """A project with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kernels = folder / "kernels"
        self.kernels.mkdir(parents=True)
        for name, text in FILES.items():
            (self.kernels / name).write_text(text)
        self.configure()
        (folder / "tracer.py").write_text(TRACER)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "user")}

    def configure(self, *lines: str) -> None:
        """Set up the tool."""
        head = ["[tool.cute-stubgen]", 'archs = ["sm_90a"]']
        (self.folder / "pyproject.toml").write_text("\n".join([*head, *lines, ""]))

    def run(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [sys.executable, self.folder / "tracer.py", *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def generate(self, *arguments: object) -> list[str]:
        """Generate, and give what was imported and compiled."""
        done = self.run("generate", *arguments)
        assert done.returncode == 0, done.stderr
        return traced(done)

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        file = self.kernels / name
        changed = change(file.read_text())
        assert changed != file.read_text()
        file.write_text(changed)

    def output(self, folder: str = "generated") -> dict[str, bytes]:
        """Return what was generated, by path."""
        root = self.folder / folder
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def traced(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what a run imported and compiled."""
    return [line for line in done.stderr.splitlines() if line.startswith(("compiled", "imported"))]


EVERYTHING = ["imported first second", "compiled scale moved__float32 moved__float64"]
SECOND_ONLY = ["imported second", "compiled moved__float32 moved__float64"]

"""A small project, what runs of it leave behind, and two sets of sources whose output is known."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

LITTER = ".cute_kernels.new-"
"""How names begin of what a killed run may leave in the output folder, until the next run."""

KERNEL = '''
"""Kernels on the CPU."""

import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def scale(x: cute.Tensor):
    """x = FACTOR * x."""
    for i in range(x.shape[0]):
        x[i] = FACTOR * x[i]


@cute.jit
def shift(x: cute.Tensor, by: cutlass.Float32):
    """x = x + FACTOR * by."""
    for i in range(x.shape[0]):
        x[i] = x[i] + FACTOR * by


v = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
sg.export(scale, x=v)
sg.export(shift, x=v, by=cutlass.Float32)
'''
FACTORS = {"old": "2.0", "new": "3.0"}


def _heed_interrupts() -> None:
    """Undo what a shell does to commands in the background, where these tests may run: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Project:
    """A project with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "generated"
        self.environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "user"),
            "XDG_STATE_HOME": str(folder / "user" / "state"),
        }

    def write(self, file: str, text: str) -> None:
        """Write a source."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def share_toolchain(self, folder: Path) -> None:
        """Use what the toolchain has built before, the C library and the like, which takes it long."""
        folder.mkdir(parents=True, exist_ok=True)
        own = self.folder / "user" / "cute-stubgen" / "zig"
        own.parent.mkdir(parents=True)
        own.symlink_to(folder)

    def use(self, version: str) -> None:
        """Return the kernels the old or the new sources, whose output is in ``expected``."""
        self.write("kernels/k.py", KERNEL.replace("FACTOR", FACTORS[version]))

    def command(self, *arguments: str) -> list[str]:
        """Return the command that generates."""
        return [sys.executable, "-m", "stubgen", "generate", *arguments]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begin to generate, in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509  # it makes one call
        )

    def generate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Generate."""
        run = self.start(*arguments)
        out, err = run.communicate(timeout=300)
        return subprocess.CompletedProcess(run.args, run.returncode, out, err)

    def copy(self, folder: Path) -> Project:
        """Return another project like this one, cache and output included."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds, but for what a killed run may leave."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(LITTER)
    }


def litter(folder: Path) -> list[Path]:
    """Return what a killed run has left."""
    return [path for path in folder.iterdir() if path.name.startswith(LITTER)]


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the lines that say what is wrong."""
    return [line for line in done.stderr.splitlines() if line.startswith("error: ")]

"""Virtual environments of a test's own, with what it installs and nothing else."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path


class Environment:
    """A fresh virtual environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        venv.create(folder, with_pip=True, symlinks=True)
        self.python = folder / "bin" / "python"

    def install(self, *arguments: object) -> None:
        """Let pip install something, from its index where need be."""
        done = self.run("-m", "pip", "install", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the environment's Python."""
        return subprocess.run(
            [str(self.python), *map(str, arguments)],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=600,
        )

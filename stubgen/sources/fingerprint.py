"""What compiled code owes to this tool itself."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import stubgen
from stubgen.sources import installed
from stubgen.sources.imports import source_closure
from stubgen.sources.inputs import TOOLS
from stubgen.sources.outline import joined

_FOLDER = Path(stubgen.__file__).parents[1]
"""What the tool is imported from."""


@cache
def of_tool() -> str:
    """Hash what the compiled code owes to the tool and the versions of what it drives."""
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in shaping_sources()]
    return joined([*hashes, *map(installed.identity, TOOLS), *map(str, sys.version_info[:2])])


def shaping_sources() -> tuple[Path, ...]:
    """Return the parts of the tool that shape what is compiled: all that a worker imports."""
    return source_closure(_FOLDER / "stubgen/compiler/worker/worker.py", [_FOLDER])

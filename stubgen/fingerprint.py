"""What compiled code owes to this tool itself."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

from stubgen import discovery, installed
from stubgen.discovery.outline import joined
from stubgen.inputs import TOOLS


@cache
def of_tool() -> str:
    """Hash what the compiled code owes to the tool and the versions of what it drives."""
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in shaping_sources()]
    return joined([*hashes, *map(installed.identity, TOOLS), *map(str, sys.version_info[:2])])


def shaping_sources() -> tuple[Path, ...]:
    """Return the parts of the tool that shape what is compiled: all that a worker imports."""
    own = Path(__file__).parent
    return discovery.source_closure(own / "compiler" / "worker.py", [own.parent])

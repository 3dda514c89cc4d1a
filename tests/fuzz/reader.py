"""Reads mutated libraries in a process of its own, and reports what came of it: see ``test_binaries.py``."""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from stubgen.inspection import binaries
from stubgen.problems.problem import StubgenError
from stubgen.render.description import describe
from tests.fuzz.mutations import mutated

_ADDRESSES = 2 << 30


def outcome(path: Path) -> str:
    """Read all there is to read of a file."""
    found = []
    for read in (lambda: describe(binaries.read(path, "package").library), lambda: binaries.binary(path)):
        try:
            read()
            found.append("read")
        except StubgenError as error:
            [problem] = error.problems
            found.append(problem.code)
    return " ".join(found)


def peak_megabytes() -> float:
    """Return the most memory that the process has had; ``getrusage`` tells its parent's, if that had more."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    """Read as many mutated files as the command line says."""
    seed, count, *libraries = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    sources = [Path(library).read_bytes() for library in libraries]
    outcomes: Counter[str] = Counter()
    slowest = (0.0, "")
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lib.so"
        for number in range(int(count)):
            chosen = random.Random(f"{seed} {number}")
            what, data = mutated(chosen.choice(sources), chosen)
            path.write_bytes(data)
            start = time.process_time()
            try:
                found = outcome(path)
            except Exception:
                found = "failed"
                failures.append(f"{number} ({what}): {traceback.format_exc()}")
            slowest = max(slowest, (time.process_time() - start, f"{number} ({what}): {found}"))
            outcomes[found] += 1
    usage = resource.getrusage(resource.RUSAGE_SELF)
    report = {
        "outcomes": outcomes,
        "slowest": slowest,
        "failures": failures,
        "megabytes": peak_megabytes(),
        "seconds": usage.ru_utime + usage.ru_stime,
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()

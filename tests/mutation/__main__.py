"""Run the mutants: ``python -m tests.mutation --help``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.mutation import mutants, report, trees
from tests.mutation.record import Record, record

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def main() -> int:
    """Run what is asked for; return 0 if enough mutants are killed and nothing is out of date."""
    settings = tomllib.loads(HERE.joinpath("rooms.toml").read_text())
    options = _options(settings)
    survivors = tomllib.loads(HERE.joinpath("survivors.toml").read_text()).get("survivor", [])
    rooms = [room for room in settings["rooms"] if options.only in room]
    sources = {room: mutants.Source(ROOT, room) for room in rooms}
    chosen = mutants.drawn(sources.values(), options.seed, options.count)
    trees.load_libraries()
    first = trees.copy_of(ROOT, options.folder / "tree0")
    recorded = record(first, settings["tests"], options.folder / "record")
    copies = [first, *(trees.another(first, number) for number in range(1, options.jobs))]
    reached = (mutant for mutant in chosen if recorded.tests(mutant))
    for mutant, copy in zip(reached, copies, strict=False):
        _require_survival(
            trees.Trial(copy, mutant.file, sources[mutant.file].text, recorded.tests(mutant), 600)
        )
    results = _Results(options.folder / "results.jsonl")
    todo = [mutant for mutant in chosen if mutant.key not in results.verdicts]
    for mutant, verdict, log in _tried(todo, sources, copies, recorded, settings["limit"]):
        results.add(mutant, verdict, log)
    text, failed = report.of(chosen, sources, results.verdicts, survivors, recorded, settings)
    options.folder.joinpath("report.md").write_text(text)
    print(text)
    return int(failed)


def _options(settings: Mapping[str, Any]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="of one state of the code: keeps verdicts, and a run goes on from there"
    )
    parser.add_argument("--seed", type=int, default=settings["seed"])
    parser.add_argument("--count", type=int, default=settings["count"])
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants are tried at a time")
    parser.add_argument("--only", default="", help="rooms whose path contains this")
    return parser.parse_args()


def _require_survival(trial: trees.Trial) -> None:
    """See that tests pass in a copy in which nothing is changed."""
    while (verdict := trial.verdict()) is None:
        time.sleep(0.05)
    if verdict != "survived":
        sys.exit(f"Tests fail without a mutant: {trial.log}")


class _Results:
    """Verdicts by mutant, in a file, so that a run that was ended can go on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.verdicts: dict[str, str] = {item["key"]: item["verdict"] for item in map(json.loads, lines)}

    def add(self, mutant: mutants.Mutant, verdict: str, log: str) -> None:
        self.verdicts[mutant.key] = verdict
        with self._file.open("a") as file:
            item = {"key": mutant.key, "file": mutant.file, "line": mutant.line, "verdict": verdict}
            file.write(json.dumps(item | {"log": log}) + "\n")


def _tried(
    todo: Sequence[mutants.Mutant],
    sources: Mapping[str, mutants.Source],
    copies: Sequence[Path],
    recorded: Record,
    limit: float,
) -> Iterator[tuple[mutants.Mutant, str, str]]:
    """Yield each mutant with its verdict and what pytest said last."""
    waiting = list(reversed(todo))
    free = list(copies)
    running: list[tuple[mutants.Mutant, trees.Trial, Path]] = []
    try:
        while waiting or running:
            while waiting and free:
                mutant = waiting.pop()
                tests = recorded.tests(mutant)
                if not tests:
                    yield mutant, "unreached", ""
                    continue
                text = sources[mutant.file].mutated(mutant)
                tree, seconds = free.pop(), limit + 3 * recorded.seconds(tests)
                running.append((mutant, trees.Trial(tree, mutant.file, text, tests, seconds), tree))
            time.sleep(0.05)
            for entry in list(running):
                mutant, trial, tree = entry
                verdict = trial.verdict()
                if verdict is not None:
                    running.remove(entry)
                    free.append(tree)
                    yield mutant, verdict, "\n".join(trial.log.read_text().splitlines()[-3:])
    finally:
        for _, trial, _ in running:
            trial.stop()


if __name__ == "__main__":
    sys.exit(main())

"""What a run of mutants found, as a page to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.mutation.mutants import Mutant, Source
from tests.mutation.record import Record


def of(
    chosen: Sequence[Mutant],
    sources: Mapping[str, Source],
    verdicts: Mapping[str, str],
    survivors: Sequence[Mapping[str, Any]],
    recorded: Record,
    settings: Mapping[str, Any],
) -> tuple[str, bool]:
    """Return the page, and whether something is amiss."""
    reasons = {survivor["key"]: survivor["reason"] for survivor in survivors}
    present = {mutant.key for source in sources.values() for mutant in source.mutants}
    stale = [s for s in survivors if s["file"] in sources and s["key"] not in present]
    alive = [mutant for mutant in chosen if verdicts[mutant.key] in ("survived", "unreached")]
    open_ = {survivor["key"] for survivor in survivors if survivor.get("open")}
    equivalent = [mutant for mutant in alive if mutant.key in reasons.keys() - open_]
    others = [mutant for mutant in alive if mutant not in equivalent]
    changing = len(chosen) - len(equivalent)
    share = 100 * (changing - len(others)) / max(changing, 1)
    killed = [s for s in survivors if verdicts.get(s["key"]) in ("killed", "timeout")]
    counts = Counter(verdicts[mutant.key] for mutant in chosen)
    lines = [
        f"# {len(chosen)} mutants",
        "",
        f"{', '.join(f'{count} {verdict}' for verdict, count in sorted(counts.items()))}; "
        f"{len(equivalent)} of those left change nothing.",
        f"Of the {changing} that change behaviour, {share:.1f} % are killed.",
        f"The tests take {recorded.total:.0f} s of CPU time together (at most {settings['budget']} s).",
    ]
    if recorded.failed:
        lines += ["", "## Tests that fail without a mutant, and were left out", "", *sorted(recorded.failed)]
    if stale:
        lines += ["", "## In survivors.toml, but no longer in the code", ""]
        lines += [f"{s['key']} {s['file']}: {s['reason']}" for s in stale]
    if killed:
        lines += ["", "## In survivors.toml, but killed", ""]
        lines += [f"{s['key']} {s['file']}: {s['reason']}" for s in killed]
    lines += ["", "## By room", "", *_table(chosen, {mutant.key for mutant in others})]
    lines += ["", "## Survivors", ""]
    for mutant in _by_place(others):
        lines += _shown(mutant, sources, reasons.get(mutant.key, verdicts[mutant.key]))
    lines += ["", "## Survivors that change nothing", ""]
    for mutant in _by_place(equivalent):
        lines += _shown(mutant, sources, reasons[mutant.key])
    failed = share < settings["floor"] or recorded.total > settings["budget"] or stale or killed
    return "\n".join(lines) + "\n", bool(failed or recorded.failed)


def _by_place(chosen: Sequence[Mutant]) -> list[Mutant]:
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.key))


def _table(chosen: Sequence[Mutant], alive: set[str]) -> list[str]:
    rooms = Counter(mutant.file for mutant in chosen)
    left = Counter(mutant.file for mutant in chosen if mutant.key in alive)
    return [
        "| room | mutants | survive |",
        "|---|---:|---:|",
        *(f"| {room} | {count} | {left[room]} |" for room, count in sorted(rooms.items())),
    ]


def _shown(mutant: Mutant, sources: Mapping[str, Source], reason: str) -> list[str]:
    place = f"{mutant.file}:{mutant.line}"
    shown = sources[mutant.file].shown(mutant)
    return [f"### {place} {mutant.function} ({mutant.key}): {reason}", "", "```diff", shown, "```", ""]

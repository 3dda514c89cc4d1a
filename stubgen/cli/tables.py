"""The tables that ``cute-stubgen describe`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stubgen.model.text import printable

if TYPE_CHECKING:
    from stubgen.inspection.binaries import Binary
    from stubgen.inspection.differences import Difference
    from stubgen.inspection.inspected import Inspected
    from stubgen.render.description import FunctionDescription

_ALL_SURFACES = 4
_UNKNOWN = (
    "unknown: strides, alignment and devices of tensors, divisibility and width of sizes, defaults, kinds of "
    "parameters, what was fixed at compile time, current streams"
)
_SHOWN_GAPS = 20
"""A family with more has their number told."""


def show_library(found: Inspected, console: Console) -> None:
    """Print a library: what it is made of, and a line for each function."""
    described, versions = found.description, found.description.versions
    archs = ", ".join(described.archs) or "the host only"
    made_by = (
        f"cute-stubgen {versions.cute_stubgen}, nvidia-cutlass-dsl {versions.cutlass_dsl}, "
        f"apache-tvm-ffi {versions.tvm_ffi}"
    )
    console.print(
        f"{described.package}, {'read from texts alone' if found.is_partial else f'for {archs}; {made_by}'}",
        markup=False,
    )
    build = [f"build {described.build_id}"] if described.build_id else []
    for line in [*build, *_binary(found.binary), *([_UNKNOWN] if found.is_partial else [])]:
        console.print(line, markup=False)
    console.print()
    rows = [
        [
            f"{f.module}.{f.name}",
            str(len(f.variants) or ""),
            _gaps(f),
            ", ".join(f.archs) or ("" if found.is_partial else "host"),
            f.summary,
        ]
        for f in described.functions
    ]
    console.print(_table(["function", "variants", "gaps", "built for", ""], rows))
    for unknown in found.unknown:
        console.print(f"{unknown.name}: {unknown.reason}", markup=False)


def _binary(binary: Binary | None) -> list[str]:
    if binary is None:
        return []
    codes = [f"{c.count} for {c.arch} ({_size(c.size)})" for c in binary.gpu_code]
    facts = [
        f"{binary.file}: {_size(binary.size)}",
        f"{binary.machine}{f', glibc {binary.glibc}' if binary.glibc else ''}",
        f"needs {', '.join(binary.needed) or 'no library'}",
        f"GPU binaries: {', '.join(codes) or 'none'}",
    ]
    return ["; ".join(facts)]


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB"


def show_function(function: FunctionDescription, console: Console, *, is_partial: bool = False) -> None:
    """Print all that is known of a function; of one read from texts alone, only what is certain."""
    archs = ", ".join(function.archs) or ("unknown hardware" if is_partial else "the host only")
    console.print(f"{function.module}.{function.signature}", markup=False)
    if function.summary:
        console.print(function.summary, markup=False)
    console.print()
    console.print(
        _table(["parameter", "type", ""], [[p.name, p.type, p.accepts] for p in function.parameters])
    )
    for line in _effects(function):
        console.print(f"\n{line}", markup=False)
    if not function.variants:
        console.print(f"\nbuilt for {archs}", markup=False)
        return
    axes = list(function.variants[0].labels)
    headings, rows = ["variant", *axes], [[v.key, *v.labels.values()] for v in function.variants]
    if function.arch_gaps:
        headings.append("built for")
        rows = [[*row, ", ".join(v.archs)] for row, v in zip(rows, function.variants, strict=True)]
    console.print()
    console.print(_table(headings, rows))
    if not function.arch_gaps:
        console.print(f"\nall built for {archs}", markup=False)
    if function.gaps:
        console.print(f"\nnot built ({len(function.gaps)}):", markup=False)
        shown = function.gaps[:_SHOWN_GAPS]
        console.print(_table(axes, [list(gap.values()) for gap in shown]))
        if len(function.gaps) > len(shown):
            console.print(f"and {len(function.gaps) - len(shown)} more (--json lists all)", markup=False)


def _effects(function: FunctionDescription) -> list[str]:
    """Tell what a declaration says of effects, in a line."""
    effects = function.effects
    facts = [f"writes to {', '.join(effects.mutates)}"] if effects.mutates else []
    facts += [f"makes and returns {', '.join(effects.returns)} if asked to"] if effects.returns else []
    facts += [f"has its gradient from {effects.backward.function}"] if effects.backward else []
    return ["; ".join(facts)] if facts else []


def show_difference(found: Difference, console: Console) -> None:
    """Print the changes, a line each, those that break callers first, and the verdict."""
    for change in found.changes:
        kind = "breaking" if change.breaking else "compatible"
        whom = "" if len(change.surfaces) == _ALL_SURFACES else f" ({', '.join(change.surfaces)})"
        console.print(f"{kind}: {change.function} {change.what}{whom}", markup=False)
    console.print(found.verdict)


def _gaps(function: FunctionDescription) -> str:
    return str(len(function.gaps) + len(function.arch_gaps) or "")


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Make a table of texts as they are; only its last column may be broken into lines."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=heading != headings[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table

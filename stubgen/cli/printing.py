"""What commands print: reports, problems, JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from stubgen.cli.streams import UnwritableError
from stubgen.model import jsontext
from stubgen.model.text import counted, printable
from stubgen.output import state
from stubgen.problems.problem import Problem, StubgenError, problem


class Terminal(Console):
    """A console that shows texts, and obeys none: they may come out of anybody's library."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts, or tables of such as :func:`~stubgen.model.text.printable` gives."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)


out = Terminal(highlight=False, soft_wrap=True)
err = Terminal(stderr=True, highlight=False, soft_wrap=True)


def report(
    output: Path,
    summary: state.Summary,
    changes: dict[str, list[str]],
    seconds: float,
    as_json: bool,
) -> None:
    """Say what a run has written."""
    print_warnings(summary.warnings, as_json)
    if as_json:
        print_json(
            {
                "output": str(output),
                "kernels": summary.kernels,
                **(changes or no_changes()),
                "warnings": as_dicts(summary.warnings),
            }
        )
        return
    files = sum(map(len, changes.values()))
    changed = f"{counted(files, 'file')} changed" if files else "nothing changed"
    where = short_path(output / summary.package)
    out.print(f"{counted(summary.kernels, 'kernel')} in {where}: {changed} ({seconds:.1f} s)", markup=False)


def no_changes() -> dict[str, list[str]]:
    """Return what a run that changed nothing reports."""
    return {"added": [], "changed": [], "removed": []}


def as_changes(changes: Any) -> dict[str, list[str]]:
    """Return what changed as JSON shows it: paths by what became of them."""
    return {kind: list(getattr(changes, kind)) for kind in ("added", "changed", "removed")}


def short_path(path: Path) -> str:
    """Return a path as short as it can be said from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def print_json(data: object) -> None:
    """Print data as it is, whatever the terminal."""
    sys.stdout.write(json.dumps(jsontext.plain(data), indent=2) + "\n")


@contextmanager
def reporting_errors(as_json: bool, status: int = 1) -> Generator[None, None, None]:
    """Print problems, one line each, and exit."""
    try:
        yield
    except StubgenError as error:
        _print_problems(error.problems, as_json)
        raise typer.Exit(status) from None
    except KeyboardInterrupt:
        err.print("interrupted; the previous output is whole")
        raise typer.Exit(130) from None
    except (typer.Exit, typer.Abort, UnwritableError):
        raise
    except Exception as error:  # what nothing else foresaw; its traceback is for the maintainers
        _print_problems((_unforeseen(error),), as_json)
        raise typer.Exit(status) from None


def _print_problems(problems: Sequence[Problem], as_json: bool) -> None:
    warnings = [item for item in problems if item.code.startswith("CS6")]
    errors = [item for item in problems if item not in warnings]
    if as_json:
        more = {"warnings": as_dicts(warnings)} if warnings else {}
        print_json({"problems": as_dicts(errors), **more})
        return
    for item in errors:
        err.print(f"error: {item}", markup=False)
    print_warnings(warnings, as_json)


def print_warnings(warnings: Sequence[Problem], as_json: bool) -> None:
    """Print warnings, one line each; JSON has them among the rest."""
    for item in () if as_json else warnings:
        err.print(f"warning: {item}", markup=False)


def _unforeseen(error: Exception) -> Problem:
    what = " ".join(traceback.format_exception_only(error)[-1].split())
    try:
        with tempfile.NamedTemporaryFile("w", prefix="cute-stubgen-", suffix=".log", delete=False) as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError as unwritten:
        return problem("CS901", error=what, log=f"a log, which could not be written: {unwritten.strerror}")
    return problem("CS901", error=what, log=log.name)


def as_dicts(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    """Return problems as JSON shows them."""
    return [
        {
            "code": item.code,
            "message": item.message,
            "remedy": item.remedy,
            "file": item.place.file if item.place else None,
            "line": item.place.line if item.place else None,
            "kernel": item.kernel,
            "parameter": item.parameter,
        }
        for item in problems
    ]

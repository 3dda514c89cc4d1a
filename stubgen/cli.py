"""The command line: ``cute-stubgen``."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from stubgen import __version__, catalogue, cli_cache, config, state
from stubgen.cli_tables import show_difference, show_function, show_library
from stubgen.config import ExecutorName, HostName, ToolchainName
from stubgen.diagnostics import Problem, StubgenError, did_you_mean, problem

app = typer.Typer(
    name="cute-stubgen",
    help="Turn CuTe DSL kernels into a finished, typed Python and C++ library, ahead of time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

_Kernels = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KERNELS]...", help="Kernel modules, or folders of them.", show_default=False),
]
_ProjectFolder = Annotated[
    Path | None,
    typer.Option(
        "--project",
        "-C",
        exists=True,
        file_okay=False,
        help="The project's folder; found from here upwards by default.",
        show_default=False,
    ),
]
_Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Folder to generate into.", show_default=False)
]
_Package = Annotated[
    str | None, typer.Option("--package", "-p", help="Name of the package.", show_default=False)
]
_Arch = Annotated[
    list[str] | None,
    typer.Option("--arch", help="GPU architecture, such as sm_90a.", show_default=False),
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        help="Worker processes; by default as many as cores and memory allow.",
        show_default=False,
    ),
]
_Toolchain = Annotated[
    ToolchainName | None,
    typer.Option(help="zig (from PyPI, the default) or system.", show_default=False),
]
_Host = Annotated[
    HostName | None,
    typer.Option(
        help="CPU for the host code: x86-64-v2 (the default), x86-64-v3, native, aarch64.", show_default=False
    ),
]
_Timeout = Annotated[
    int | None,
    typer.Option(min=1, metavar="SECONDS", help="Limit for one kernel; 600 by default.", show_default=False),
]
_Executor = Annotated[
    ExecutorName | None,
    typer.Option(help="What compiles: local (the default) or dask.", show_default=False),
]
_Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of the Dask cluster's scheduler.", show_default=False),
]
_Depfile = Annotated[
    Path | None,
    typer.Option(
        help="Write a rule for make or Ninja that lists all inputs; its target is FILE without .d.",
        metavar="FILE",
        show_default=False,
    ),
]
_Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Compile only every N-th kernel, from the I-th on, into a file for cute-stubgen merge.",
        show_default=False,
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    cmakedir: Annotated[
        bool, typer.Option("--cmakedir", help="Print the folder for CMake's cute_stubgen_DIR.")
    ] = False,
    tvm_ffi_dir: Annotated[
        bool, typer.Option("--tvm-ffi-dir", help="Print the folder of tvm-ffi, with include and lib in it.")
    ] = False,
) -> None:
    if version:
        _out.print(f"cute-stubgen {__version__}")
        raise typer.Exit
    if cmakedir:
        _out.print(str(Path(__file__).parent / "cmake"), markup=False)
        raise typer.Exit
    if tvm_ffi_dir:
        from stubgen.runtimes import find_tvm_ffi

        with _errors(as_json=False):
            _out.print(str(find_tvm_ffi().include.parent), markup=False)
        raise typer.Exit


@app.command()
def generate(
    kernels: _Kernels = None,
    project: _ProjectFolder = None,
    output: _Output = None,
    package: _Package = None,
    arch: _Arch = None,
    toolchain: _Toolchain = None,
    host: _Host = None,
    jobs: _Jobs = None,
    timeout: _Timeout = None,
    executor: _Executor = None,
    scheduler: _Scheduler = None,
    depfile: _Depfile = None,
    shard: _Shard = None,
    as_json: _Json = False,
) -> None:
    """Compile every exported kernel and write the package."""
    work = {"timeout": timeout, "executor": executor, "scheduler": scheduler}
    settings = _Settings(kernels, project, output, package, arch, toolchain, host, **work)
    with _errors(as_json):
        start = time.monotonic()
        root, loaded = settings.load()
        if shard is not None:
            _generate_shard(root, loaded, shard, jobs, as_json)
            return
        known = state.unchanged(root, loaded)
        if known is not None:
            _write_depfile(depfile, root, loaded)
            _report(root / loaded.output, known, {}, time.monotonic() - start, as_json)
            return
        from stubgen import build
        from stubgen.cli_progress import shown

        with shown(_err) as progress:
            result = build.generate(root, loaded, jobs=jobs or build.default_jobs(), progress=progress)
        _write_depfile(depfile, root, loaded)
        summary = state.Summary(loaded.package, len(result.library.kernels), result.warnings)
        _report(root / loaded.output, summary, _changes(result.changes), time.monotonic() - start, as_json)


def _generate_shard(root: Path, loaded: config.Config, given: str, jobs: int | None, as_json: bool) -> None:
    from stubgen import build, shards
    from stubgen.cli_progress import shown

    start = time.monotonic()
    shard = shards.parse(given)
    with shown(_err) as progress:
        made = build.generate_shard(root, loaded, shard, jobs=jobs or build.default_jobs(), progress=progress)
    _print_warnings(made.warnings, as_json)
    if as_json:
        warnings = _as_dicts(made.warnings)
        _print_json({"output": str(made.file), "kernels": made.kernels, "warnings": warnings})
        return
    compiled = f"{made.kernels} kernel{'s' * (made.kernels != 1)}"
    seconds = time.monotonic() - start
    _out.print(f"shard {shard}: {compiled} in {_shown(made.file)}, {seconds:.1f} s", markup=False)


@app.command()
def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD...", help="What the shards have written, or folders of it.")
    ],
    project: _ProjectFolder = None,
    output: _Output = None,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Write the package from the shards of a run; compile nothing."""
    settings = _Settings(None, project, output)
    with _errors(as_json):
        from stubgen import build
        from stubgen.cli_progress import shown
        from stubgen.shards import Merged

        start = time.monotonic()
        merged = Merged(shards)
        root, loaded = settings.load(merged.record.settings)
        with shown(_err) as progress:
            result = build.generate(
                root, loaded, jobs=jobs or build.default_jobs(), progress=progress, merged=merged
            )
        summary = state.Summary(loaded.package, len(result.library.kernels), result.warnings)
        _report(root / loaded.output, summary, _changes(result.changes), time.monotonic() - start, as_json)


def _write_depfile(depfile: Path | None, root: Path, loaded: config.Config) -> None:
    if depfile is not None:
        from stubgen import inputs

        inputs.write_depfile(depfile.absolute(), inputs.inputs(root, loaded))


@app.command()
def check(
    kernels: _Kernels = None,
    project: _ProjectFolder = None,
    output: _Output = None,
    package: _Package = None,
    arch: _Arch = None,
    toolchain: _Toolchain = None,
    host: _Host = None,
    jobs: _Jobs = None,
    timeout: _Timeout = None,
    executor: _Executor = None,
    scheduler: _Scheduler = None,
    as_json: _Json = False,
) -> None:
    """Compare the package with what would be generated; exit with 1 if they differ, write nothing."""
    work = {"timeout": timeout, "executor": executor, "scheduler": scheduler}
    settings = _Settings(kernels, project, output, package, arch, toolchain, host, **work)
    with _errors(as_json):
        root, loaded = settings.load()
        known = state.unchanged(root, loaded)
        changes: dict[str, list[str]] = _no_changes()
        warnings: Sequence[Problem] = known.warnings if known else ()
        if known is None:
            from stubgen import build
            from stubgen.cli_progress import shown

            with shown(_err) as progress:
                result = build.check(root, loaded, jobs=jobs or build.default_jobs(), progress=progress)
            changes, warnings = _changes(result.changes), result.warnings
        _print_warnings(warnings, as_json)
        output_folder = root / loaded.output
        if as_json:
            _print_json({**changes, "warnings": _as_dicts(warnings)})
        elif not any(changes.values()):
            _out.print(f"{_shown(output_folder)} is up to date")
        else:
            for kind, paths in changes.items():
                for path in paths:
                    _out.print(f"{kind}: {_shown(output_folder / path)}", markup=False)
        if any(changes.values()):
            raise typer.Exit(1)


@app.command("list")
def list_kernels(kernels: _Kernels = None, project: _ProjectFolder = None, as_json: _Json = False) -> None:
    """List every @cute.jit function, and what it is exported as; nothing is imported or compiled."""
    settings = _Settings(kernels, project)
    with _errors(as_json):
        from stubgen import discovery

        root, loaded = settings.load()
        modules = discovery.find_modules([root / path for path in loaded.kernels], root)
        rows: list[dict[str, Any]] = [
            {
                "function": function.qualname,
                "file": module.file,
                "line": function.line,
                "exported_as": list(function.exported_as),
                "summary": (function.doc.splitlines() or [""])[0],
            }
            for module in modules
            for function in module.functions
        ]
        if as_json:
            _print_json(rows)
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("function", "place", "exported as"):
            table.add_column(heading, overflow="fold")
        for row in rows:
            exported = ", ".join(row["exported_as"]) or "-"
            table.add_row(row["function"], f"{row['file']}:{row['line']}", exported)
        _out.print(table)


@app.command()
def describe(
    package: Annotated[
        str,
        typer.Argument(
            metavar="PATH_OR_PACKAGE", help="A generated folder, an installed package, or a shared library."
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="One function of it.", show_default=False)] = None,
    as_json: _Json = False,
) -> None:
    """Show what a package or library holds; nothing of it is imported or loaded."""
    with _errors(as_json):
        from stubgen import inspection

        found = inspection.inspect(package)
        described = found.description
        functions = {function.name: function for function in described.functions}
        if name is not None and name not in functions:
            hint = did_you_mean(name, functions)
            raise StubgenError(problem("CS505", package=described.package, name=name, hint=hint))
        if as_json:
            whole = {**msgspec.to_builtins(described), **msgspec.to_builtins(found)}
            del whole["description"]
            _print_json(whole if name is None else msgspec.to_builtins(functions[name]))
        elif name is None:
            show_library(found, _out)
        else:
            show_function(functions[name], _out)


@app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A package or library, as for describe.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What is to replace it.")],
    as_json: _Json = False,
) -> None:
    """Say what changes for callers; exit with 0 if their code still works, 1 if not, 2 for other problems."""
    with _errors(as_json, status=2):
        from stubgen import inspection

        found = inspection.difference(inspection.find_library(old), inspection.find_library(new))
        if as_json:
            _print_json({"verdict": found.verdict, "changes": msgspec.to_builtins(found.changes)})
        else:
            show_difference(found, _out)
        if found.verdict == "breaking":
            raise typer.Exit(1)


@app.command()
def stubs(
    library: Annotated[Path, typer.Argument(metavar="LIBRARY", help="A shared library.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write into.")],
    package: _Package = None,
    as_json: _Json = False,
) -> None:
    """Make a package of a library that is there already: stubs, keyword functions, headers."""
    with _errors(as_json):
        from stubgen import inspection

        start = time.monotonic()
        made = inspection.write_stubs(library, output.absolute(), package)
        summary = state.Summary(made.library.package, len(made.library.kernels), made.warnings)
        _report(output.absolute(), summary, _changes(made.changes), time.monotonic() - start, as_json)


@app.command()
def verify(
    package: Annotated[
        str, typer.Argument(metavar="PATH_OR_PACKAGE", help="A generated folder, or an installed package.")
    ],
    as_json: _Json = False,
) -> None:
    """Check every file of a package, and the GPU code in it, against the manifest; exit with 1 if not."""
    with _errors(as_json):
        from stubgen import inspection

        whole = inspection.verify(package)
        if as_json:
            _print_json({"files": len(whole.files), "gpu_code": len(whole.gpu_code)})
        else:
            files, code = len(whole.files), len(whole.gpu_code)
            _out.print(f"{whole.library.package} is whole: {files} files, {code} GPU binaries", markup=False)


@app.command()
def explain(
    code: Annotated[str | None, typer.Argument(help="A code such as CS204.", show_default=False)] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print all as a document.")] = False,
) -> None:
    """Explain an error code; without one, list them all."""
    if markdown:
        sys.stdout.write(catalogue.as_markdown())
    elif code is None:
        for known, entry in catalogue.CATALOGUE.items():
            _out.print(f"{known}: {catalogue.as_words(entry.message)}", markup=False)
    elif code.upper() in catalogue.CATALOGUE:
        _out.print(catalogue.explained(code.upper()), markup=False)
    else:
        hint = did_you_mean(code.upper(), catalogue.CATALOGUE)
        _err.print(f"there is no {code}{hint}; list all codes: cute-stubgen explain", markup=False)
        raise typer.Exit(2)


# ---------------------------------------------------------------------------------------------------------
# Settings


class _Settings:
    """What the command line gives, to be laid over the project's configuration."""

    def __init__(
        self,
        kernels: list[str] | None,
        project: Path | None,
        output: str | None = None,
        package: str | None = None,
        archs: list[str] | None = None,
        toolchain: str | None = None,
        host: str | None = None,
        **more: object,
    ) -> None:
        self._project = project
        self._given: dict[str, Any] = {
            "kernels": tuple(str(Path(path).absolute()) for path in kernels or ()),
            "output": None if output is None else str(Path(output).absolute()),
            "package": package,
            "archs": tuple(archs or ()),
            "toolchain": toolchain,
            "host": host,
            **more,
        }

    def load(self, known: Mapping[str, Any] | None = None) -> tuple[Path, config.Config]:
        """Give the project's folder and its configuration, of which some may be known."""
        root = self._project.resolve() if self._project else config.find_project(Path.cwd())
        return root, config.load(root, **{**self._given, **(known or {})})


# ---------------------------------------------------------------------------------------------------------
# Output


def _report(
    output: Path,
    summary: state.Summary,
    changes: dict[str, list[str]],
    seconds: float,
    as_json: bool,
) -> None:
    _print_warnings(summary.warnings, as_json)
    if as_json:
        _print_json(
            {
                "output": str(output),
                "kernels": summary.kernels,
                **(changes or _no_changes()),
                "warnings": _as_dicts(summary.warnings),
            }
        )
        return
    files = sum(map(len, changes.values()))
    changed = f"{files} file{'s' * (files != 1)} changed" if files else "nothing changed"
    _out.print(
        f"{summary.kernels} kernels in {_shown(output / summary.package)}: {changed} ({seconds:.1f} s)",
        markup=False,
    )


def _no_changes() -> dict[str, list[str]]:
    return {"added": [], "changed": [], "removed": []}


def _changes(changes: Any) -> dict[str, list[str]]:
    return {kind: list(getattr(changes, kind)) for kind in ("added", "changed", "removed")}


def _shown(path: Path) -> str:
    """Give a path as short as it can be said from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _print_json(data: object) -> None:
    sys.stdout.write(json.dumps(data, indent=2) + "\n")


@contextmanager
def _errors(as_json: bool, status: int = 1) -> Generator[None, None, None]:
    """Print problems, one line each, and exit."""
    try:
        yield
    except StubgenError as error:
        _print_problems(error.problems, as_json)
        raise typer.Exit(status) from None
    except KeyboardInterrupt:
        _err.print("interrupted; the previous output is whole")
        raise typer.Exit(130) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # what nothing else foresaw; its traceback is for the maintainers
        _print_problems((_unforeseen(error),), as_json)
        raise typer.Exit(status) from None


def _print_problems(problems: Sequence[Problem], as_json: bool) -> None:
    if as_json:
        _print_json({"problems": _as_dicts(problems)})
        return
    for item in problems:
        _err.print(f"error: {item}", markup=False)


def _print_warnings(warnings: Sequence[Problem], as_json: bool) -> None:
    for item in () if as_json else warnings:
        _err.print(f"warning: {item}", markup=False)


def _unforeseen(error: Exception) -> Problem:
    what = " ".join(traceback.format_exception_only(error)[-1].split())
    try:
        with tempfile.NamedTemporaryFile("w", prefix="cute-stubgen-", suffix=".log", delete=False) as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError as unwritten:
        return problem("CS901", error=what, log=f"a log, which could not be written: {unwritten.strerror}")
    return problem("CS901", error=what, log=log.name)


def _as_dicts(problems: Sequence[Problem]) -> list[dict[str, Any]]:
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


app.add_typer(cli_cache.commands(_errors), name="cache")


def main() -> None:
    """Run the command."""
    app()

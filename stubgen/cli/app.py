"""The command line: ``cute-stubgen``."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

import stubgen
from stubgen import __version__
from stubgen.cli import cache_commands, streams
from stubgen.cli.options import (
    Arch,
    CommandSettings,
    Depfile,
    Executor,
    Framework,
    Host,
    Jobs,
    Json,
    Kernels,
    Output,
    Package,
    ProjectFolder,
    Scheduler,
    Shard,
    Timeout,
    Times,
    Toolchain,
)
from stubgen.cli.printing import (
    as_changes,
    as_dicts,
    err,
    no_changes,
    out,
    print_json,
    print_warnings,
    report,
    reporting_errors,
    short_path,
)
from stubgen.cli.tables import show_difference, show_function, show_library
from stubgen.config import config
from stubgen.model.text import counted
from stubgen.output import state
from stubgen.problems import catalogue
from stubgen.problems.problem import Problem, StubgenError, did_you_mean, problem

app = typer.Typer(
    name="cute-stubgen",
    help="Turn CuTe DSL kernels into a finished, typed Python and C++ library, ahead of time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
        out.print(f"cute-stubgen {__version__}")
        raise typer.Exit
    if cmakedir:
        out.print(str(Path(stubgen.__file__).parent / "integrations" / "cmake"), markup=False)
        raise typer.Exit
    if tvm_ffi_dir:
        from stubgen.native.runtimes import find_tvm_ffi

        with reporting_errors(as_json=False):
            out.print(str(find_tvm_ffi().include.parent), markup=False)
        raise typer.Exit


@app.command()
def generate(
    kernels: Kernels = None,
    project: ProjectFolder = None,
    output: Output = None,
    package: Package = None,
    arch: Arch = None,
    toolchain: Toolchain = None,
    host: Host = None,
    framework: Framework = None,
    jobs: Jobs = None,
    timeout: Timeout = None,
    executor: Executor = None,
    scheduler: Scheduler = None,
    depfile: Depfile = None,
    shard: Shard = None,
    times: Times = None,
    as_json: Json = False,
) -> None:
    """Compile every exported kernel and write the package."""
    if times is not None and shard is None:
        raise typer.BadParameter("kernels are divided among shards: give --shard too", param_hint="--times")
    if depfile is not None and shard is not None:
        raise typer.BadParameter("a shard is no file that others are made from", param_hint="--depfile")
    work = {"timeout": timeout, "executor": executor, "scheduler": scheduler}
    settings = CommandSettings(kernels, project, output, package, arch, toolchain, host, framework, **work)
    with reporting_errors(as_json):
        start = time.monotonic()
        root, loaded = settings.load()
        if kernels:
            _refuse_part(root, loaded)
        if shard is not None:
            _generate_shard(root, loaded, shard, times, jobs, as_json)
            return
        known = state.unchanged(root, loaded)
        if known is not None:
            _write_depfile(depfile, root, loaded)
            report(root / loaded.output, known, {}, time.monotonic() - start, as_json)
            return
        from stubgen.build import pipeline
        from stubgen.cli.progress_view import shown

        with shown(err) as progress:
            result = pipeline.generate(root, loaded, jobs=jobs or pipeline.default_jobs(), progress=progress)
        _write_depfile(depfile, root, loaded)
        summary = state.Summary(loaded.package, len(result.library.kernels), result.warnings)
        report(root / loaded.output, summary, as_changes(result.changes), time.monotonic() - start, as_json)


def _refuse_part(root: Path, loaded: config.Config) -> None:
    """Refuse to replace the project's package by one of some of its modules.

    Raises
    ------
    StubgenError
        CS110.
    """
    from stubgen.output import manifest

    whole = config.load(root)
    if (root / whole.output, whole.package) != (root / loaded.output, loaded.package):
        return
    known = manifest.read(root / loaded.output / loaded.package / manifest.NAME)
    given, all_given = ([Path(os.path.realpath(root / path)) for path in c.kernels] for c in (loaded, whole))
    if known is None or not all(map(os.path.lexists, given)):  # what is not there is said later
        return
    files = [module.source for module in known.library.modules]
    left_out = [
        file
        for file in files
        if (path := Path(os.path.realpath(root / file))).is_file()
        and any(map(path.is_relative_to, all_given))
        and not any(map(path.is_relative_to, given))
    ]
    if left_out:
        raise StubgenError(problem("CS110", package=loaded.package, modules=", ".join(left_out)))


def _generate_shard(
    root: Path, loaded: config.Config, given: str, times: Path | None, jobs: int | None, as_json: bool
) -> None:
    from stubgen.build import pipeline, shards
    from stubgen.cli.progress_view import shown

    start = time.monotonic()
    shard = shards.parse(given)
    with shown(err) as progress:
        made = pipeline.generate_shard(
            root,
            loaded,
            shard,
            jobs=jobs or pipeline.default_jobs(),
            progress=progress,
            times=shards.read_times(times) if times else None,
        )
    print_warnings(made.warnings, as_json)
    if as_json:
        warnings = as_dicts(made.warnings)
        print_json({"output": str(made.file), "kernels": made.kernels, "warnings": warnings})
        return
    compiled = counted(made.kernels, "kernel")
    seconds = time.monotonic() - start
    out.print(f"shard {shard}: {compiled} in {short_path(made.file)}, {seconds:.1f} s", markup=False)


@app.command()
def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD...", help="What the shards have written, or folders of it.")
    ],
    project: ProjectFolder = None,
    output: Output = None,
    times: Times = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Write the package from the shards of a run; compile nothing."""
    settings = CommandSettings(None, project, output)
    with reporting_errors(as_json):
        from stubgen.build import pipeline
        from stubgen.build.shards import ShardStore, write_times
        from stubgen.cli.progress_view import shown

        start = time.monotonic()
        merged = ShardStore(shards)
        root, loaded = settings.load(merged.record.settings)
        merged.require_same_project(pipeline.shared_settings(root, config.load(root)))
        with shown(err) as progress:
            result = pipeline.generate(
                root, loaded, jobs=jobs or pipeline.default_jobs(), progress=progress, merged=merged
            )
        if times is not None:
            write_times(times, merged.seconds)
        summary = state.Summary(loaded.package, len(result.library.kernels), result.warnings)
        report(root / loaded.output, summary, as_changes(result.changes), time.monotonic() - start, as_json)


def _write_depfile(depfile: Path | None, root: Path, loaded: config.Config) -> None:
    if depfile is not None:
        from stubgen.build import depfile as rules

        rules.write_depfile(depfile.absolute(), rules.dependencies(root, loaded))


@app.command()
def check(
    kernels: Kernels = None,
    project: ProjectFolder = None,
    output: Output = None,
    package: Package = None,
    arch: Arch = None,
    toolchain: Toolchain = None,
    host: Host = None,
    framework: Framework = None,
    jobs: Jobs = None,
    timeout: Timeout = None,
    executor: Executor = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Compare the package with what would be generated; exit with 1 if they differ, write nothing."""
    work = {"timeout": timeout, "executor": executor, "scheduler": scheduler}
    settings = CommandSettings(kernels, project, output, package, arch, toolchain, host, framework, **work)
    with reporting_errors(as_json):
        root, loaded = settings.load()
        if kernels:
            _refuse_part(root, loaded)
        known = state.unchanged(root, loaded)
        changes: dict[str, list[str]] = no_changes()
        warnings: Sequence[Problem] = known.warnings if known else ()
        if known is None:
            from stubgen.build import pipeline
            from stubgen.cli.progress_view import shown

            with shown(err) as progress:
                result = pipeline.check(root, loaded, jobs=jobs or pipeline.default_jobs(), progress=progress)
            changes, warnings = as_changes(result.changes), result.warnings
        print_warnings(warnings, as_json)
        output_folder = root / loaded.output
        if as_json:
            print_json({**changes, "warnings": as_dicts(warnings)})
        elif not any(changes.values()):
            out.print(f"{short_path(output_folder)} is up to date")
        else:
            for kind, paths in changes.items():
                for path in paths:
                    out.print(f"{kind}: {short_path(output_folder / path)}", markup=False)
        if any(changes.values()):
            raise typer.Exit(1)


@app.command("list")
def list_kernels(kernels: Kernels = None, project: ProjectFolder = None, as_json: Json = False) -> None:
    """List every @cute.jit function, and what it is exported as; nothing is imported or compiled."""
    settings = CommandSettings(kernels, project)
    with reporting_errors(as_json):
        from stubgen.inspection.listing import listed

        rows = listed(*settings.load())
        if as_json:
            print_json([row._asdict() for row in rows])
            return
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("function", "place", "exported as"):
            table.add_column(heading, overflow="fold")
        for row in rows:
            table.add_row(row.function, f"{row.file}:{row.line}", ", ".join(row.exported_as) or "-")
        out.print(table)


@app.command()
def describe(
    package: Annotated[
        str,
        typer.Argument(
            metavar="PATH_OR_PACKAGE", help="A generated folder, an installed package, or a shared library."
        ),
    ],
    name: Annotated[str | None, typer.Argument(help="One function of it.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show what a package or library holds; nothing of it is imported or loaded."""
    with reporting_errors(as_json):
        from stubgen.inspection import inspected

        found = inspected.inspect(package)
        described = found.description
        functions = {function.name: function for function in described.functions}
        if name is not None and name not in functions:  # as the table and Python call it
            called = {f"{f.module}.{f.name}": f.name for f in described.functions}
            name = called.get(name.removeprefix(f"{described.package}."), name)
        if name is not None and name not in functions:
            hint = did_you_mean(name, functions)
            raise StubgenError(
                problem("CS505", package=described.package, name=name, hint=hint, given=shlex.quote(package))
            )
        if as_json:
            whole = {**msgspec.to_builtins(described), **msgspec.to_builtins(found)}
            del whole["description"]
            print_json(whole if name is None else msgspec.to_builtins(functions[name]))
        elif name is None:
            show_library(found, out)
        else:
            show_function(functions[name], out, is_partial=found.is_partial)


@app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A package or library, as for describe.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="What is to replace it.")],
    as_json: Json = False,
) -> None:
    """Say what changes for callers; exit with 0 if their code still works, 1 if not, 2 for other problems."""
    with reporting_errors(as_json, status=2):
        from stubgen.inspection.differences import difference
        from stubgen.inspection.packages import find_library

        found = difference(find_library(old), find_library(new))
        if as_json:
            print_json({"verdict": found.verdict, "changes": msgspec.to_builtins(found.changes)})
        else:
            show_difference(found, out)
        if found.verdict == "breaking":
            raise typer.Exit(1)


@app.command()
def stubs(
    library: Annotated[Path, typer.Argument(metavar="LIBRARY", help="A shared library.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write into.")],
    package: Package = None,
    as_json: Json = False,
) -> None:
    """Make a package of a library that is there already: stubs, keyword functions, headers."""
    with reporting_errors(as_json):
        from stubgen.inspection.stubs import write_stubs

        start = time.monotonic()
        made = write_stubs(library, output.absolute(), package)
        summary = state.Summary(made.library.package, len(made.library.kernels), made.warnings)
        report(output.absolute(), summary, as_changes(made.changes), time.monotonic() - start, as_json)


@app.command()
def verify(
    package: Annotated[
        str, typer.Argument(metavar="PATH_OR_PACKAGE", help="A generated folder, or an installed package.")
    ],
    as_json: Json = False,
) -> None:
    """Check every file of a package, and the GPU code in it, against the manifest; exit with 1 if not."""
    with reporting_errors(as_json):
        from stubgen.inspection import integrity

        whole = integrity.verify(package)
        if as_json:
            print_json({"files": len(whole.files), "gpu_code": len(whole.gpu_code)})
        else:
            files = counted(len(whole.files), "file")
            code = counted(len(whole.gpu_code), "GPU binary", "GPU binaries")
            out.print(f"{whole.library.package} is whole: {files}, {code}", markup=False)


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
            out.print(f"{known}: {catalogue.as_words(entry.message)}", markup=False)
    elif code.upper() in catalogue.CATALOGUE:
        out.print(catalogue.explained(code.upper()), markup=False)
    else:
        hint = did_you_mean(code.upper(), catalogue.CATALOGUE)
        err.print(f"there is no {code}{hint}; list all codes: cute-stubgen explain", markup=False)
        raise typer.Exit(2)


app.add_typer(cache_commands.app, name="cache")


def main() -> None:
    """Run the command."""
    streams.run(app)

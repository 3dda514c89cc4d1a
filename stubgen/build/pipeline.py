"""The pipeline: declare, compile, bind, render, link, commit.

:func:`generate` and :func:`check` do the same work and differ in the last step: one replaces the package, the
other says how it differs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stubgen.abi import identity
from stubgen.build import binding, compilation, linking, reuse, shards, versions
from stubgen.build.progress import NullProgress, Progress
from stubgen.build.shards import Division, LayeredStore, RecordingStore, Shard, ShardStore
from stubgen.compiler import executors
from stubgen.compiler.executors import Executor
from stubgen.compiler.jobs import WorkerSettings
from stubgen.compiler.local import machine, pool
from stubgen.config import config, datafiles
from stubgen.config.config import Config
from stubgen.frameworks import eligibility
from stubgen.model import archs
from stubgen.model.library import HostCode, Library
from stubgen.model.text import is_storable
from stubgen.native import link
from stubgen.native.runtimes import find_runtimes
from stubgen.native.toolchain import HostTarget, toolchain
from stubgen.output import manifest, package, provenance, state
from stubgen.output.package import Changes
from stubgen.output.sbom import sbom
from stubgen.output.state import Summary
from stubgen.problems.problem import Problem, StubgenError, problem, raise_if_any
from stubgen.render.package_files import render
from stubgen.render.project.project_files import project_files
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import no_kernels, require_kernels, search_modules
from stubgen.sources.parsed import ParsedFiles
from stubgen.store.opening import open_cache
from stubgen.system import folders
from stubgen.system.scratch import scratch_folder, temporary_folder


@dataclass(frozen=True)
class Result:
    """What a run made."""

    library: Library
    host: HostCode
    output: Path
    files: tuple[str, ...]
    """Relative to the output folder."""
    changes: Changes
    warnings: tuple[Problem, ...] = ()
    """What was made, but may surprise."""


@dataclass(frozen=True)
class ShardResult:
    """What a part of a run left."""

    file: Path
    kernels: int
    """How many it has, each for some architecture."""
    warnings: tuple[Problem, ...]


def generate(
    project: Path, settings: Config, *, jobs: int, progress: Progress, merged: ShardStore | None = None
) -> Result:
    """Compile everything that a project declares and replace the generated package.

    Parameters
    ----------
    project
        The project's folder, absolute.
    settings
        The configuration.
    jobs
        Number of worker processes.
    progress
        Told what happens.
    merged
        The parts that other machines have compiled; then nothing is compiled here.

    Raises
    ------
    StubgenError
        With all problems that could be found. The previous package is whole.
    """
    output = project / settings.output
    package.require_writable(output)
    package.require_free(output, settings.package)
    made = _build(project, settings, jobs, progress, merged)
    changes = package.commit(output, settings.package, made.files)
    _remember(project, settings, made)
    return made.result(output, changes)


def check(project: Path, settings: Config, *, jobs: int, progress: Progress) -> Result:
    """Do the work of :func:`generate`, but only compare; takes and raises the same."""
    output = project / settings.output
    package.require_folder(output)
    made = _build(project, settings, jobs, progress)
    changes = package.compare(output, settings.package, made.files)
    if not changes:
        _remember(project, settings, made)
    return made.result(output, changes)


def generate_shard(
    project: Path,
    settings: Config,
    shard: Shard,
    *,
    jobs: int,
    progress: Progress,
    times: Mapping[str, float] | None = None,
) -> ShardResult:
    """Compile a part of what a project declares, and write it into a file of the output folder.

    Takes and raises what :func:`generate` does.
    """
    output = project / settings.output
    package.require_writable(output)
    division = Division(shard, times or {})
    store = RecordingStore(open_cache(settings.cache, project))
    compiler = toolchain(settings.toolchain)
    compiler.store = store
    installed = versions.installed(compiler)
    inputs, unread = _inputs(project, settings)
    targets = _targets(project, settings)
    with _executor(project, settings, inputs, jobs, progress) as executor, scratch_folder() as scratch:
        built, warnings = compilation.compile_modules(
            inputs, targets, settings.package, scratch, executor, progress, store, division, unread
        )
        irs = [ir for items in built.values() for item in items for ir in item.irs(settings.package)]
        link.compile_kernels(irs, compiler, _host_target(settings), scratch, jobs)
    store.tidy()
    file = output / shards.file_name(settings.package, shard)
    record = shards.ShardRecord(
        shard.number,
        shard.count,
        shared_settings(project, settings),
        shared_settings(project, config.load(project)),
        dict(times or {}),
        division.taken,
    )
    store.write(file, record)
    remarks = (*store.warnings(), *executor.warnings())
    return ShardResult(file, len(irs), (*warnings, *versions.untested(installed), *remarks))


def shared_settings(project: Path, settings: Config) -> dict[str, Any]:
    """Return the settings that all shards share, the same wherever the project lies."""
    shaping = config.shaping(settings)
    roots = {path: Path(path) for path in settings.kernels}
    inside = {path: root.relative_to(project) for path, root in roots.items() if root.is_relative_to(project)}
    return {**shaping, "kernels": [str(inside.get(path, path)) for path in settings.kernels]}


def _remember(project: Path, settings: Config, made: _Package) -> None:
    """Let the next run know that there is nothing to do, if nothing changes."""
    summary = Summary(settings.package, len(made.library.kernels), reuse.lasting(made.warnings))
    state.remember(project, settings, made.inputs, made.files, summary)


@dataclass(frozen=True)
class _Package:
    """A library, and every file of its package by path relative to the output folder."""

    library: Library
    host: HostCode
    files: dict[str, bytes]
    inputs: BuildInputs
    warnings: tuple[Problem, ...]
    remarks: tuple[Problem, ...] = ()
    """Warnings about the run and not about what it made."""

    def result(self, output: Path, changes: Changes) -> Result:
        """Return what there is to report."""
        warnings = (*self.warnings, *self.remarks)
        return Result(self.library, self.host, output, tuple(self.files), changes, warnings)


@contextlib.contextmanager
def _executor(
    project: Path, settings: Config, inputs: BuildInputs, jobs: int, progress: Progress
) -> Generator[Executor, None, None]:
    """Return what compiles, as the configuration says."""
    if settings.executor == "local" or not settings.scheduler:
        yield executors.Local(jobs)
        return
    from stubgen.compiler.dask import dask_executor

    with dask_executor.DaskExecutor(
        settings.scheduler,
        project,
        inputs,
        patience=float(settings.cluster_timeout),
        say=progress.note,
    ) as executor:
        yield executor


def _build(
    project: Path, settings: Config, jobs: int, progress: Progress, merged: ShardStore | None = None
) -> _Package:
    """Make everything, and write nothing."""
    store = open_cache(settings.cache, project)
    compiler = toolchain(settings.toolchain)
    compiler.store = LayeredStore(merged, store) if merged else store
    installed = versions.installed(compiler)  # asks the toolchain, so that a broken one is found first
    inputs, unread = _inputs(project, settings)
    targets = _targets(project, settings)
    target = _host_target(settings)
    with _executor(project, settings, inputs, jobs, progress) as executor, scratch_folder() as scratch:
        built, warnings = compilation.compile_modules(
            inputs,
            targets,
            settings.package,
            scratch,
            shards.MissingCompiler(merged) if merged else executor,
            progress,
            merged or store,
            unread=unread,
        )
        if not any(built.values()):
            raise StubgenError(no_kernels(inputs.modules, ", ".join(settings.kernels)))
        device_code = any(item.archs for items in built.values() for item in items)
        runtimes = find_runtimes(device_code=device_code, kind=settings.runtime, machine=target.machine)
        modules, wrong = binding.bind_modules(inputs.modules, built)
        library = Library(
            settings.package,
            modules,
            installed,
            {target.arch: target.profile for target in targets if target.arch and target.profile},
            settings.version,
            runtimes.shared,
            target.machine,
            frameworks=settings.frameworks,
        )
        unknown = {"CS242"} if wrong else set[str]()
        raise_if_any([*wrong, *(p for p in eligibility.problems(library) if p.code not in unknown)])
        binding.require_distinct_symbols(library)
        library = msgspec.structs.replace(library, build_id=identity.build_id(library))
        progress.phase("Linking", 1)
        linked = linking.link_library(
            library,
            [ir for items in built.values() for item in items for ir in item.irs(settings.package)],
            toolchain=compiler,
            host=target,
            runtimes=runtimes,
            work=scratch,
            jobs=jobs,
        )
        host = linking.read_back(library, linked, target, _oldest_glibc(settings, target))
        progress.step(linked.shared.name)
        gpu_code = provenance.gpu_code(linked.shared)
        binaries = {path.name: path.read_bytes() for path in (linked.shared, *linked.archives)}
    store.tidy()
    texts = {**render(library), **project_files(library, host)}
    files = {path: text.encode() for path, text in texts.items()}
    files |= {f"{settings.package}/lib/{name}": data for name, data in binaries.items()}
    bill = sbom(library, files, provenance.versions(runtimes.distributions))
    files[f"{settings.package}/sbom.cdx.json"] = bill.encode()
    sources = provenance.sources(inputs)
    files[f"{settings.package}/{manifest.NAME}"] = manifest.encode(
        library, files, gpu_code=gpu_code, sources=sources, host=host
    )
    remarks = (*store.warnings(), *executor.warnings())
    return _Package(library, host, files, inputs, (*warnings, *versions.untested(installed)), remarks)


# ---------------------------------------------------------------------------------------------------------
# Before compiling


def _host_target(settings: Config) -> HostTarget:
    if settings.host == "aarch64":
        target = HostTarget("generic", machine="aarch64")
    else:
        target = HostTarget(settings.host)
    return dataclasses.replace(target, glibc=settings.glibc) if settings.glibc else target


def _oldest_glibc(settings: Config, target: HostTarget) -> str | None:
    """Return the version to hold the library to: what the configuration says, or what zig builds for."""
    return settings.glibc or (target.glibc if settings.toolchain == "zig" else None)


def _inputs(project: Path, settings: Config) -> tuple[BuildInputs, tuple[Problem, ...]]:
    """Return what a run depends on, and what is wrong with files that it cannot read."""
    paths = [project / path for path in settings.kernels]
    parsed = ParsedFiles(state.parsed_file(project))
    data = datafiles.data_files(project, settings)
    modules, problems = search_modules(paths, project, parsed)
    if not modules:
        raise_if_any(problems)
    modules = require_kernels(modules, ", ".join(settings.kernels))
    return BuildInputs(project, modules, parsed, data), problems


def _targets(project: Path, settings: Config) -> tuple[WorkerSettings, ...]:
    """Set up one kind of worker for each architecture: the configuration's, or that of this machine's GPU.

    Without any, there is one for functions without device code; a kernel that has some is refused then.
    """
    names: list[str | None] = [*_in_order_of_preference(settings.archs)] or [pool.detect_arch()]
    named = tuple(dict.fromkeys((*settings.archs, *settings.devices)))
    logs = str(_log_folder(project))
    data = datafiles.hash_of_files(datafiles.data_files(project, settings), project)
    return tuple(
        WorkerSettings(
            str(project),
            arch,
            config.device_profile(settings, arch) if arch else None,
            logs,
            named,
            float(settings.timeout),
            data,
        )
        for arch in names
    )


def _in_order_of_preference(names: Sequence[str]) -> list[str]:
    """Sort architectures, the one that is chosen last first; leave alone what the DSL will not know."""
    known: dict[archs.Arch, str] = {}
    unknown: list[str] = []
    for name in names:
        try:
            arch = archs.parse(name)
        except ValueError:
            unknown.append(name)
            continue
        other = known.setdefault(arch, name)
        if other != name:
            raise StubgenError(problem("CS107", arch=name, other=other))
    return [*(known[arch] for arch in sorted(known, key=archs.preference)), *unknown]


def _log_folder(project: Path) -> Path:
    """Return the folder for what the compiler prints; one for each project, so that runs do not mix."""
    key = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    logs = folders.own("logs")
    folder = logs / f"{project.name}-{key}" if logs is not None else None
    if folder is None or not is_storable(str(folder)) or not folders.is_writable(folder):
        return temporary_folder("cute-stubgen-logs-")
    _remove_old_logs(folder)
    return folder


def _remove_old_logs(folder: Path) -> None:
    """Keep a day's logs: every run adds some, and another run may be writing its own right now."""
    for log in folder.glob("*.log"):
        with contextlib.suppress(OSError):  # gone, or another user's
            if time.time() - log.stat().st_mtime > 24 * 60 * 60:
                log.unlink()


def default_jobs() -> int:
    """Return the number of worker processes for this machine: one a core, if there is memory for so many."""
    return machine.workers()


__all__ = [
    "NullProgress",
    "Progress",
    "Result",
    "ShardResult",
    "check",
    "default_jobs",
    "generate",
    "generate_shard",
]

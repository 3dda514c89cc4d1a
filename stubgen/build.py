"""The pipeline: declare, compile, bind, render, link, commit.

:func:`generate` and :func:`check` do the same work and differ in the last step: one replaces the package, the
other says how it differs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

import platformdirs

from stubgen import __version__, config, discovery, link, manifest, names, package, signatures
from stubgen.compiler import pool
from stubgen.compiler.jobs import Compiled, Declared, ModuleJob, Outcome, Settings
from stubgen.config import Config
from stubgen.diagnostics import Problem, StubgenError, in_order, problem, raise_if_any
from stubgen.model import Kernel, Library, Module, Record, Versions
from stubgen.package import Changes
from stubgen.render import render
from stubgen.toolchain import HostTarget, Toolchain, toolchain


class Progress(Protocol):
    """What the pipeline tells whoever watches it."""

    def phase(self, title: str, total: int) -> None:
        """Begin a phase of this many steps."""

    def step(self, what: str) -> None:
        """Finish a step of the phase."""


class Silent:
    """Nobody watches."""

    def phase(self, title: str, total: int) -> None:
        """Ignore it."""

    def step(self, what: str) -> None:
        """Ignore it."""


@dataclass(frozen=True)
class Result:
    """What a run made."""

    library: Library
    output: Path
    changes: Changes
    warnings: tuple[Problem, ...] = ()
    """What was made, but may surprise."""


def generate(project: Path, settings: Config, *, jobs: int, progress: Progress) -> Result:
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

    Raises
    ------
    StubgenError
        With all problems that could be found. The previous package is whole.
    """
    output = project / settings.output
    package.require_writable(output)
    library, files, warnings = _build(project, settings, jobs, progress)
    return Result(library, output, package.commit(output, settings.package, files), warnings)


def check(project: Path, settings: Config, *, jobs: int, progress: Progress) -> Result:
    """Do the work of :func:`generate`, but only compare; takes and raises the same."""
    library, files, warnings = _build(project, settings, jobs, progress)
    output = project / settings.output
    return Result(library, output, package.compare(output, settings.package, files), warnings)


def _build(
    project: Path, settings: Config, jobs: int, progress: Progress
) -> tuple[Library, dict[str, bytes], tuple[Problem, ...]]:
    """Give the library, every file of its package, and warnings."""
    compiler = toolchain(settings.toolchain)
    versions = _versions(compiler)  # asks the toolchain, so that a broken one is found first
    modules = _kernel_modules(project, settings)
    arch = _arch(settings)
    profile = config.device_profile(settings, arch) if arch else None
    named_archs = tuple(dict.fromkeys((*settings.archs, *settings.devices)))
    worker_settings = Settings(str(project), arch, profile, str(_log_folder(project)), named_archs)
    with (
        tempfile.TemporaryDirectory(prefix="cute-stubgen-") as scratch,
        pool.workers(worker_settings, jobs) as workers,
    ):
        compiled, warnings = _compile(modules, workers, Path(scratch), arch, progress)
        if not any(compiled.values()):
            raise StubgenError(discovery.no_kernels(modules, ", ".join(settings.kernels)))
        library = Library(
            settings.package,
            _modules(modules, compiled, arch),
            versions,
            {arch: profile} if arch and profile else {},
        )
        shared = _link(library, compiler, settings, Path(scratch), jobs, progress)
        _read_back(library, shared, workers, settings)
        files = {path: text.encode() for path, text in render(library).items()}
        files[f"{settings.package}/lib/{shared.name}"] = shared.read_bytes()
    files[f"{settings.package}/{manifest.NAME}"] = manifest.encode(library, files)
    return library, files, warnings


# ---------------------------------------------------------------------------------------------------------
# Before compiling


def _kernel_modules(project: Path, settings: Config) -> tuple[discovery.KernelModule, ...]:
    paths = [project / path for path in settings.kernels]
    found = discovery.find_modules(paths, project)
    return discovery.require_kernels(found, ", ".join(settings.kernels))


def _arch(settings: Config) -> str | None:
    """Choose the architecture: the configuration's, or else that of the GPU in this machine.

    ``None`` is enough for functions without device code; the first one that has some is refused then.
    """
    if len(settings.archs) > 1:
        raise StubgenError(problem("CS107", archs=", ".join(settings.archs)))
    return settings.archs[0] if settings.archs else pool.detect_arch()


def _log_folder(project: Path) -> Path:
    """Give the folder for what the compiler prints; one for each project, so that runs do not mix."""
    key = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    folder = Path(platformdirs.user_log_dir("cute-stubgen")) / f"{project.name}-{key}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_old_logs(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="cute-stubgen-logs-"))
    return folder


def _remove_old_logs(folder: Path) -> None:
    """Keep a day's logs: every run adds some, and another run may be writing its own right now."""
    for log in folder.glob("*.log"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - log.stat().st_mtime > 24 * 60 * 60:
                log.unlink()


def _versions(compiler: Toolchain) -> Versions:
    return Versions(
        cute_stubgen=__version__,
        cutlass_dsl=_installed("nvidia-cutlass-dsl", pool.DSL_REQUIREMENT),
        tvm_ffi=_installed("apache-tvm-ffi", "apache-tvm-ffi>=0.1.15,<0.2"),
        toolchain=compiler.describe(),
    )


def _installed(distribution: str, requirement: str) -> str:
    """Give the installed version of what the tool cannot work without."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        raise StubgenError(
            problem("CS106", distribution=distribution, reason="not found", requirement=requirement)
        ) from None


# ---------------------------------------------------------------------------------------------------------
# Compiling


def _compile(
    modules: Sequence[discovery.KernelModule],
    workers: pool.Pool,
    scratch: Path,
    arch: str | None,
    progress: Progress,
) -> tuple[dict[str, list[Compiled]], tuple[Problem, ...]]:
    """Compile what the modules declare; by module name, in the order of the declarations. Warnings too.

    What is wrong in some declarations does not keep the others from being compiled: one run reports all.
    """
    jobs = [_module_job(module) for module in modules]
    progress.phase("Reading declarations", len(jobs))
    expansions = workers.expand(jobs)
    problems = [p for expansion in expansions for p in expansion.problems]
    problems += _name_problems(d for expansion in expansions for d in expansion.declared)
    misnamed = {p.kernel for p in problems if p.kernel is not None}
    todo = [
        (job, declared, str(scratch / f"{declared.name}.ll"))
        for job, expansion in zip(jobs, expansions, strict=True)
        for declared in expansion.declared
        if declared.name not in misnamed
    ]
    progress.phase(f"Compiling for {arch}" if arch else "Compiling", len(todo))
    outcomes = workers.compile(todo, lambda declared: progress.step(declared.name))
    raise_if_any(problems + [p for outcome in outcomes for p in outcome.problems])
    warnings = (warning for outcome in outcomes for warning in outcome.warnings)
    return _by_module(jobs, todo, outcomes), in_order(warnings)


def _module_job(module: discovery.KernelModule) -> ModuleJob:
    import_name, root = discovery.import_name(module.path)
    return ModuleJob(module.name, str(module.path), module.file, import_name, str(root))


def _name_problems(declared: Iterable[Declared]) -> list[Problem]:
    problems: list[Problem] = []
    first: dict[str, Declared] = {}
    for item in declared:
        reason = names.why_no_kernel(item.name)
        if reason:
            problems.append(problem("CS212", place=item.place, kernel=item.name, reason=reason))
        elif item.name in first:
            place = first[item.name].place
            problems.append(problem("CS213", place=item.place, kernel=item.name, first=place))
        first.setdefault(item.name, item)
    return problems


def _by_module(
    jobs: Sequence[ModuleJob],
    todo: Sequence[tuple[ModuleJob, Declared, str]],
    outcomes: Sequence[Outcome],
) -> dict[str, list[Compiled]]:
    compiled: dict[str, list[Compiled]] = {job.name: [] for job in jobs}
    for (job, _, _), outcome in zip(todo, outcomes, strict=True):
        if outcome.compiled is not None:
            compiled[job.name].append(outcome.compiled)
    return compiled


# ---------------------------------------------------------------------------------------------------------
# Binding


def _modules(
    modules: Sequence[discovery.KernelModule], compiled: dict[str, list[Compiled]], arch: str | None
) -> tuple[Module, ...]:
    return tuple(
        Module(
            name=module.name,
            source=module.file,
            kernels=tuple(_kernel(module.name, item, arch) for item in compiled[module.name]),
            records=_records(compiled[module.name]),
            doc=module.doc,
        )
        for module in modules
        if compiled[module.name]
    )


def _kernel(module: str, compiled: Compiled, arch: str | None) -> Kernel:
    bound = signatures.bind(compiled.author, compiled.arguments)
    return Kernel(
        name=compiled.name,
        module=module,
        parameters=bound.parameters,
        abi=compiled.abi,
        place=compiled.place,
        doc=compiled.doc,
        source=compiled.source,
        frozen=bound.frozen,
        env_streams=bound.env_streams,
        has_device_code=compiled.has_device_code,
        arch=arch if compiled.has_device_code else None,
        options=compiled.options,
        variant=compiled.variant,
    )


def _records(compiled: Sequence[Compiled]) -> tuple[Record, ...]:
    """Give the records of a module, each once; two that share a name must be the same, and no kernel's."""
    records: dict[str, Record] = {}
    problems: list[Problem] = []
    for item in compiled:
        for record in item.records:
            known = records.setdefault(record.name, record)
            if known != record:
                problems.append(problem("CS214", place=item.place, kernel=item.name, record=record.name))
    problems += [
        problem("CS218", place=item.place, kernel=item.name) for item in compiled if item.name in records
    ]
    raise_if_any(problems)
    return tuple(records.values())


# ---------------------------------------------------------------------------------------------------------
# Linking


def _link(
    library: Library,
    compiler: Toolchain,
    settings: Config,
    scratch: Path,
    jobs: int,
    progress: Progress,
) -> Path:
    progress.phase("Linking", 1)
    shared = link.link_library(
        [
            link.KernelIR(
                kernel.name,
                scratch / f"{kernel.name}.ll",
                kernel.has_device_code,
                alias=kernel.linker_symbol(library.package),
            )
            for kernel in library.kernels
        ],
        scratch / f"lib{library.package}.so",
        exports=library.symbols,
        toolchain=compiler,
        host=HostTarget(settings.host),
        work=scratch,
        jobs=jobs,
    )
    progress.step(shared.name)
    return shared


def _read_back(library: Library, shared: Path, workers: pool.Pool, settings: Config) -> None:
    """Compare what was linked with what the compiler reported: symbols, architectures, signatures."""
    glibc = HostTarget(settings.host).glibc if settings.toolchain == "zig" else None  # only zig can choose
    link.verify_library(
        shared,
        exports=library.symbols,
        archs={kernel.name: kernel.arch for kernel in library.kernels},
        glibc=glibc,
    )
    stated = workers.stated_signatures(
        str(shared), {kernel.name: len(kernel.parameters) for kernel in library.kernels}
    )
    raise_if_any(
        problem("CS304", place=k.place, kernel=k.name, found=stated[k.name], expected=k.abi)
        for k in library.kernels
        if stated[k.name] != k.abi
    )


def default_jobs() -> int:
    """Give the number of worker processes for this machine: one a core, each takes up to 760 MB."""
    return max(1, len(os.sched_getaffinity(0)))


__all__ = [
    "Progress",
    "Result",
    "Silent",
    "check",
    "default_jobs",
    "generate",
]

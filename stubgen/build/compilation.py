"""Compiles what kernel modules declare, for every architecture, in worker processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stubgen.abi.signatures import AuthorParameter
from stubgen.build.progress import Progress
from stubgen.build.reuse import Reuse
from stubgen.build.shards import Division
from stubgen.compiler.executors import Executor, LazyWorkers
from stubgen.compiler.jobs import (
    Compiled,
    CompileJob,
    Declared,
    Expansion,
    Exported,
    LeftOut,
    ModuleJob,
    Outcome,
    WorkerSettings,
)
from stubgen.model import names
from stubgen.model.effects import Effects
from stubgen.model.library import Place, build_name, tvm_ffi_symbol
from stubgen.native.host_ir import IR, IRFile
from stubgen.native.link import KernelIR
from stubgen.problems.problem import Problem, in_order, problem, raise_if_any
from stubgen.sources import imports
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import KernelModule, name_problems
from stubgen.store.cache import Cache


@dataclass(frozen=True)
class KernelBuild:
    """A kernel that was compiled."""

    compiled: Compiled
    """What the compiler reported, alike for all architectures."""
    ir: Mapping[str, IR]
    """By architecture; that of a function without device code has none, and goes by ``""``."""
    effects: Effects
    """What its declaration says now, whenever it was compiled."""

    @property
    def archs(self) -> tuple[str, ...]:
        """What it is built for."""
        return tuple(filter(None, self.ir))

    def irs(self, package: str) -> Iterator[KernelIR]:
        """Yield what has to be linked."""
        name = self.compiled.name
        for arch, ir in self.ir.items():
            if arch:
                yield KernelIR(build_name(package, name, arch), ir, has_device_code=True)
            else:
                yield KernelIR(name, ir, has_device_code=False, alias=tvm_ffi_symbol(f"{package}__{name}"))


def compile_modules(
    inputs: BuildInputs,
    targets: Sequence[WorkerSettings],
    package: str,
    scratch: Path,
    executor: Executor,
    progress: Progress,
    store: Cache,
    division: Division | None = None,
    unread: Sequence[Problem] = (),
) -> tuple[dict[str, list[KernelBuild]], tuple[Problem, ...]]:
    """Compile what the modules declare; by module name, in the order of the declarations. Warnings too.

    What is wrong in some declarations does not keep the others from being compiled: one run reports all.

    Parameters
    ----------
    inputs
        The modules, and what they depend on.
    targets
        How to set up the workers, for each architecture.
    package
        Name of the library.
    scratch
        Folder that the IR goes to.
    executor
        What compiles.
    progress
        Told what happens.
    store
        Keeps what is compiled, and has what was.
    division
        Which part is to be compiled, if not all.
    unread
        What is wrong with files that could not be read; it is raised with the rest.

    Raises
    ------
    StubgenError
        With all problems that could be found, and the warnings about modules.
    """
    run = _Run(inputs, package, scratch, progress, division)
    for target in targets:
        with LazyWorkers(executor, target) as workers:
            run.compile(target, workers, store)
        if not run.can_compile:
            break
    problems = [*unread, *run.problems, *run.nowhere(), *run.nothing_left()]
    if problems:
        raise_if_any([*problems, *run.surprises(unread)])
    return run.built(), in_order([*run.warnings, *run.too_new(), *run.surprises()])


class _Run:
    """Collects what all architectures give."""

    def __init__(
        self,
        inputs: BuildInputs,
        package: str,
        scratch: Path,
        progress: Progress,
        division: Division | None,
    ) -> None:
        self._inputs = inputs
        self._jobs = [_module_job(module) for module in inputs.modules]
        self._package = package
        self._scratch = scratch
        self._progress = progress
        self._division = division
        self._order: dict[str, list[str]] = {job.name: [] for job in self._jobs}
        self._first: dict[str, Compiled] = {}
        self._effects: dict[str, Effects] = {}
        self._ir: dict[str, dict[str, IR]] = {}
        self._empty: list[set[Problem]] = []
        self._too_new: dict[str, dict[LeftOut, None]] = {}
        self._declaring: set[Path] = set()
        self._elsewhere: dict[Exported, None] = {}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    @property
    def can_compile(self) -> bool:
        """Whether nothing is wrong with the run as a whole, as an unknown architecture would be."""
        return all(item.place is not None for item in self.problems)

    def compile(self, target: WorkerSettings, workers: LazyWorkers, store: Cache) -> None:
        """Compile everything for one architecture, but for what was compiled before."""
        arch = target.arch
        reuse = Reuse(store, self._inputs, target)
        self._progress.phase("Reading declarations" + _for(arch), len(self._jobs))
        expansions = _expanded(self._jobs, workers, reuse, self._inputs)
        self._note_exports(expansions)
        self._empty.append({p for expansion in expansions for p in expansion.empty})
        self.warnings += [warning for expansion in expansions for warning in expansion.warnings]
        too_new = itertools.chain.from_iterable(expansion.too_new for expansion in expansions)
        self._too_new[arch or "the host"] = dict.fromkeys(too_new)
        todo = list(self._todo(arch, expansions))
        if not self.can_compile:
            return
        self._progress.phase("Compiling" + _for(arch), len(todo))
        for job, (outcome, ir) in zip(todo, self._outcomes(todo, workers, reuse), strict=True):
            self.problems += outcome.problems
            self.warnings += outcome.warnings
            if outcome.compiled is not None:
                self._keep(job, arch, outcome.compiled, ir)
            if self._division is not None:
                self._division.note(job.declared.name, outcome.seconds or reuse.seconds(job) or 0.0)

    def _outcomes(
        self, jobs: Sequence[CompileJob], workers: LazyWorkers, reuse: Reuse
    ) -> list[tuple[Outcome, IR]]:
        """Return what each job made, now or an earlier time."""
        outcomes: dict[str, tuple[Outcome, IR]] = {}
        reuse.expect(jobs)
        known = {job.ir_path: match for job in jobs if (match := reuse.compiled(job)) is not None}
        for job in jobs:
            if (match := known.get(job.ir_path)) is not None and match.is_current:
                outcomes[job.ir_path] = match.outcome(job), match.ir
        stale = [job for job in jobs if job.ir_path in known and job.ir_path not in outcomes]
        for job, facts in zip(stale, workers().facts(stale) if stale else (), strict=True):
            match = known[job.ir_path]
            if facts is not None:
                outcome = match.outcome(job, facts)
                reuse.keep(job, outcome, match.ir)
                outcomes[job.ir_path] = outcome, match.ir
        missing = [job for job in jobs if job.ir_path not in outcomes]
        outcomes |= self._compiled(missing, len(outcomes), workers, reuse)
        return [outcomes[job.ir_path] for job in jobs]

    def _compiled(
        self, jobs: Sequence[CompileJob], reused: int, workers: LazyWorkers, reuse: Reuse
    ) -> dict[str, tuple[Outcome, IR]]:
        """Compile what nothing is kept of; those that took longest the last time, or are new, first."""
        seconds = {job.declared.name: reuse.seconds(job) for job in jobs}
        self._progress.plan(reused, seconds, workers.count)
        if not jobs:
            return {}
        known = {name: took for name, took in seconds.items() if took is not None}
        ordered = sorted(jobs, key=lambda job: -known.get(job.declared.name, float("inf")))
        outcomes: dict[str, tuple[Outcome, IR]] = {}

        def done(job: CompileJob, outcome: Outcome) -> None:
            ir = IRFile(Path(job.ir_path))
            outcomes[job.ir_path] = outcome, ir
            reuse.keep(job, outcome, ir)  # at once: who interrupts the run does not lose it
            self._progress.step(job.declared.name)

        workers().compile(ordered, lambda job: self._progress.begin(job.declared.name), done)
        reuse.keep_seconds(jobs, [outcomes[job.ir_path][0].seconds for job in jobs])
        return outcomes

    def nowhere(self) -> set[Problem]:
        """Return the families that have no variant for any architecture, unless all are too old for it."""
        too_new = {(item.family, item.place) for item in self._too_new_for_all()}
        found = set[Problem].intersection(*self._empty)
        return {item for item in found if (item.family, item.place) not in too_new}

    def _note_exports(self, expansions: Sequence[Expansion]) -> None:
        """Note which modules export something, and check the names of those."""
        for module, expansion in zip(self._inputs.modules, expansions, strict=True):
            if not expansion.is_idle:
                self._declaring.add(module.path)
            self._elsewhere.update(dict.fromkeys(expansion.elsewhere))
        declaring = [module for module in self._inputs.modules if module.path in self._declaring]
        self.problems += name_problems(declaring)

    def surprises(self, unread: Sequence[Problem] = ()) -> Iterator[Problem]:
        """Yield modules that export nothing and serve no other, and exports of what is no kernel module.

        A module may serve one that cannot be read, where its name stands in the text of that.
        """
        texts = [_text(self._inputs.project / item.place.file) for item in unread if item.place is not None]
        files = {module.file for module in self._inputs.modules}
        depended_on = {path for module in self._declaring for path in self._inputs.by_module[module].files}
        for module in self._inputs.modules if self._declaring else ():
            if module.path not in depended_on and not any(module.path.stem in text for text in texts):
                yield problem("CS614", place=Place(module.file, 1), file=module.file)
        for item in self._elsewhere:
            if item.place.file not in files:
                yield problem("CS615", place=item.place, kernel=item.name, file=item.place.file)

    def too_new(self) -> Iterator[Problem]:
        """Yield the kernels that no architecture is new enough for."""
        for item in self._too_new_for_all():
            yield problem(
                "CS606",
                place=item.place,
                kernel=item.name,
                family=item.family,
                min_arch=item.min_arch,
                archs=", ".join(self._too_new),
            )

    def nothing_left(self) -> Iterator[Problem]:
        """Yield a problem if all that is exported is for later architectures."""
        later = self._too_new_for_all()
        if later and not any(self._order.values()):
            names = tuple(dict.fromkeys(item.family or item.name for item in later))
            yield problem(
                "CS260",
                place=later[0].place,
                archs=", ".join(self._too_new),
                kernels=", ".join(names),
                are="is" if len(names) == 1 else "are",
                min_arch=later[0].min_arch,
            )

    def _too_new_for_all(self) -> list[LeftOut]:
        first, *others = self._too_new.values()
        return [item for item in first if all(item in other for other in others)]

    def built(self) -> dict[str, list[KernelBuild]]:
        """Return what was compiled, by module."""
        return {
            module: [
                KernelBuild(self._first[n], self._ir[n], self._effects[n]) for n in found if n in self._first
            ]
            for module, found in self._order.items()
        }

    def _todo(self, arch: str | None, expansions: Sequence[Expansion]) -> Iterator[CompileJob]:
        problems = [p for expansion in expansions for p in expansion.problems]
        problems += _name_problems(d for expansion in expansions for d in expansion.declared)
        self.problems += problems
        misnamed = {p.kernel for p in problems if p.kernel is not None}
        if self._division is not None:
            self._division.add([d.name for expansion in expansions for d in expansion.declared])
        for job, expansion in zip(self._jobs, expansions, strict=True):
            _insert(self._order[job.name], [declared.name for declared in expansion.declared])
            for declared in expansion.declared:
                if self._division is not None and not self._division.has(declared.name):
                    continue
                # A function without device code is the same for all architectures.
                if declared.name not in misnamed and "" not in self._ir.get(declared.name, {}):
                    path = self._scratch / f"{declared.name}-{arch or 'host'}.ll"
                    name = build_name(self._package, declared.name, arch or "")
                    module = msgspec.structs.replace(job, changes=expansion.changes)
                    yield CompileJob(module, declared, name, str(path))

    def _keep(self, job: CompileJob, arch: str | None, compiled: Compiled, ir: IR) -> None:
        first = self._first.setdefault(compiled.name, compiled)
        self._effects.setdefault(compiled.name, job.declared.effects)
        self._first[compiled.name] = msgspec.structs.replace(first, author=_common(first, compiled))
        builds = self._ir.setdefault(compiled.name, {})
        if not _alike(first, compiled):
            self.problems.append(
                problem(
                    "CS239",
                    place=compiled.place,
                    kernel=compiled.name,
                    family=compiled.variant.family if compiled.variant else None,
                    arch=arch,
                    other=next(iter(builds)) or "the host",
                    found=compiled.abi,
                    expected=first.abi,
                )
            )
        builds[(arch or "") if compiled.has_device_code else ""] = ir


def _text(file: Path) -> str:
    """Return what can be read of a file."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _common(first: Compiled, second: Compiled) -> tuple[AuthorParameter, ...]:
    """Return the author's parameters without the constants that an architecture has of its own."""
    if first.author == second.author or not _alike(first, second):
        return first.author
    others = {parameter.name: parameter for parameter in second.author}
    return tuple(
        ours if ours == others.get(ours.name) else msgspec.structs.replace(ours, frozen="(by architecture)")
        for ours in first.author
        if ours.name in others
    )


def _parameters(compiled: Compiled) -> list[tuple[object, ...]]:
    """Return the author's parameters as far as callers see them: what is constant may differ between builds.

    They may even be builds of different classes, which need not have the same constants.
    """
    return [(p.name, p.kind, p.default) for p in compiled.author if p.frozen is None]


def _expanded(
    jobs: Sequence[ModuleJob], workers: LazyWorkers, reuse: Reuse, inputs: BuildInputs
) -> list[Expansion]:
    """Return what each module declares, known from an earlier time or found out now."""
    reuse.expect_modules(jobs)
    known = {job: expansion for job in jobs if (expansion := reuse.expansion(job)) is not None}
    unknown = [job for job in jobs if job not in known]
    asked = [_with_imports(job, inputs) for job in unknown]
    for job, expansion in zip(unknown, workers().expand(asked) if asked else (), strict=True):
        known[job] = expansion
        reuse.keep_expansion(job, expansion)
    return [known[job] for job in jobs]


def _with_imports(job: ModuleJob, inputs: BuildInputs) -> ModuleJob:
    """Add what a module imports, of which it depends what it changes for others."""
    roots = [Path(job.import_root), inputs.project]
    files = inputs.by_module[Path(job.path)].files
    return msgspec.structs.replace(job, imports=imports.external_names(files, roots, inputs.parsed))


def _alike(first: Compiled, second: Compiled) -> bool:
    """Return whether callers can take one build for the other."""
    return (
        first.arguments == second.arguments
        and _parameters(first) == _parameters(second)
        and first.records == second.records
        and first.has_device_code == second.has_device_code
    )


def _for(arch: str | None) -> str:
    return f" for {arch}" if arch else ""


def _insert(known: list[str], found: Sequence[str]) -> None:
    """Add the names that another architecture has not got, behind those that they follow."""
    position = 0
    for name in found:
        if name in known:
            position = known.index(name) + 1
        else:
            known.insert(position, name)
            position += 1


def _module_job(module: KernelModule) -> ModuleJob:
    import_name, root = imports.import_name(module.path)
    return ModuleJob(module.name, str(module.path), module.file, import_name, str(root))


def _name_problems(declared: Iterable[Declared]) -> list[Problem]:
    """Find names that cannot be used; what is wrong with a family's is said once, and not of its variants."""
    problems: dict[tuple[str, Place], Problem] = {}
    first: dict[str, Declared] = {}
    for item in declared:
        public = item.variant.family if item.variant else item.name
        for name in dict.fromkeys((public, item.name)):
            reason = names.kernel_name_error(name)
            other = first.setdefault(name, item)
            if reason:
                found = problem("CS212", place=item.place, kernel=name, reason=reason)
            elif other is not item and not (name == public and _same_family(item, other)):
                found = problem("CS213", place=item.place, kernel=name, first=other.place)
            else:
                continue
            problems.setdefault((name, item.place), found)
            break
    return list(problems.values())


def _same_family(first: Declared, second: Declared) -> bool:
    return (
        first.variant is not None
        and second.variant is not None
        and first.variant.family == second.variant.family
        and first.place == second.place
        and first.name != second.name
    )

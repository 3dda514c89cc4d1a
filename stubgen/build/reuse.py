"""Takes from the cache what was compiled before, and keeps there what was not.

What a module declares is looked up by the exact text of everything it is made of. A compiled kernel is looked
up by what that text means: comments, docstrings and line numbers do not matter to it. Where they changed,
only what the sources say about a kernel has to be read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from stubgen.compiler.jobs import Compiled, CompileJob, Expansion, Facts, ModuleJob, Outcome, WorkerSettings
from stubgen.model import consistency
from stubgen.native.host_ir import IR
from stubgen.problems.problem import Problem, StubgenError, problem
from stubgen.sources import fingerprint
from stubgen.sources.inputs import BuildInputs, ModuleInputs
from stubgen.store import cache
from stubgen.store.cache import Cache

_Kind = TypeVar("_Kind")

OF_RUNS = frozenset({"CS611"})
"""Warnings that are not true of another run, such as where the log of this one is."""


class _CacheEntry(msgspec.Struct, frozen=True):
    """A compiled kernel, as it is kept."""

    text: str
    """Hash of the sources that the facts in ``compiled`` come from."""
    compiled: Compiled
    warnings: tuple[Problem, ...]
    ir: bytes


@dataclass(frozen=True)
class StoredIR:
    """LLVM IR in an entry of the cache; seldom read, as objects are kept too."""

    store: Cache
    key: str
    name: str
    """Of the kernel."""
    digest: str

    def read(self) -> bytes:
        """Return the IR."""
        entry = _decoded(self.store.get(self.key), _CacheEntry)
        if entry is None or _digest(entry.ir) != self.digest:
            raise StubgenError(problem("CS413", what=self.name))
        return entry.ir


@dataclass(frozen=True)
class CachedKernel:
    """What the cache has for a job."""

    compiled: Compiled
    warnings: tuple[Problem, ...]
    ir: StoredIR
    is_current: bool
    """Whether what the sources say about the kernel is still the same."""

    def outcome(self, job: CompileJob, facts: Facts | None = None) -> Outcome:
        """Return the result of the job.

        Parameters
        ----------
        job
            The job.
        facts
            What the sources say now; not needed if the entry is current.
        """
        compiled = self.compiled
        if facts is not None:
            records = tuple(facts.records.get(record.name, record) for record in compiled.records)
            compiled = msgspec.structs.replace(
                compiled,
                place=job.declared.place,
                doc=facts.doc,
                source=facts.source,
                records=records,
            )
        warnings = (msgspec.structs.replace(w, place=job.declared.place) for w in self.warnings)
        return Outcome(compiled, warnings=tuple(warnings))


class Reuse:
    """The cache, as the compilation for one architecture sees it."""

    def __init__(self, store: Cache, inputs: BuildInputs, target: WorkerSettings) -> None:
        self._store = store
        self._inputs = inputs
        self._base = cache.key(
            fingerprint.of_tool(),
            target.arch,
            target.profile and msgspec.to_builtins(target.profile),
            target.data,
        )
        self._arch = target.arch
        self._seconds: dict[str, dict[str, float]] = {}

    def expect_modules(self, modules: Sequence[ModuleJob]) -> None:
        """Let the cache know which modules will be asked for."""
        self._store.expect([self._expansion_key(module) for module in modules])

    def expect(self, jobs: Sequence[CompileJob]) -> None:
        """Let the cache know which kernels will be asked for."""
        modules = dict.fromkeys(job.module for job in jobs)
        self._store.expect([*map(self._seconds_key, modules), *map(self._key, jobs)])

    def expansion(self, module: ModuleJob) -> Expansion | None:
        """Return what a module declares, if that is known."""
        expansion = _decoded(self._store.get(self._expansion_key(module)), Expansion)
        return expansion if expansion is not None and _is_consistent(expansion) else None

    def keep_expansion(self, module: ModuleJob, expansion: Expansion) -> None:
        """Remember what a module declares, if nothing is wrong with it."""
        if not expansion.problems:
            kept = msgspec.structs.replace(expansion, warnings=lasting(expansion.warnings))
            self._store.put(self._expansion_key(module), msgspec.msgpack.encode(kept))

    def compiled(self, job: CompileJob) -> CachedKernel | None:
        """Return what a job made the last time, if the compiler would make the same."""
        key = self._key(job)
        entry = _decoded(self._store.get(key), _CacheEntry)
        if entry is None or not _is_of(entry.compiled, job):
            return None
        ir = StoredIR(self._store, key, job.declared.name, _digest(entry.ir))
        return CachedKernel(entry.compiled, entry.warnings, ir, is_current=entry.text == self._text(job))

    def keep(self, job: CompileJob, outcome: Outcome, ir: IR) -> None:
        """Remember what a job made."""
        if outcome.compiled is not None and not outcome.problems:
            entry = _CacheEntry(self._text(job), outcome.compiled, lasting(outcome.warnings), ir.read())
            self._store.put(self._key(job), msgspec.msgpack.encode(entry))

    def seconds(self, job: CompileJob) -> float | None:
        """Return how long compiling a kernel of that name took the last time, whatever it was then."""
        return self._recorded_seconds(job.module).get(job.declared.name)

    def keep_seconds(self, jobs: Sequence[CompileJob], seconds: Sequence[float]) -> None:
        """Remember how long jobs took; 0 for those that came to nothing."""
        for module in dict.fromkeys(job.module for job in jobs):
            recorded = self._recorded_seconds(module)
            recorded |= {
                job.declared.name: took
                for job, took in zip(jobs, seconds, strict=True)
                if job.module == module and took
            }
            self._store.put(self._seconds_key(module), msgspec.msgpack.encode(recorded))

    def _recorded_seconds(self, module: ModuleJob) -> dict[str, float]:
        if module.name not in self._seconds:
            found = _decoded(self._store.get(self._seconds_key(module)), dict[str, float])
            self._seconds[module.name] = found or {}
        return self._seconds[module.name]

    def _seconds_key(self, module: ModuleJob) -> str:
        return cache.key("seconds", self._arch, module.import_name)

    def _text(self, job: CompileJob) -> str:
        return cache.key(self._of(job.module).text, job.declared.place.line)

    def _of(self, module: ModuleJob) -> ModuleInputs:
        return self._inputs.by_module[Path(module.path)]

    def _expansion_key(self, module: ModuleJob) -> str:
        sources = self._of(module)
        return cache.key(
            "expansion",
            self._base,
            module.name,
            module.file,
            module.import_name,
            sources.text,
            sources.packages,
        )

    def _key(self, job: CompileJob) -> str:
        sources = self._of(job.module)
        declared = job.declared
        # With line information in it, compiled code depends on where things stand.
        exact = [sources.text, job.module.file] if "line" in declared.options.lower() else []
        return cache.key(
            "kernel",
            self._base,
            job.module.import_name,
            job.build_name,
            declared.name,
            msgspec.to_builtins(declared.variant),
            declared.options,
            sources.reach.meaning_from(declared.place.line),
            sources.packages,
            exact,
        )


def _digest(ir: bytes) -> str:
    return hashlib.sha256(ir).hexdigest()


def lasting(warnings: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep the warnings about what was made; others are about the run that made it."""
    return tuple(warning for warning in warnings if warning.code not in OF_RUNS)


def _decoded(data: bytes | None, kind: type[_Kind]) -> _Kind | None:
    try:
        return None if data is None else msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _is_consistent(expansion: Expansion) -> bool:
    """Return whether the variants of each family lie along the same axes, as those that are declared do."""
    axes: dict[str, set[tuple[str, ...]]] = {}
    for declared in expansion.declared:
        if declared.variant is not None:
            axes.setdefault(declared.variant.family, set()).add(tuple(declared.variant.labels))
    return all(len(found) == 1 for found in axes.values())


def _is_of(compiled: Compiled, job: CompileJob) -> bool:
    """Return whether a kernel is the one that a job would compile, and one that could have been compiled."""
    declared = job.declared
    slots = [argument.slot for argument in compiled.arguments if argument.slot is not None]
    return (
        compiled.name == declared.name
        and compiled.variant == declared.variant
        and len({argument.name for argument in compiled.arguments}) == len(compiled.arguments)
        and consistency.contradiction_in(slots, compiled.records) is None
    )

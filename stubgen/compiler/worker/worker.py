"""What runs in a worker process: import kernel modules, compile what they declare.

A worker serves one architecture, set before the first kernel module is imported, because many kernels read it
while they are built. Nothing here raises to the parent: whatever goes wrong comes back as problems.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import linecache
import re
import textwrap
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from cutlass.base_dsl.tvm_ffi_builder import spec

from stubgen.abi.signatures import Argument
from stubgen.compiler.jobs import (
    Compiled,
    Declared,
    Expansion,
    Exported,
    Facts,
    LeftOut,
    ModuleJob,
    Outcome,
    WorkerSettings,
)
from stubgen.compiler.worker import abi, arguments, author_classes, checks, exported_functions
from stubgen.compiler.worker.capture import Printed, printing_to
from stubgen.compiler.worker.changes import Baseline, ProcessChanges
from stubgen.compiler.worker.device import DeviceAnswers, answer_for_torch
from stubgen.compiler.worker.dsl import argument_checks, dsl, size_names
from stubgen.compiler.worker.errors import essence, place_in, relative_to_project
from stubgen.compiler.worker.findings import Finding, RefusedError, finding
from stubgen.compiler.worker.importing import import_module, import_problem, keep_traceback, misused_helper
from stubgen.compiler.worker.wording import shown
from stubgen.declare.declarations import (
    Call,
    Declaration,
    Waiting,
    count_declared,
    declared_in,
    declared_since,
    lost_kernels,
    lost_options,
    makes_kernels,
    set_target_arch,
)
from stubgen.declare.labels import DeclarationError
from stubgen.model import archs
from stubgen.model.library import Place, TensorSlot, Variant
from stubgen.model.supported import DSL
from stubgen.model.text import docstring
from stubgen.problems.problem import Problem, arch_meant, problem

_BASELINE = Baseline()
"""Taken once, in the process that workers are forked from."""


def detect_arch() -> str | None:
    """Return the architecture of this machine's GPU, or ``None`` if it has none."""
    return dsl.detect_arch()


class Worker:
    """A worker process, set up for one architecture."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._problems = _set_up(settings)
        self.changes = ProcessChanges(_BASELINE, settings.project)
        self._imported: dict[str, tuple[Declaration, ...] | Problem] = {}
        self._elsewhere: dict[str, tuple[Exported, ...]] = {}

    def expand(self, module: ModuleJob) -> Expansion:
        """Import a module, list what it declares, and check everything that needs no compiler."""
        if self._problems:
            return Expansion(problems=self._problems)
        with self._working_on(module) as printed:
            expansion = self._expanded(module)
        return msgspec.structs.replace(
            expansion,
            problems=(*expansion.problems, *self._changed_dsl(module, expansion.problems)),
            warnings=_said(module, printed),
            changes=self.changes.mark,
        )

    def compile(self, module: ModuleJob, declared: Declared, build_name: str, ir_path: str) -> Outcome:
        """Compile one declaration and write its host code, device code inside, as LLVM IR.

        Device code makes it the build of one architecture among others, and ``build_name`` its symbol.
        """
        if self._problems:
            return Outcome(problems=self._problems)
        with self._working_on(module) as printed:
            outcome = self._compiled(module, declared, build_name, ir_path)
        return msgspec.structs.replace(
            outcome,
            problems=(*outcome.problems, *self._changed_dsl(module, outcome.problems)),
            warnings=(*outcome.warnings, *_said(module, printed)),
        )

    def facts(self, module: ModuleJob, declared: Declared) -> Facts | None:
        """Read what can be known of a kernel without compiling it; ``None`` if that fails."""
        if self._problems:
            return None
        with self._working_on(module):
            declarations = self._declarations(module)
            if isinstance(declarations, Problem):
                return None
            try:
                return _Job(self._settings, declared).facts(declarations[declared.index])
            except BaseException:  # it will be compiled, and then says what is wrong
                return None

    @contextlib.contextmanager
    def _working_on(self, module: ModuleJob) -> Generator[Printed, None, None]:
        """Keep what is printed meanwhile, and hold the module responsible for what is changed."""
        log = Path(self._settings.log_dir) / f"printed-{module.name}.log"
        with printing_to(log) as printed, self.changes.by(module.import_name):
            yield printed

    def _expanded(self, module: ModuleJob) -> Expansion:
        declarations = self._declarations(module)
        if isinstance(declarations, Problem):
            return Expansion(problems=(declarations,))
        lost = [_without_function(Place(module.file, line), what) for line, what in lost_options(module.path)]
        lost += [_lost(Place(module.file, line)) for line in lost_kernels(module.path)]
        found = [self._checked(module, index, item) for index, item in enumerate(declarations)]
        declared = tuple(item for item in found if isinstance(item, Declared))
        wrong = (item for item in found if isinstance(item, tuple))
        problems = itertools.chain(lost, *wrong)
        too_new = tuple(item for item in found if isinstance(item, LeftOut))
        empty = _empty_families(module, declarations, found)
        return Expansion(declared, tuple(problems), empty, too_new, self._elsewhere[module.path])

    def _compiled(self, module: ModuleJob, declared: Declared, build_name: str, ir_path: str) -> Outcome:
        declarations = self._declarations(module)
        if isinstance(declarations, Problem):
            return Outcome(problems=(declarations,))
        job = _Job(self._settings, declared)
        start = time.monotonic()
        try:
            outcome = job.run(declarations[declared.index], build_name, ir_path)
            return msgspec.structs.replace(outcome, seconds=time.monotonic() - start)
        except BaseException as error:  # kernels run any code while they are built
            return Outcome(problems=job.explain(error))

    def _changed_dsl(self, module: ModuleJob, problems: Sequence[Problem]) -> Iterator[Problem]:
        """Say who has changed the DSL, where something failed that may have to do with it."""
        changed = self.changes.of_dsl()
        if changed and any(item.code in ("CS204", "CS215", "CS301", "CS302") for item in problems):
            yield problem(
                "CS310",
                place=Place(module.file, 1),
                module=module.file,
                changes="; ".join(f"{who} changed {_first(names)}" for who, names in changed.items()),
            )

    def _checked(
        self, module: ModuleJob, index: int, declaration: Declaration
    ) -> Declared | LeftOut | tuple[Problem, ...] | None:
        """Check one declaration; ``None`` for what the family leaves out."""
        place = Place(module.file, declaration.line)
        if declaration.name is None:
            return (_nameless(declaration, place),)
        declared = Declared(index, str(declaration.name), place, _variant(declaration))
        job = _Job(self._settings, declared)
        try:
            call = _built(declaration)
            if call is None:
                return None
            options = call.options
            if options.min_arch is not None and not self._is_for_this_arch(options.min_arch):
                return LeftOut(declared.name, place, options.min_arch, job.family)
            arguments.bind(call)
            effects = checks.effects(options)
            declared = msgspec.structs.replace(declared, options=options.options, effects=effects)
            if not isinstance(options.priority, int):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise DeclarationError(f"priority is {options.priority!r}; give an integer")
            if declared.variant is not None and options.priority:
                variant = msgspec.structs.replace(declared.variant, priority=options.priority)
                declared = msgspec.structs.replace(declared, variant=variant)
        except BaseException as error:
            return job.explain(error, "CS215")
        return declared

    def _is_for_this_arch(self, min_arch: str) -> bool:
        known = dsl.known_archs()
        if min_arch not in known:  # or else the kernel would be left out everywhere, without a word
            hint = arch_meant(str(min_arch), known)
            raise DeclarationError(
                f'min_arch is {min_arch!r}{hint}; give an architecture that the DSL knows, such as "sm_90a"'
            )
        oldest = archs.parse(min_arch).number
        return self._settings.arch is None or archs.parse(self._settings.arch).number >= oldest

    def _declarations(self, module: ModuleJob) -> tuple[Declaration, ...] | Problem:
        """Import a module, once a process, and collect what it declares."""
        if module.path not in self._imported:
            known = count_declared()
            try:
                import_module(self._settings, module)
                self._imported[module.path] = declared_in(module.path)
            except BaseException as error:  # modules raise what they please
                self._imported[module.path] = import_problem(self._settings, module, error)
            self._elsewhere[module.path] = tuple(
                dict.fromkeys(
                    self._exported(item) for item in declared_since(known) if item.file != module.path
                )
            )
        return self._imported[module.path]

    def _exported(self, item: Declaration) -> Exported:
        file = relative_to_project(item.file, self._settings.project) or item.file
        return Exported(str(item.family or item.name), Place(file, item.line))


# ---------------------------------------------------------------------------------------------------------
# The process


def _set_up(settings: WorkerSettings) -> tuple[Problem, ...]:
    lacking = dsl.check()
    if lacking:
        return (
            problem(
                "CS105",
                distribution=DSL.distribution,
                version=f"(it lacks {lacking})",
                wanted=DSL.specifier,
            ),
        )
    unknown = _unknown_archs(settings)
    if unknown:
        return unknown
    size_names.name_symbols_as_declared()
    dsl.keep_devices_of_packed_tensors()
    argument_checks.add_checks()
    dsl.name_functions_in_ascii()
    dsl.shorten_paths(settings.project)
    set_target_arch(settings.arch)
    if settings.arch is not None:
        dsl.set_arch(settings.arch)
    if settings.arch is not None and settings.profile is not None:
        answers = DeviceAnswers(settings.arch, settings.profile)
        dsl.answer_for_device(answers)
        answer_for_torch(answers)
    return ()


def _unknown_archs(settings: WorkerSettings) -> tuple[Problem, ...]:
    """Find architectures that the DSL does not know, among all that the user names."""
    known = dsl.known_archs()
    return tuple(
        problem("CS103", arch=arch, hint=arch_meant(arch, known), known=", ".join(known))
        for arch in settings.named_archs
        if arch not in known
    )


# ---------------------------------------------------------------------------------------------------------
# Modules


def _said(module: ModuleJob, printed: Printed) -> tuple[Problem, ...]:
    """Name the log of a module that prints."""
    if not printed.is_something:
        return ()
    return (problem("CS611", place=Place(module.file, 1), module=module.file, log=str(printed.log)),)


def _first(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _empty_families(
    module: ModuleJob, declarations: Sequence[Declaration], found: Sequence[object]
) -> tuple[Problem, ...]:
    """Find families that leave out every combination, as one does that forgets to return."""
    members: dict[tuple[str, int], list[tuple[Declaration, object]]] = {}
    for declaration, item in zip(declarations, found, strict=True):
        if declaration.family is not None:
            members.setdefault((declaration.family, declaration.line), []).append((declaration, item))
    return tuple(
        problem("CS216", place=Place(module.file, line), family=family, remark=_why_empty(items))
        for (family, line), items in members.items()
        if all(item is None or isinstance(item, LeftOut) for _, item in items)
    )


def _why_empty(items: Sequence[tuple[Declaration, object]]) -> str:
    """Say what the function of an empty family forgets, if it makes kernels."""
    forgets = any(makes_kernels(declaration) for declaration, item in items if item is None)
    return ": its function makes a kernel, and does not return it" if forgets else ""


# ---------------------------------------------------------------------------------------------------------
# One kernel


class _Job:
    """Compiles one declaration."""

    def __init__(self, settings: WorkerSettings, declared: Declared) -> None:
        self.settings = settings
        self.declared = declared

    def run(self, declaration: Declaration, build_name: str, ir_path: str) -> Outcome:
        call = _built(declaration)
        if call is None:
            return Outcome()
        bound = arguments.bind(call)
        try:
            function = self._compile(call, bound)
        except Exception as error:
            stream = _stream_parameter(bound)
            if stream and dsl.launched_without_stream(error):
                raise RefusedError(finding("CS223", stream)) from error
            raise
        if function.recorded.has_device_code and self.settings.arch is None:
            return Outcome(
                problems=(self._problem("CS102", self.declared.place, kernels=self.declared.name),)
            )
        has_device_code = function.recorded.has_device_code
        function.export_ir(ir_path, build_name if has_device_code else self.declared.name)
        compiled = self._compiled(declaration, call, bound, function.recorded)
        return Outcome(compiled, warnings=self._reported(tuple(_remarks(call, compiled))))

    def facts(self, declaration: Declaration) -> Facts | None:
        """Return what the sources say of a kernel that was compiled before."""
        call = _built(declaration)
        if call is None:
            return None
        bound = arguments.bind(call)
        bound.apply_defaults()
        records = author_classes.records_in(bound.arguments.values())
        source = self._source(call.fn)
        return Facts(_doc(call.fn, declaration, source), source, records)

    def _compile(self, call: Call, bound: inspect.BoundArguments) -> dsl.CompiledFunction:
        return dsl.compile_function(
            call.fn,
            bound,
            name=self._public_name(),
            arch=self.settings.arch,
            options=call.options.options,
        )

    def _public_name(self) -> str:
        """Return the name for error messages: callers of a family know no other than the family's."""
        return self.family or self.declared.name

    def _compiled(
        self, declaration: Declaration, call: Call, bound: inspect.BoundArguments, recorded: dsl.Recorded
    ) -> Compiled:
        bound.apply_defaults()
        reader = abi.Reader()
        source = self._source(call.fn)
        return Compiled(
            name=self.declared.name,
            place=self.declared.place,
            arguments=reader.arguments(recorded.params, bound.arguments),
            author=abi.author_parameters(bound),
            abi=spec.signature(self._public_name(), list(recorded.params)),
            has_device_code=recorded.has_device_code,
            doc=_doc(call.fn, declaration, source),
            source=source,
            options=call.options.options,
            records=tuple(reader.records.values()),
            variant=self.declared.variant,
        )

    def _source(self, fn: object) -> Place | None:
        """Find the ``def`` of the author's function, if it lies in the project."""
        target = inspect.unwrap(_function(fn))
        location = getattr(target, "_decorator_location", None)
        code = getattr(target, "__code__", None)
        file = str(getattr(location, "filename", None) or getattr(code, "co_filename", ""))
        relative = relative_to_project(file, self.settings.project)
        return Place(relative, _line_of_def(file, code.co_firstlineno)) if relative and code else None

    def explain(self, error: BaseException, code: str = "CS301") -> tuple[Problem, ...]:
        """Make problems of whatever was raised, and keep the full text in a log file."""
        place = self.declared.place
        if isinstance(error, DeclarationError):
            error = RefusedError(*(finding("CS210", reason=reason) for reason in error.args))
        if isinstance(error, RefusedError):
            return self._reported(error.args)
        misused = misused_helper(error)
        if misused is not None:
            where = place_in(error, self.settings.project) or place
            return (self._problem("CS210", where, subject=self.declared.name, reason=misused),)
        log = keep_traceback(Path(self.settings.log_dir) / f"{self.declared.name}.log", error)
        if isinstance(error, abi.UnknownSpecError):
            code = "CS302"
        where = place_in(error, self.settings.project) or place
        return (self._problem(code, where, reason=essence(error), log=log),)

    def _reported(self, findings: Sequence[Finding]) -> tuple[Problem, ...]:
        """Make problems of findings, which are about the declaration."""
        problems = (
            problem(
                found.code,
                place=self.declared.place,
                kernel=self.declared.name,
                parameter=found.parameter,
                family=self.family,
                subject=self.declared.name,
                **found.details,
            )
            for found in findings
        )
        return tuple(
            msgspec.structs.replace(item, remedy=item.remedy + found.remark)
            for item, found in zip(problems, findings, strict=True)
        )

    def _problem(self, code: str, place: Place, **details: str) -> Problem:
        return problem(code, place=place, kernel=self.declared.name, family=self.family, **details)

    @property
    def family(self) -> str | None:
        """The family that it is a variant of."""
        return self.declared.variant.family if self.declared.variant else None


def _variant(declaration: Declaration) -> Variant | None:
    if declaration.family is None:
        return None
    return Variant(declaration.family, dict(declaration.labels or {}), dict(declaration.values or {}))


def _lost(place: Place) -> Problem:
    reason = "it declares nothing by itself; write stubgen.export(...), or return it from a family's function"
    return problem("CS210", place=place, subject="stubgen.kernel", reason=reason)


def _without_function(place: Place, what: str) -> Problem:
    reason = f"no function follows its options; write stubgen.{what}(...)(function, ...)"
    return problem("CS210", place=place, subject=f"stubgen.{what}", reason=reason)


def _nameless(declaration: Declaration, place: Place) -> Problem:
    """Say why an export has no name: what is exported is an object, or nothing that can be exported."""
    call = declaration.build()
    refused = exported_functions.find(call.fn) if isinstance(call, Call) else None
    if refused is None:
        return problem("CS211", place=place)
    details: dict[str, Any] = dict(refused.details)
    return problem(refused.code, place=place, kernel="this export", **details)


def _built(declaration: Declaration) -> Call | None:
    call = declaration.build()
    if call is None or isinstance(call, Call):
        return call
    if isinstance(call, Waiting):
        raise DeclarationError(
            "the family's function returns options and no function; return stubgen.kernel(...)(function, ...)"
        )
    raise DeclarationError(
        f"the family's function returns {shown(call)}; it must return stubgen.kernel(...) or None"
    )


def _function(fn: object) -> Callable[..., object]:
    return fn if inspect.isroutine(fn) else type(fn).__call__


def _doc(fn: object, declaration: Declaration, source: Place | None) -> str:
    """Return the docstring of the kernel; for an object, its ``__call__``'s or else its class's.

    Where there is none, or it is a library's own, the family's function may have one.
    """
    own = _function(fn).__doc__
    doc = docstring(own if own or inspect.isroutine(fn) else type(fn).__doc__)
    declared = docstring(declaration.doc)
    return doc or declared if source else declared or doc


def _line_of_def(file: str, first: int) -> int:
    """Return the line of a function's ``def``; the code object may begin with its decorators, or behind them.

    The DSL compiles a function anew when it is first used.
    """
    lines = linecache.getlines(file)[first - 1 :]
    return next((first + n for n, line in enumerate(lines) if re.match(r"\s*(async\s+)?def\s", line)), first)


def _stream_parameter(bound: inspect.BoundArguments) -> str | None:
    """Find the parameter that was meant for a stream, and has none."""
    for name, parameter in bound.signature.parameters.items():
        value = bound.arguments.get(name, parameter.default)
        if value is None and (name == "stream" or dsl.is_stream_type(parameter.annotation)):
            return name
    return None


def _remarks(call: Call, compiled: Compiled) -> Iterator[Finding]:
    """Find what compiles, but may surprise."""
    yield from arguments.ignored_numbers(call)
    if _returns_value(_function(call.fn)):
        yield finding("CS602")
    if compiled.has_device_code and not any(map(_chooses_device, compiled.arguments)):
        yield finding("CS603")


def _chooses_device(argument: Argument) -> bool:
    return isinstance(argument.slot, TensorSlot) and argument.slot.device == "cuda"


def _returns_value(function: Callable[..., object]) -> bool:
    """Return whether a function's own text returns something; not what functions inside of it return."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, SyntaxError):  # made at run time, or indented in a way that cannot be undone
        return False
    return any(_is_return_of_value(node) for node in _own_nodes(tree.body[0]))


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from _own_nodes(node)


def _is_return_of_value(node: ast.AST) -> bool:
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    return not (isinstance(node.value, ast.Constant) and node.value.value is None)

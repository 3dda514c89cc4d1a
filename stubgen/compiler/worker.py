"""What runs in a worker process: import kernel modules, compile what they declare.

A worker serves one architecture, set before the first kernel module is imported, because many kernels read it
while they are built. Nothing here raises to the parent: whatever goes wrong comes back as problems.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Generator
from pathlib import Path

from cutlass.base_dsl.tvm_ffi_builder import spec

from stubgen.compiler import abi, arguments, dsl
from stubgen.compiler.device import DeviceAnswers, answer_for_torch
from stubgen.compiler.jobs import Compiled, Declared, Expansion, ModuleJob, Outcome, Settings
from stubgen.declare import Call, Declaration, DeclarationError, declared_in
from stubgen.diagnostics import Problem, problem
from stubgen.model import Place, Variant


def detect_arch() -> str | None:
    """Give the architecture of this machine's GPU, or ``None`` if it has none."""
    return dsl.detect_arch()


class Worker:
    """A worker process, set up for one architecture."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._problems = _set_up(settings)
        self._imported: dict[str, tuple[Declaration, ...] | Problem] = {}

    def expand(self, module: ModuleJob) -> Expansion:
        """Import a module and list what it declares."""
        if self._problems:
            return Expansion(problems=self._problems)
        with _contained(self._settings):
            declarations = self._declarations(module)
        if isinstance(declarations, Problem):
            return Expansion(problems=(declarations,))
        found = [_declared(module, index, item) for index, item in enumerate(declarations)]
        return Expansion(
            declared=tuple(item for item in found if isinstance(item, Declared)),
            problems=tuple(item for item in found if isinstance(item, Problem)),
        )

    def compile(self, module: ModuleJob, declared: Declared, ir_path: str) -> Outcome:
        """Compile one declaration and write its host code, device code inside, as LLVM IR."""
        if self._problems:
            return Outcome(problems=self._problems)
        with _contained(self._settings):
            declarations = self._declarations(module)
            if isinstance(declarations, Problem):
                return Outcome(problems=(declarations,))
            job = _Job(self._settings, declared)
            try:
                return job.run(declarations[declared.index], ir_path)
            except Exception as error:  # kernels run any code while they are built
                return Outcome(problems=(job.explain(error),))

    def _declarations(self, module: ModuleJob) -> tuple[Declaration, ...] | Problem:
        """Import a module, once a process, and collect what it declares."""
        if module.path not in self._imported:
            try:
                _import(self._settings, module)
                self._imported[module.path] = declared_in(module.path)
            except (Exception, SystemExit) as error:
                self._imported[module.path] = _import_problem(self._settings, module, error)
        return self._imported[module.path]


# ---------------------------------------------------------------------------------------------------------
# The process


def _set_up(settings: Settings) -> tuple[Problem, ...]:
    lacking = dsl.check()
    if lacking:
        return (
            problem(
                "CS105",
                distribution="nvidia-cutlass-dsl",
                version=f"(it lacks {lacking})",
                wanted=">=4.8,<4.9",
            ),
        )
    dsl.name_symbols_as_declared()
    if settings.arch is not None:
        dsl.set_arch(settings.arch)
    if settings.arch is not None and settings.profile is not None:
        answers = DeviceAnswers(settings.arch, settings.profile)
        dsl.answer_for_device(answers)
        answer_for_torch(answers)
    return ()


@contextlib.contextmanager
def _contained(settings: Settings) -> Generator[None, None, None]:
    """Send everything that is printed, by native code too, to a log file."""
    log = Path(settings.log_dir) / f"worker-{os.getpid()}.log"
    saved = [os.dup(1), os.dup(2)]
    with log.open("ab") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, original in zip((1, 2), saved, strict=True):
                os.dup2(original, descriptor)
                os.close(original)


# ---------------------------------------------------------------------------------------------------------
# Modules


def _import(settings: Settings, module: ModuleJob) -> None:
    for folder in (settings.project, module.import_root):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    loaded = sys.modules.get(module.import_name)
    if loaded is not None and getattr(loaded, "__file__", None) != module.path:
        raise ImportError(
            f"another module called {module.import_name!r} is imported already, from "
            f"{getattr(loaded, '__file__', 'the interpreter itself')}; rename {module.file}"
        )
    importlib.import_module(module.import_name)


def _import_problem(settings: Settings, module: ModuleJob, error: BaseException) -> Problem:
    place = _place_in(error, settings.project) or Place(module.file, 1)
    if isinstance(error, DeclarationError):
        return problem("CS210", place=place, reason=_one_line(error))
    return problem(
        "CS204",
        place=place,
        module=module.file,
        error=f"{type(error).__name__}: {_one_line(error)}",
        file=module.file,
    )


def _declared(module: ModuleJob, index: int, declaration: Declaration) -> Declared | Problem:
    place = Place(module.file, declaration.line)
    if declaration.name is None:
        return problem("CS211", place=place)
    variant = Variant(declaration.family, dict(declaration.labels or {})) if declaration.family else None
    return Declared(index, declaration.name, place, variant)


# ---------------------------------------------------------------------------------------------------------
# One kernel


class _Job:
    """Compiles one declaration."""

    def __init__(self, settings: Settings, declared: Declared) -> None:
        self.settings = settings
        self.declared = declared

    def run(self, declaration: Declaration, ir_path: str) -> Outcome:
        call = _built(declaration)
        if call is None:
            return Outcome()
        bound = arguments.bind(call)
        function = dsl.compile_function(
            call.fn,
            bound,
            name=self.declared.name,
            arch=self.settings.arch,
            options=call.options,
        )
        if function.recorded.has_device_code and self.settings.arch is None:
            return Outcome(
                problems=(self._problem("CS102", self.declared.place, kernels=self.declared.name),)
            )
        function.export_ir(ir_path, self.declared.name)
        return Outcome(self._compiled(call, bound, function.recorded))

    def _compiled(self, call: Call, bound: inspect.BoundArguments, recorded: dsl.Recorded) -> Compiled:
        bound.apply_defaults()
        reader = abi.Reader()
        return Compiled(
            name=self.declared.name,
            place=self.declared.place,
            arguments=reader.arguments(recorded.params, bound.arguments),
            author=abi.author_parameters(bound),
            abi=spec.signature(self.declared.name, list(recorded.params)),
            has_device_code=recorded.has_device_code,
            doc=_doc(call.fn),
            source=self._source(call.fn),
            options=call.options,
            records=tuple(reader.records.values()),
            variant=self.declared.variant,
        )

    def _source(self, fn: object) -> Place | None:
        """Find the ``def`` of the author's function, if it lies in the project."""
        target = inspect.unwrap(_function(fn))
        location = getattr(target, "_decorator_location", None)
        code = getattr(target, "__code__", None)
        file = str(getattr(location, "filename", None) or getattr(code, "co_filename", ""))
        relative = _relative(file, self.settings.project)
        return Place(relative, code.co_firstlineno) if relative and code else None

    def explain(self, error: Exception) -> Problem:
        """Make a problem of whatever was raised, and keep the full text in a log file."""
        place = self.declared.place
        if isinstance(error, DeclarationError):
            return self._problem("CS210", place, reason=str(error))
        log = Path(self.settings.log_dir) / f"{self.declared.name}.log"
        log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        code = "CS302" if isinstance(error, abi.UnknownSpecError) else "CS301"
        return self._problem(
            code,
            _place_in(error, self.settings.project) or place,
            reason=_core(error),
            log=str(log),
        )

    def _problem(self, code: str, place: Place, **details: str) -> Problem:
        return problem(code, place=place, kernel=self.declared.name, **details)


def _built(declaration: Declaration) -> Call | None:
    call = declaration.build()
    if call is None or isinstance(call, Call):
        return call
    raise DeclarationError(f"a family's function returns stubgen.kernel(...) or None, not {call!r}")


def _function(fn: object) -> Callable[..., object]:
    return fn if inspect.isroutine(fn) else type(fn).__call__


def _doc(fn: object) -> str:
    """Give the docstring of the kernel; for an object, its ``__call__``'s or else its class's."""
    own = _function(fn).__doc__
    doc = own if own or inspect.isroutine(fn) else type(fn).__doc__
    return inspect.cleandoc(doc or "")


# ---------------------------------------------------------------------------------------------------------
# Errors


def _place_in(error: BaseException, project: str) -> Place | None:
    """Find the innermost line of the project's own code that an error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        relative = _relative(error.filename, project)
        return Place(relative, error.lineno or 1) if relative else None
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        relative = _relative(frame.filename, project)
        if relative and frame.lineno:
            return Place(relative, frame.lineno)
    return None


def _relative(file: str, project: str) -> str | None:
    """Give a path relative to the project, or ``None`` if it is not the project's own code."""
    if "site-packages" in file or not Path(file).is_absolute():
        return None
    try:
        return Path(file).relative_to(project).as_posix()
    except ValueError:
        return None


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def _core(error: BaseException) -> str:
    """Cut an error of the compiler's to the sentence that says what is wrong."""
    lines = [line.strip() for line in _COLOUR.sub("", str(error)).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return next((line for line in lines if re.match(r"(?i)(\w*error\b|💥)", line)), lines[0])


def _one_line(error: BaseException) -> str:
    return " ".join(_COLOUR.sub("", str(error)).split()) or type(error).__name__

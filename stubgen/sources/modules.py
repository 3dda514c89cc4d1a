"""The kernel modules of a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stubgen.model import names
from stubgen.model.library import Place
from stubgen.problems.problem import Problem, StubgenError, problem, raise_if_any
from stubgen.sources import files
from stubgen.sources.exports import Program
from stubgen.sources.imports import ImportGraph
from stubgen.sources.parsed import ParsedFiles
from stubgen.sources.scan import Scan, scan
from stubgen.sources.search import ImportSearch


@dataclass(frozen=True)
class JitFunction:
    """A ``@cute.jit`` function or method."""

    qualname: str
    """As in Python: ``RMSNorm.__call__``."""
    line: int
    """Of its ``def``, from 1; decorators stand above."""
    doc: str
    """Its docstring without indentation, empty if it has none."""
    exported_as: tuple[str, ...]
    """Public names, or ``family rmsnorm`` for all members of one, as far as the text tells; the expression
    itself where a name is computed."""


@dataclass(frozen=True)
class KernelModule:
    """A file that may declare kernels: it imports this tool, itself or through other files."""

    name: str
    """Public name: dotted, the path relative to the folder that was searched."""
    path: Path
    """Absolute."""
    file: str
    """Relative to the project with forward slashes, absolute outside of it."""
    doc: str = ""
    """Its docstring without indentation, empty if it has none."""


@dataclass(frozen=True)
class ModuleListing:
    """What the text of a file tells of kernels."""

    name: str
    """As of :class:`KernelModule`, and so the next two."""
    path: Path
    file: str
    functions: tuple[JitFunction, ...]
    """In the order of the text."""


def kernel_modules(
    paths: Sequence[Path], project: Path, parsed: ParsedFiles | None = None
) -> tuple[KernelModule, ...]:
    """Find the modules that import this tool, whatever they do with it.

    What they export is known when they have been imported, which happens in worker processes.

    Parameters
    ----------
    paths
        Files, and folders that are searched to any depth.
    project
        The project's folder.
    parsed
        What is known of the text of files.

    Returns
    -------
    tuple
        In the order of ``paths``, sorted within each folder.

    Raises
    ------
    StubgenError
        With all that is wrong: what :func:`search_modules` tells.
    """
    modules, problems = search_modules(paths, project, parsed)
    raise_if_any(problems)
    return modules


def search_modules(
    paths: Sequence[Path], project: Path, parsed: ParsedFiles | None = None
) -> tuple[tuple[KernelModule, ...], tuple[Problem, ...]]:
    """Find the modules that :func:`kernel_modules` finds, whatever is wrong with others.

    Returns
    -------
        The modules, and all that is wrong: a path that does not exist (CS202), a file that cannot be parsed
        (CS203) or read (CS205), or whose name is not UTF-8 (CS256).
    """
    project = files.absolute(project)
    candidates, problems = files.candidates(paths, project)
    found = list(problems)
    search = ImportSearch(ImportGraph(parsed or ParsedFiles()), project)
    modules: list[KernelModule] = []
    for candidate in candidates:
        try:
            if search.leads_to_tool(candidate):
                module = search.parsed(candidate)
                modules.append(KernelModule(candidate.name, candidate.path, candidate.file, module.doc))
        except StubgenError as error:
            found += error.problems
    return tuple(modules), tuple(found)


def list_functions(paths: Sequence[Path], project: Path) -> tuple[ModuleListing, ...]:
    """List the ``@cute.jit`` functions of a project, going by the text of its files.

    Nothing is imported, so neither the DSL nor a GPU is needed, and the modules need not work. Takes and
    raises what :func:`kernel_modules` does.
    """
    project = files.absolute(project)
    candidates, problems = files.candidates(paths, project)
    found = list(problems)
    scans: list[Scan] = []
    for candidate in candidates:
        try:
            scanned = scan(candidate)
        except StubgenError as error:
            found += error.problems
        else:
            scans += [scanned] if scanned else []
    raise_if_any(found)
    return tuple(_listings(scans, project))


def require_kernels(modules: Sequence[KernelModule], folder: str) -> tuple[KernelModule, ...]:
    """Return the modules, if there are any.

    Parameters
    ----------
    modules
        What :func:`kernel_modules` found.
    folder
        Where, for the message.

    Raises
    ------
    StubgenError
        There are none (CS201).
    """
    if not modules:
        raise StubgenError(no_kernels(modules, folder))
    return tuple(modules)


def no_kernels(modules: Iterable[KernelModule], folder: str) -> Problem:
    """Make CS201, which names the modules that look as if they were to export something."""
    idle = [module.file for module in modules]
    verbs = "imports stubgen but exports" if len(idle) == 1 else "import stubgen but export"
    remark = f"; {', '.join(idle)} {verbs} nothing" if idle else ""
    return problem("CS201", folder=folder, remark=remark)


def _listings(scans: Sequence[Scan], project: Path) -> Iterator[ModuleListing]:
    program = Program(scans, project)
    exported = program.exported_names()
    for scanned in scans:
        functions = program.jit_functions(scanned)
        if functions:
            path = scanned.candidate.path
            yield ModuleListing(
                scanned.candidate.name,
                path,
                scanned.candidate.file,
                tuple(
                    JitFunction(
                        function.qualname,
                        function.line,
                        function.doc,
                        tuple(exported.get((path, function.qualname), ())),
                    )
                    for function in functions
                ),
            )


def name_problems(modules: Sequence[KernelModule]) -> Iterator[Problem]:
    """Find what is wrong with the names of the modules that export something.

    That is names that clash (CS206), are no dotted identifiers (CS207) or are taken (CS208).
    """
    first: dict[str, KernelModule] = {}
    for module in modules:
        place = Place(module.file, 1)
        reason = names.module_name_error(module.name)
        if reason:
            yield problem("CS207", place=place, module=module.name, reason=reason)
        elif names.is_reserved_module(module.name):
            yield problem("CS208", place=place, module=module.name)
        first.setdefault(module.name, module)
    for module in modules:
        for reason, other in _rivals(module, first):
            yield problem(
                "CS206", place=Place(module.file, 1), file=module.file, first=other.file, reason=reason
            )


def _rivals(module: KernelModule, first: Mapping[str, KernelModule]) -> Iterator[tuple[str, KernelModule]]:
    """Yield the modules that leave no room for this one in the generated package, and why."""
    same = first[module.name]
    if same is not module:
        yield f"both would be the module {module.name}", same
    outer = module.name
    while outer := outer.rpartition(".")[0]:
        if outer in first:
            yield f"{outer} cannot be both a module and the package of {module.name}", first[outer]

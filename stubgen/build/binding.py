"""Makes the modules of a library of what was compiled: public signatures, families, classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stubgen.abi import signatures
from stubgen.build import classes
from stubgen.build.compilation import KernelBuild
from stubgen.compiler.jobs import Compiled
from stubgen.families.families import judged_families
from stubgen.model.library import Family, Kernel, Library, Module, Record
from stubgen.problems.problem import Problem, StubgenError, problem, raise_if_any
from stubgen.render.native import dispatcher
from stubgen.sources.modules import KernelModule


def bound_modules(
    modules: Sequence[KernelModule], built: Mapping[str, Sequence[KernelBuild]]
) -> tuple[Module, ...]:
    """Return the modules of the library.

    Parameters
    ----------
    modules
        What was discovered.
    built
        What was compiled, by module.

    Raises
    ------
    StubgenError
        With all that :func:`bind_modules` tells.
    """
    bound, problems = bind_modules(modules, built)
    raise_if_any(problems)
    return bound


def bind_modules(
    modules: Sequence[KernelModule], built: Mapping[str, Sequence[KernelBuild]]
) -> tuple[tuple[Module, ...], tuple[Problem, ...]]:
    """Return the modules of the library, as far as they can be, and what is wrong with them.

    Returns
    -------
        The modules, and CS214 and CS218 for classes whose names clash, and what
        :func:`stubgen.families.families.judged_families` tells.
    """
    found: list[Module] = []
    problems: list[Problem] = []
    for module in modules:
        compiled = classes.with_own_names([item.compiled for item in built[module.name]])
        kernels = tuple(
            _kernel(module.name, own, item) for own, item in zip(compiled, built[module.name], strict=True)
        )
        if kernels:
            records, clashes = _records(compiled)
            families, wrong = judged_families(kernels) if not clashes else ((), ())
            problems += (*clashes, *wrong)
            known = {family.name for family in families}
            kernels = tuple(k for k in kernels if k.variant is None or k.variant.family in known)
            found.append(Module(module.name, module.file, kernels, families, records, module.doc))
    return tuple(found), tuple(problems)


def _kernel(module: str, compiled: Compiled, built: KernelBuild) -> Kernel:
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
        archs=built.archs,
        options=compiled.options,
        variant=compiled.variant,
        effects=built.effects,
    )


def _records(compiled: Sequence[Compiled]) -> tuple[tuple[Record, ...], list[Problem]]:
    """Return the records of a module, each once, and the names that clash."""
    records: dict[str, Record] = {}
    problems: list[Problem] = []
    for item in compiled:
        for record in item.records:
            known = records.setdefault(record.name, record)
            if known != record:
                problems.append(problem("CS214", place=item.place, kernel=item.name, record=record.name))
    public = {item.variant.family if item.variant else item.name: item for item in reversed(compiled)}
    problems += [
        problem("CS218", place=item.place, kernel=name) for name, item in public.items() if name in records
    ]
    return tuple(records.values()), problems


def require_distinct_symbols(library: Library) -> None:
    """Refuse names that only differ in what they are: a kernel called as another's build would be.

    Or as a family is whose selectors are chosen.

    Raises
    ------
    StubgenError
        CS213.
    """
    first: dict[str, Kernel | Family] = {}
    for function, symbol in dispatcher.symbols(library):
        other = first.setdefault(symbol, function)
        if other is not function:
            raise StubgenError(
                problem("CS213", place=function.place, kernel=function.name, first=other.place)
            )

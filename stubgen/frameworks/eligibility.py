"""Which functions the modules for PyTorch and JAX have, and what is wrong with their declared effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stubgen.frameworks import functional
from stubgen.frameworks.functional import Function, Functional, NotDerivableError
from stubgen.model.effects import Backward
from stubgen.model.library import Family, Framework, Library, Module
from stubgen.problems.problem import Problem, problem, raise_if_any

_NAMES: dict[Framework, str] = {"torch": "PyTorch", "jax": "JAX"}


def require(library: Library) -> None:
    """Refuse effects that cannot be, and functions without any that a framework has to know of.

    Raises
    ------
    StubgenError
        CS240 to CS244, all that are found.
    """
    raise_if_any(problems(library))


def problems(library: Library) -> Iterator[Problem]:
    """Yield what :func:`require` refuses."""
    for module in library.modules:
        for function in module.functions:
            yield from _problems(function, module, library)


def why_not(framework: Framework, function: Function) -> str | None:
    """Say why a framework's module does not have a function, or ``None`` if it can have it."""
    reasons = filter(None, map(functional.why_no_value, function.parameters))
    reason = next(reasons, None)
    if reason:
        return reason
    if not functional.tensors(function):
        return "it takes no tensor"
    if framework == "torch" and function.name == "functional":
        return "a module is called so"
    unprintable = [p.name for p in function.parameters if not p.name.isascii()]
    if unprintable:
        return f"{unprintable[0]} is no name in ASCII"
    return _why_not_in_jax(function) if framework == "jax" else None


def shown(library: Library, framework: Framework) -> Iterator[tuple[Module, Function]]:
    """Yield the functions that a framework's module has."""
    for module in library.modules:
        for function in module.functions:
            if why_not(framework, function) is None:
                yield module, function


def left_out(library: Library, framework: Framework) -> Iterator[tuple[str, str]]:
    """Yield the names of the others, and why."""
    for module in library.modules:
        for function in module.functions:
            reason = why_not(framework, function)
            if reason is not None:
                yield function.name, reason


def _why_not_in_jax(function: Function) -> str | None:
    if len(functional.devices(function)) > 1:
        return "its tensors are on host and GPU"
    for parameter in function.parameters:
        slots = functional.tensor_slots(parameter.slot)
        if slots and not functional.takes_row_major(slots):
            return f"{parameter.name} is not row-major"
    return None


# ---------------------------------------------------------------------------------------------------------
# Problems


def _problems(function: Function, module: Module, library: Library) -> Iterator[Problem]:
    wrong = [*_wrong_names(function), *_unlike(function, module)]
    yield from wrong
    wanted: list[Framework] = [name for name in library.frameworks if why_not(name, function) is None]
    if wrong or not wanted:
        return
    if not function.effects.mutates:
        yield problem(
            "CS240",
            place=function.place,
            kernel=function.name,
            framework=" and ".join(_NAMES[name] for name in wanted),
            example=functional.tensors(function)[-1],
        )
        return
    try:
        made = functional.functional(function, module)
    except NotDerivableError as error:
        if function.effects.returns:
            yield problem(
                "CS244", place=function.place, kernel=function.name, output=error.output, reason=str(error)
            )
        return
    if function.effects.backward is not None:
        for reason in _wrong_backward(function.effects.backward, made, library, wanted):
            yield problem("CS242", place=function.place, kernel=function.name, reason=reason)


def _wrong_names(function: Function) -> Iterator[Problem]:
    """Find what is named as written and is no tensor."""
    tensors = functional.tensors(function)
    known = {parameter.name for parameter in function.parameters}
    for name in function.effects.mutates:
        if name not in tensors:
            keyword = "returns" if name in function.effects.returns else "mutates"
            yield problem(
                "CS241",
                place=function.place,
                kernel=function.name,
                parameter=name,
                keyword=keyword,
                what="no tensor" if name in known else "no parameter of it",
                tensors=", ".join(tensors) or "none",
            )


def _unlike(function: Function, module: Module) -> Iterator[Problem]:
    """Find variants of a family that say something else."""
    if not isinstance(function, Family):
        return
    for kernel in module.variants(function):
        if kernel.effects != function.effects:
            yield problem(
                "CS243",
                place=kernel.place,
                kernel=kernel.name,
                family=function.name,
                other=function.variants[0],
            )
            return


def _wrong_backward(
    given: Backward, forward: Functional, library: Library, wanted: Sequence[Framework]
) -> Iterator[str]:
    """Say what of a mapping leads nowhere."""
    found = [(m, f) for m in library.modules for f in m.functions if f.name == given.function]
    if not found:
        yield f"is {given.function!r}, which is no function of this package"
        return
    module, function = found[0]
    if not function.effects.returns:
        yield f"is {given.function}, which declares no returns"
        return
    for framework in wanted:
        reason = why_not(framework, function)
        if reason:
            yield f"is {given.function}, which {_NAMES[framework]} cannot call: {reason}"
            return
    try:
        made = functional.functional(function, module)
    except NotDerivableError:  # reported at the function itself
        return
    if forward.changed or made.changed:
        yield f"cannot be used: {', '.join(forward.changed or made.changed)} would be changed in place"
    inputs = [parameter.name for parameter in forward.parameters]
    outputs = [output.name for output in forward.outputs]
    taken = [parameter.name for parameter in made.parameters]
    gradients = [output.name for output in made.outputs]
    tensors = [p.name for p in forward.parameters if functional.tensor_slots(p.slot)]
    available = {*inputs, *outputs, *given.grads.values()}
    name = given.function
    for names, known, text in (
        (given.grads, outputs, "has grads for {}, which is no output"),
        (given.grads.values(), taken, f"is {name}, which has no parameter {{}} to take a gradient"),
        (given.gives, tensors, "gives a gradient of {}, which is no tensor that is passed"),
        (given.gives.values(), gradients, f"is {name}, which does not return {{}}"),
        (taken, available, f"is {name}, which takes {{}}: nothing is called so in the forward function"),
    ):
        yield from (text.format(item) for item in names if item not in known)

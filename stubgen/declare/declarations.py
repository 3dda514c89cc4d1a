"""What a kernel author writes: ``sg.export`` and ``sg.family``; see :mod:`stubgen.declare.arguments` too.

Importing this module costs nothing and needs no compiler, so a kernel module with declarations in it stays an
ordinary CuTe DSL module. A declaration only records what was written. A worker process turns it into the fake
arguments of ``cute.compile`` later, with the architecture set.

Anything that ``cute.compile`` takes as an argument may be used in place of the helpers there.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from stubgen.declare import labels
from stubgen.declare.gradients import Gradients
from stubgen.declare.labels import ChoiceValue, DeclarationError

# ---------------------------------------------------------------------------------------------------------
# Declarations


@dataclass(frozen=True, eq=False)
class Call:
    """What to compile, the way ``cute.compile`` takes it."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: str
    min_arch: str | None = None
    priority: int = 0
    mutates: Sequence[str] = ()
    returns: Sequence[str] = ()
    backward: Gradients | None = None


@dataclass(frozen=True, eq=False)
class Declaration:
    """One kernel to compile; a member of a family has its labels."""

    name: str | None
    """Public name; ``None`` if none was given and the function has none of its own."""
    file: str
    """Absolute path of the module that declares it."""
    line: int
    build: Callable[[], object]
    """Makes the call; ``None`` for a combination that the family leaves out. Authors may return anything."""
    family: str | None = None
    labels: Mapping[str, str] | None = None
    """By axis, what the value is called in the name."""
    values: Mapping[str, ChoiceValue] | None = None
    """By axis, what a caller passes for the value, should the axis become a selector."""
    doc: str | None = None
    """The docstring of the family's function, for a kernel that has none."""


_declared: list[Declaration] = []
_kernels: list[tuple[str, int, Call]] = []
"""What :func:`kernel` made, with file and line."""
_families: list[str] = []
"""Those whose functions run now, the innermost last."""
_target: list[str | None] = [None]
"""The last is the architecture that is being built for."""

_Build = TypeVar("_Build", bound=Callable[..., "Call | None"])


def kernel(
    fn: Any,
    /,
    *args: Any,
    options: str = "",
    min_arch: str | None = None,
    priority: int = 0,
    mutates: Sequence[str] = (),
    returns: Sequence[str] = (),
    backward: Gradients | None = None,
    **kwargs: Any,
) -> Call:
    """Say what one variant of a family compiles.

    Parameters
    ----------
    fn, *args, options, min_arch, mutates, returns, backward, **kwargs
        As :func:`export` takes them.
    priority
        Where two variants accept the same call and neither is more specific, the higher priority wins.
    """
    call = Call(fn, args, kwargs, options, min_arch, priority, mutates, returns, backward)
    _kernels.append((*_caller(), call))
    return call


def target_arch() -> str | None:
    """Give the architecture that kernels are being built for, such as ``"sm_90a"``.

    A kernel module is imported once for each architecture, so a declaration may depend on it.

    Returns
    -------
    str or None
        ``None`` outside of a build, and where only functions without device code can be built.
    """
    return _target[-1]


def export(
    fn: Any,
    /,
    *args: Any,
    name: str | None = None,
    options: str = "",
    min_arch: str | None = None,
    mutates: Sequence[str] = (),
    returns: Sequence[str] = (),
    backward: Gradients | None = None,
    **kwargs: Any,
) -> None:
    """Declare a kernel for the generated library.

    Mirrors ``cute.compile(fn, ...)``: arguments by position or by keyword, each a helper of this module or
    whatever ``cute.compile`` takes there. A scalar may be given as its type (``cutlass.Float32``), or left
    out where the function's annotation says it.

    Parameters
    ----------
    fn
        A ``@cute.jit`` function, a bound method, or an object whose ``__call__`` is one.
    *args, **kwargs
        Its arguments. Constexpr parameters take their values.
    name
        Public name; the function's own by default. Objects need one.
    options
        Further compile options, such as ``"--opt-level 2"``.
    min_arch
        The oldest architecture to build it for, such as ``"sm_90a"``; every configured one by default.
    mutates
        Names of the tensor parameters that it writes to. Modules for PyTorch and JAX need it.
    returns
        Those of them that it only writes to, and all of: functions without side effects make and return them.
    backward
        How its gradients are computed; see :func:`backward`.
    """
    if _families:
        raise DeclarationError(
            "its function calls stubgen.export, which returns nothing; return stubgen.kernel(...) instead"
        )
    own = getattr(fn, "__name__", None)
    file, line = _caller()
    call = Call(fn, args, kwargs, options, min_arch, 0, mutates, returns, backward)
    _declared.append(Declaration(own if name is None else name, file, line, lambda: call))


def family(
    name: str | None = None, /, **axes: Sequence[Any] | Mapping[str, Any]
) -> Callable[[_Build], _Build]:
    """Declare one kernel for every combination of some values: one public function for all its variants.

    Decorates a function that takes a value of each axis and returns a :func:`kernel`, or ``None`` to leave
    the combination out. The public function finds the variant by its arguments. An axis that no argument
    shows becomes an argument itself, in the place of the constexpr parameter that it sets: callers pass one
    of the axis's bools, numbers or strings, or else the label of the value.

    A variant's key is the labels of its values joined by an underscore, ``float16_4096``; its full name is
    ``rmsnorm__float16_4096``.

    Parameters
    ----------
    name
        The family's name; the decorated function's by default.
    **axes
        For each parameter of the function its values: dtypes, integers, bools, floats, strings. A mapping
        from label to value takes any other value, and gives other labels.

    Raises
    ------
    DeclarationError
        An axis is empty or has no order, two of its values have the same label, its name is no identifier,
        or the function takes other parameters.
    """
    if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DeclarationError(f"{_called(name)} is no name; write @stubgen.family(axis=[...])")
    by_label = {axis: labels.labelled(axis, values) for axis, values in axes.items()}
    file, line = _caller()

    def declare(build: _Build) -> _Build:
        _check_axes(build, by_label)
        family_name = build.__name__ if name is None else name
        choices = {axis: labels.choices(axes[axis], values) for axis, values in by_label.items()}
        for chosen, values in _combinations(by_label):
            _declared.append(
                Declaration(
                    name="__".join((family_name, "_".join(chosen.values()) or "only")),
                    file=file,
                    line=line,
                    build=functools.partial(_build, family_name, build, values),
                    family=family_name,
                    labels=chosen,
                    values={axis: choices[axis][label] for axis, label in chosen.items()},
                    doc=build.__doc__,
                )
            )
        return build

    return declare


def _build(family: str, build: Callable[..., object], values: Mapping[str, Any]) -> object:
    _families.append(family)
    try:
        return build(**values)
    finally:
        _families.pop()


def makes_kernels(declaration: Declaration) -> bool:
    """Tell whether a family's function calls :func:`kernel`, whatever it returns."""
    before = len(_kernels)
    declaration.build()
    return len(_kernels) > before


def lost_kernels(file: str) -> tuple[int, ...]:
    """Return the lines where a module makes a :func:`kernel` that no family returns.

    To be asked before the functions of families run for other reasons.
    """
    made = [(line, call) for made_in, line, call in _kernels if made_in == file]
    members = [declaration for declaration in declared_in(file) if declaration.family is not None]
    returned: list[object] = []
    for member in members if made else ():
        with contextlib.suppress(BaseException):  # said where the member is looked at
            returned.append(member.build())
    return tuple(line for line, call in made if not any(other is call for other in returned))


def set_target_arch(arch: str | None) -> None:
    """Tell declarations what is being built for; see :func:`target_arch`."""
    _target.append(arch)


def declared_in(file: str) -> tuple[Declaration, ...]:
    """Collect what the module in this file has declared so far, in its order."""
    return tuple(declaration for declaration in _declared if declaration.file == file)


def declared_since(count: int) -> tuple[Declaration, ...]:
    """Return what was declared after so many declarations, in whatever module."""
    return tuple(_declared[count:])


def count_declared() -> int:
    """Return how much was declared so far."""
    return len(_declared)


def _caller() -> tuple[str, int]:
    """Return the module that is being imported, and the line of it that leads to this declaration.

    Functions of other modules may lie between the two: what a helper exports, its caller does.
    """
    caller = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files
    body = next(filter(_is_being_imported, _outwards(caller)), caller)
    line = next(frame.f_lineno for frame in _outwards(caller) if frame.f_globals is body.f_globals)
    return body.f_globals.get("__file__", body.f_code.co_filename), line


def _is_being_imported(frame: FrameType) -> bool:
    """Tell whether a frame runs the body of a module for the first time."""
    spec = frame.f_globals.get("__spec__")
    return frame.f_code.co_name == "<module>" and getattr(spec, "_initializing", False)


def _outwards(frame: FrameType) -> Iterator[FrameType]:
    """Yield a frame and those that it was called from."""
    current: FrameType | None = frame
    while current is not None:
        yield current
        current = current.f_back


def _check_axes(build: Callable[..., object], axes: Mapping[str, object]) -> None:
    """Find out now, and once, whether the function takes the axes and nothing else."""
    if not hasattr(build, "__name__") or inspect.isclass(build):
        raise DeclarationError(f"stubgen.family decorates a function, not {_called(build)}")
    if inspect.isgeneratorfunction(build) or inspect.iscoroutinefunction(build):
        raise DeclarationError(
            f"{build.__name__} does not return when it is called; write it without yield or async"
        )
    signature = inspect.signature(build)
    try:
        signature.bind(**axes)
    except TypeError as error:
        given = ", ".join(axes) or "none"
        raise DeclarationError(
            f"{build.__name__}{signature} does not take the axes of its family ({given}): {error}"
        ) from None


def _called(value: object) -> str:
    """Show a value in a message without its address."""
    return getattr(value, "__qualname__", None) or repr(value)


def _combinations(
    axes: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield the labels and the values of every combination, the last axis varying fastest."""
    for chosen in itertools.product(*(values.items() for values in axes.values())):
        labels = {axis: label for axis, (label, _) in zip(axes, chosen, strict=True)}
        values = {axis: value for axis, (_, value) in zip(axes, chosen, strict=True)}
        yield labels, values

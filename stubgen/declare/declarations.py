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
from typing import Any, Generic, TypeVar, overload

from stubgen.declare import labels
from stubgen.declare.gradients import Gradients
from stubgen.declare.labels import ChoiceValue, DeclarationError

_Result = TypeVar("_Result")

# ---------------------------------------------------------------------------------------------------------
# Declarations


@dataclass(frozen=True)
class Options:
    """What is said of a kernel beside its arguments; :func:`export` says what each is."""

    name: str | None = None
    options: str = ""
    min_arch: str | None = None
    priority: int = 0
    mutates: Sequence[str] = ()
    returns: Sequence[str] = ()
    backward: Gradients | None = None


OF_EXPORTS = frozenset({"name", "options", "min_arch", "mutates", "returns", "backward"})
OF_KERNELS = frozenset({"options", "min_arch", "priority", "mutates", "returns", "backward"})


@dataclass(frozen=True, eq=False)
class Call:
    """What to compile, the way ``cute.compile`` takes it."""

    fn: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    options: Options


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


class Waiting(Generic[_Result]):
    """Options of :func:`export` or :func:`kernel`, which wait for the function; it may be called for several.

    Parameters
    ----------
    what
        The function that made it, to speak of it.
    given
        The options.
    allowed
        Their names.
    declare
        Called with the options, the function and its arguments.
    """

    def __init__(
        self,
        what: str,
        given: Mapping[str, Any],
        allowed: frozenset[str],
        declare: Callable[[Options, Any, tuple[Any, ...], dict[str, Any]], _Result],
    ) -> None:
        unknown = ", ".join(name for name in given if name not in allowed)
        if unknown:
            raise DeclarationError(
                f"{unknown} is no option, which are {', '.join(sorted(allowed))}; "
                f"the function stands before its arguments: stubgen.{what}(function, {unknown}=...)"
            )
        self.what = what
        self.is_used = False
        self._options = Options(**given)
        self._declare = declare
        _waiting.append((*_caller(), self))

    def __call__(self, fn: Any, /, *args: Any, **kwargs: Any) -> _Result:
        """Declare a function with these options."""
        self.is_used = True
        return self._declare(self._options, fn, args, kwargs)


_declared: list[Declaration] = []
_kernels: list[tuple[str, int, Call]] = []
"""What :func:`kernel` made, with file and line."""
_waiting: list[tuple[str, int, Waiting[Any]]] = []
"""Options that were given, with file and line."""
_families: list[str] = []
"""Those whose functions run now, the innermost last."""
_target: list[str | None] = [None]
"""The last is the architecture that is being built for."""

_Build = TypeVar("_Build", bound=Callable[..., "Call | None"])


@overload
def kernel(fn: Any, /, *args: Any, **kwargs: Any) -> Call: ...


@overload
def kernel(
    *,
    options: str = "",
    min_arch: str | None = None,
    priority: int = 0,
    mutates: Sequence[str] = (),
    returns: Sequence[str] = (),
    backward: Gradients | None = None,
) -> Waiting[Call]: ...


def kernel(*given: Any, **keywords: Any) -> Call | Waiting[Call]:
    """Say what one variant of a family compiles: ``kernel(fn, ...)``, or ``kernel(options)(fn, ...)``.

    Parameters
    ----------
    fn, *args, **kwargs
        As :func:`export` takes them.
    options, min_arch, mutates, returns, backward
        As :func:`export` takes them, in a call of their own.
    priority
        Where two variants accept the same call and neither is more specific, the higher priority wins.
    """
    if not given:
        return Waiting("kernel", keywords, OF_KERNELS, _kernel)
    return _kernel(Options(), given[0], given[1:], keywords)


def _kernel(options: Options, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    call = Call(fn, args, kwargs, options)
    _kernels.append((*_caller(), call))
    return call


def target_arch() -> str | None:
    """Return the architecture that kernels are being built for, such as ``"sm_90a"``.

    A kernel module is imported once for each architecture, so a declaration may depend on it.

    Returns
    -------
    str or None
        ``None`` outside of a build, and where only functions without device code can be built.
    """
    return _target[-1]


@overload
def export(fn: Any, /, *args: Any, **kwargs: Any) -> None: ...


@overload
def export(
    *,
    name: str | None = None,
    options: str = "",
    min_arch: str | None = None,
    mutates: Sequence[str] = (),
    returns: Sequence[str] = (),
    backward: Gradients | None = None,
) -> Waiting[None]: ...


def export(*given: Any, **keywords: Any) -> Waiting[None] | None:
    """Declare a kernel for the generated library: ``export(fn, ...)``, or ``export(options)(fn, ...)``.

    Mirrors ``cute.compile(fn, ...)``: arguments by position or by keyword, each a helper of this module or
    whatever ``cute.compile`` takes there. A scalar may be given as its type (``cutlass.Float32``), or left
    out where the function's annotation says it. Options have a call of their own, so that a parameter of a
    function may be called what it likes: ``export(name="scale_2")(scale, x=vector, by=2)``.

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

    Raises
    ------
    DeclarationError
        There is no such option, or a family's function calls this.
    """
    if not given:
        return Waiting("export", keywords, OF_EXPORTS, _export)
    _export(Options(), given[0], given[1:], keywords)
    return None


def _export(options: Options, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if _families:
        raise DeclarationError(
            "its function calls stubgen.export, which returns nothing; return stubgen.kernel(...) instead"
        )
    own = getattr(fn, "__name__", None)
    file, line = _caller()
    call = Call(fn, args, kwargs, options)
    _declared.append(Declaration(own if options.name is None else options.name, file, line, lambda: call))


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
    """Return whether a family's function calls :func:`kernel`, whatever it returns."""
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


def lost_options(file: str) -> tuple[tuple[int, str], ...]:
    """Return where a module gives options and never a function: the line, and what it calls."""
    found = [(line, item) for made_in, line, item in _waiting if made_in == file]
    return tuple((line, item.what) for line, item in found if not item.is_used)


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
    own = sys._getframe()  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files
    others = [frame for frame in _outwards(own) if frame.f_globals is not own.f_globals]
    body = next(filter(_is_being_imported, others), others[0])
    line = next(frame.f_lineno for frame in others if frame.f_globals is body.f_globals)
    return body.f_globals.get("__file__", body.f_code.co_filename), line


def _is_being_imported(frame: FrameType) -> bool:
    """Return whether a frame runs the body of a module for the first time."""
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

"""What a kernel author writes: ``sg.export``, ``sg.family`` and the arguments that they take.

Importing this module costs nothing and needs no compiler, so a kernel module with declarations in it stays an
ordinary CuTe DSL module. A declaration only records what was written. A worker process turns it into the fake
arguments of ``cute.compile`` later, with the architecture set.

Anything that ``cute.compile`` takes as an argument may be used in place of the helpers here.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from stubgen import labels
from stubgen.effects import Backward
from stubgen.labels import DeclarationError
from stubgen.model import ChoiceValue

Device: TypeAlias = Literal["cuda", "cpu"]

# ---------------------------------------------------------------------------------------------------------
# Arguments


@dataclass(frozen=True, eq=False)
class Dim:
    """A size that is known only at run time; see :func:`dim`."""

    name: str
    divisible_by: int = 1
    bits: Literal[32, 64] = 32


@dataclass(frozen=True, eq=False)
class TensorArg:
    """A tensor argument; see :func:`tensor`."""

    dtype: Any
    shape: tuple[Any, ...]
    strides: Sequence[Any] | None
    order: Sequence[int] | None
    align: int | None
    device: Device


@dataclass(frozen=True, eq=False)
class StridedArg:
    """A tensor argument whose strides are known only at run time; see :func:`strided`."""

    dtype: Any
    shape: tuple[Any, ...]
    vector: int
    unit: int | None
    device: Device


@dataclass(frozen=True, eq=False)
class PointerArg:
    """A pointer argument; see :func:`pointer`."""

    dtype: Any
    align: int | None
    device: Device


@dataclass(frozen=True, eq=False)
class StreamArg:
    """A stream argument; see :func:`stream` and :func:`env_stream`."""

    env: bool


def dim(name: str, *, divisible_by: int = 1, bits: Literal[32, 64] = 32) -> Dim:
    """Name a size that is known only at run time.

    Used in several places of one kernel's arguments, the same object says that the sizes are equal; the
    compiled function checks it. The name appears in documentation and in run-time errors.

    Parameters
    ----------
    name
        An identifier, such as ``"n"`` or ``"batch"``.
    divisible_by
        The size is a multiple of this. The compiler relies on it; the compiled function checks it.
    bits
        Width of the integer that holds it, 32 or 64.
    """
    return Dim(name, divisible_by, bits)


def tensor(
    dtype: Any,
    *shape: Any,
    align: int | None = None,
    order: Sequence[int] | None = None,
    strides: Sequence[Any] | None = None,
    device: Device = "cuda",
) -> TensorArg:
    """Describe a tensor argument.

    Parameters
    ----------
    dtype
        Element type, such as ``cutlass.Float32``.
    *shape
        Extents in elements: integers are fixed, a :func:`dim` is bound at run time. None for a 0-d tensor.
    align
        Alignment of the data pointer in bytes; the element's own by default. Vectorised loads need 16.
    order
        For a compact tensor, the rank of each dimension in memory, 0 being contiguous. Row-major by default,
        which for three dimensions is ``(2, 1, 0)``.
    strides
        In elements, for a tensor that is not compact: integers are fixed, a :func:`dim` is bound at run time.
        Excludes ``order``.
    device
        ``"cuda"``, or ``"cpu"`` for functions that run on the host.
    """
    return TensorArg(dtype, shape, strides, order, align, device)


def strided(
    dtype: Any, *shape: Any, vector: int = 1, unit: int | None = -1, device: Device = "cuda"
) -> StridedArg:
    """Describe a tensor that may be a part of a larger one: its strides are bound at run time, all but one.

    No two tensors have strides in common, which are 64 bits wide.

    Parameters
    ----------
    dtype
        Element type, such as ``cutlass.Float32``.
    *shape
        Extents in elements: integers are fixed, a :func:`dim` is bound at run time.
    vector
        Elements that the kernel loads or stores at once: all strides are multiples of it, and the data
        pointer is aligned to as many elements.
    unit
        The dimension whose stride is 1, counted from the end if it is negative; ``None`` if there need not be
        one.
    device
        ``"cuda"``, or ``"cpu"`` for functions that run on the host.
    """
    return StridedArg(dtype, shape, vector, unit, device)


def pointer(dtype: Any, *, align: int | None = None, device: Device = "cuda") -> PointerArg:
    """Describe a raw pointer argument.

    Parameters
    ----------
    dtype
        Type of what it points to, such as ``cutlass.Float32``.
    align
        Alignment of the address in bytes; the element's own by default.
    device
        Whose memory it is.
    """
    return PointerArg(dtype, align, device)


def stream() -> StreamArg:
    """Describe a CUDA stream that the caller passes."""
    return StreamArg(env=False)


def env_stream() -> StreamArg:
    """Describe a CUDA stream that the caller does not pass.

    The compiled function takes the current stream of the framework that its tensors come from (for torch,
    ``torch.cuda.current_stream()``), through tvm-ffi.
    """
    return StreamArg(env=True)


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
    backward: Backward | None = None


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
    backward: Backward | None = None,
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
    return Call(fn, args, kwargs, options, min_arch, priority, mutates, returns, backward)


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
    backward: Backward | None = None,
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
    own = getattr(fn, "__name__", None)
    file, line = _caller()
    call = kernel(
        fn,
        *args,
        options=options,
        min_arch=min_arch,
        mutates=mutates,
        returns=returns,
        backward=backward,
        **kwargs,
    )
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
                    build=lambda values=values: build(**values),  # type: ignore[misc]
                    family=family_name,
                    labels=chosen,
                    values={axis: choices[axis][label] for axis, label in chosen.items()},
                    doc=build.__doc__,
                )
            )
        return build

    return declare


def set_target_arch(arch: str | None) -> None:
    """Tell declarations what is being built for; see :func:`target_arch`."""
    _target.append(arch)


def declared_in(file: str) -> tuple[Declaration, ...]:
    """Collect what the module in this file has declared so far, in its order."""
    return tuple(declaration for declaration in _declared if declaration.file == file)


def _caller() -> tuple[str, int]:
    """File and line of the module that called the function that calls this one."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # inspect.stack() reads source files
    return frame.f_globals.get("__file__", frame.f_code.co_filename), frame.f_lineno


def _check_axes(build: Callable[..., object], axes: Mapping[str, object]) -> None:
    """Find out now, and once, whether the function takes the axes and nothing else."""
    if not hasattr(build, "__name__") or inspect.isclass(build):
        raise DeclarationError(f"stubgen.family decorates a function, not {_called(build)}")
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

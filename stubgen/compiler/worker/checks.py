"""Finds what is wrong in declared arguments, before the DSL fails over it or quietly takes it otherwise.

Each function raises a :class:`~stubgen.declare.declarations.DeclarationError` with all that is wrong in one
argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from cutlass import cute

from stubgen.compiler.worker.dsl import dsl
from stubgen.declare.arguments import Dim, PointerArg, StridedArg, TensorArg
from stubgen.declare.declarations import Options
from stubgen.declare.gradients import Gradients
from stubgen.declare.labels import DeclarationError
from stubgen.model.effects import Backward, Effects
from stubgen.model.text import counted

_Checked = TypeVar("_Checked")


def _raises(find: Callable[[_Checked], Iterator[str]]) -> Callable[[_Checked], None]:
    """Raise what a function finds."""

    def check(value: _Checked) -> None:
        found = tuple(find(value))
        if found:
            raise DeclarationError(*found)

    return check


def _tensor(arg: TensorArg) -> Iterator[str]:
    yield from _element_type(arg.dtype)
    yield from _alignment(arg.align, arg.dtype)
    yield from _device(arg.device)
    for extent in arg.shape:
        yield from _extent(extent, least=1)
    rank = len(arg.shape)
    if arg.strides is not None and arg.order is not None:
        yield "it has both strides and order; give one of them"
    elif arg.strides is not None:
        yield from _strides(arg.strides, rank)
    elif arg.order is not None and not _is_permutation(arg.order, rank):
        yield f"order={arg.order!r} is no permutation of {tuple(range(rank))}"


def _strided(arg: StridedArg) -> Iterator[str]:
    yield from _element_type(arg.dtype)
    yield from _device(arg.device)
    for extent in arg.shape:
        yield from _extent(extent, least=1)
    rank = len(arg.shape)
    if not _is_integer(arg.vector) or arg.vector < 1 or arg.vector & (arg.vector - 1):
        yield f"vector={arg.vector!r} is no power of two"
    if not rank:
        yield "it has no dimension; use stubgen.tensor for a 0-d tensor"
    elif arg.unit is not None and not (_is_integer(arg.unit) and -rank <= arg.unit < rank):
        yield f"unit={arg.unit!r} is none of its {counted(rank, 'dimension')}"
    yield from _bits(arg.bits, "it")
    yield from _alignment(arg.align, arg.dtype)
    if arg.align is not None and all(map(_is_integer, (arg.align, arg.vector))):
        least = vector_bytes(arg) if dsl.is_concrete_type(arg.dtype) else 0
        if arg.align < least:
            yield f"align={arg.align} is less than a vector takes, {least} bytes"


def vector_bytes(arg: StridedArg) -> int:
    """Return how many bytes the kernel loads at once."""
    return max(arg.vector * int(arg.dtype.width) // 8, 1)


def _bits(bits: Any, what: str) -> Iterator[str]:
    if bits not in (32, 64):
        yield f"{what} has bits={bits!r}; it must be 32 or 64"


def _pointer(arg: PointerArg) -> Iterator[str]:
    yield from _element_type(arg.dtype)
    yield from _alignment(arg.align, arg.dtype)
    yield from _device(arg.device)


def _dim(dim: Dim) -> Iterator[str]:
    name: Any = dim.name
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        yield f"a dim is called {name!r}, which is no identifier"
    if not _is_integer(dim.divisible_by) or dim.divisible_by < 1:
        yield f"dim {dim.name} has divisible_by={dim.divisible_by!r}; it must be a positive integer"
    yield from _bits(dim.bits, f"dim {dim.name}")


tensor = _raises(_tensor)
strided = _raises(_strided)
pointer = _raises(_pointer)
dim = _raises(_dim)


def effects(options: Options) -> Effects:
    """Return what a declaration says of a kernel's effects, as far as no parameters need be known."""
    mutated, returned = _names("mutates", options.mutates), _names("returns", options.returns)
    backward = None if options.backward is None else _backward(options.backward)
    if backward and not returned:
        raise DeclarationError("it has backward= without returns=; only what is returned has a gradient")
    return Effects((*mutated, *(n for n in returned if n not in mutated)), returned, backward)


# ---------------------------------------------------------------------------------------------------------
# Parts


def _names(keyword: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise DeclarationError(f'{keyword}={given!r} is no tuple of names of parameters, such as ("out",)')
    if len(set(names)) != len(names):
        raise DeclarationError(f"{keyword}={given!r} names a parameter twice")
    return tuple(names)


def _backward(given: Any) -> Backward:
    """Return what ``backward=`` says, if that can be meant."""
    if not isinstance(given, Gradients):
        raise DeclarationError(f"backward={given!r}; write stubgen.backward(...)")
    parts: tuple[Any, ...] = (given.function, given.grads, given.gives)
    if not isinstance(parts[0], str):
        raise DeclarationError(f"backward names {parts[0]!r}; give the name of an export or family")
    for keyword, value in (("grads", parts[1]), ("gives", parts[2])):
        if not isinstance(value, dict) or not all(isinstance(n, str) for pair in value.items() for n in pair):
            raise DeclarationError(f"backward has {keyword}={value!r}; give a dict from name to name")
    return Backward(given.function, given.grads, given.gives)


def _element_type(dtype: Any) -> Iterator[str]:
    if not dsl.is_concrete_type(dtype):
        yield f"{_shown(dtype)} is no element type; use one such as cutlass.Float32"


def _alignment(align: Any, dtype: Any) -> Iterator[str]:
    if align is None:
        return
    width = getattr(dtype, "width", 8)
    if not _is_integer(align) or align < 1 or align & (align - 1):
        yield f"align={align!r} is no power of two"
    elif isinstance(width, int) and align * 8 < width:
        yield f"align={align} is less than an element takes, {width // 8} bytes"


def _device(device: Any) -> Iterator[str]:
    if device not in ("cuda", "cpu"):
        yield f"device is {device!r}; it must be 'cuda' or 'cpu'"


def _strides(strides: Any, rank: int) -> Iterator[str]:
    if not isinstance(strides, tuple | list):
        yield f"strides={strides!r} is no tuple"
        return
    if len(strides) != rank:
        yield f"it has {counted(len(strides), 'stride')} for {counted(rank, 'dimension')}"
    for stride in strides:
        yield from _extent(stride, least=0)


def _extent(extent: Any, *, least: int) -> Iterator[str]:
    if isinstance(extent, Dim | cute.SymInt):
        return
    kind = "extent" if least else "stride"
    if not _is_integer(extent):
        yield f"{_shown(extent)} is no {kind}; give an integer or stubgen.dim(...)"
    elif not least <= extent < 2**63:
        yield f"{extent} is no {kind}; it must be at least {least} and fit into 64 bits"


def _is_permutation(order: Any, rank: int) -> bool:
    return (
        isinstance(order, tuple | list)
        and all(map(_is_integer, order))
        and sorted(order) == list(range(rank))
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Show a value the way it was written, as far as that is known."""
    if isinstance(value, Dim):
        return f"stubgen.dim({value.name!r})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return repr(value)

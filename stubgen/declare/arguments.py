"""The arguments that a kernel author declares: descriptions, of which a worker makes fake arguments later.

Importing this module costs nothing and needs no compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Device: TypeAlias = Literal["cuda", "cpu"]


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
    align: int | None = None
    bits: Literal[32, 64] = 64


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
    dtype: Any,
    *shape: Any,
    vector: int = 1,
    unit: int | None = -1,
    align: int | None = None,
    bits: Literal[32, 64] = 64,
    device: Device = "cuda",
) -> StridedArg:
    """Describe a tensor that may be a part of a larger one: its strides are bound at run time, all but one.

    No two tensors have strides in common.

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
    align
        Alignment of the data pointer in bytes; that of a vector by default, and at least that.
    bits
        Width of the strides in the compiled code, 32 or 64; 32 is less work for it, and refuses what lies
        farther apart.
    device
        ``"cuda"``, or ``"cpu"`` for functions that run on the host.
    """
    return StridedArg(dtype, shape, vector, unit, device, align, bits)


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

"""Names for sizes in compiled functions: declared ones stay, and different sizes have different names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import cutlass.cute._tvm_ffi_args_spec_converter as converter
from cutlass.base_dsl.tvm_ffi_builder import spec


def name_symbols_as_declared() -> None:
    """Let symbolic sizes keep their names in the ABI, where the DSL would number them ``n0``, ``n1``, …."""
    allocate = converter.ConverterContext.alloc_or_reuse_symint_var

    def alloc_or_reuse_symint_var(self: Any, value: Any, name_alloc_func: Any) -> Any:
        var = allocate(self, value, name_alloc_func)
        if value.symbol and str(value.symbol).isidentifier():
            var.name = str(value.symbol)
            var.is_named = True
        return var

    converter.ConverterContext.alloc_or_reuse_symint_var = alloc_or_reuse_symint_var


def name_apart(params: Sequence[Any]) -> None:
    """Name sizes apart that the compiled function does not compare.

    The first of a declared name keeps it. Others come from a second object of that name, from a number that
    is also a declared name, and from packing, which makes another size of one.
    """
    sizes = list({id(size): size for param in params for size in _sizes_in(param)}.values())
    owners: dict[str, Any] = {}
    for size in sorted(sizes, key=lambda size: not hasattr(size, "is_named")):
        owners.setdefault(size.name, size)
    for size in sizes:
        if owners[size.name] is not size:
            is_number = not hasattr(size, "is_named") and _NUMBERED.fullmatch(size.name)
            base, number = (size.name[0], 0) if is_number else (f"{size.name}_", 2)
            size.name = next(name for n in itertools.count(number) if (name := f"{base}{n}") not in owners)
            owners[size.name] = size


_NUMBERED = re.compile(r"[ns]\d+")


def _sizes_in(param: Any) -> Iterator[Any]:
    match param:
        case spec.Tensor():
            extents = (*param.shape, *(param.strides or ()))
        case spec.Shape():
            extents = tuple(param.shape)
        case spec.TupleParam():
            for inner in param.params:
                yield from _sizes_in(inner)
            return
        case _:
            return
    yield from (extent for extent in extents if isinstance(extent, spec.Var))

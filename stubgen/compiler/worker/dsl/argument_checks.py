"""Checks that compiled functions make of their arguments, beside the DSL's own.

Written, like :mod:`stubgen.compiler.worker.dsl.dsl`, against nvidia-cutlass-dsl 4.7.1 and 4.8.1, with the
same right to touch private names.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from cutlass._mlir.dialects import llvm
from cutlass.base_dsl.tvm_ffi_builder.tvm_ffi_builder import TVMFFIFunctionBuilder as FunctionBuilder
from cutlass.base_dsl.tvm_ffi_builder.tvm_ffi_builder import TVMFFITypeIndex as TypeIndex

from stubgen.abi.signatures import float_limit

REQUIRED: tuple[tuple[object, str], ...] = tuple(
    (FunctionBuilder, name)
    for name in (
        "check_condition",
        "check_int_value_dtype_bound",
        "decode_param_float",
        "decode_param_tensor",
        "load_dltensor_data_ptr",
        "load_dltensor_dtype_code",
        "load_dltensor_shape",
        "load_ffi_any_array_item_type_index",
        "load_ffi_any_array_item_v_int64",
        "load_i64_array_item",
    )
)
"""The private names that are touched here."""


def add_checks() -> None:
    """Let all functions that are compiled from now on check more than the DSL has them check."""
    _check_tensors()
    _check_floats()
    _check_bools()


def _check_tensors() -> None:
    """Let compiled functions refuse integers with the other sign, and elements without memory.

    The DSL lets ``uint32`` pass for ``int32``, and a kernel that converts, compares, divides or shifts right
    then computes something else. Frameworks have tensors without memory: wrappers around others, and those
    that stand for one while a program is traced. A kernel would read at address zero.
    """
    decode = FunctionBuilder.decode_param_tensor
    load_data, load_shape = FunctionBuilder.load_dltensor_data_ptr, FunctionBuilder.load_dltensor_shape
    load_code = FunctionBuilder.load_dltensor_dtype_code

    def load_dltensor_data_ptr(self: Any, dltensor: Any) -> Any:
        self.last_data = load_data(self, dltensor)
        return self.last_data

    def load_dltensor_shape(self: Any, dltensor: Any) -> Any:
        self.last_shape = load_shape(self, dltensor)
        return self.last_shape

    def load_dltensor_dtype_code(self: Any, dltensor: Any) -> Any:
        self.last_dtype_code = load_code(self, dltensor)
        return self.last_dtype_code

    def decode_param_tensor(self: Any, block: Any, param: Any, args: Any, index: int, context: Any) -> Any:
        block = decode(self, block, param, args, index, context)
        data, shape, code = self.last_data, self.last_shape, self.last_dtype_code

        def has_memory() -> Any:
            address = llvm.ptrtoint(self.i64_type, data)
            found = llvm.icmp(llvm.ICmpPredicate.ne, address, self.i64(0))
            for dimension in range(len(param.shape)):
                extent = self.load_i64_array_item(shape, dimension)
                found = self.or_(found, self.equal(extent, self.i64(0)))
            return found

        said = [*context.get(), self._fn_call_context]
        block = self.check_condition(
            block,
            lambda: self.equal(code, self.i8(param.dtype.type_code)),
            "ValueError",
            ["Mismatched Tensor ", *said, f", expected dtype={param.dtype}"],
        )
        return self.check_condition(
            block, has_memory, "ValueError", ["Missing Tensor data ", *said, ", expected memory"]
        )

    FunctionBuilder.load_dltensor_data_ptr = load_dltensor_data_ptr
    FunctionBuilder.load_dltensor_shape = load_dltensor_shape
    FunctionBuilder.load_dltensor_dtype_code = load_dltensor_dtype_code
    FunctionBuilder.decode_param_tensor = decode_param_tensor


def _check_floats() -> None:
    """Let compiled functions refuse finite numbers that a float type turns into infinity."""
    decode = FunctionBuilder.decode_param_float

    def decode_param_float(self: Any, block: Any, param: Any, args: Any, index: int, context: Any) -> Any:
        block = decode(self, block, param, args, index, context)
        limit = float_limit(str(param.dtype))
        if limit == math.inf:
            return block
        said = ["Out of bound value ", *context.get(), self._fn_call_context]
        said.append(f", expected to be in {param.dtype} range")
        return self.check_condition(block, lambda: _stays(self, args, index, limit), "ValueError", said)

    FunctionBuilder.decode_param_float = decode_param_float


def _stays(builder: Any, args: Any, index: int, limit: float) -> Any:
    """Return the condition that a number is below a limit, or infinite or none before.

    Floats without their sign are in the order of the integers with the same bits, with infinity and NaN last.
    """
    bits = builder.load_ffi_any_array_item_v_int64(args, index)
    kind = builder.load_ffi_any_array_item_type_index(args, index)
    is_float = builder.equal(kind, builder.i32(TypeIndex.kTVMFFIFloat))
    magnitude = builder.and_(bits, builder.i64(2**63 - 1))
    start, infinity = _bits(limit), _bits(math.inf)
    as_float = llvm.icmp(
        llvm.ICmpPredicate.uge, _sum(builder, magnitude, -start), builder.i64(infinity - start)
    )
    whole = math.ceil(limit) - 1
    if whole >= 2**63:  # every integer fits
        return builder.or_(builder.not_(is_float), as_float)
    as_integer = llvm.icmp(llvm.ICmpPredicate.ule, _sum(builder, bits, whole), builder.i64(2 * whole))
    return llvm.select(is_float, as_float, as_integer)


def _bits(number: float) -> int:
    """Return the integer with the bits of a float64."""
    found: tuple[int] = struct.unpack("<q", struct.pack("<d", number))
    return found[0]


def _sum(builder: Any, value: Any, constant: int) -> Any:
    return llvm.add(value, builder.i64(constant), overflow_flags=llvm.IntegerOverflowFlags.none)


def _check_bools() -> None:
    """Let compiled functions refuse integers for a bool, but for 0 and 1; the DSL takes all of eight bits."""
    check = FunctionBuilder.check_int_value_dtype_bound

    def check_int_value_dtype_bound(self: Any, block: Any, value: Any, dtype: Any, said: list[Any]) -> Any:
        if str(dtype) != "bool":
            return check(self, block, value, dtype, said)
        return self.check_condition(
            block,
            lambda: llvm.icmp(llvm.ICmpPredicate.ule, value, self.i64(1)),
            "ValueError",
            ["Out of bound ", *said, ", expected to be in bool range [0, 1]"],
        )

    FunctionBuilder.check_int_value_dtype_bound = check_int_value_dtype_bound

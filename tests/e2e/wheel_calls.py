"""Calls of the installed package without NumPy or any framework; also what mypy checks its types with."""

from __future__ import annotations

import ctypes
import importlib.util
from typing import Any

import cute_kernels
from cute_kernels import host
from cute_kernels.kwargs import host as kw


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Floats:
    """A vector on the CPU that speaks DLPack and keeps its memory itself."""

    def __init__(self, *values: float) -> None:
        self.values = (ctypes.c_float * len(values))(*values)
        self._shape, self._strides = (ctypes.c_int64 * 1)(len(values)), (ctypes.c_int64 * 1)(1)
        data = ctypes.addressof(self.values)
        self._managed = _Managed(
            _DLTensor(data, 1, 0, 1, 2, 32, 1, self._shape, self._strides, 0), None, None
        )

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def main() -> None:
    a, b = Floats(1.0, 2.0, -3.0), Floats(0.0, 0.0, 0.0)
    host.host_add_constant(a, b, 2.0)
    assert list(b.values) == [3.0, 4.0, -1.0]
    kw.host_add_constant(a, offset=0.5, b=b)
    assert list(b.values) == [1.5, 2.5, -2.5]
    total: cute_kernels.Tensor = Floats(0.0)
    kw.host_pointer(ctypes.addressof(a.values), 3, out=total)
    for module in ("cutlass", "numpy", "torch", "stubgen"):
        assert importlib.util.find_spec(module) is None, module
    print("right,", len(host.__all__), "functions in", cute_kernels.__file__)


if __name__ == "__main__":
    main()

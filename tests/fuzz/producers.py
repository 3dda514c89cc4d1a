"""A DLPack producer of our own, for what NumPy and torch never export."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tests.fuzz.arguments import Tensor


class _Device(ctypes.Structure):
    _fields_: ClassVar = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_: ClassVar = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_: ClassVar = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}


class Capsule:
    """An object with ``__dlpack__``; ``kind`` says what is unusual about what it gives."""

    RIGHT = (
        *("capsule", "capsule without strides", "capsule with an offset", "capsule of device 5"),
        *("capsule of negative extents", "capsule without memory"),
    )
    """These may fit; the others never do."""
    KINDS = (
        *RIGHT,
        "capsule on a GPU",
        "capsule of pinned memory",
        "capsule of vectors",
        "capsule of negative extents",
    )

    def __init__(self, address: int, tensor: Tensor, kind: str) -> None:
        rank = len(tensor.shape)
        sign = -1 if kind == "capsule of negative extents" else 1
        offset = 40 if kind == "capsule with an offset" else 0
        self._shape = (ctypes.c_int64 * rank)(*(sign * extent for extent in tensor.shape))
        self._strides = (ctypes.c_int64 * rank)(*tensor.strides)
        name = tensor.dtype.rstrip("0123456789")
        bits = 8 * tensor.itemsize
        lanes = 2 if kind == "capsule of vectors" else 1
        self._device = (
            {"capsule on a GPU": 2, "capsule of pinned memory": 3}.get(kind, 1),
            5 if kind == "capsule of device 5" else 0,
        )
        self._managed = _Managed(
            _DLTensor(
                None if kind == "capsule without memory" else address - offset,
                _Device(*self._device),
                rank,
                _DataType(_CODES.get(name, 2), bits, lanes),
                ctypes.addressof(self._shape),
                None if kind == "capsule without strides" else ctypes.addressof(self._strides),
                offset,
            ),
            None,
            _Deleter(),  # none: the owner frees everything
        )

    def __dlpack__(self, **_: object) -> object:
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

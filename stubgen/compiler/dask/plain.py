"""Keeps Dask from running what a worker sends: this process takes bytes and texts of errors, nothing else.

Dask pickles whatever it carries, and unpickling runs code. All of that goes through one function, which is
another one here for as long as there is a connection.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import pickle
from collections.abc import Generator, Iterable
from typing import Any, cast

_PLAIN = ("bytes", "bytearray", "memoryview")


@contextlib.contextmanager
def only_plain_data() -> Generator[None, None, None]:
    """Let nothing that comes over Dask's connections name code that is run here."""
    unpickling: Any = importlib.import_module("distributed.protocol.pickle")
    before = unpickling.loads
    unpickling.loads = loads
    try:
        yield
    finally:
        unpickling.loads = before


def loads(data: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """Unpickle plain data. An exception stays one, with its arguments; whatever else has a class is empty."""
    return _Unpickler(io.BytesIO(data), buffers=buffers).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        known = getattr(builtins, name, None) if module == "builtins" else None
        if name in _PLAIN and known is not None:
            return known
        if isinstance(known, type) and issubclass(known, Exception):
            return known
        if (module, name) == ("tblib.pickling_support", "unpickle_exception_with_attrs"):
            return _exception
        return type(name, (_Stranger,), {"__module__": "elsewhere"})


class _Stranger(Exception):  # noqa: N818  # many are none
    """Stands for an object of a class that is not loaded."""

    def __init__(self, *arguments: object, **more: object) -> None:
        super().__init__(*arguments)

    def __setstate__(self, state: object) -> None:
        """Leave it as it is."""


def _exception(kind: object, attributes: object, *rest: object) -> Exception:
    """Make an exception in the way of tblib, which Dask pickles them with."""
    del rest
    given = kind
    named = cast("dict[str, object]", attributes) if isinstance(attributes, dict) else {}
    arguments = named.get("args", ())
    if isinstance(kind, type) and issubclass(kind, Exception) and isinstance(arguments, tuple):
        with contextlib.suppress(TypeError):
            return kind(*cast("tuple[object, ...]", arguments))
    return _Stranger(given)

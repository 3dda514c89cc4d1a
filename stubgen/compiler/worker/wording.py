"""Words for values and annotations in messages, and what to write instead of a value that is wrong."""

from __future__ import annotations

import numbers
import re
import typing
from typing import Any

import stubgen
from stubgen.compiler.worker.dsl import dsl


def shown(value: Any) -> str:
    """Show a value in a message: short, and without addresses."""
    if isinstance(value, type):
        return value.__qualname__
    if dsl.is_symbol(value):
        return f"the size {value.symbol}" if value.symbol else "a symbolic size"
    if dsl.is_number(value):
        return f"a {type(value).__name__}"
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if dsl.is_tensor(value):
        return "a tensor"
    return f"{_article(type(value).__name__)} {type(value).__name__.lstrip('_')}"


def _article(noun: str) -> str:
    return "an" if noun.lstrip("_")[:1].lower() in "aeiou" else "a"


def shown_type(annotation: Any) -> str:
    """Show an annotation in a message, without the modules that its names come from."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    text = str(annotation)
    return re.sub(r"\b(cuda\.bindings\.driver|cutlass\.(base_dsl|cute)\.typing|typing)\.", "", text)


# ---------------------------------------------------------------------------------------------------------
# What to write instead


def named(value: Any) -> str:
    """Say what a value is where it should not be: a class, a function or what a library calls it."""
    if helper_without_call(value):
        return f"the function stubgen.{value.__name__}"
    if isinstance(value, type):
        module = value.__module__.partition(".")[0]
        name = value.__qualname__ if dsl.is_numeric_type(value) or module == "builtins" else _full_name(value)
        return f"the type {name}"
    if _is_array(value):
        return f"an array that exists, of {_full_name(type(value))}"
    return f"a {type(value).__name__}" if isinstance(value, dict | set | frozenset) else shown(value)


COMPILED_IN = "annotate its parameter with cutlass.Constexpr to have the value compiled in"
"""What to do about a value that only the compiler can make something of."""


def instead_of(value: Any) -> str:
    """Say what to write where a value is given that no compiled function can be called with."""
    dtype = _element_type(value)
    if helper_without_call(value):
        return f"call it: stubgen.{value.__name__}({_FIRST_ARGUMENTS[value.__name__]})"
    if dtype is not None:
        return f"give cutlass.{dtype.__name__}"
    if isinstance(value, type) and issubclass(value, tuple(_DESCRIBED_BY)):
        return next(text for base, text in _DESCRIBED_BY.items() if issubclass(value, base))
    if _is_array(value):
        return 'describe the arrays that callers pass: stubgen.tensor(cutlass.Float32, stubgen.dim("n"))'
    if isinstance(value, dict | set | frozenset):
        return "give its items parameters of their own, or make it a dataclass or a NamedTuple"
    if isinstance(value, numbers.Number):
        return "give an int, a float, or a type of cutlass for what callers pass"
    return COMPILED_IN


_FIRST_ARGUMENTS = {
    "dim": '"n"',
    "env_stream": "",
    "pointer": "cutlass.Float32",
    "stream": "",
    "strided": 'cutlass.Float32, stubgen.dim("n")',
    "tensor": 'cutlass.Float32, stubgen.dim("n")',
}
"""Of each helper that describes an argument, as an example."""

_DESCRIBED_BY: dict[type, str] = {
    dsl.TENSOR: 'describe the tensor: stubgen.tensor(cutlass.Float32, stubgen.dim("n"))',
    dsl.POINTER: "describe the pointer: stubgen.pointer(cutlass.Float32)",
    dsl.STREAM: "describe the stream: stubgen.env_stream(), or stubgen.stream() to let the caller pass it",
}
"""For classes of arguments, what describes one."""


def helper_without_call(value: Any) -> bool:
    """Return whether a value is a helper itself rather than what it returns."""
    name = getattr(value, "__name__", None)
    return name in _FIRST_ARGUMENTS and value is getattr(stubgen, str(name), None)


def _is_array(value: Any) -> bool:
    return not isinstance(value, type) and (
        hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")
    )


def _element_type(value: Any) -> Any:
    """Return the DSL's type for a number type of NumPy, PyTorch or JAX; ``None`` for anything else."""
    owner = value if isinstance(value, type) else type(value)
    if owner.__module__.partition(".")[0] not in ("numpy", "torch", "jax", "ml_dtypes"):
        return None
    name = getattr(value, "__name__", None) or str(value).rpartition(".")[2]
    return dsl.numeric_type({"bool_": "bool"}.get(name, name))


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"

"""Compares what is declared with what quack itself would compile for the same call, for one architecture.

quack's own functions are asked for every variant; what they hand to ``cute.compile`` is caught there and not
compiled. Prints how many were compared, or what differs first.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cutlass import Float32, Int32, Int64, cute

import stubgen as sg
from stubgen.compiler.jobs import ModuleJob, WorkerSettings
from stubgen.compiler.worker import arguments
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.worker import Worker
from stubgen.config.devices import builtin_profile
from stubgen.declare.declarations import Call, declared_in


class Description:
    """Describes a call as data that can be compared; one size in two places is one number."""

    def __init__(self) -> None:
        self._symbols: dict[int, int] = {}

    def of_call(self, fn: Any, *args: Any) -> list[Any]:
        bound = arguments.bind(sg.kernel(fn, *args))  # a plain 0 becomes a number of the annotated type
        return [self.of(fn), *map(self.of, bound.args)]

    def of(self, value: Any) -> Any:
        if dsl.is_stream(value):
            return "stream", dsl.is_env_stream(value)
        if dsl.is_tensor(value):
            # Two differences are meant. A declaration may ask more of an extent: what quack makes sure of
            # before it calls. And it may let strides differ that quack has in two places for no reason.
            shape = [
                (self._number(size), size.width) if dsl.is_symbol(size) else size for size in value.shape
            ]
            strides = [
                (size.width, size.divisibility) if dsl.is_symbol(size) else size for size in value.stride
            ]
            return value.element_type, value.memspace, value._assumed_align, shape, strides
        if dsl.is_number(value):
            return "scalar", type(value)
        if isinstance(value, tuple | list):
            return [self.of(item) for item in value]
        if hasattr(value, "__dict__") and not isinstance(value, type):
            return type(value), {name: self.of(item) for name, item in vars(value).items()}
        return value

    def _number(self, size: Any) -> int:
        return self._symbols.setdefault(id(size), len(self._symbols))


class _CaughtError(Exception):
    pass


def theirs(compile_it: Any, *key: Any, **more: Any) -> list[Any]:
    """Describe what one of quack's functions hands to ``cute.compile`` for a key of its cache."""
    caught: list[Any] = []

    def catch(*given: Any, options: str) -> None:
        caught.extend(given)
        raise _CaughtError

    compiler: Any = cute
    real, compiler.compile = compiler.compile, catch
    try:
        compile_it.__wrapped__(*key, **more)
    except _CaughtError:
        return Description().of_call(*caught)
    finally:
        compiler.compile = real
    raise AssertionError(f"{compile_it} compiles nothing")


def when(given: bool, value: Any) -> Any:
    """Return a value, or the ``None`` that stands for an absent one."""
    return value if given else None


def keys() -> dict[str, Callable[..., tuple[Any, ...]]]:
    """For each declared function, what quack compiles for a variant: its own function, and the key."""
    # Not attributes of the package: functions of the same names hide the modules there.
    norm, softmax, entropy, topk, rotary, hadamard, parts, final = (
        importlib.import_module(f"quack.{name}")
        for name in (
            *("rmsnorm", "softmax", "cross_entropy", "topk", "rotary"),
            *("transform.hadamard", "split_k_reduce", "rms_final_reduce"),
        )
    )
    normalise, normalise_back = norm._compile_rmsnorm_fwd, norm._compile_rmsnorm_bwd
    return {
        "rmsnorm_fwd": lambda dtype, n, residual, training: (
            *(
                normalise,
                dtype,
                dtype,
                when(residual, dtype),
                dtype,
                None,
                when(residual, dtype),
                n,
            ),
            *(training, False, False, False),
        ),
        "rmsnorm_bwd": lambda dtype, n, residual: (
            *(normalise_back, n, dtype, dtype, dtype, dtype, False, None, when(residual, dtype), True),
        ),
        "layernorm_fwd": lambda dtype, n, bias, training: (
            *(normalise, dtype, dtype, None, Float32, when(bias, Float32), None, n),
            *(training, training, True, False),
        ),
        "layernorm_bwd": lambda dtype, n, bias: (
            *(normalise_back, n, dtype, dtype, dtype, Float32, bias, None, None, True, False, 0, True),
        ),
        "softmax_fwd": lambda dtype, n: (softmax.Softmax.compile, dtype, dtype, n),
        "softmax_bwd": lambda dtype, n: (softmax.SoftmaxBackward.compile, dtype, dtype, dtype, n),
        "cross_entropy_fwd": lambda dtype, n, gradient: (
            *(entropy.CrossEntropy.compile, dtype, Int64, None, n, not gradient, gradient, None, None),
        ),
        "cross_entropy_bwd": lambda dtype, n: (entropy.CrossEntropyBackward.compile, dtype, Int64, n, None),
        "topk_fwd": lambda dtype, n, k, softmax: (topk.TopK.compile, dtype, n, k, softmax),
        "topk_bwd": lambda dtype, n, k, softmax: (
            *(topk.TopKBackward.compile, dtype, when(softmax, dtype), dtype, n, k, softmax),
        ),
        "rotary": lambda dtype, dim, conjugate, packed: (
            *(
                rotary.RotaryKernel.compile,
                dtype,
                dtype,
                None,
                when(packed, Int32),
                dim,
                False,
                conjugate,
            ),
        ),
        "hadamard": lambda dtype, n: (hadamard.HadamardTransform.compile, dtype, n, n == 32768),
        "split_k_reduce": lambda dtype, split_k: (
            *(parts._compile_split_k_reduce, dtype, split_k, False, 4, 0, 0, None, None, None),
        ),
        "rms_final_reduce": lambda n: (final._compile_rms_final_reduce, Float32, n),
    }


def main() -> None:
    arch, logs = sys.argv[1], sys.argv[2]
    files = [Path(file).absolute() for file in sys.argv[3:]]
    settings = WorkerSettings(str(files[0].parents[1]), arch, builtin_profile(arch), logs, (arch,))
    worker = Worker(settings)
    compared, quacks = 0, keys()
    for file in files:
        expansion = worker.expand(ModuleJob(file.stem, str(file), file.name, file.stem, str(file.parent)))
        assert not expansion.problems, expansion.problems
        for declared in expansion.declared:
            declaration = declared_in(str(file))[declared.index]
            call = declaration.build()
            assert isinstance(call, Call)
            found = Description().of_call(call.fn, *arguments.bind(call).args)
            wanted = theirs(*quacks[str(declaration.family)](**values_of(declaration.build)))
            if found != wanted:
                raise SystemExit(f"{declared.name}:\nours:   {found}\nquack's: {wanted}")
            compared += 1
    print(f"{compared} are what quack compiles")


def values_of(build: Any) -> dict[str, Any]:
    """Return the values of the axes, which families give what they call last."""
    return dict(build.args[-1])


if __name__ == "__main__":
    main()

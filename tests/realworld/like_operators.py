"""Compares what is declared with what the registry's operators would compile, for one architecture.

They are asked for every variant; what they hand to ``cute.compile`` is caught there and not compiled. Prints
how many were compared, or what differs first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cutlass import cute

from stubgen.compiler.jobs import ModuleJob, WorkerSettings
from stubgen.compiler.worker import arguments
from stubgen.compiler.worker.dsl import dsl
from stubgen.compiler.worker.worker import Worker
from stubgen.config.devices import builtin_profile
from stubgen.declare.declarations import Call, declared_in


class _Caught(Exception):  # noqa: N818  # nothing is wrong
    pass


class _Catcher:
    """Stands in for ``cute.compile[...]``."""

    def __getitem__(self, options: object) -> _Catcher:
        return self

    def __call__(self, *given: Any) -> None:
        raise _Caught(*given)


def described(fn: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """Describe a call, but for streams, and for which sizes are the same: the library does not say."""
    found = [fn, *(_tensor(value) if dsl.is_tensor(value) else value for value in arguments)]
    return [value for value in found if value is not None and not dsl.is_stream(value)]


def _tensor(tensor: Any) -> tuple[Any, ...]:
    shape, strides = (
        tuple((size.width, size.divisibility) if dsl.is_symbol(size) else size for size in sizes)
        for sizes in (tensor.shape, tensor.stride)
    )
    contiguous = strides.index(1)
    return tensor.element_type, tensor._assumed_align, len(shape), shape[contiguous], contiguous, strides


def main() -> None:
    arch, logs, file = sys.argv[1], sys.argv[2], Path(sys.argv[3]).absolute()
    worker = Worker(WorkerSettings(str(file.parents[1]), arch, builtin_profile(arch), logs, (arch,)))
    module = ModuleJob(file.stem, str(file), file.name, file.stem, str(file.parent))
    expansion = worker.expand(module)
    assert not expansion.problems, expansion.problems
    kernels: Any = sys.modules[file.stem]
    asked: list[tuple[Any, Any]] = []

    def get_operators(given: Any, *more: Any, real: Any = kernels.get_operators, **options: Any) -> Any:
        found = real(given, *more, **options)
        asked.append((found[0], given))
        return found

    compiler: Any = cute
    kernels.get_operators, compiler.compile = get_operators, _Catcher()
    for declared in expansion.declared:
        call = declared_in(str(file))[declared.index].build()
        assert isinstance(call, Call)
        operator, given = asked[-1]
        assert operator.impl is call.fn
        try:
            operator.compile(given, arch.removeprefix("sm_"))
        except _Caught as caught:
            wanted = described(caught.args[0], caught.args[1:])
        ours = described(call.fn, arguments.bind(call).args)
        # One that is given the epilogue which the function has by default says so.
        if ours != wanted[: len(ours)] or wanted[len(ours) :] not in (
            [],
            [getattr(operator.impl, "epilogue_op", None)],
        ):
            raise SystemExit(f"{declared.name}:\nours:   {ours}\ntheirs: {wanted}")
    print(f"{len(expansion.declared)} are what the operators compile")


if __name__ == "__main__":
    main()

"""Calls of what PyTorch can call drawn at random: kinds of tensors, modes and tracers.

What comes out is compared with what the operator gives, and with a formula. Run apart, for what is wrong
here may end the process: ``python -m tests.frameworks.torch_draws SEED COUNT``, with the package ``framed``
on the path. Prints how many draws gave values, by what was drawn.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor, init_device_mesh
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

Tensors = list[torch.Tensor]
Run = Callable[..., Tensors]

# ---------------------------------------------------------------------------------------------------------
# Functions: what is passed, and what must come out


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    name: str
    tensors: Tensors
    """Those of the inputs, in order."""
    arguments: Callable[[Tensors], list[Any]]
    """What is passed with some tensors as inputs."""
    results: Callable[[Tensors], Tensors]
    """What is returned, by a formula."""
    outputs: int
    changed: tuple[int, ...] = ()
    """The inputs that are changed, to what comes last of the results."""


def draw_call(random: random.Random) -> Call:
    n = random.choice([0, 1, 3, 8])
    dtype = random.choice([torch.float32, torch.float64])
    x, y = (torch.randint(-4, 5, (n,)).to(dtype) for _ in range(2))
    wide = torch.randint(-4, 5, (n, 3)).float()
    a, b = random.choice([0.5, 2.0, -1.0]), random.choice([0, 1.0, 3.0])
    match random.randrange(6):
        case 0:
            return Call("axpby", [x, y], lambda t: [a, t[0], b, t[1]], lambda t: [a * t[0] + b * t[1]], 1)
        case 1:
            x = x.float()
            return Call("scale", [x], lambda t: [t[0], a], lambda t: [a * t[0]], 0, (0,))
        case 2:
            x, y = x.float(), y.float()
            return Call("cumulate", [x, y], lambda t: t, lambda t: [t[0] + t[1]] * 2, 1, (1,))
        case 3:
            power = random.choice([1, 2])
            return Call("product", [x, y], lambda t: [*t, power], lambda t: [t[0] * t[1] ** power], 1)
        case 4:
            kind = random.choice(["identity", "relu", "negate"])
            apply = {"identity": torch.clone, "relu": torch.relu, "negate": torch.neg}[kind]
            x = x.float()
            return Call("activated", [x], lambda t: [t[0], kind, None], lambda t: [apply(t[0])], 1)
        case _:
            return Call("row_sums", [wide], lambda t: [t[0], None], lambda t: [t[0].sum(1)], 1)


def surfaces(call: Call) -> dict[str, tuple[Run, Run]]:
    """Return what calls the module, and what calls the operator, by name: in place, and functional."""
    import framed.torch
    import framed.torch.functional

    operators = getattr(torch.ops.framed, call.name)
    like = call.results(call.tensors)[: call.outputs]

    def into(function: Any) -> Run:
        def run(*given: torch.Tensor) -> Tensors:
            tensors = list(given)
            outputs = [tensors[0].new_empty(out.shape, dtype=out.dtype) for out in like]
            function(*call.arguments(tensors), *outputs)
            return [*outputs, *(tensors[i] for i in call.changed)]

        return run

    def making(function: Any) -> Run:
        def run(*given: torch.Tensor) -> Tensors:
            tensors = list(given)
            made = function(*call.arguments(tensors))
            return [*(made if isinstance(made, tuple) else (made,)), *(tensors[i] for i in call.changed)]

        return run

    found = {"in place": (into(getattr(framed.torch, call.name)), into(operators.default))}
    if call.outputs:
        function = getattr(framed.torch.functional, call.name)
        if call.name == "row_sums":  # the dtype goes by keyword
            found["functional"] = (
                making(lambda x, dtype: function(x, out_dtype=dtype)),
                making(operators.functional),
            )
        else:
            found["functional"] = (making(function), making(operators.functional))
    return found


# ---------------------------------------------------------------------------------------------------------
# Kinds of tensors


class Plain(torch.Tensor):
    """A subclass that changes nothing."""


class Overriding(torch.Tensor):
    """A subclass that sees functions."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(function, types, args, kwargs or {})


class Wrapper(torch.Tensor):
    """A tensor without memory that stands for another."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> Wrapper:
        made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=held.device)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = function(*map(unwrapped, args), **{k: unwrapped(v) for k, v in (kwargs or {}).items()})
        return tree_map_only(torch.Tensor, cls, found)


class Careless(Wrapper):
    """A tensor without memory that is passed on as it is."""

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        with torch._C._DisableTorchDispatch():
            return function(*args, **(kwargs or {}))


def unwrapped(value: Any) -> Any:
    return value.held if isinstance(value, Wrapper) else value


@functools.cache
def _mesh() -> Any:
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    return init_device_mesh("cpu", (2,))


def distributed(tensor: torch.Tensor) -> torch.Tensor:
    return distribute_tensor(tensor, _mesh(), [Replicate()])


KINDS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": torch.clone,
    "parameter": lambda t: torch.nn.Parameter(t.clone(), requires_grad=False),
    "inference": lambda t: torch.inference_mode()(t.clone)(),
    "negative": lambda t: torch._neg_view(-t),
    "copy on write": lambda t: torch._lazy_clone(t.clone()),
    "subclass": lambda t: t.clone().as_subclass(Plain),
    "overriding": lambda t: t.clone().as_subclass(Overriding),
    "wrapper": lambda t: Wrapper(t.clone()),
    "careless": lambda t: Careless(t.clone()),
    "awaited": lambda t: AsyncCollectiveTensor(t.clone()),
    "distributed": lambda t: distributed(t.clone()),
    "sparse": lambda t: t.to_sparse(),
    "zero": lambda t: torch._efficientzerotensor(t.shape, dtype=t.dtype),
    "meta": lambda t: t.to("meta"),
    "fake": lambda t: FakeTensorMode().from_tensor(t),
    "functional": torch._to_functional_tensor,
}


def values(tensor: Any) -> Any:
    """Return what a tensor holds, or its shape if it holds nothing."""
    if isinstance(tensor, DTensor):
        tensor = tensor.to_local()
    if isinstance(tensor, FakeTensor) or tensor.is_meta:
        return tuple(tensor.shape), tensor.dtype
    if torch._is_functional_tensor(tensor):
        torch._sync(tensor)
        tensor = torch._from_functional_tensor(tensor)
    with torch._C.DisableTorchFunctionSubclass():
        return unwrapped(tensor).detach().tolist(), tensor.dtype


# ---------------------------------------------------------------------------------------------------------
# What watches


class Seeing(TorchDispatchMode):
    """Sees operators."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(str(function))
        return function(*args, **(kwargs or {}))


class SeeingFunctions(TorchFunctionMode):
    """Sees functions."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(str(function))
        return function(*args, **(kwargs or {}))


seen: list[str] = []

MODES: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "nothing": contextlib.nullcontext,
    "dispatch mode": Seeing,
    "function mode": SeeingFunctions,
    "default device": lambda: torch.device("cpu"),
    "inference mode": torch.inference_mode,
    "no grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "profiler": lambda: torch.autograd.profiler.profile(use_kineto=False),
    "fake mode": lambda: FakeTensorMode(allow_non_fake_inputs=True),
}


def traced(mode: str) -> Callable[[Run, Tensors], Run]:
    return lambda run, tensors: make_fx(run, tracing_mode=mode)(*(t.clone() for t in tensors))


def traced_by_jit(run: Run, tensors: Tensors) -> Run:
    return torch.jit.trace(run, tuple(t.clone() for t in tensors), check_trace=False)  # type: ignore[no-any-return]


def mapped(run: Run, tensors: Tensors) -> Run:
    return lambda *given: [out[0] for out in torch.vmap(run)(*(t[None] for t in given))]


TRACERS: dict[str, Callable[[Run, Tensors], Run]] = {
    "make_fx": traced("real"),
    "make_fx, fake": traced("fake"),
    "make_fx, symbolic": traced("symbolic"),
    "jit.trace": traced_by_jit,
    "functionalize": lambda run, tensors: torch.func.functionalize(run),
    "vmap": mapped,
}

# ---------------------------------------------------------------------------------------------------------
# Draws

_REFUSED = (TypeError, ValueError, RuntimeError, AssertionError)


def outcome(run: Run, tensors: Tensors, mode: str) -> Any:
    """Return what comes out, or ``None`` if it is refused."""
    seen.clear()
    try:
        with MODES[mode]():
            results = run(*tensors)
        return [values(result) for result in results]
    except _REFUSED as error:
        if "INTERNAL ASSERT" in str(error):
            raise
        return None


def _traced(tracer: str, run: Run, tensors: Tensors) -> Run:
    def trace_and_run(*given: torch.Tensor) -> Tensors:
        return TRACERS[tracer](run, tensors)(*given)

    return trace_and_run


def draws(seed: int, count: int) -> Iterator[tuple[str, bool]]:
    """Yield for each draw what was drawn, and whether it gave values.

    Raises
    ------
    AssertionError
        A value is not the operator's, or not that of the formula.
    """
    source = random.Random(seed)
    torch.manual_seed(seed)
    for number in range(count):
        call = draw_call(source)
        surface, (ours, operator) = source.choice(list(surfaces(call).items()))
        tracer = source.choice([None] * 9 + list(TRACERS))
        mode = source.choice([*MODES, *["nothing"] * 5]) if tracer is None else "nothing"
        several = ["plain"] if tracer else source.sample(list(KINDS), source.choice([1, 1, 2]))
        kinds = [source.choice(several) for _ in call.tensors]
        if tracer:
            given = [t + 1 for t in call.tensors]
            found, known = (
                outcome(_traced(tracer, run, call.tensors), [t.clone() for t in given], mode)
                for run in (ours, operator)
            )
        else:
            found = outcome(ours, [KINDS[k](t) for k, t in zip(kinds, call.tensors, strict=True)], mode)
            watched = list(seen)
            known = outcome(operator, [KINDS[k](t) for k, t in zip(kinds, call.tensors, strict=True)], mode)
            assert not found or watched == seen, (seed, number, watched, seen)
            given = [t * 0 if k == "zero" else t for k, t in zip(kinds, call.tensors, strict=True)]
        drawn = (seed, number, call.name, surface, tracer or mode, kinds)
        assert found == known, (*drawn, found, known)
        want = [values(result) for result in call.results([t.clone() for t in given])]
        computed = mode != "fake mode" and not {"meta", "fake"} & {*kinds}
        for one, wanted in zip(found or [], want, strict=bool(found)):
            assert one[1] == wanted[1], (*drawn, found, want)
            assert not computed or one[0] == wanted[0], (*drawn, found, want)
        yield f"{surface}: {tracer or mode}", found is not None
        for kind in set(kinds):
            yield f"{surface}: {kind}", found is not None


def main(seed: int, count: int) -> None:
    warnings.simplefilter("ignore")
    drawn: collections.Counter[str] = collections.Counter()
    valued: collections.Counter[str] = collections.Counter()
    for what, gave_values in draws(seed, count):
        drawn[what] += 1
        valued[what] += gave_values
    for what in sorted(drawn):
        print(f"{what}: {valued[what]} of {drawn[what]}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

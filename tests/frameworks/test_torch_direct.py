"""How the module for PyTorch tells direct calls from others, and what happens when it is imported again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.frameworks.torch_draws import Plain, Seeing, SeeingFunctions, Wrapper

pytestmark = pytest.mark.xdist_group("torch")


@pytest.fixture(scope="module")
def native(framed_output: Path) -> ModuleType:
    return importlib.import_module("framed.torch")


@pytest.fixture
def x() -> Tensor:
    return torch.arange(1.0, 5.0)


# ---------------------------------------------------------------------------------------------------------
# How it is told


def test_the_library_tells_what_python_tells(native: ModuleType, x: Tensor) -> None:
    from framed.torch import _direct

    assert _direct.DirectCall is not _direct._AskingPython, "this PyTorch is one that the library can read"
    kinds = [
        x,
        torch.nn.Parameter(x),
        x.as_subclass(Plain),
        Wrapper(x),
        x.to_sparse(),
        x.to("meta"),
        torch._neg_view(x),
    ]
    kinds += [torch._efficientzerotensor(4), torch._to_functional_tensor(x), FakeTensorMode().from_tensor(x)]
    others = [1, 1.0, True, None, "relu", np.ones(3), np.float32(1), object()]
    for mode in (torch.no_grad, torch.inference_mode, Seeing, SeeingFunctions, lambda: torch.device("cpu"),
                 lambda: torch.autograd.profiler.profile(use_kineto=False)):  # fmt: skip
        for given in [*kinds, *others]:
            with mode():
                for arguments in ((), (given,), (x, given), (1.0, given, x)):
                    assert _direct.is_direct(*arguments) == _direct._is_direct(*arguments), (mode, arguments)
                    assert _direct.have_memory(*arguments) == _direct._have_memory(*arguments), (
                        mode,
                        arguments,
                    )


def test_where_memory_cannot_be_read_python_asks(run_apart: Callable[[str], str]) -> None:
    code = """
import ctypes, torch, framed
real = ctypes.CDLL
def load(name, *options):
    if "torch_cpu" in str(name):
        raise OSError("no such library")
    return real(name, *options)
ctypes.CDLL = load
import framed.torch as native, framed.torch.functional as pure
from framed.torch import _direct
from tests.frameworks.torch_draws import Seeing, seen
x = torch.ones(3)
native.scale(x, 2.0)
with Seeing():
    native.scale(x, 2.0)
    pure.axpby(1.0, x, 1.0, x)
print(_direct.DirectCall.__name__, x.tolist(), [name for name in seen if "framed" in name])
"""
    assert (
        run_apart(code) == "_AskingPython [4.0, 4.0, 4.0] ['framed.scale.default', 'framed.axpby.functional']"
    )


# ---------------------------------------------------------------------------------------------------------
# Imported again


IMPORTED_AGAIN = """
import importlib, sys
{first}
import torch
from torch.utils._python_dispatch import TorchDispatchMode

class Seeing(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        seen.append(str(function))
        return function(*args, **(kwargs or {{}}))

x = torch.arange(1.0, 5.0)

def check():
    import framed.torch as native, framed.torch.functional as pure
    def changed(x):
        native.scale(x, 2.0)
        return pure.axpby(1.0, x, 1.0, x)
    torch._dynamo.reset()
    for function in (changed, torch.compile(changed, fullgraph=True, backend="aot_eager")):
        assert torch.equal(function(x.clone()), 4 * x)
    given = x.clone().requires_grad_()
    pure.product(given, x, 2).sum().backward()
    assert torch.equal(given.grad, x * x)
    return native, pure

kept = [check()]
for again in range(2):
    importlib.reload(sys.modules["framed.torch"])
    importlib.reload(sys.modules["framed.torch.functional"])
    kept.append(check())
    for name in ("_direct", "_runtime"):
        importlib.reload(sys.modules[f"framed.torch.{{name}}"])
    importlib.reload(sys.modules["framed.torch"])
    importlib.reload(sys.modules["framed.torch.functional"])
    kept.append(check())
    for start in ("framed.torch", "framed"):
        for name in [name for name in sys.modules if name == start or name.startswith(start + ".")]:
            del sys.modules[name]
        kept.append(check())
for native, pure in kept:
    seen = []
    given = x.clone()
    with Seeing():
        native.scale(given, 2.0)
        pure.axpby(1.0, given, 1.0, given)
    assert torch.equal(given, 2 * x)
    assert seen[-2:] == ["framed.scale.default", "framed.axpby.functional"], seen
print(len(kept))
"""


@pytest.mark.parametrize("first", ["", "import torch._dynamo"])
def test_importing_again_replaces_what_was_registered(run_apart: Callable[[str], str], first: str) -> None:
    assert run_apart(IMPORTED_AGAIN.format(first=first)) == "9"


def test_a_changed_schema_replaces_an_operator_that_older_functions_still_call(
    run_apart: Callable[[str], str],
) -> None:
    code = """
import torch, framed.torch
from framed.torch import _runtime
old = torch.ops.framed.scale.default
run = lambda x, factor, more: [x.mul_(factor + more), None][1]
for kind in ("Scalar", "float"):
    schema = f"(Tensor(a0!) x, {kind} factor, int more) -> ()"
    new = _runtime._operator("scale", schema, run, _runtime._nothing)
    x = torch.ones(2)
    torch.ops.framed.scale.default(x, 1.0, 2)
    try:
        old(x, 2.0)
    except RuntimeError as error:
        print(x.tolist(), "more" in str(error))
"""
    assert run_apart(code).splitlines() == ["[3.0, 3.0] True"] * 2


def test_copies_of_a_package_live_side_by_side(framed_output: Path, tmp_path: Path, run_apart: Any) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "__init__.py").touch()
    (tmp_path / "other" / "framed").symlink_to(framed_output / "framed")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import torch, framed.torch, other.framed.torch, other.framed.torch.functional as pure
from tests.frameworks.torch_draws import Seeing, seen
x = torch.ones(2)
with Seeing():
    framed.torch.scale(x, 2.0)
    other.framed.torch.scale(x, 3.0)
    print(pure.axpby(1.0, x, 1.0, x).tolist(), [name for name in seen if "framed" in name])
"""
    names = ["framed.scale.default", "other__framed.scale.default", "other__framed.axpby.functional"]
    assert run_apart(code) == f"[12.0, 12.0] {names}"

"""A package inside another package, beside a package of the same name with other kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from tests.conftest import run_stubgen

KERNELS = '''
import cutlass
from cutlass import cute

import stubgen as sg

FACTOR = {factor}


@cute.jit
def _times(x: cute.Tensor, extra: cutlass.Float32, mode: cutlass.Constexpr[str], out: cute.Tensor):
    """out = FACTOR * x + extra, or that less."""
    for i in range(out.shape[0]):
        if cutlass.const_expr(mode == "add"):
            out[i] = FACTOR * x[i] + extra
        else:
            out[i] = FACTOR * x[i] - extra


@cute.jit
def scale(x: cute.Tensor):
    """x = FACTOR * x."""
    for i in range(x.shape[0]):
        x[i] = FACTOR * x[i]


vector = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
sg.export(mutates=("x",))(scale, x=vector)
for name in ("build_id", "traceable", "arranged"):  # what a library has functions of its own for
    sg.export(mutates=("x",), name=name)(scale, x=vector)


@sg.family(mode=["add", "subtract"])
def times(mode):
    return sg.kernel(returns=("out",))(_times, x=vector, extra=cutlass.Float32, mode=mode, out=vector)
'''

SETTINGS = """
[tool.cute-stubgen]
kernels = ["kernels"]
package = "kernels_aot"
output = "{output}"
archs = ["sm_90a"]
frameworks = ["torch", "jax"]
"""

Run = Callable[..., str]


def generate(folder: Path, output: str, factor: int) -> None:
    (folder / "kernels").mkdir(parents=True)
    (folder / "kernels" / "ops.py").write_text(KERNELS.format(factor=factor))
    (folder / "pyproject.toml").write_text(SETTINGS.format(output=output))
    done = run_stubgen("generate", "-C", folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds ``mypkg/kernels_aot``, which multiplies by 2, and ``kernels_aot``, which multiplies by 7."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if root.name.startswith("popen-") else root
    with filelock.FileLock(root / "nested.lock"):
        if not (root / "nested" / "other").exists():
            package = root / "nested" / "project" / "src" / "mypkg"
            package.mkdir(parents=True)
            (package / "__init__.py").touch()
            (package / "py.typed").touch()
            generate(root / "nested" / "project", "src/mypkg", 2)
            generate(root / "nested" / "other", "generated", 7)
    return root / "nested"


@pytest.fixture
def run(folder: Path) -> Run:
    """Run Python that can import both packages, and give what it prints."""

    def run(code: str, *arguments: object) -> str:
        path = os.pathsep.join(str(folder / part) for part in ("project/src", "other/generated"))
        done = subprocess.run(
            [sys.executable, *(map(str, arguments) if arguments else ("-c", code))],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    return run


CHECK_PLAIN = """
import numpy as np
for package, factor in ((inner, 2), (outer, 7)):
    ops, kwargs = package.ops, package.kwargs
    x, out = np.array([1, 2], np.float32), np.zeros(2, np.float32)
    ops.times(x, 1.0, "add", out)
    assert out.tolist() == [factor + 1, 2 * factor + 1], out
    kwargs.ops.times(x=x, mode="subtract", extra=1.0, out=out)
    assert out.tolist() == [factor - 1, 2 * factor - 1], out
    ops.scale(x)
    assert x.tolist() == [factor, 2 * factor], x
    ops.build_id(x), ops.traceable(x), ops.arranged(x)
    assert x.tolist() == [factor**4, 2 * factor**4], x
print(inner.ops.scale.__module__, outer.ops.scale.__module__)
"""


@pytest.mark.parametrize("order", ["inner first", "outer first"])
def test_python_calls_the_functions_of_the_package_that_it_imports(run: Run, order: str) -> None:
    imports = ["import mypkg.kernels_aot as inner", "import kernels_aot as outer"]
    lines = imports if order == "inner first" else imports[::-1]
    code = "\n".join(lines) + CHECK_PLAIN
    assert run(code) == "mypkg.kernels_aot.ops kernels_aot.ops"


GLOBAL = """
import ctypes, os, sys, tvm_ffi
library = "kernels_aot/lib/libkernels_aot.so"
ctypes.CDLL(next(path for p in sys.path if os.path.exists(path := f"{p}/{library}")), mode=ctypes.RTLD_GLOBAL)
import mypkg.kernels_aot as inner
import kernels_aot as outer
"""


def test_a_library_calls_its_own_functions_whatever_the_program_shows(run: Run) -> None:
    """The dispatcher's calls would go to the library of that name whose symbols all see."""
    assert run(GLOBAL + CHECK_PLAIN)


TORCH = """
import mypkg.kernels_aot.torch as inner_torch
import mypkg.kernels_aot.torch.functional as inner, kernels_aot.torch.functional as outer, torch
x = torch.tensor([1.0, 2.0])
assert inner.times(x, 1.0, "add").tolist() == [3, 5]
assert outer.times(x, 1.0, "add").tolist() == [8, 15]
@torch.compile(fullgraph=True, backend="aot_eager")
def both(x):
    y = x.clone()
    inner_torch.scale(y)
    return inner.times(x, 1.0, "add"), outer.times(x, 1.0, "add"), y
assert [made.tolist() for made in both(x)] == [[3, 5], [8, 15], [2, 4]]
for space in ("kernels_aot", "mypkg__kernels_aot"):
    print(getattr(torch.ops, space).times.functional)
"""


def test_pytorch_has_operators_of_both(run: Run) -> None:
    assert run(TORCH).splitlines() == ["kernels_aot.times.functional", "mypkg__kernels_aot.times.functional"]


JAX = """
import mypkg.kernels_aot.jax as inner, kernels_aot.jax as outer
import jax, jax.numpy as jnp
x = jnp.array([1.0, 2.0])
for run in (lambda f: f, jax.jit):
    assert run(lambda x: inner.times(x, 1.0, "add"))(x).tolist() == [3, 5]
    assert run(lambda x: outer.times(x, 1.0, "add"))(x).tolist() == [8, 15]
    assert run(inner.scale)(x).tolist() == [2, 4]
"""


def test_jax_calls_the_functions_of_the_package_that_it_imports(run: Run) -> None:
    pytest.importorskip("jax_tvm_ffi")
    run(JAX)


PICKLES = """
import pickle
import mypkg.kernels_aot.ops as ops, mypkg.kernels_aot.kwargs.ops as keywords
import mypkg.kernels_aot.torch as torch, mypkg.kernels_aot.torch.functional as functional
import kernels_aot.ops as other
functions = [ops.scale, ops.times, ops.times.variants, ops.times.variants["add"], keywords.scale,
             torch.scale, torch.times, functional.times]
for function in functions:
    data = pickle.dumps(function)
    assert b"mypkg.kernels_aot" in data, data
    assert pickle.loads(data) is function, function
assert pickle.loads(pickle.dumps(other.scale)) is other.scale is not ops.scale
"""


def test_functions_are_pickled_by_the_name_that_they_are_imported_by(run: Run) -> None:
    run(PICKLES)


REGISTRY = """
import numpy as np, tvm_ffi
import mypkg.kernels_aot as inner, kernels_aot as outer
inner.register_functions(), outer.register_functions()
for name, factor in (("mypkg.kernels_aot.scale", 2), ("kernels_aot.scale", 7)):
    x = np.array([1], np.float32)
    tvm_ffi.get_global_func(name)(x)
    assert x.tolist() == [factor], (name, x)
"""


def test_registered_functions_have_names_of_their_own(run: Run) -> None:
    run(REGISTRY)


TYPED = """
import mypkg.kernels_aot.ops
import mypkg.kernels_aot.kwargs
import mypkg.kernels_aot.torch.functional as functional
from mypkg.kernels_aot import Tensor

def call(x: Tensor) -> None:
    mypkg.kernels_aot.ops.scale(x)
    mypkg.kernels_aot.kwargs.ops.scale(x=x)
    mypkg.kernels_aot.ops.scale(3)  # type: ignore[arg-type]
reveal_type(mypkg.kernels_aot.ops.times)
"""


def test_mypy_knows_the_types(run: Run, tmp_path: Path) -> None:
    (tmp_path / "typed.py").write_text(TYPED)
    cache = ("--cache-dir", tmp_path / "cache")
    said = run("", "-m", "mypy", "--strict", "--warn-unused-ignores", *cache, tmp_path / "typed.py")
    assert "mypkg.kernels_aot.ops._Times" in said
    assert "Success" in said


def test_the_tool_and_the_package_know_the_whole_name(run: Run, folder: Path) -> None:
    inner = folder / "project" / "src" / "mypkg" / "kernels_aot"
    said = run("", "-m", "stubgen", "describe", "mypkg.kernels_aot", "--json")
    assert '"scale"' in said
    assert run("", "-m", "stubgen", "verify", "mypkg.kernels_aot")
    assert run("", "-m", "mypkg.kernels_aot.config", "--includedir") == str(inner / "include")
    assert "python -m mypkg.kernels_aot.config" in run("", "-m", "mypkg.kernels_aot.config", "--help")


def test_a_farm_of_links_is_a_package(folder: Path, tmp_path: Path) -> None:
    """Each file is a link to one that lies in a folder of its own, as package managers do it."""
    source, farm = folder / "other" / "generated" / "kernels_aot", tmp_path / "farm" / "kernels_aot"
    for index, file in enumerate(
        f for f in source.rglob("*") if f.is_file() and "__pycache__" not in f.parts
    ):
        target, link = tmp_path / "store" / str(index) / file.name, farm / file.relative_to(source)
        target.parent.mkdir(parents=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
        link.symlink_to(target)
    code = (
        "import kernels_aot.config as c, kernels_aot.ops, sys;"
        "assert (c.include_dir() / 'kernels_aot' / 'ops.h').is_file();"
        "assert (c.library_dir() / 'libkernels_aot.so').is_file();"
        "assert c.cmake_dir().is_dir() and c.pkgconfig_dir().is_dir();"
        "print(*c.linker_flags('static'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(farm.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"-L{farm / 'lib'} ")

"""Kernel modules that change what others see while they are imported, and the modules beside them."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from stubgen.output.manifest import NAME, read
from tests.faults.projects import Project, errors

HEAD = """
import cutlass
from cutlass import cute

import stubgen as sg

x = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")
"""

KERNEL = """

@cute.jit
def {name}(x: cute.Tensor):
    for i in range(x.shape[0]):
        x[i] = x[i] + {value}


sg.export({name}, x=x)
"""

CONVERTER = """
from cutlass.cute import _tvm_ffi_args_spec_converter as converter

own = converter._convert_single_arg


def convert(arg, arg_name, arg_type, ctx, *more, **options):
    if hasattr(arg, "__dataclass_fields__"):
        raise RuntimeError("no dataclasses any more")
    return own(arg, arg_name, arg_type, ctx, *more, **options)


def install():
    converter._convert_single_arg = convert
"""

DATACLASS = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    x: cute.Tensor
    by: cutlass.Float32


@cute.jit
def moved(pair: Pair):
    for i in range(pair.x.shape[0]):
        pair.x[i] = pair.x[i] + pair.by


sg.export(moved, Pair(x, cutlass.Float32))
"""

CHANGES = {
    "a_function": "import cutlass.utils\ncutlass.utils.HardwareInfo = lambda: None",
    "a_method": "def size(self): return 7\ncute.Tensor.stubgen_size = size",
    "builtins": "import builtins\nbuiltins.abs = lambda x: 7",
    "constants": "import math\nmath.pi = 3.0",
    "environment": "import os\nos.environ['STUBGEN_TEST_SEEN'] = '7'",
    "folder": "import os\nos.chdir('/')",
    "handlers": "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None)",
    "helper": "import shared\nshared.FACTOR = 7.0",
    "registry": "from cutlass.cute import _tvm_ffi_args_spec_converter as converter\n"
    "converter.NumericToTVMFFIDtype[cutlass.Float16] = 'bfloat16'",
    "streams": "import sys\nsys.stdout = None",
    "torch": "import torch\ntorch.cuda.is_available = lambda: False",
}
"""What modules do, by their names, which sort before ``sees``."""

SEES = """
import builtins, math, os, signal, sys

import cutlass.utils
import shared
from cutlass.cute import _tvm_ffi_args_spec_converter as converter

try:
    import torch
    available = torch.cuda.is_available()
except ImportError:
    available = True
seen = [
    cutlass.utils.HardwareInfo.__name__ != "HardwareInfo",
    hasattr(cute.Tensor, "stubgen_size"),
    abs(-1) != 1,
    math.pi == 3.0,
    "STUBGEN_TEST_SEEN" in os.environ,
    os.getcwd() == "/",
    signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL,
    shared.FACTOR != 2.0,
    converter.NumericToTVMFFIDtype[cutlass.Float16] != "float16",
    sys.stdout is None,
    not available,
]
name = "clean" if not any(seen) else "sees_" + "".join(str(int(each)) for each in seen)
sg.export(name=name)(by_seven, x=x)
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.share_toolchain(Path(platformdirs.user_cache_dir("cute-stubgen")) / "zig")
    made.write("pyproject.toml", '[tool.cute-stubgen]\narchs = ["sm_90a"]\n')
    return made


def kernels(project: Project) -> set[str]:
    manifest = read(project.output / "cute_kernels" / NAME)
    assert manifest is not None
    return {kernel.name for kernel in manifest.library.kernels}


def test_what_one_library_changes_breaks_no_other_module(project: Project) -> None:
    """Whichever is imported first, with one process for all."""
    project.write("library.py", CONVERTER)
    patches = HEAD + "import library\nlibrary.install()\n"
    project.write("kernels/a.py", patches + KERNEL.format(name="first", value="1.0"))
    project.write("kernels/b.py", HEAD + DATACLASS)
    project.write("kernels/c.py", patches + KERNEL.format(name="last", value="1.0"))
    done = project.generate("--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert kernels(project) == {"first", "moved", "last"}


def test_the_failure_of_a_pair_names_both(project: Project) -> None:
    project.write("library.py", CONVERTER)
    project.write("other.py", "from cutlass import cute\n\n\ncute.printf = lambda *_: None\n")
    project.write("kernels/pair.py", HEAD + "import other\nimport library\nlibrary.install()\n" + DATACLASS)
    done = project.generate()
    assert done.returncode == 1
    first, second = errors(done)
    assert "CS310: kernels/pair.py is compiled by a DSL that others have changed" in first
    assert "library for pair changed cutlass.cute._tvm_ffi_args_spec_converter._convert_single_arg" in first
    assert "other changed cutlass.cute.printf" in first
    assert "CS301: moved does not compile: RuntimeError: no dataclasses any more" in second


def test_nothing_that_a_module_changes_is_seen_by_the_next(project: Project) -> None:
    project.write("shared.py", "FACTOR = 2.0\n")
    for name, code in CHANGES.items():
        project.write(f"kernels/of_{name}.py", HEAD + code + KERNEL.format(name=f"of_{name}", value="1.0"))
    sees = HEAD + KERNEL.format(name="by_seven", value="7.0").replace("sg.export(by_seven, x=x)\n", "") + SEES
    project.write("kernels/sees.py", sees)
    done = project.generate("--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert kernels(project) == {"clean", *(f"of_{name}" for name in CHANGES)}

"""Projects of other shapes than this one: kernels of another library, folders, questions to the GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stubgen.model.supported import TVM_FFI
from tests import typecheckers
from tests.conftest import run_stubgen

FILES = {
    "pyproject.toml": """
[tool.cute-stubgen]
kernels = ["declared"]
package = "shipped"
archs = ["sm_90a"]

[tool.cute-stubgen.devices.sm_90a]
sm-count = 114
max-active-clusters = { 1 = 114, 2 = 51 }
""",
    "vendor/__init__.py": "",
    "vendor/scaling.py": '''
"""Kernels of a library that knows nothing of the tool."""
import cutlass
from cutlass import cute
from .layout import first


class Scale:
    def __init__(self, factor):
        self.factor = factor

    @cute.jit
    def __call__(self, x: cutlass.Float64, out: cute.Tensor):
        """out[0] = factor * x."""
        out[first()] = x * self.factor
''',
    "vendor/layout.py": "def first():\n    return 0\n",
    "declared/scaling.py": '''
"""Declarations alone."""
import cutlass
import stubgen as sg
from vendor.scaling import Scale

out = sg.tensor(cutlass.Float64, 8, device="cpu")
sg.export(name="triple")(Scale(3), cutlass.Float64, out)


@sg.family(factor=[2, -0.5])
def scale(factor):
    return sg.kernel(Scale(factor), x=cutlass.Float64, out=out)
''',
    "declared/machine/questions.py": '''
"""Kernels that ask for the GPU while they are built."""
import cutlass
import stubgen as sg
import torch
from cutlass import cute
from cutlass.base_dsl import Arch
from cutlass.cutlass_dsl import CuTeDSL
from cutlass.utils import HardwareInfo


class Ask:
    def __init__(self):
        info = HardwareInfo()
        properties = torch.cuda.get_device_properties("cuda")
        self.answers = [
            info.get_device_multiprocessor_count(),
            info.get_max_active_clusters(2),
            info.get_l2_cache_size_in_bytes(),
            properties.multi_processor_count,
            10 * torch.cuda.get_device_capability()[0],
            torch.cuda.is_available() + torch.cuda.device_count(),
            int(CuTeDSL._get_dsl().get_arch_enum() == Arch.sm_90a),
        ]

    @cute.jit
    def __call__(self, out: cute.Tensor):
        for i in cutlass.range_constexpr(len(self.answers)):
            out[i] = cutlass.Float64(self.answers[i])


@cute.kernel
def _two_blocks(x: cute.Tensor):
    x[0] = 1.0


@cute.jit
def two_blocks(x: cute.Tensor, stream):
    _two_blocks(x).launch(grid=[1, 1, 1], block=[32, 1, 1], min_blocks_per_mp=2, stream=stream)


sg.export(name="ask")(Ask(), sg.tensor(cutlass.Float64, 8, device="cpu"))
sg.export(two_blocks, sg.tensor(cutlass.Float32, 1), sg.env_stream())
''',
}

CALLS = """
import numpy as np
import shipped.kwargs.machine.questions
import shipped.kwargs.scaling
from shipped import machine, scaling
out = np.zeros(8)
found = []
for call in (
    lambda: scaling.triple(2.0, out),
    lambda: scaling.scale(5.0, out, 2),
    lambda: scaling.scale(5.0, out, -0.5),
    lambda: shipped.kwargs.scaling.scale(factor=2, out=out, x=1.0),
    lambda: scaling.scale.variants["m0p5"](1.0, out),
):
    call()
    found.append(float(out[0]))
shipped.kwargs.machine.questions.ask(out=out)
print(found, out.tolist(), machine.questions.two_blocks.__name__)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    done = run_stubgen("generate", "-C", root)
    assert done.returncode == 0, done.stderr
    return root


def run(project: Path, code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    folders = os.pathsep.join(map(str, [*path, project / "generated"]))
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": folders, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_kernels_of_another_library_are_declared_apart_from_them(project: Path) -> None:
    done = run(project, CALLS)
    assert done.stdout.startswith("[6.0, 10.0, -2.5, 2.0, -0.5]"), done.stderr


def test_a_machine_without_a_gpu_answers_from_the_profile_of_the_configuration(project: Path) -> None:
    done = run(project, CALLS)
    assert "[114.0, 51.0, 52428800.0, 114.0, 90.0, 2.0, 1.0, 0.0] two_blocks" in done.stdout, done.stderr
    manifest = json.loads((project / "generated/shipped/manifest.json").read_text())
    profile = manifest["library"]["device_profiles"]["sm_90a"]
    assert (profile["sm_count"], profile["max_active_clusters"]["2"]) == (114, 51)


def test_importing_loads_neither_the_compiler_nor_templates_nor_the_tool(project: Path) -> None:
    code = "import sys, shipped, shipped.kwargs; print(*{n.partition('.')[0] for n in sys.modules})"
    loaded = set(run(project, code).stdout.split())
    assert "shipped" in loaded
    assert not loaded & {"cutlass", "jinja2", "stubgen", "libcst", "msgspec"}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("raise ImportError('no such thing')", "cannot be imported (no such thing)"),
        ("__version__ = '0.1.12'", "does not work with tvm-ffi 0.1.12"),
        ("__version__ = '0.2.0.dev1'", "does not work with tvm-ffi 0.2.0.dev1"),
    ],
    ids=["missing", "old", "new"],
)
def test_import_says_what_to_install(project: Path, tmp_path: Path, broken: str, said: str) -> None:
    fake = tmp_path / "tvm_ffi"
    (fake / "utils").mkdir(parents=True)
    (fake / "__init__.py").write_text(f"{broken}\nclass Function: pass\n")
    (fake / "utils" / "__init__.py").write_text("")
    (fake / "utils" / "kwargs_wrapper.py").write_text("make_kwargs_wrapper_from_signature = None\n")
    done = run(project, "import shipped", tmp_path)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: shipped ")
    assert said in last
    assert f"pip install '{TVM_FFI.requirement}'" in last


def test_import_says_that_the_library_is_missing(project: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(project / "generated" / "shipped", tmp_path / "shipped")
    (tmp_path / "shipped" / "lib" / "libshipped.so").unlink()
    done = run(project, "import shipped", tmp_path)
    assert "libshipped.so is missing: generate the package again" in done.stderr


def test_two_runs_at_once_both_end_with_the_whole_package(project: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-m", "stubgen", "generate", "-C", str(project), "-o", str(output)]
    runs = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in "ab"
    ]
    for process in runs:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    first, second = (
        {
            f.relative_to(folder): f.read_bytes()
            for f in folder.rglob("*")
            if f.is_file() and "__pycache__" not in f.parts
        }
        for folder in (output, project / "generated")
    )
    assert first == second


def test_modules_in_folders_have_types_too(project: Path) -> None:
    output = project / "generated"
    for done in (typecheckers.mypy(output, "-p", "shipped"), typecheckers.stubtest(output, "shipped")):
        assert done.returncode == 0, done.stdout


THEIRS = '''
from cutlass import cute


class Scale:
    def __init__(self, factor):
        self.factor = factor

    @cute.jit
    def __call__(self, x: cute.Tensor):
        """How it is done."""
        x[0] = x[0] * self.factor
'''

DECLARED = '''
import cutlass
import stubgen as sg
from theirs import Scale

x = sg.tensor(cutlass.Float64, 8, device="cpu")


@sg.family(factor=[2, 3])
def scale(factor):
    """What it is for."""
    return sg.kernel(Scale(factor), x)
'''


@pytest.mark.parametrize(("where", "said"), [("project", "How it is done."), ("library", "What it is for.")])
def test_a_family_of_a_library_is_documented_where_it_is_declared(
    tmp_path: Path, where: str, said: str
) -> None:
    (tmp_path / "project" / "kernels").mkdir(parents=True)
    (tmp_path / "library").mkdir()
    (tmp_path / where / "theirs.py").write_text(THEIRS)
    (tmp_path / "project" / "kernels" / "scaling.py").write_text(DECLARED)
    path = os.pathsep.join([str(tmp_path / "library"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run_stubgen("generate", cwd=tmp_path / "project", env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    (stub,) = (tmp_path / "project" / "generated").glob("*/scaling.pyi")
    told = [text for text in ("How it is done.", "What it is for.") if text in stub.read_text()]
    assert told == [said]

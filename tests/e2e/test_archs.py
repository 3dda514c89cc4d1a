"""One library for several architectures: what is in the binary, and what its users are told."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from stubgen.native import elf, objects
from tests.conftest import run_stubgen
from tests.instructions import X86_64_V2, instruction_sets

KERNELS = '''
"""Scaling."""

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg


class Scale:
    def __init__(self, threads):
        self.threads = threads

    @cute.jit
    def __call__(self, x: cute.Tensor, factor: cutlass.Float32, stream: CUstream):
        """x = factor * x, elementwise and in place."""
        blocks = cute.ceil_div(x.shape[0], self.threads)
        self._kernel(x, factor).launch(grid=[blocks, 1, 1], block=[self.threads, 1, 1], stream=stream)

    @cute.kernel
    def _kernel(self, x: cute.Tensor, factor: cutlass.Float32):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        i = block * self.threads + thread
        if i < x.shape[0]:
            x[i] = (factor * x[i].to(cutlass.Float32)).to(x.element_type)


@cute.jit
def host_scale(x: cute.Tensor, factor: cutlass.Float32):
    """x = factor * x on the host."""
    for i in range(x.shape[0]):
        x[i] = factor * x[i]


@sg.family(dtype=[cutlass.Float16, cutlass.Float32, cutlass.Float8E4M3FN])
def scale(dtype):
    return sg.kernel(min_arch="sm_90" if dtype is cutlass.Float8E4M3FN else None)(
        Scale(256 if sg.target_arch() == "sm_100a" else 128),
        x=sg.tensor(dtype, sg.dim("n")),
        factor=cutlass.Float32,
        stream=sg.env_stream(),
    )


sg.export(name="newest_scale", min_arch="sm_100")(
    Scale(64),
    x=sg.tensor(cutlass.Float32, sg.dim("n")),
    factor=cutlass.Float32,
    stream=sg.env_stream(),
)
sg.export(host_scale, x=sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu"), factor=cutlass.Float32)
'''

ARCHS = ("sm_100a", "sm_80", "sm_90a")
IN_ORDER = ("sm_80", "sm_90a", "sm_100a")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archs")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "scaling.py").write_text(KERNELS)
    (folder / "pyproject.toml").write_text(
        f'[tool.cute-stubgen]\npackage = "scaled"\narchs = {json.dumps(ARCHS)}\n'
    )
    done = run_stubgen("generate", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def library(project: Path) -> Path:
    return project / "generated" / "scaled" / "lib" / "libscaled.so"


def test_host_code_runs_on_any_cpu_of_the_second_level(library: Path) -> None:
    """Of what was compiled here: the runtimes beside it choose by the CPU."""
    members = dict(objects.archive_members(library.with_suffix(".a").read_bytes()))
    kernels = {name: data for name, data in members.items() if name.startswith("kernel-")}
    assert len(kernels) == 10
    used = frozenset[str]().union(*map(instruction_sets, kernels.values()))
    assert "SSE2" in used
    assert used <= X86_64_V2


def test_every_build_is_in_the_binary(library: Path) -> None:
    cubins = Counter(cubin.arch for cubin in elf.cubins(library))
    assert cubins == {"sm_80": 2, "sm_90a": 3, "sm_100a": 4}
    builds = {s for s in elf.exported_symbols(library) if re.search(r"sm_\d+[af]?$", s)}
    assert builds == {
        f"__tvm_ffi_scaled__{kernel}__{arch}"
        for kernel, archs in {
            "scale__float16": IN_ORDER,
            "scale__float32": IN_ORDER,
            "scale__float8e4m3fn": IN_ORDER[1:],
            "newest_scale": IN_ORDER[2:],
        }.items()
        for arch in archs
    }


def test_functions_without_device_code_are_there_once(library: Path) -> None:
    found = {symbol for symbol in elf.exported_symbols(library) if "host_scale" in symbol}
    told = {"__tvm_ffi__doc_host_scale", "__tvm_ffi__metadata_host_scale"}
    assert found == {"__tvm_ffi_host_scale", "__tvm_ffi_scaled__host_scale"} | told


def test_stubs_and_headers_say_what_each_is_built_for(project: Path) -> None:
    package = project / "generated" / "scaled"
    stub = (package / "scaling.pyi").read_text()
    header = (package / "include" / "scaled" / "scaling.hpp").read_text()
    for text in (stub, header):
        assert "Built for sm_80, sm_90a, sm_100a." in text
        assert "Built for sm_100a." in text
        assert re.search(r"float8e4m3fn +float8e4m3fn +sm_90a, sm_100a\n", text)
        assert re.search(r"float16 +float16 +sm_80, sm_90a, sm_100a\n", text)


def test_describe_reports_what_is_not_built(project: Path) -> None:
    done = run_stubgen("describe", project / "generated", "--json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert described["archs"] == list(IN_ORDER)
    functions = {function["name"]: function for function in described["functions"]}
    assert functions["scale"]["arch_gaps"] == {"float8e4m3fn": ["sm_80"]}
    assert functions["scale"]["gaps"] == []
    assert functions["newest_scale"]["archs"] == ["sm_100a"]
    assert functions["host_scale"]["archs"] == []
    shown = run_stubgen("describe", project / "generated", "scale").stdout
    assert re.search(r"float8e4m3fn +float8e4m3fn +sm_90a, sm_100a", shown)


def test_one_architecture_of_the_three_is_another_library(project: Path, tmp_path: Path) -> None:
    done = run_stubgen("generate", "--arch", "sm_80", "--output", tmp_path / "one", cwd=project)
    assert done.returncode == 0, done.stderr
    library = tmp_path / "one" / "scaled" / "lib" / "libscaled.so"
    assert Counter(cubin.arch for cubin in elf.cubins(library)) == {"sm_80": 2}
    described = json.loads(run_stubgen("describe", tmp_path / "one", "--json").stdout)
    assert [function["name"] for function in described["functions"]] == ["scale", "host_scale"]


def test_a_minimum_that_is_no_architecture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "scaling.py").write_text(KERNELS.replace('"sm_100"', '"hopper"'))
    done = run_stubgen("generate", "--arch", "sm_90a", cwd=tmp_path)
    assert done.returncode == 1
    assert "CS210" in done.stderr
    assert "min_arch is 'hopper'" in done.stderr


def test_what_no_architecture_is_new_enough_for_is_told(project: Path, tmp_path: Path) -> None:
    said = {
        archs: run_stubgen("generate", "--output", tmp_path / "out", *flags, cwd=project).stderr
        for archs, flags in {
            "sm_80": ["--arch", "sm_80"],
            "sm_80, sm_90a": ["--arch", "sm_80", "--arch", "sm_90a"],
            "sm_100a": ["--arch", "sm_80", "--arch", "sm_100a"],
        }.items()
    }
    older, both, newer = (" ".join(text.split()) for text in said.values())
    assert "CS606: newest_scale is left out: it is for sm_100 and later, and the package for sm_80;" in older
    assert "CS606: scale__float8e4m3fn is left out: it is for sm_90 and later" in older
    assert "CS606: newest_scale is left out: it is for sm_100 and later, and the package for sm_80, " in both
    assert "float8" not in both
    assert "CS606" not in newer


FOR_LATER = """
import cutlass
from cutlass import cute
import stubgen as sg


@cute.jit
def one(x: cute.Tensor):
    x[0] = 1.0


@sg.family(dtype=[cutlass.Float32])
def many(dtype):
    return sg.kernel(min_arch="sm_120a")(one, sg.tensor(dtype, 4))


sg.export(min_arch="sm_100")(one, sg.tensor(cutlass.Float32, 4))
"""


def test_a_project_that_is_all_for_later_architectures_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "later.py").write_text(FOR_LATER)
    done = run_stubgen("generate", "--arch", "sm_80,sm_90a", "--json", cwd=tmp_path)
    [problem] = json.loads(done.stdout)["problems"]
    assert (problem["code"], problem["file"]) == ("CS260", "kernels/later.py")
    assert "nothing is left to build for sm_80, sm_90a: many, one are for" in problem["message"]
    assert not (tmp_path / "generated").exists()


CLASSES = """
import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg


@cute.kernel
def double(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = x[thread] + x[thread]


class Old:
    @cute.jit
    def __call__(self, x: cute.Tensor, stream: CUstream, check: cutlass.Constexpr = None):
        double(x).launch(grid=[1, 1, 1], block=[64, 1, 1], stream=stream)


class New:
    @cute.jit
    def __call__(self, x: cute.Tensor, threads: cutlass.Constexpr[int], stream: CUstream):
        double(x).launch(grid=[1, 1, 1], block=[threads, 1, 1], stream=stream)


x, stream = sg.tensor(cutlass.Float32, 64), sg.env_stream()
if sg.target_arch() == "sm_80":
    sg.export(name="doubled")(Old(), x, stream)
else:
    sg.export(name="doubled")(New(), x, 64, stream)
"""


def test_builds_of_classes_with_other_constants_are_one_function(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "doubling.py").write_text(CLASSES)
    done = run_stubgen("generate", "--arch", "sm_80", "--arch", "sm_90a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (stub,) = (tmp_path / "generated").glob("*/doubling.pyi")
    text = stub.read_text()
    assert "def doubled(x: Tensor, /) -> None:" in text
    assert "Built for sm_80, sm_90a." in text
    assert "check" not in text
    assert "threads" not in text

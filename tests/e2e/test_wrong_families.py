"""Families that cannot be made, and functions that differ between GPUs: what ``generate`` says of them."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import run_stubgen

KERNELS = """\
import cutlass
from cutlass import cute

import stubgen as sg

f32 = cutlass.Float32


@cute.kernel
def fill(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    a[thread] = a.element_type(1.0)


@cute.jit
def on_gpu(a: cute.Tensor):
    fill(a).launch(grid=[1, 1, 1], block=[1, 1, 1])


@cute.jit
def on_host(a: cute.Tensor, b):
    a[0] = f32(1.0)


old = sg.target_arch() == "sm_80"
sg.export(name="extent")(on_gpu, sg.tensor(f32, 8 if old else 16))
sg.export(name="dtype")(on_gpu, sg.tensor(f32 if old else cutlass.Float16, 8))


@sg.family(by=[4, 6])
def ambiguous(by):
    return sg.kernel(on_host, sg.tensor(f32, sg.dim("n", divisible_by=by), device="cpu"), None)


@sg.family(by=[4, 6])
def preferred(by):
    x = sg.tensor(f32, sg.dim("n", divisible_by=by), device="cpu")
    return sg.kernel(priority=by)(on_host, x, None)
"""


def test_every_one_is_reported_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    module = tmp_path / "kernels" / "module.py"
    module.write_text(KERNELS)
    done = run_stubgen("generate", "--arch", "sm_80", "--arch", "sm_90a", "-C", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert (
        "kernels/module.py:26: CS239: extent is another function when it is built for sm_90a than for sm_80: "
        "extent(a: Tensor([16], float32)), and extent(a: Tensor([8], float32))"
    ) in said
    assert "kernels/module.py:27: CS239: dtype is another function" in said

    alike = KERNELS.replace('sg.target_arch() == "sm_80"', "True")
    module.write_text(alike)
    done = run_stubgen("generate", "--arch", "sm_80", "--arch", "sm_90a", "-C", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "CS238: ambiguous__6 and ambiguous__4 accept the same call of ambiguous: a.shape[0] may be" in said
    assert "CS239" not in said
    assert "preferred" not in said

    assert not (tmp_path / "generated").exists()


NAMES = """
import cutlass
from cutlass import cute

import stubgen as sg


@cute.jit
def kernel(a: cute.Tensor, by: cutlass.Constexpr[int] = 0):
    a[0] = cutlass.Float32(by)


a = sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu")


def family(by):
    return sg.kernel(priority=by)(kernel, a, by)

"""


def test_a_wrong_priority_or_name_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    module = tmp_path / "kernels" / "module.py"
    module.write_text(
        NAMES
        + """\
sg.family("class_", by=[1, "high"])(family)
sg.family("class", by=[1, 2])(family)
sg.family("class_", by=[1, 3])(family)
sg.export(name="mistyped", min_arch="sm_900")(kernel, a)
sg.export(name="capital", min_arch="SM_90A")(kernel, a)
"""
    )
    done = run_stubgen("generate", "-C", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 5
    assert "module.py:19: CS210: class___high: priority is 'high'; give an integer" in told[0]
    assert "module.py:20: CS212: 'class' cannot be the name of a kernel: it is a keyword" in told[1]
    assert "module.py:21: CS213: 'class_' is exported a second time" in told[2]
    assert "module.py:22: CS210: mistyped: min_arch is 'sm_900'; give an architecture that the DSL" in told[3]
    assert (
        "module.py:23: CS210: capital: min_arch is 'SM_90A' (did you mean sm_90a?); give an arch" in told[4]
    )


def test_a_kernel_cannot_have_the_symbol_of_a_chosen_family(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    module = tmp_path / "kernels" / "module.py"
    module.write_text(
        NAMES
        + """\
sg.family("chosen", by=[1, 2])(family)
sg.export(name="chosen___1")(kernel, a, 3)
"""
    )
    done = run_stubgen("generate", "-C", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert (
        "module.py:19: CS213: 'chosen' is exported a second time; the first is at kernels/module.py:20"
        in (" ".join(done.stderr.split()))
    )


CLASS = """\
from typing import NamedTuple

import cutlass
from cutlass import cute

import stubgen as sg


class Pair(NamedTuple):
    a: cute.Tensor
    by: cutlass.Float32


@cute.jit
def kernel(pair: Pair):
    pair.a[0] = pair.a[0] + pair.a.element_type(pair.by)


@sg.family("Pair", dtype=[cutlass.Float32, cutlass.Float64])
def pairs(dtype):
    return sg.kernel(kernel, pair=Pair(sg.tensor(dtype, 4, device="cpu"), cutlass.Float32(1.0)))
"""


def test_a_family_cannot_have_the_name_of_a_class_that_it_takes(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "module.py").write_text(CLASS)
    done = run_stubgen("generate", "-C", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(told) == 1
    assert "CS218: Pair has the name of a class" in told[0]

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
sg.export(on_gpu, sg.tensor(f32, 8 if old else 16), name="extent")
sg.export(on_gpu, sg.tensor(f32 if old else cutlass.Float16, 8), name="dtype")


@sg.family(by=[4, 6])
def ambiguous(by):
    return sg.kernel(on_host, sg.tensor(f32, sg.dim("n", divisible_by=by), device="cpu"), None)


@sg.family(by=[4, 6])
def preferred(by):
    x = sg.tensor(f32, sg.dim("n", divisible_by=by), device="cpu")
    return sg.kernel(on_host, x, None, priority=by)
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

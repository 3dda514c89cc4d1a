"""A kernel of flash-attn-4 that takes a NamedTuple, and has another for a default."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

import pytest

from tests import typecheckers
from tests.conftest import run_stubgen

VERSION = "4.0.0b36"

KERNELS = """
import cutlass
from cutlass import cute
from flash_attn.cute.block_sparsity import BlockSparseTensors
from flash_attn.cute.compute_block_sparsity import BlockSparsityKernel

import stubgen as sg


@cute.jit
def causal(batch, head, m, n, seqlen_info, aux_data):
    return n <= m


b, h, m, n = map(sg.dim, "bhmn")
count, index = sg.tensor(cutlass.Int32, b, h, m), sg.tensor(cutlass.Int32, b, h, m, n)
blocks = BlockSparseTensors(count, index, count, index)
sg.export(name="block_sparsity")(BlockSparsityKernel(causal, (128, 128)), blocks)
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("flash_attn") is None:
        pytest.skip("needs flash-attn-4: nox -s realworld")
    if importlib.metadata.version("flash-attn-4") != VERSION:
        pytest.skip(f"needs flash-attn-4 {VERSION}: nox -s realworld")
    project = tmp_path_factory.mktemp("flash_attention")
    (project / "kernels").mkdir()
    (project / "kernels" / "sparsity.py").write_text(KERNELS)
    done = run_stubgen("generate", "--package", "fa_aot", "--arch", "sm_90a", "-C", project, cwd=project)
    assert done.returncode == 0, done.stderr
    return project / "generated"


def test_a_default_that_is_a_namedtuple_is_one(output: Path) -> None:
    stub = (output / "fa_aot" / "kwargs" / "sparsity.pyi").read_text()
    assert "    aux_data: AuxData = AuxData(tensors=None, scalars=None),\n" in stub
    assert "    mSeqUsedK: None = None,\n" in stub
    classes = (output / "fa_aot" / "sparsity.pyi").read_text()
    assert "    dq_write_order: None = None\n" in classes


def test_all_checkers_accept_it(output: Path, tmp_path: Path) -> None:
    done = typecheckers.mypy(output, "-p", "fa_aot")
    assert done.returncode == 0, done.stdout
    done = typecheckers.stubtest(output, "fa_aot")
    assert done.returncode == 0, done.stdout
    errors, said = typecheckers.pyright(output, tmp_path, output / "fa_aot")
    assert errors == set(), said

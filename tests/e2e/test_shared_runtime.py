"""``runtime = "shared"``: the DSL's runtime library is needed, found beside Python, missed in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stubgen.model.supported import TVM_FFI
from stubgen.native import elf
from tests.conftest import ROOT, run_stubgen
from tests.environments import Environment

RUNTIME = "libcute_dsl_runtime.so"
SETTINGS = '[tool.cute-stubgen]\npackage = "kernels_of_mine"\narchs = ["sm_90a"]\nruntime = "shared"\n'
CALL = """
import numpy as np
from kernels_of_mine import elementwise, host

a, b = np.ones(3, dtype=np.float32), np.zeros(3, dtype=np.float32)
host.host_add_constant(a, b, 2.5)
print(b.tolist(), elementwise.add_one.__name__)
"""


def generated(folder: Path, *modules: str) -> Path:
    (folder / "pyproject.toml").write_text(SETTINGS)
    (folder / "kernels").mkdir()
    for module in modules:
        (folder / "kernels" / f"{module}.py").write_text((ROOT / "kernels" / f"{module}.py").read_text())
    done = run_stubgen("generate", "--project", folder)
    assert done.returncode == 0, done.stderr
    return folder / "generated"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("shared"), "host", "elementwise")


def test_the_library_needs_the_runtime_and_does_not_have_it(output: Path) -> None:
    library = output / "kernels_of_mine" / "lib" / "libkernels_of_mine.so"
    assert RUNTIME in elf.needed(library)
    assert not any("CuteDSLRT" in symbol for symbol in elf.exported_symbols(library))


def test_functions_run_with_the_runtime_of_the_installed_dsl(output: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALL], cwd=output, capture_output=True, text=True, timeout=100
    )
    assert done.stdout == "[3.5, 3.5, 3.5] add_one\n", done.stderr


def test_without_the_dsl_the_import_says_what_to_install(output: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install(TVM_FFI.requirement)
    done = environment.run("-c", f"import sys; sys.path.insert(0, {str(output)!r}); import kernels_of_mine")
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith("ImportError: kernels_of_mine needs the runtime library of the CuTe DSL")
    assert "pip install 'nvidia-cutlass-dsl-libs-cu" in said


def test_the_wheel_and_the_bill_of_materials_name_the_dsl(output: Path) -> None:
    assert '"nvidia-cutlass-dsl-libs-cu' in (output / "pyproject.toml").read_text()
    bill = json.loads((output / "kernels_of_mine" / "sbom.cdx.json").read_text())
    parts = {
        part["name"]: part.get("description") for part in bill["components"] if part["type"] == "library"
    }
    (dsl,) = (name for name in parts if name.startswith("nvidia-cutlass-dsl-libs-cu"))
    assert parts[dsl] == "loaded at run time"


def test_without_device_code_nothing_is_needed_of_the_dsl(tmp_path: Path) -> None:
    output = generated(tmp_path, "host")
    assert RUNTIME not in elf.needed(output / "kernels_of_mine" / "lib" / "libkernels_of_mine.so")
    assert "nvidia" not in (output / "pyproject.toml").read_text()

"""A DSL that is missing, or other than what the tool knows: brought about as the interpreter starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from stubgen.model.supported import DSL, TVM_FFI, Supported
from tests.conftest import ROOT, run_stubgen

KERNEL = """\
import cutlass
import stubgen as sg
from cutlass import cute


@cute.jit
def one(out: cute.Tensor):
    out[0] = 1


sg.export(one, sg.tensor(cutlass.Int32, 1, device="cpu"))
"""

HOOK = """\
import wrapt


@wrapt.when_imported({module!r})
def change(module):
    {change}
"""

FAULTS = {
    "CS105": (
        "cutlass.utils.hardware_info",
        "del module.HardwareInfo.get_l2_cache_size_in_bytes",
        "it lacks HardwareInfo.get_l2_cache_size_in_bytes",
    ),
    "CS106": ("cutlass.cute", "raise ImportError('no such library')", "cannot be imported"),
    "CS302": (
        "stubgen.compiler.worker.abi",
        "module._tensor = lambda param: module._extent(object())",
        "an extent of the kind object",
    ),
    "CS304": (
        "stubgen.compiler.local.readback",
        "module.stated_signatures = lambda library, names: {'one': 'one(out: int32)'}",
        "one(out: int32)",
    ),
}


@pytest.mark.parametrize("code", FAULTS)
def test_the_run_ends_with_one_problem_and_nothing_written(code: str, tmp_path: Path) -> None:
    module, change, said = FAULTS[code]
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "one.py").write_text(KERNEL)
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "sitecustomize.py").write_text(HOOK.format(module=module, change=change))
    # Another test may have compiled this kernel, with the DSL as it is.
    own_cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {**os.environ, **own_cache, "PYTHONPATH": str(tmp_path / "hooks")}
    done = run_stubgen("generate", "-C", tmp_path, "--json", env=environment)
    assert done.returncode == 1, done.stderr
    problems: list[dict[str, Any]] = json.loads(done.stdout)["problems"]
    assert {p["code"] for p in problems} == {code}
    assert said in problems[0]["message"]
    assert problems[0]["remedy"]
    assert not (tmp_path / "generated").exists()


@pytest.mark.parametrize("supported", [DSL, TVM_FFI], ids=lambda supported: supported.distribution)
def test_a_version_that_nobody_has_tried_is_named_in_every_run(supported: Supported, tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "one.py").write_text(KERNEL)
    newer = f"{supported.newest.partition('.post')[0]}.post99"
    named = f"{supported.distribution.replace('-', '_')}-{newer}.dist-info"
    information = tmp_path / "hooks" / named
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {supported.distribution}\nVersion: {newer}\n"
    )
    own_cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {**os.environ, **own_cache, "PYTHONPATH": f"{tmp_path / 'hooks'}:{ROOT}"}
    for run in ("first", "with nothing to do"):
        done = run_stubgen("generate", "-C", tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        (line,) = (line for line in done.stderr.splitlines() if "CS607" in line)
        assert f"{supported.distribution} {newer} is not between {supported.oldest} and " in line, run
    assert "nothing changed" in done.stdout

"""Forged and damaged models, manifests, entries and shards: refused with a code, or harmless."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from stubgen.model import jsontext
from stubgen.model.library import Family, Library
from stubgen.output import manifest
from tests.conftest import ROOT

COUNTS = {"model": 900, "manifest": 900, "entry": 800, "shard": 400}
"""Together 3,000. ``FUZZ_SEED=2 pytest tests/fuzz/test_forgeries.py`` draws others."""

KEPT = {
    "elementwise": {"scale"},
    "host": {"host_keyword_only", "host_pointer", "host_shape_mixed", "host_bias", "host_activate"},
    "structures": {"moving_average", "affine"},
}
"""A function of every kind: a stream, keywords, pointers, shapes, None, a choice, classes with constants."""


@pytest.fixture
def library(generated: Path) -> Library:
    read = manifest.read(generated / "cute_kernels" / manifest.NAME)
    assert read is not None
    replace = msgspec.structs.replace
    modules = []
    for module in read.library.modules:
        names = {f.name for f in module.functions if f.name in KEPT.get(module.name, ())}
        if names:
            kernels = tuple(k for k in module.kernels if (k.variant.family if k.variant else k.name) in names)
            families = tuple(f for f in module.families if f.name in names)
            modules.append(replace(module, kernels=kernels, families=families))
    small = replace(read.library, modules=tuple(modules))
    functions = [function for module in small.modules for function in module.functions]
    assert len(functions) == sum(map(len, KEPT.values()))
    assert any(isinstance(function, Family) for function in functions)
    return small


def test_forgeries(library: Library, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_bytes(jsontext.encode(library))
    seed = os.environ.get("FUZZ_SEED", "1")
    counts = [f"{kind}={count}" for kind, count in COUNTS.items()]
    command = [sys.executable, "-m", "tests.fuzz.forger", seed, str(model), *counts]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert report["seen"] == [], "something was written elsewhere, or run"
    assert report["outside"] == []
    outcomes = report["outcomes"]
    assert {kind: sum(found.values()) for kind, found in outcomes.items()} == COUNTS
    assert not [answer for found in outcomes.values() for answer in found if "CS901" in answer]
    # Both happen, and often enough to mean something.
    assert outcomes["model"]["made"] > 50
    assert outcomes["model"]["CS507"] > 300
    assert outcomes["manifest"]["CS504 done"] > 200
    assert outcomes["entry"]["taken"] > 50
    assert outcomes["entry"]["miss"] > 300
    assert outcomes["shard"]["CS131"] > 50

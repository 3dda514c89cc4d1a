"""Stub, runtime object and compiled function agree on every signature."""

from __future__ import annotations

import ast
from pathlib import Path

from tests import signatures


def test_stub_equals_runtime_signature_equals_abi(generated: Path) -> None:
    assert signatures.compare(generated, "cute_kernels") > 90


def test_functions_say_who_they_are(generated: Path) -> None:
    runtime = signatures.read_runtime(generated, "cute_kernels")
    for folder, surface, prefix in (
        ("cute_kernels", "positional", "cute_kernels."),
        ("cute_kernels/kwargs", ".kwargs", "cute_kernels.kwargs."),
    ):
        stubs = signatures.stub_signatures(generated / folder)
        assert len(stubs) > (90 if surface == "positional" else 30)  # variants are by position alone
        for name, node in stubs.items():
            seen = runtime[name][surface]
            family, _, key = name.removesuffix("']").partition(".variants['")
            assert seen["name"] == (f"{family}__{key}" if key else name)
            assert seen["module"].startswith(prefix)
            assert seen["doc"].strip()
            if not key:
                assert seen["doc"] == ast.get_docstring(node)

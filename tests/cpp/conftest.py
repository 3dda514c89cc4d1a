"""Fixtures for tests that compile against the generated package."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def package(generated: Path) -> Path:
    """The folder of the package, whose headers and libraries are used."""
    return generated / "cute_kernels"

"""What a Dask worker keeps of a run."""

from __future__ import annotations

import time

import pytest

from stubgen.compiler.jobs import Settings
from stubgen.remote import tasks
from stubgen.remote.tasks import Run

pytest.importorskip("distributed")

from stubgen.remote import dask_worker


def test_sources_go_when_their_run_asks_for_nothing() -> None:
    settings = Settings(project="/project", arch=None, profile=None, log_dir="/logs", named_archs=())
    run = Run("forgotten", settings, "/project", (), {}, patience=0.01)
    packed = tasks.pack({"kernels/one.py": b"x = 1\n"})
    with dask_worker._unpacked(run, packed) as folder:
        assert folder is not None
        assert (folder / "sources" / "kernels" / "one.py").read_bytes() == b"x = 1\n"
    deadline = time.monotonic() + 20
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not folder.exists()
    with dask_worker._unpacked(run, b"") as folder:
        assert folder is None, "they have to be sent again"

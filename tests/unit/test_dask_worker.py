"""What a Dask worker keeps of a run."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from stubgen.compiler.dask import tasks
from stubgen.compiler.dask.tasks import Run
from stubgen.compiler.jobs import WorkerSettings

pytest.importorskip("distributed")

from stubgen.compiler.dask import dask_worker


def test_runs_leave_each_other_s_processes_alone(tmp_path: Path) -> None:
    settings = WorkerSettings(
        project=str(tmp_path), arch="sm_80", profile=None, log_dir=str(tmp_path / "logs"), named_archs=()
    )

    def lent(name: str, arch: str) -> dask_worker._WorkerProcess:
        own = msgspec.structs.replace(settings, arch=arch)
        run = Run(name, own, str(tmp_path), (), {}, patience=60.0)
        with dask_worker._process(run, dask_worker._There(run, tmp_path)) as process:
            return process

    try:
        first, second = lent("first", "sm_80"), lent("second", "sm_80")
        assert (lent("first", "sm_80"), lent("second", "sm_80")) == (first, second)
        other = lent("first", "sm_90a")
        assert [first.is_alive(), other.is_alive(), second.is_alive()] == [False, True, True]
        dask_worker.leave("first")
        assert [other.is_alive(), second.is_alive()] == [False, True]
    finally:
        dask_worker.leave("first")
        dask_worker.leave("second")
    assert not second.is_alive()


def test_sources_go_when_their_run_asks_for_nothing() -> None:
    settings = WorkerSettings(project="/project", arch=None, profile=None, log_dir="/logs", named_archs=())
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

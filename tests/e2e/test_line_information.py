"""Line information, where an export asks for it, does not tell where the project lies."""

from __future__ import annotations

from pathlib import Path

from tests.tiny import Project

KERNEL = '''
import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg


@cute.kernel
def _bump(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    a[thread] = a[thread] + 1.0


@cute.jit
def bump(a: cute.Tensor, stream: CUstream = None):
    """a += 1."""
    _bump(a).launch(grid=[1, 1, 1], block=[32, 1, 1], stream=stream)


vector = sg.tensor(cutlass.Float32, sg.dim("n"))
sg.export(options="--generate-line-info")(bump, a=vector, stream=sg.env_stream())
'''


def lined(folder: Path) -> dict[str, bytes]:
    project = Project(folder)
    for file in project.kernels.iterdir():
        file.unlink()
    (project.kernels / "lined.py").write_text(KERNEL)
    project.generate()
    return project.output()


def test_it_is_the_same_in_any_folder(tmp_path: Path) -> None:
    first = lined(tmp_path / "here")
    second = lined(tmp_path / "some" / "where" / "else")
    assert first == second
    library = first["cute_kernels/lib/libcute_kernels.so"]
    assert b"lined.py" in library
    assert str(tmp_path).encode() not in library

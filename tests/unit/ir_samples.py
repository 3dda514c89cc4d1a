"""LLVM IR to compile in tests: written by hand, and made by the DSL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUNCTION = """\
target triple = "x86_64-unknown-linux-gnu"

define i32 @__tvm_ffi_{name}(ptr %self, ptr %args, i32 %count, ptr %result) {{
  ret i32 0
}}
"""
"""A function in tvm-ffi's form that takes anything and gives ``None``."""

CALLER = """\
target triple = "x86_64-unknown-linux-gnu"

declare void @{callee}()

define i32 @__tvm_ffi_{name}(ptr %self, ptr %args, i32 %count, ptr %result) {{
  call void @{callee}()
  ret i32 0
}}
"""
"""A function that needs another one."""

HALF_CONVERTER = """\
target triple = "x86_64-unknown-linux-gnu"

define i32 @__tvm_ffi_half(ptr %self, ptr %from, i32 %count, ptr %to) {
  %wide = load float, ptr %from
  %half = fptrunc float %wide to half
  store half %half, ptr %to
  ret i32 0
}
"""
"""A function that an x86-64-v2 CPU needs the compiler's run-time library for."""

_EXPORTER = """\
import sys

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream


@cute.kernel
def increment_on_gpu(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    b[thread] = a[thread] + 1.0


@cute.jit
def gpu(a: cute.Tensor, b: cute.Tensor, stream):
    increment_on_gpu(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1], stream=stream)


@cute.jit
def cpu(a: cute.Tensor, b: cute.Tensor):
    for i in range(a.shape[0]):
        b[i] = a[i] + 1.0


def vector(space):
    return make_fake_compact_tensor(cutlass.Float32, (cute.sym_int32(),), memspace=space)


def export(name, function, *arguments, options=""):
    compiled = cute.compile(function, *arguments, options="--enable-tvm-ffi" + options)
    compiled.export_to_c(f"{name}.ll", name, export_only_tvm_ffi_symbols=True)


space = cutlass.AddressSpace
export("cpu", cpu, vector(space.generic), vector(space.generic))
for arch in sys.argv[1:]:
    stream = make_fake_stream(use_tvm_ffi_env_stream=True)
    arguments = vector(space.gmem), vector(space.gmem), stream
    export(arch, gpu, *arguments, options=f" --gpu-arch {arch}")
"""


def write(folder: Path, name: str, text: str) -> Path:
    """Write IR to a file of that name."""
    path = folder / f"{name}.ll"
    path.write_text(text.format(name=name) if "{name}" in text else text, "utf-8")
    return path


def export_with_dsl(folder: Path, *archs: str) -> dict[str, Path]:
    """Let the DSL compile ``cpu`` and, for each architecture, a kernel of that name."""
    script = folder / "export.py"  # the DSL wants to read the source
    script.write_text(_EXPORTER, "utf-8")
    command: list[str | Path] = [sys.executable, script, *archs]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return {path.stem: path for path in folder.glob("*.ll")}

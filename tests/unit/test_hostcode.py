"""What host code asks of a machine: read back, and held to what it was compiled for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.model.library import HostCode
from stubgen.native import elf
from stubgen.native.host_ir import IRFile
from stubgen.native.hostcode import read_host_code
from stubgen.native.link import KernelIR, compile_objects, link_objects
from stubgen.native.toolchain import CpuName, HostTarget, Source, ZigToolchain
from stubgen.problems.problem import StubgenError
from stubgen.render.project.project_files import wheel_tag
from tests.instructions import instruction_sets
from tests.unit import ir_samples

TOOLS = ZigToolchain()

LOOP = """\
void __tvm_ffi_sum(float *restrict a, const float *restrict b, long n) {
  for (long i = 0; i < n; ++i) a[i] += b[i] * 3.0f;
}
"""


def compiled(folder: Path, source: str, cpu: CpuName) -> bytes:
    return TOOLS.compile_c(Source.of(folder / "sum.c", source.encode()), HostTarget(cpu))


def linked(folder: Path, definitions: str = "") -> Path:
    ir = ir_samples.write(folder, "one", ir_samples.FUNCTION)
    objects = compile_objects(
        [KernelIR("one", IRFile(ir), False)], definitions=definitions, toolchain=TOOLS, work=folder
    )
    return link_objects(objects, folder / "libone.so", exports=["__tvm_ffi_one"], toolchain=TOOLS)


def codes(error: StubgenError) -> list[str]:
    return [problem.code for problem in error.problems]


def test_code_for_an_old_cpu_has_no_wide_instructions(tmp_path: Path) -> None:
    found = instruction_sets(compiled(tmp_path, LOOP, "x86-64-v2"))
    assert "SSE" in found
    assert not any(name.startswith(("AVX", "FMA", "BMI")) for name in found)


def test_wide_instructions_are_seen(tmp_path: Path) -> None:
    assert "AVX" in instruction_sets(compiled(tmp_path, LOOP, "x86-64-v3"))


def test_what_older_cpus_take_for_another_instruction_is_no_extension(tmp_path: Path) -> None:
    source = 'long __tvm_ffi_sum(long a) { __asm__("rep bsf %0, %0\\nendbr64\\npause" : "+r"(a)); return a; }'
    assert instruction_sets(compiled(tmp_path, source, "x86-64-v2")) == frozenset()


def test_what_the_library_needs_is_read_back(tmp_path: Path) -> None:
    definitions = (
        "#include <string.h>\nvoid *copy(void *a, const void *b, size_t n) { return memcpy(a, b, n); }"
    )
    found = read_host_code(linked(tmp_path, definitions), HostTarget())
    assert (found.machine, found.libstdcxx) == ("x86_64", None)
    assert found.needed in {("libtvm_ffi.so", "libc.so.6"), ("libc.so.6",), ()}


def test_a_glibc_above_the_floor_is_refused(tmp_path: Path) -> None:
    source = (
        "#include <pthread.h>\nint __tvm_ffi_sum(void) { return pthread_getattr_default_np(0); }"  # of 2.18
    )
    text = Source.of(tmp_path / "sum.c", b"#define _GNU_SOURCE\n" + source.encode())
    TOOLS.link(
        {"sum.o": TOOLS.compile_c(text, HostTarget(glibc="2.34"))},
        [],
        tmp_path / "libsum.so",
        soname="libsum.so",
        exports=["__tvm_ffi_sum"],
        libraries=["pthread"],
        host=HostTarget(glibc="2.34"),
    )
    assert elf.glibc_version(tmp_path / "libsum.so") == "2.34"
    with pytest.raises(StubgenError, match=r"libsum.so needs glibc 2.34, and is to run with 2.28") as caught:
        read_host_code(tmp_path / "libsum.so", HostTarget(), "2.28")
    assert codes(caught.value) == ["CS410"]
    assert read_host_code(tmp_path / "libsum.so", HostTarget(), "2.40").glibc == "2.34"


@pytest.mark.parametrize(
    ("host", "tag"),
    [
        (HostCode("x86_64", (), "2.17"), "py3-none-manylinux_2_17_x86_64"),
        (HostCode("x86_64", (), "2.9"), "py3-none-manylinux_2_17_x86_64"),
        (HostCode("x86_64", ()), "py3-none-manylinux_2_17_x86_64"),
        (HostCode("aarch64", (), "2.34"), "py3-none-manylinux_2_34_aarch64"),
    ],
)
def test_the_wheel_is_named_after_machine_and_glibc(host: HostCode, tag: str) -> None:
    assert wheel_tag(host) == tag

"""Packages for Arm, made on x86-64: checked without running them, and run in an emulator."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from stubgen.native import elf, foreign
from stubgen.native.toolchain import ZigToolchain
from stubgen.output import manifest
from tests.conftest import ROOT, run_stubgen

MACHINE = "aarch64"
PROGRAM = ROOT / "tests" / "cpp"
EMULATOR = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
SYSROOT = Path("/usr/aarch64-linux-gnu")
"""Where Debian's packages libc6-arm64-cross and libstdc++6-arm64-cross put what programs need."""

pytestmark = pytest.mark.xdist_group("aarch64")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with functions that run on the host, and some with device code."""
    output = tmp_path_factory.mktemp("arm")
    kernels = ("kernels/host.py", "kernels/elementwise.py")
    done = run_stubgen("generate", *kernels, "--arch", "sm_90a", "--host", MACHINE, "--output", output)
    if "CS412" in done.stderr:
        pytest.skip(f"needs the wheels of that machine: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return output / "cute_kernels"


@pytest.fixture(scope="module")
def library(package: Path) -> Path:
    return package / "lib" / "libcute_kernels.so"


def test_all_libraries_are_for_that_machine(package: Path, library: Path) -> None:
    assert elf.machine(library) == MACHINE
    assert set(elf.needed(library)) <= {
        *("libtvm_ffi.so", "libc.so.6", "ld-linux-aarch64.so.1"),
        *("libpthread.so.0", "libdl.so.2", "librt.so.1"),
    }
    read = manifest.read(package / manifest.NAME)
    assert read is not None
    assert read.host is not None
    assert (read.library.machine, read.host.machine, read.host.glibc) == (MACHINE, MACHINE, "2.17")
    assert [cubin.arch for cubin in elf.cubins(library)] == ["sm_90a"] * len(read.gpu_code)


def test_relocations_are_those_that_a_loader_knows(library: Path) -> None:
    """And none is in the code, which then can be shared by processes."""
    with library.open("rb") as file:
        read = ELFFile(file)
        dynamic = read.get_section_by_name(".dynamic")
        assert not list(dynamic.iter_tags("DT_TEXTREL"))
        tables = [read.get_section_by_name(name) for name in (".rela.dyn", ".rela.plt")]
        kinds = {entry["r_info_type"] for table in tables for entry in table.iter_relocations()}
    # ABS64, GLOB_DAT, JUMP_SLOT, RELATIVE, TLSDESC of the ABI of Arm.
    assert kinds <= {257, 1025, 1026, 1027, 1031}


def test_the_wheel_is_for_that_machine(package: Path, tmp_path: Path) -> None:
    command = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, package.parent]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == "cute_kernels-0.1.0-py3-none-manylinux_2_17_aarch64.whl"


def test_importing_it_here_says_what_it_is_for(package: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import cute_kernels"], cwd=package.parent, capture_output=True, text=True
    )
    assert done.stderr.strip().endswith("is for aarch64, and this machine is x86_64")


def test_the_systems_compiler_is_refused_for_it(tmp_path: Path) -> None:
    done = run_stubgen("generate", "--host", MACHINE, "--toolchain", "system", "--output", tmp_path)
    assert (done.returncode, done.stderr.count("CS101")) == (1, 1)
    assert 'host "aarch64" needs toolchain "zig"' in done.stderr


@pytest.mark.parametrize("way", ["shared", "static"])
def test_every_host_function_runs_in_an_emulator(package: Path, way: str, tmp_path: Path) -> None:
    """By the same program that calls them on this machine, with the same values."""
    if EMULATOR is None:
        pytest.skip("needs qemu-aarch64: apt-get install qemu-user-static")
    if not (SYSROOT / "lib" / "libstdc++.so.6").exists():
        pytest.skip("needs Arm's libraries: apt-get install libc6-arm64-cross libstdc++6-arm64-cross")
    program = _compiled(package, way, tmp_path / "calls")
    paths = f"{package / 'lib'}:{_tvm_ffi().parent}"
    done = subprocess.run(
        [EMULATOR, "-L", str(SYSROOT), "-E", f"LD_LIBRARY_PATH={paths}", str(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


def _tvm_ffi() -> Path:
    from importlib.metadata import version

    return foreign.fetch("apache-tvm-ffi", version("apache-tvm-ffi"), "libtvm_ffi.so", MACHINE)


def _compiled(package: Path, way: str, program: Path) -> Path:
    import tvm_ffi.libinfo
    import ziglang

    zig = Path(ziglang.__file__).with_name("zig")
    linked = {
        "shared": [f"-L{package / 'lib'}", "-lcute_kernels"],
        "static": [package / "lib" / "libcute_kernels.a", "-lpthread", "-ldl", "-lrt"],
    }
    done = subprocess.run(
        [
            *(str(zig), "cc", "-target", f"{MACHINE}-linux-gnu.2.34", "-o", str(program)),
            *(f"-I{folder}" for folder in (package / "include", *tvm_ffi.libinfo.include_paths())),
            *(str(PROGRAM / name) for name in ("calls.c", "errors.c")),
            *map(str, linked[way]),
            *(str(_tvm_ffi()), "-lm"),
        ],
        env=ZigToolchain()._environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return program

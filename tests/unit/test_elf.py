from __future__ import annotations

import hashlib
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stubgen.native import elf
from stubgen.native.host_ir import IRFile
from stubgen.native.link import KernelIR, link_library
from stubgen.native.toolchain import HostTarget, Source, ZigToolchain
from stubgen.problems.problem import StubgenError
from tests.unit import ir_samples

ARCHS = ("sm_80", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_103a", "sm_120a", "sm_121a")
READERS = (elf.exported_symbols, elf.needed, elf.glibc_version, elf.cubins)


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An object that the DSL made for each architecture."""
    folder = tmp_path_factory.mktemp("objects")
    exported = ir_samples.export_with_dsl(folder, *ARCHS)
    for ir in exported.values():
        ir.with_suffix(".o").write_bytes(ZigToolchain().compile_ir(Source.of(ir), HostTarget()))
    return {name: ir.with_suffix(".o") for name, ir in exported.items()}


@pytest.fixture(scope="session")
def library(objects: dict[str, Path]) -> Path:
    folder = objects["cpu"].parent
    names = ("cpu", "sm_90a", "sm_100f")
    return link_library(
        [KernelIR(name, IRFile(folder / f"{name}.ll"), name != "cpu") for name in names],
        folder / "libkernels.so",
        exports=[f"__tvm_ffi_{name}" for name in names],
        toolchain=ZigToolchain(),
        work=folder,
    )


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    return link_library(
        [KernelIR("f", IRFile(ir_samples.write(folder, "f", ir_samples.FUNCTION)), False)],
        folder / "libsmall.so",
        exports=["__tvm_ffi_f"],
        toolchain=ZigToolchain(),
        work=folder,
    )


def read_all(path: Path) -> str | None:
    """Read all there is; give the complaint, if there is one, after checking that it is a proper one."""
    errors = [error for reader in READERS if (error := error_of(reader, path))]
    for error in errors:
        assert [found.code for found in error.problems] == ["CS407"]
        assert str(path) in str(error)
    return str(errors[0]) if errors else None


def error_of(reader: Callable[[Path], object], path: Path) -> StubgenError | None:
    try:
        reader(path)
    except StubgenError as error:
        return error
    return None


class TestLibrary:
    def test_symbols_are_sorted(self, library: Path) -> None:
        expected = ("__tvm_ffi_cpu", "__tvm_ffi_sm_100f", "__tvm_ffi_sm_90a")
        assert elf.exported_symbols(library) == expected

    def test_needed_agrees_with_readelf(self, library: Path) -> None:
        if shutil.which("readelf") is None:
            pytest.skip("no readelf")
        text = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        lines = [line for line in text.splitlines() if "(NEEDED)" in line]
        assert elf.needed(library) == tuple(line.split("[")[1].rstrip("]") for line in lines)

    def test_highest_glibc_is_compared_by_number(self, library: Path) -> None:
        # 2.2.5 and 2.3.4 are in there too, which compare higher as text.
        assert elf.glibc_version(library) == "2.17"

    def test_without_glibc_has_no_version(self, small: Path) -> None:
        assert elf.glibc_version(small) is None

    def test_without_gpu_code_has_no_cubins(self, small: Path) -> None:
        assert elf.cubins(small) == ()

    def test_cubins_lie_where_they_say(self, library: Path) -> None:
        data, found = library.read_bytes(), elf.cubins(library)
        assert sorted(cubin.arch for cubin in found) == ["sm_100f", "sm_90a"]
        for cubin in found:
            image = data[cubin.offset : cubin.offset + cubin.size]
            assert image.startswith(b"\x7fELF")
            assert hashlib.sha256(image).hexdigest() == cubin.sha256
            # The container that the DSL puts them in knows their size as well, up to its padding.
            assert 0 <= _stated_size(data, cubin.offset) - cubin.size < 64


def _stated_size(data: bytes, offset: int) -> int:
    """Return the size of a cubin by the header of its entry in the fat binary before it."""
    fat = data.rfind(b"\x50\xed\x55\xba", 0, offset)
    entry = fat + 16
    header, size = struct.unpack_from("<IQ", data, entry + 4)
    payload = entry + int(header)
    return int(size) - (offset - payload)


class TestArchitecture:
    @pytest.mark.parametrize("arch", ARCHS)
    def test_is_what_the_dsl_was_asked_for(self, objects: dict[str, Path], arch: str) -> None:
        (cubin,) = elf.cubins(objects[arch])
        assert cubin.arch == arch
        assert len(cubin.kernels) == 1
        assert "increment_on_gpu" in cubin.kernels[0]

    @pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
    @pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100", "sm_100f", "sm_121a"])
    def test_is_what_nvcc_was_asked_for(self, tmp_path: Path, small: Path, arch: str) -> None:
        source = tmp_path / "add.cu"
        source.write_text('extern "C" __global__ void add(float* a) { a[threadIdx.x] += 1; }\n')
        command: list[str | Path] = ["nvcc", "-cubin", "-arch", arch, source, "-o", tmp_path / "add.cubin"]
        if subprocess.run(command, check=False, capture_output=True, timeout=120).returncode:
            pytest.skip(f"nvcc does not compile for {arch}")
        holder = tmp_path / "holder.so"
        holder.write_bytes(small.read_bytes() + (tmp_path / "add.cubin").read_bytes())
        (cubin,) = elf.cubins(holder)
        assert (cubin.arch, cubin.kernels) == (arch, ("add",))

    def test_of_an_unknown_layout_is_refused(self, tmp_path: Path, objects: dict[str, Path]) -> None:
        data = bytearray(objects["sm_90a"].read_bytes())
        (cubin,) = elf.cubins(objects["sm_90a"])
        data[cubin.offset + 8] = 9
        (tmp_path / "new.o").write_bytes(data)
        with pytest.raises(StubgenError, match="unknown ABI version 9"):
            elf.cubins(tmp_path / "new.o")


class TestDamage:
    def test_missing_file_is_told(self, tmp_path: Path) -> None:
        assert "No such file" in str(read_all(tmp_path / "missing.so"))

    def test_folder_is_told(self, tmp_path: Path) -> None:
        assert "Is a directory" in str(read_all(tmp_path))

    @pytest.mark.parametrize(
        "content",
        [b"", b"\x7fELF", b"#!/bin/sh\n", bytes(5000), b"\x7fELF\x01\x01" + bytes(100)],
        ids=["empty", "short", "script", "zeros", "32 bits"],
    )
    def test_other_files_are_told(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "lib.so"
        path.write_bytes(content)
        assert read_all(path)

    def test_truncated_library_is_told_wherever_it_ends(self, tmp_path: Path, small: Path) -> None:
        data = small.read_bytes()
        path = tmp_path / "lib.so"
        for length in range(0, len(data), 37):
            path.write_bytes(data[:length])
            assert read_all(path), length

    def test_truncated_cubin_is_told(self, tmp_path: Path, objects: dict[str, Path]) -> None:
        data = objects["sm_90a"].read_bytes()
        (cubin,) = elf.cubins(objects["sm_90a"])
        small_head = objects["cpu"].read_bytes()
        for length in range(64, cubin.size, 97):
            path = tmp_path / "lib.so"
            path.write_bytes(small_head + data[cubin.offset : cubin.offset + length])
            assert "the GPU code at" in str(read_all(path)), length

    @pytest.mark.parametrize("which", ["small", "sm_90a", "sm_100f"])
    def test_flipped_bytes_never_cause_another_error(
        self, tmp_path: Path, small: Path, objects: dict[str, Path], which: str
    ) -> None:
        data = (small if which == "small" else objects[which]).read_bytes()
        chosen = random.Random(which)
        path = tmp_path / "lib.so"
        refused = 0
        for _ in range(400):
            damaged = bytearray(data)
            for _ in range(chosen.choice((1, 3, 30))):
                damaged[chosen.randrange(len(data))] = chosen.choice((0, 1, 0x7F, 0xFF))
            path.write_bytes(damaged)
            refused += read_all(path) is not None
        assert 0 < refused < 400, "some damage is seen, and some is where nobody reads"

    def test_each_header_field_may_be_anything(self, tmp_path: Path, small: Path) -> None:
        data = small.read_bytes()
        path = tmp_path / "lib.so"
        table = struct.unpack_from("<Q", data, 40)[0]
        refused: list[int] = []
        for place in (*range(64), *range(table, len(data))):
            damaged = bytearray(data)
            damaged[place] = 0 if data[place] else 0xFF
            path.write_bytes(damaged)
            if read_all(path) is not None:
                refused.append(place)
        assert {0, 1, 2, 3} <= set(refused), "the first bytes say what it is"
        assert any(place >= table for place in refused)

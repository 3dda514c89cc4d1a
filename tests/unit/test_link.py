from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from stubgen.native import elf, runtimes
from stubgen.native.host_ir import IRFile
from stubgen.native.link import KernelIR, companion_source, link_library, verify_library
from stubgen.native.toolchain import HostTarget, Source, ZigToolchain
from stubgen.problems.problem import StubgenError
from tests.unit import ir_samples

HOST = HostTarget()
GLIBC = {"libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """IR that the DSL wrote: ``cpu``, ``sm_90a`` and ``sm_100f``."""
    return ir_samples.export_with_dsl(tmp_path_factory.mktemp("exported"), "sm_90a", "sm_100f")


def link(work: Path, kernels: dict[str, Path], *, gpu: bool = False, definitions: str = "") -> Path:
    work.mkdir(parents=True, exist_ok=True)
    return link_library(
        [KernelIR(name, IRFile(ir), gpu and name != "cpu") for name, ir in kernels.items()],
        work / "libkernels.so",
        exports=[f"__tvm_ffi_{name}" for name in kernels],
        definitions=definitions,
        toolchain=ZigToolchain(),
        work=work,
        jobs=2,
    )


@pytest.fixture(scope="session")
def with_gpu(tmp_path_factory: pytest.TempPathFactory, exported: dict[str, Path]) -> Path:
    return link(tmp_path_factory.mktemp("with_gpu"), exported, gpu=True)


@pytest.fixture
def two(tmp_path: Path) -> dict[str, Path]:
    return {name: ir_samples.write(tmp_path, name, ir_samples.FUNCTION) for name in ("one", "two")}


def codes(error: StubgenError) -> list[str]:
    return [problem.code for problem in error.problems]


class TestLibrary:
    def test_with_gpu_code_needs_only_tvm_ffi_and_glibc(self, with_gpu: Path) -> None:
        needs = elf.needed(with_gpu)
        assert "libtvm_ffi.so" in needs
        assert set(needs) <= {"libtvm_ffi.so", *GLIBC}
        assert elf.glibc_version(with_gpu) == "2.17"

    def test_shows_its_kernels_and_nothing_of_the_archives(
        self, with_gpu: Path, exported: dict[str, Path]
    ) -> None:
        assert elf.exported_symbols(with_gpu) == tuple(sorted(f"__tvm_ffi_{name}" for name in exported))

    def test_stays_loaded_when_its_user_closes_it(self, with_gpu: Path) -> None:
        """Functions of it may be called later, or destroyed."""
        code = (
            "import _ctypes, ctypes, pathlib, sys, tvm_ffi\n"
            "_ctypes.dlclose(ctypes.CDLL(sys.argv[1])._handle)\n"
            "assert sys.argv[1] in pathlib.Path('/proc/self/maps').read_text()"
        )
        subprocess.run([sys.executable, "-c", code, with_gpu], check=True)

    def test_with_gpu_code_loads_and_runs_its_host_function(self, with_gpu: Path) -> None:
        call = (
            "import sys, numpy, tvm_ffi\n"
            "cpu = tvm_ffi.load_module(sys.argv[1])['cpu']\n"
            "a, b = numpy.arange(3, dtype='float32'), numpy.zeros(3, dtype='float32')\n"
            "cpu(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b))\n"
            "assert b.tolist() == [1.0, 2.0, 3.0], b\n"
        )
        subprocess.run([sys.executable, "-c", call, with_gpu], check=True, timeout=60)

    def test_gives_the_same_bytes_in_any_folder(
        self, tmp_path: Path, with_gpu: Path, exported: dict[str, Path]
    ) -> None:
        again = link(tmp_path / "elsewhere" / "deeper", exported, gpu=True)
        assert again.read_bytes() == with_gpu.read_bytes()

    def test_without_gpu_code_is_small_and_needs_no_glibc_part_beside_libc(
        self, tmp_path: Path, exported: dict[str, Path]
    ) -> None:
        library = link(tmp_path, {"cpu": exported["cpu"]})
        assert library.stat().st_size < 20_000
        assert set(elf.needed(library)) <= {"libtvm_ffi.so", "libc.so.6"}

    def test_holds_the_definitions(self, tmp_path: Path, two: dict[str, Path]) -> None:
        definition = "#include <tvm/ffi/c_api.h>\nint __tvm_ffi_extra(void) { return kTVMFFINone; }"
        extra = {**two, "extra": ir_samples.write(tmp_path, "empty", "; nothing\n")}
        library = link(tmp_path / "work", extra, definitions=definition)
        assert "__tvm_ffi_extra" in elf.exported_symbols(library)

    def test_may_have_a_kernel_called_companion(self, tmp_path: Path) -> None:
        ir = ir_samples.write(tmp_path, "companion", ir_samples.FUNCTION)
        library = link(tmp_path / "work", {"companion": ir})
        assert elf.exported_symbols(library) == ("__tvm_ffi_companion",)

    def test_may_be_empty(self, tmp_path: Path) -> None:
        assert elf.exported_symbols(link(tmp_path, {})) == ()


class TestFailure:
    def test_reports_all_kernels_that_do_not_compile(self, tmp_path: Path) -> None:
        broken = {name: ir_samples.write(tmp_path, name, "junk") for name in ("one", "two")}
        with pytest.raises(StubgenError) as caught:
            link(tmp_path, broken)
        assert codes(caught.value) == ["CS403", "CS403"]
        assert "one.ll" in str(caught.value)
        assert "two.ll" in str(caught.value)

    def test_names_a_symbol_that_nothing_defines(self, tmp_path: Path) -> None:
        text = ir_samples.CALLER.format(name="lost", callee="missing")
        with pytest.raises(StubgenError, match="nothing defines missing") as caught:
            link(tmp_path, {"lost": ir_samples.write(tmp_path, "lost", text)})
        assert codes(caught.value) == ["CS404"]

    def test_folder_that_is_missing_cannot_be_written(self, tmp_path: Path, two: dict[str, Path]) -> None:
        with pytest.raises(StubgenError) as caught:
            link_library(
                [],
                tmp_path / "libkernels.so",
                exports=[],
                toolchain=ZigToolchain(),
                work=tmp_path / "missing",
            )
        assert codes(caught.value) == ["CS405"]

    @pytest.mark.parametrize(
        ("missing", "pip"),
        [
            ("nvidia-cutlass-dsl-libs-cu12", "pip install 'nvidia-cutlass-dsl'"),
            ("nvidia-cuda-runtime-cu12", "pip install 'nvidia-cuda-runtime-cu12>=12,<13'"),
        ],
    )
    def test_package_that_is_missing_is_named_with_the_pip_command(
        self, monkeypatch: pytest.MonkeyPatch, missing: str, pip: str
    ) -> None:

        def distribution(name: str) -> metadata.Distribution:
            if name == missing or name.endswith(("cu13", "runtime")):
                raise PackageNotFoundError(name)
            return metadata.distribution(name)

        monkeypatch.setattr(runtimes, "distribution", distribution)
        with pytest.raises(StubgenError) as caught:
            runtimes.find_cuda_runtime()
        assert codes(caught.value) == ["CS406"]
        assert missing in str(caught.value)
        assert pip in str(caught.value)

    def test_archive_that_was_deleted_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Path, "is_file", lambda self: False)
        with pytest.raises(StubgenError, match=r"libcuda_dialect_runtime_static\.a is missing"):
            runtimes.find_cuda_runtime()


class TestRuntimes:
    @pytest.mark.parametrize(
        ("installed", "major"),
        [({12}, 12), ({13}, 13), ({12, 13}, 12)],
    )
    def test_both_archives_are_of_one_cuda_version(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: set[int], major: int
    ) -> None:
        names = {
            "nvidia-cutlass-dsl-libs-cu12": (12, "dsl12/libcuda_dialect_runtime_static.a"),
            "nvidia-cutlass-dsl-libs-cu13": (13, "dsl13/libcuda_dialect_runtime_static.a"),
            "nvidia-cuda-runtime-cu12": (12, "cuda12/libcudart_static.a"),
            "nvidia-cuda-runtime": (13, "cuda13/libcudart_static.a"),
        }
        monkeypatch.setattr(runtimes, "distribution", FakePackages(tmp_path, names, installed))
        found = runtimes.find_cuda_runtime()
        assert found.major == major
        assert [path.parent.name for path in found.archives] == [f"dsl{major}", f"cuda{major}"]


class FakePackages:
    """Stands in for ``importlib.metadata.distribution``."""

    def __init__(self, folder: Path, names: dict[str, tuple[int, str]], installed: set[int]) -> None:
        self._folder = folder
        self._names = {name: file for name, (major, file) in names.items() if major in installed}

    def __call__(self, name: str) -> FakePackages.Package:
        if name not in self._names:
            raise PackageNotFoundError(name)
        path = self._folder / self._names[name]
        path.parent.mkdir(exist_ok=True)
        path.touch()
        return self.Package(path)

    class Package:
        def __init__(self, path: Path) -> None:
            self.files = [self.File(path)]

        class File:
            def __init__(self, path: Path) -> None:
                self.name = path.name
                self._path = path

            def locate(self) -> Path:
                return self._path


class TestCompanion:
    def test_defines_what_the_static_runtime_leaves_open(self) -> None:
        assert "CuteDSLRT_TVMFFISetRaisedCudaError" in companion_source("", static_runtime=True)

    def test_without_gpu_code_has_only_the_definitions(self) -> None:
        text = companion_source("int answer;\n", static_runtime=False)
        assert "cuda" not in text.lower()
        assert text.endswith("\nint answer;\n")


class TestVerification:
    EXPORTS = ("__tvm_ffi_cpu", "__tvm_ffi_sm_90a", "__tvm_ffi_sm_100f")
    ARCHS = ("sm_90a", "sm_100f")

    def test_accepts_what_was_asked_for(self, with_gpu: Path) -> None:
        verify_library(with_gpu, exports=self.EXPORTS, archs=self.ARCHS)

    def reasons(self, library: Path, **changes: object) -> str:
        wanted = {"exports": self.EXPORTS, "archs": self.ARCHS, **changes}
        with pytest.raises(StubgenError) as caught:
            verify_library(library, **wanted)  # type: ignore[arg-type]
        assert set(codes(caught.value)) == {"CS408"}
        return str(caught.value)

    def test_refuses_a_missing_symbol(self, with_gpu: Path) -> None:
        exports = (*self.EXPORTS, "__tvm_ffi_more")
        assert "does not export __tvm_ffi_more" in self.reasons(with_gpu, exports=exports)

    def test_refuses_a_symbol_that_leaks(self, with_gpu: Path) -> None:
        exports = self.EXPORTS[1:]
        assert "exports __tvm_ffi_cpu, which" in self.reasons(with_gpu, exports=exports)

    def test_refuses_another_architecture(self, with_gpu: Path) -> None:
        text = self.reasons(with_gpu, archs=["sm_90a", "sm_100a"])
        assert "holds 1 GPU binaries for sm_100f, and should hold 0" in text
        assert "holds 0 GPU binaries for sm_100a, and should hold 1" in text

    def test_refuses_another_library(self, tmp_path: Path) -> None:
        tools, ir = ZigToolchain(), ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        caller = ir_samples.CALLER.format(name="g", callee="__tvm_ffi_f")
        other = ir_samples.write(tmp_path, "g", caller)
        library = link(tmp_path, {"f": ir})
        library.rename(tmp_path / "libother.so")
        tools.link(
            {"g.o": tools.compile_ir(Source.of(other), HOST)},
            [],
            tmp_path / "libg.so",
            soname="libg.so",
            exports=["__tvm_ffi_g"],
            library_dirs=[tmp_path],
            libraries=["other"],
            host=HOST,
        )
        text = self.reasons(tmp_path / "libg.so", exports=["__tvm_ffi_g"], archs=())
        assert "it needs libkernels.so" in text

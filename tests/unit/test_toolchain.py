from __future__ import annotations

import dataclasses
import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stubgen.native import commands, elf
from stubgen.native.commands import ToolError
from stubgen.native.toolchain import HostTarget, Source, SystemToolchain, Toolchain, ZigToolchain, toolchain
from tests.unit import ir_samples

HOST = HostTarget()
ZIG = Path(importlib.util.find_spec("ziglang").submodule_search_locations[0], "zig")  # type: ignore


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "zig-cache"
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(cache))
    return cache


@pytest.fixture
def only_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)
    return folder


def install(folder: Path, name: str, script: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def install_new_clang(folder: Path) -> Path:
    """Make a clang that reads the DSL's IR out of zig, which knows CPUs by other names."""
    script = """
        for word do
            shift
            case $word in -march=x86-64-v*) word=-mcpu=x86_64_${word##*-};; esac
            set -- "$@" "$word"
        done
    """
    return install(folder, "clang", f'{script} exec "{ZIG}" cc "$@"')


def build(tools: Toolchain, folder: Path, exports: tuple[str, ...] = ("f", "g")) -> Path:
    """Compile one function from IR and one from C, and link them."""
    folder.mkdir(parents=True, exist_ok=True)
    ir = ir_samples.write(folder, "f", ir_samples.FUNCTION)
    source = folder / "g.c"
    source.write_text('#include "where.h"\nconst char* g(void) { return WHERE; }\n')
    include = folder / "include"
    include.mkdir(exist_ok=True)
    (include / "where.h").write_text("static const char* const WHERE = __FILE__;\n")
    objects = {
        "f.o": tools.compile_ir(Source.of(ir), HOST),
        "g.o": tools.compile_c(Source.of(source), HOST, [include]),
    }
    output = folder / "libfg.so"
    symbols = ["__tvm_ffi_f" if name == "f" else name for name in exports]
    tools.link(objects, [], output, soname="libfg.so", exports=symbols, host=HOST)
    return output


def error_of(action: object, *arguments: object, **options: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        action(*arguments, **options)  # type: ignore[operator]
    return caught.value


def codes(error: ToolError) -> list[str]:
    return [problem.code for problem in error.problems]


class TestZig:
    def test_describes_itself_with_both_versions(self) -> None:
        assert re.fullmatch(r"zig 0\.\d+\.\d+ \(clang \d+\.\d+\.\d+\)", ZigToolchain().describe())

    def test_shows_exactly_the_exports(self, tmp_path: Path) -> None:
        assert elf.exported_symbols(build(ZigToolchain(), tmp_path, ("f",))) == ("__tvm_ffi_f",)

    def test_shows_nothing_if_nothing_is_exported(self, tmp_path: Path) -> None:
        assert elf.exported_symbols(build(ZigToolchain(), tmp_path, ())) == ()

    def test_gives_the_same_bytes_in_any_folder(self, tmp_path: Path) -> None:
        one = build(ZigToolchain(), tmp_path / "one")
        other = build(ZigToolchain(), tmp_path / "another folder" / "deeper")
        for name in ("f.o", "g.o", "libfg.so"):
            content = one.with_name(name).read_bytes()
            assert content == other.with_name(name).read_bytes(), name
            assert str(tmp_path).encode() not in content, name

    def test_leaves_no_build_id(self, tmp_path: Path) -> None:
        assert b"GNU\0" not in build(ZigToolchain(), tmp_path).read_bytes()

    def test_ignores_folders_that_the_environment_adds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "extra").mkdir()
        (tmp_path / "extra" / "where.h").write_text("#error wrong header\n")
        monkeypatch.setenv("CPATH", str(tmp_path / "extra"))
        build(ZigToolchain(), tmp_path / "work")

    @pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "native"])
    def test_compiles_for_each_cpu(self, tmp_path: Path, cpu: str) -> None:
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        assert ZigToolchain().compile_ir(Source.of(ir), HostTarget(cpu))  # type: ignore[arg-type]

    def test_says_nothing_about_the_triple_of_the_ir(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        build(ZigToolchain(), tmp_path)
        assert capfd.readouterr() == ("", "")

    def test_links_what_needs_the_compiler_run_time(self, tmp_path: Path) -> None:
        ir = ir_samples.write(tmp_path, "half", ir_samples.HALF_CONVERTER)
        tools, library = ZigToolchain(), tmp_path / "libhalf.so"
        objects = {"half.o": tools.compile_ir(Source.of(ir), HOST)}
        symbols = ["__tvm_ffi_half"]
        tools.link(objects, [], library, soname="libhalf.so", exports=symbols, host=HOST)
        assert elf.exported_symbols(library) == ("__tvm_ffi_half",)
        assert elf.needed(library) == ()

    @pytest.mark.slow
    def test_builds_at_once_share_an_empty_cache(self, tmp_path: Path, fresh_cache: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from stubgen.native.toolchain import ZigToolchain;"
            "from tests.unit.test_toolchain import build; build(ZigToolchain(), Path(sys.argv[1]))"
        )

        def run(number: int) -> bytes:
            folder = tmp_path / str(number)
            subprocess.run([sys.executable, "-c", script, folder], check=True, timeout=300)
            return (folder / "libfg.so").read_bytes()

        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(run, range(4)))) == 1
        assert fresh_cache.is_dir()

    def test_uses_a_temporary_cache_where_it_cannot_write(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Root may write anywhere, but not below a file.
        (tmp_path / "file").touch()
        monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path / "file" / "cache"))
        assert build(ZigToolchain(), tmp_path / "work").is_file()

    def test_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        error = error_of(ZigToolchain().describe)
        assert codes(error) == ["CS401"]
        assert "ziglang is not installed" in str(error)

    @pytest.mark.parametrize(
        ("script", "reason"),
        [
            ("echo no such instruction >&2; exit 3", "no such instruction"),
            ("exit 3", "status 3"),
            ("kill -SEGV $$", "SIGSEGV"),
            ("echo something else", "it gives no version"),
        ],
    )
    def test_broken_program_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
    ) -> None:
        tools = ZigToolchain()
        monkeypatch.setattr(tools, "_zig", install(tmp_path, "zig", script), raising=False)
        error = error_of(tools.describe)
        assert codes(error) == ["CS402"]
        assert reason in str(error)

    def test_program_for_another_machine_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tools, program = ZigToolchain(), tmp_path / "zig"
        program.write_bytes(b"\x7fELF" + bytes(60))
        program.chmod(0o755)
        monkeypatch.setattr(tools, "_zig", program, raising=False)
        assert codes(error_of(tools.describe)) == ["CS402"]

    def test_hung_program_is_stopped(self, tmp_path: Path) -> None:
        program = install(tmp_path, "hang", "exec sleep 60")
        error = error_of(commands.run, [program], tool="hang", timeout=0.2)
        assert codes(error) == ["CS402"]
        assert "0.2 s" in str(error)

    def test_too_old_ziglang_is_told_in_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tools = ZigToolchain()
        script = 'case "$*" in *--version) echo clang version 21.1.0;; *) echo "x: error: y"; exit 1;; esac'
        monkeypatch.setattr(tools, "_zig", install(tmp_path, "zig", script), raising=False)
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        error = error_of(tools.compile_ir, Source.of(ir), HOST)
        assert codes(error) == ["CS409"]
        assert "clang 21.1.0 is too old" in str(error)


class TestCompileFailure:
    def test_quotes_the_first_error_and_keeps_the_rest(self, tmp_path: Path) -> None:
        ir = ir_samples.write(tmp_path, "junk", "this is no IR")
        error = error_of(ZigToolchain().compile_ir, Source.of(ir), HOST)
        assert codes(error) == ["CS403"]
        assert "junk.ll" in str(error)
        assert "expected top-level entity" in str(error)
        assert "1 error generated" not in str(error)
        assert "1 error generated" in error.output

    def test_names_the_c_file(self, tmp_path: Path) -> None:
        source = tmp_path / "dispatch.c"
        source.write_text("int f(void) { return unheard_of; }\n")
        error = error_of(ZigToolchain().compile_c, Source.of(source), HOST)
        assert codes(error) == ["CS403"]
        assert "dispatch.c" in str(error)
        assert "unheard_of" in str(error)

    def test_output_in_a_missing_folder_is_a_matter_of_writing(self, tmp_path: Path) -> None:
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        missing = dataclasses.replace(Source.of(ir), path=tmp_path / "missing" / "f.ll")
        error = error_of(ZigToolchain().compile_ir, missing, HOST)
        assert codes(error) == ["CS405"]

    def test_disk_that_is_full_is_recognised_without_a_word_from_the_tool(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class FullDisk:
            def __enter__(self) -> FullDisk:
                return self

            def __exit__(self, *_: object) -> None: ...

            def write(self, _: bytes) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: FullDisk())  # noqa: A006
        done = subprocess.CompletedProcess([], -6, "", "")
        error = commands.unwritable(done, tmp_path / "f.o")
        assert error is not None
        assert codes(error) == ["CS405"]
        assert "No space left on device" in str(error)

    @pytest.mark.parametrize("word", ["error: NoSpaceLeft", "x.o: No space left on device"])
    def test_disk_that_is_full_is_recognised_by_what_the_tool_says(self, tmp_path: Path, word: str) -> None:
        done = subprocess.CompletedProcess([], 1, "", word)
        error = commands.unwritable(done, tmp_path / "f.o")
        assert error is not None
        assert "No space left on device" in str(error)


def link_failure(tools: Toolchain, folder: Path, objects: dict[str, bytes], exports: str = "f") -> ToolError:
    return error_of(
        tools.link,
        objects,
        [],
        folder / "libx.so",
        soname="libx.so",
        exports=[f"__tvm_ffi_{exports}"],
        host=HOST,
    )


@pytest.fixture(params=["zig", "system"])
def linker(request: pytest.FixtureRequest) -> Toolchain:
    if request.param == "system" and shutil.which("cc") is None:
        pytest.skip("no system compiler")
    return toolchain(request.param)


class TestLinkFailure:
    def test_names_each_undefined_symbol(self, tmp_path: Path, linker: Toolchain) -> None:
        objects = {}
        for name in ("one", "two"):
            text = ir_samples.CALLER.format(name=name, callee=f"missing_{name}")
            ir = ir_samples.write(tmp_path, name, text)
            objects[f"{name}.o"] = ZigToolchain().compile_ir(Source.of(ir), HOST)
        error = link_failure(linker, tmp_path, objects, exports="one")
        assert codes(error) == ["CS404"] * len(error.problems)
        assert "nothing defines missing_one" in str(error)

    def test_names_a_symbol_that_is_defined_twice(self, tmp_path: Path, linker: Toolchain) -> None:
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        obj = ZigToolchain().compile_ir(Source.of(ir), HOST)
        error = link_failure(linker, tmp_path, {"one.o": obj, "two.o": obj})
        assert codes(error) == ["CS404"]
        assert "__tvm_ffi_f is defined twice" in str(error)

    def test_names_an_export_that_nothing_defines(self, tmp_path: Path) -> None:
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        objects = {"f.o": ZigToolchain().compile_ir(Source.of(ir), HOST)}
        error = link_failure(ZigToolchain(), tmp_path, objects, exports="other")
        assert codes(error) == ["CS404"]
        assert "nothing defines __tvm_ffi_other" in str(error)


class TestSystem:
    def test_missing_clang_is_named_with_the_version(self, only_on_path: Path) -> None:
        error = error_of(SystemToolchain().describe)
        assert codes(error) == ["CS401"]
        assert "clang 22 or newer" in str(error)

    def test_missing_cc_is_named(self, only_on_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", "my-cc --fast")
        error = error_of(SystemToolchain().describe)
        assert codes(error) == ["CS401"]
        assert "my-cc" in str(error)

    def test_cc_that_is_clang_compiles_everything(
        self, tmp_path: Path, only_on_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clang = install_new_clang(only_on_path)
        monkeypatch.setenv("CC", str(clang.rename(only_on_path / "my-cc")))
        tools = SystemToolchain()
        assert re.fullmatch(r"clang \d+\.\d+\.\d+", tools.describe())
        assert elf.exported_symbols(build(tools, tmp_path / "work")) == ("__tvm_ffi_f", "g")

    def test_newest_clang_is_preferred(self, only_on_path: Path) -> None:
        for name, version in (("clang", "14.0.6"), ("clang-22", "22.1.0"), ("clang-23", "23.1.0")):
            install(only_on_path, name, f"echo clang version {version}")
        install(only_on_path, "cc", "echo cc 12")
        assert SystemToolchain().describe() == "clang 23.1.0, cc 12"

    @pytest.mark.skipif(shutil.which("cc") is None, reason="no system compiler")
    def test_links_clang_objects_with_cc_and_gives_the_same_bytes_in_any_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "bin").mkdir()
        install_new_clang(tmp_path / "bin")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        monkeypatch.delenv("CC", raising=False)
        one = build(SystemToolchain(), tmp_path / "one")
        other = build(SystemToolchain(), tmp_path / "another folder" / "deeper")
        assert elf.exported_symbols(one) == ("__tvm_ffi_f", "g")
        assert one.read_bytes() == other.read_bytes()
        assert str(tmp_path).encode() not in one.read_bytes()

    def test_too_old_clang_is_told_in_one_line(self, tmp_path: Path, only_on_path: Path) -> None:
        script = (
            'case "$*" in *--version) echo Debian clang version 14.0.6;;'
            ' *) echo "f.ll:1:1: error: expected type" >&2; exit 1;; esac'
        )
        install(only_on_path, "clang", script)
        ir = ir_samples.write(tmp_path, "f", ir_samples.FUNCTION)
        error = error_of(SystemToolchain().compile_ir, Source.of(ir), HOST)
        assert codes(error) == ["CS409"]
        assert "clang 14.0.6 is too old" in str(error)
        assert "expected type" in error.output

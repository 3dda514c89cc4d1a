"""Packages made of libraries alone: complete ones, some without metadata, and those of other tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import filelock
import pytest
from tvm_ffi import libinfo

from stubgen.inspection import binaries
from stubgen.inspection.inspected import inspect
from stubgen.inspection.integrity import verify
from stubgen.inspection.packages import find_library
from stubgen.inspection.stubs import write_stubs
from stubgen.native import elf
from stubgen.problems.problem import StubgenError
from tests import typecheckers
from tests.conftest import run_stubgen
from tests.cpp.compilers import CLANG, CLANG_C
from tests.e2e.binaries import FOREIGN, export, link, plain, texts, without_section, zig

X86, ARM = "x86_64-linux-gnu.2.17", "aarch64-linux-gnu"


@pytest.fixture(scope="session")
def library(generated: Path) -> Path:
    return generated / "cute_kernels" / "lib" / "libcute_kernels.so"


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what the DSL exported."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if shared.name.startswith("popen-") else shared
    folder = shared / "exported"
    with filelock.FileLock(shared / "exported.lock"):
        if not folder.exists():
            folder.mkdir()
            export(folder)
            link(folder, X86, folder / "libforeign.so", *FOREIGN)
            link(folder, ARM, folder / "libforeign_arm.so", *FOREIGN)
    return folder


class TestComplete:
    def test_every_text_comes_out_of_the_binary_as_it_was(
        self, generated: Path, library: Path, tmp_path: Path
    ) -> None:
        alone = tmp_path / "renamed.bin"
        shutil.copy(library, alone)
        done = run_stubgen("stubs", alone, "-o", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        expected, found = texts(generated), texts(tmp_path / "out")
        archives = {f"cute_kernels/lib/pkgconfig/cute_kernels-{kind}.pc" for kind in ("static", "load")}
        assert expected.keys() - found.keys() == archives, "which are not made anew"
        assert found.keys() <= expected.keys()
        assert len(found) > 40
        for path, text in found.items():
            assert text == expected[path], path
        copy = tmp_path / "out" / "cute_kernels" / "lib" / "libcute_kernels.so"
        assert copy.read_bytes() == library.read_bytes()
        assert find_library(str(tmp_path / "out")) == find_library(str(generated))
        verify(str(tmp_path / "out"))

    def test_another_name_keeps_the_symbols(self, library: Path, tmp_path: Path) -> None:
        made = write_stubs(library, tmp_path / "out", "other")
        assert [problem.code for problem in made.warnings] == ["CS605"]
        _call(
            tmp_path / "out",
            """
            from other import host
            from other.kwargs import host as kw
            host.host_add_constant(x, out, 2.0)
            assert out.tolist() == [3.0, 4.0, -1.0]
            kw.host_add_constant(x, out)
            assert out.tolist() == [2.0, 3.0, -2.0]
            import other, tvm_ffi
            other.register_functions()
            tvm_ffi.get_global_func("cute_kernels.host_add_constant")(x, out, 3.0)
            assert out.tolist() == [4.0, 5.0, 0.0]
            """,
        )
        _run_cpp(tmp_path, "other", "other::host_add_constant(x.view(), out.view(), 2.0f)", 3.0)


class TestWithoutMetadata:
    def test_names_order_dtypes_and_shapes_are_the_same(self, library: Path, tmp_path: Path) -> None:
        complete = binaries.read(library)
        bare = binaries.read(without_section(library, tmp_path / "bare.so"))
        assert bare.unknown == complete.unknown == ()
        assert bare.library.package == complete.library.package
        assert list(plain(bare.library)) == list(plain(complete.library))

    @pytest.mark.parametrize(
        "command", [["objcopy", "--remove-section", ".cute_stubgen"], ["strip", "-R", ".cute_stubgen", "-s"]]
    )
    def test_so_they_are_when_tools_have_removed_it(
        self, library: Path, tmp_path: Path, command: list[str]
    ) -> None:
        if shutil.which(command[0]) is None:
            pytest.skip(f"no {command[0]}")
        bare = tmp_path / "libcute_kernels.so"
        shutil.copy(library, bare)
        subprocess.run([*command, bare], check=True)
        assert binaries.model_in(bare) is None
        assert list(plain(binaries.read(bare).library)) == list(plain(binaries.read(library).library))

    def test_the_package_works(self, library: Path, tmp_path: Path) -> None:
        made = write_stubs(without_section(library, tmp_path / "bare.so"), tmp_path / "out")
        assert made.warnings == ()
        _call(
            tmp_path / "out",
            """
            from cute_kernels import kernels
            from cute_kernels.kwargs import kernels as kw
            kernels.host_add_constant(x, out, 2.0)
            assert out.tolist() == [3.0, 4.0, -1.0]
            kw.host_add_constant(offset=1.0, b=out, a=x)
            assert out.tolist() == [2.0, 3.0, -2.0]
            kw.host_scale_add(x=x, factor=2.0, negate=True, bias=None, out=out)
            assert out.tolist() == [-2.0, -4.0, 6.0]
            rows = x.reshape(1, 3)
            sums = np.zeros(1, np.float32)
            kernels.host_activate(rows, "square", sums)
            assert sums.tolist() == [36.0]
            kernels.host_activate.variants["identity_3"](rows, sums)
            assert sums.tolist() == [-4.0]
            """,
        )
        call = "cute_kernels::host_scale_add<true>(x.view(), 2.0, std::nullopt, out.view())"
        _run_cpp(tmp_path, "cute_kernels", call, -2.0)

    def test_says_what_is_unknown(self, library: Path, tmp_path: Path) -> None:
        bare = without_section(library, tmp_path / "bare.so")
        done = run_stubgen("describe", bare)
        assert done.returncode == 0, done.stderr
        assert "read from texts alone" in done.stdout
        assert "unknown: strides, alignment and devices" in done.stdout
        write_stubs(bare, tmp_path / "out")
        stub = (tmp_path / "out" / "cute_kernels" / "kernels.pyi").read_text()
        assert "Unknown are the strides" in stub
        assert "device and strides unknown" in stub
        header = (tmp_path / "out" / "cute_kernels" / "include" / "cute_kernels" / "kernels.hpp").read_text()
        assert "Unknown are the strides" in header
        assert json.loads(run_stubgen("describe", bare, "--json").stdout)["is_partial"] is True

    def test_diff_does_not_compare_what_is_unknown(self, library: Path, tmp_path: Path) -> None:
        bare = without_section(library, tmp_path / "bare.so")
        write_stubs(bare, tmp_path / "out")
        for other in (bare, tmp_path / "out"):
            done = run_stubgen("diff", library, other)
            assert done.returncode == 2
            assert "CS504" in done.stderr


class TestOfOtherTools:
    @pytest.mark.parametrize("name", ["libforeign.so", "libforeign_arm.so"])
    def test_each_function_has_its_own_signature(self, exported: Path, name: str) -> None:
        read = binaries.read(exported / name)
        assert read.unknown == ()
        found = {name: parameters for name, parameters, *_ in plain(read.library)}
        assert found == FOREIGN
        archs = {kernel.name: kernel.archs for kernel in read.library.kernels}
        assert archs == {name: ("sm_90a",) if name == "increment" else () for name in FOREIGN}

    @pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
    @pytest.mark.parametrize("strip", [False, True])
    def test_so_it_has_in_objects_of_the_dsl(self, exported: Path, tmp_path: Path, strip: bool) -> None:
        library = tmp_path / "libexported.so"
        objects = [exported / f"{name}.o" for name in FOREIGN]
        subprocess.run(["gcc", "-shared", "-o", library, *objects, *["-s"] * strip], check=True)
        read = binaries.read(library)
        assert {name: parameters for name, parameters, *_ in plain(read.library)} == FOREIGN
        assert read.library.package == "exported"

    @pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
    @pytest.mark.parametrize("options", [["-fuse-ld=gold"], ["-Wl,-z,noseparate-code"]], ids=["gold", "bfd"])
    def test_so_it_has_where_constants_lie_beside_code(
        self, exported: Path, tmp_path: Path, options: list[str]
    ) -> None:
        if options == ["-fuse-ld=gold"] and shutil.which("ld.gold") is None:
            pytest.skip("no gold")
        library = tmp_path / "libexported.so"
        objects = [exported / f"{name}.o" for name in FOREIGN]
        subprocess.run(["g++", "-shared", *options, "-o", library, *objects], check=True)
        read = binaries.read(library)
        assert {name: parameters for name, parameters, *_ in plain(read.library)} == FOREIGN
        assert {k.name for k in read.library.kernels if k.archs == ("sm_90a",)} == {"increment"}

    def test_only_code_that_takes_gpu_code_from_its_start_is_built_for_it(
        self, exported: Path, tmp_path: Path
    ) -> None:
        [cubin] = elf.cubins(exported / "libforeign.so")
        code = (exported / "libforeign.so").read_bytes()[cubin.offset :][: cubin.size]
        functions = "".join(
            f"""
            int __tvm_ffi_{name}(const void** to) {{
              to[0] = " when calling: `{name}(x: float32)`";
              to[1] = code + {offset};
              return 0;
            }}
            """
            for name, offset in {"first": 0, "inside": 64, "behind": len(code)}.items()
        )
        source = tmp_path / "referring.c"
        content = ", ".join(map(str, code))
        source.write_text(f"static const unsigned char code[] = {{{content}, 1}};\n{functions}")
        for target in (X86, ARM):
            zig("-shared", "-fPIC", "-O1", "-target", target, source, "-o", tmp_path / "libsome.so")
            kernels = binaries.read(tmp_path / "libsome.so").library.kernels
            archs = {kernel.name: kernel.archs for kernel in kernels}
            assert archs == {"first": ("sm_90a",), "inside": (), "behind": ()}, target
        shown = run_stubgen("describe", tmp_path / "libsome.so", "inside").stdout
        assert "built for unknown hardware" in shown, "and not for the host, which nobody knows"

    @pytest.mark.parametrize(
        ("file", "package"),
        [
            ("3kernels.so", "lib3kernels"),
            ("torch.so", "libtorch"),
            ("libtime.so", "libtime"),
            ("日本.so", "lib"),
            ("my kernels (v2).so", "my_kernels_v2"),
            ("class.so", "libclass"),
            (".so", "lib"),
            ("lib__a__b.so.1", "a_b"),
        ],
    )
    def test_libraries_may_be_called_anything(
        self, exported: Path, tmp_path: Path, file: str, package: str
    ) -> None:
        library = tmp_path / file
        shutil.copy(exported / "libforeign.so", library)
        assert binaries.read(library).library.package == package

    def test_one_function_is_enough(self, exported: Path, tmp_path: Path) -> None:
        library = link(exported, X86, tmp_path / "libone.so", "twice")
        assert [kernel.name for kernel in binaries.read(library).library.kernels] == ["twice"]

    def test_the_package_works(self, exported: Path, tmp_path: Path) -> None:
        library = link(exported, X86, tmp_path / "libhost.so", "twice", "thrice")
        write_stubs(library, tmp_path / "out")
        _call(
            tmp_path / "out",
            """
            from host import kernels
            from host.kwargs import kernels as kw
            kernels.twice(x, out)
            assert out.tolist() == [2.0, 4.0, -6.0]
            kw.thrice(b=out, a=x)
            assert out.tolist() == [3.0, 6.0, -9.0]
            import host
            assert not hasattr(host, "register_functions")  # the library has nothing to do it with
            """,
        )
        done = typecheckers.mypy(tmp_path / "out", "-p", "host")
        assert done.returncode == 0, done.stdout
        done = typecheckers.stubtest(tmp_path / "out", "host")
        assert done.returncode == 0, done.stdout
        _run_cpp(tmp_path, "host", "host::twice(x.view(), out.view())", 2.0)
        program = tmp_path / "main.c"
        program.write_text("#include <host.h>\nint main(void) { return host_twice(0, 0) == 0; }\n")
        package = tmp_path / "out" / "host"
        CLANG_C.build(
            tmp_path / "c",
            [program],
            package / "lib" / "libhost.so",
            standard="c11",
            include=package / "include",
        )
        environment = {"LD_LIBRARY_PATH": str(Path(libinfo.find_libtvm_ffi()).parent)}
        assert subprocess.run([tmp_path / "c"], env=environment).returncode == 0

    def test_functions_without_a_signature_are_named(self, exported: Path, tmp_path: Path) -> None:
        source = tmp_path / "silent.c"
        names = ("silent", "a__b__")
        source.write_text("".join(f"int __tvm_ffi_{name}(void) {{ return 0; }}\n" for name in names))
        link(exported, X86, tmp_path / "libtwice.so", "twice")
        zig("-shared", "-fPIC", "-target", X86, source, exported / f"twice.{X86}.o", "-Wl,-z,undefs", "-o",
            tmp_path / "libsome.so")  # fmt: skip
        done = run_stubgen("stubs", tmp_path / "libsome.so", "-o", tmp_path / "out", "--json")
        assert done.returncode == 0, done.stdout
        report = json.loads(done.stdout)
        assert report["kernels"] == 1
        assert [warning["kernel"] for warning in report["warnings"]] == list(names)
        assert {warning["code"] for warning in report["warnings"]} == {"CS604"}
        shown = run_stubgen("describe", tmp_path / "libsome.so").stdout
        assert "silent: no signature belongs to it" in shown


class TestFacts:
    def test_sizes_and_dependencies_are_told(self, library: Path) -> None:
        done = run_stubgen("describe", library, "--json")
        found = json.loads(done.stdout)["binary"]
        assert found["size"] == library.stat().st_size
        assert found["machine"] == "x86_64"
        assert found["glibc"] == "2.17"
        assert found["soname"] == "libcute_kernels.so"
        assert found["needed"][:2] == ["libtvm_ffi.so", "libc.so.6"]
        assert {code["arch"] for code in found["gpu_code"]} == {"sm_80", "sm_90a", "sm_100a"}
        assert all(code["count"] > 0 and code["size"] > 1000 * code["count"] for code in found["gpu_code"])

    def test_they_are_the_same_for_the_package(self, generated: Path, library: Path) -> None:
        of_package, of_library = inspect(str(generated)), inspect(str(library))
        assert of_package == of_library


class TestBadInput:
    @pytest.fixture
    def bad(self, tmp_path: Path, exported: Path, library: Path) -> dict[str, Path]:
        data = library.read_bytes()
        files = {
            "empty": b"",
            "script": b"#!/bin/sh\necho hello\n",
            "32-bit": b"\x7fELF\x01\x01\x01" + bytes(200),
            "big-endian": b"\x7fELF\x02\x02\x01" + bytes(200),
            "cut short": data[: len(data) // 2],
            "damaged metadata": data.replace(b"cute-stubgen model 1\n", b"cute-stubgen model 9\n"),
            "damaged model": re.sub(rb"(?<=cute-stubgen model 1\n).", b"\xc1", data, flags=re.DOTALL),
        }
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / "folder").mkdir()
        program = tmp_path / "main.c"
        program.write_text("int main(void) { return 0; }\n")
        zig(program, "-target", X86, "-o", tmp_path / "program")
        zig("-shared", program, "-target", X86, "-o", tmp_path / "no functions")
        shutil.copy(exported / "twice.o", tmp_path / "object")
        names = [*files, "folder", "program", "no functions", "object", "missing"]
        return {name: tmp_path / name for name in names}

    def test_each_is_one_error_with_a_code(self, bad: dict[str, Path], tmp_path: Path) -> None:
        codes = {}
        for name, path in bad.items():
            with pytest.raises(StubgenError) as caught:
                write_stubs(path, tmp_path / "out", "made")
            [problem] = caught.value.problems
            assert str(path) in problem.message
            codes[name] = problem.code
        described = {"damaged metadata", "damaged model", "program", "no functions", "object"}
        assert codes == {name: "CS507" if name in described else "CS407" for name in codes}
        assert not (tmp_path / "out").exists()

    def test_the_command_says_it_in_one_line(self, bad: dict[str, Path], tmp_path: Path) -> None:
        for arguments in (["describe"], ["stubs", "-o", tmp_path / "out"]):
            done = run_stubgen(*arguments, bad["object"])
            assert done.returncode == 1
            assert "has to be linked first" in done.stderr
            assert len(done.stderr.splitlines()) == 1

    def test_what_is_no_library_is_not_said_to_be_one_of_ours(self, tmp_path: Path) -> None:
        text = tmp_path / "notes.txt"
        text.write_text("no library\n")
        reasons = {text: "does not begin like a 64-bit little-endian ELF file", tmp_path: "Is a directory"}
        for file, reason in reasons.items():
            with pytest.raises(StubgenError) as caught:
                write_stubs(file, tmp_path / "out")
            [problem] = caught.value.problems
            assert f"{file} cannot be read as a shared library: " in problem.message
            assert reason in problem.message
            assert problem.remedy.startswith("name a shared library")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_what_may_not_be_read_is_told(self, tmp_path: Path) -> None:
        secret = tmp_path / "lib.so"
        secret.write_bytes(b"")
        secret.chmod(0)
        with pytest.raises(StubgenError, match="Permission denied"):
            binaries.read(secret)

    def test_a_name_that_no_package_can_have_is_refused(self, library: Path, tmp_path: Path) -> None:
        for name in ("torch", "Upper", "a b", "__a"):
            with pytest.raises(StubgenError, match="CS104"):
                write_stubs(library, tmp_path / "out", name)


# ---------------------------------------------------------------------------------------------------------

_PREAMBLE = """
import numpy as np
x = np.array([1.0, 2.0, -3.0], np.float32)
out = np.zeros(3, np.float32)
"""


def _call(folder: Path, code: str) -> None:
    environment = {"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", _PREAMBLE + textwrap.dedent(code)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


_PROGRAM = """\
#include <{package}.hpp>

struct Vector {{
  float data[3] = {{1.0f, 2.0f, -3.0f}};
  std::int64_t shape[1] = {{3}}, strides[1] = {{1}};
  DLTensor tensor{{}};
  tvm::ffi::TensorView view() {{
    tensor.data = data;
    tensor.device = {{kDLCPU, 0}};
    tensor.ndim = 1;
    tensor.dtype = {{kDLFloat, 32, 1}};
    tensor.shape = shape;
    tensor.strides = strides;
    return tvm::ffi::TensorView(&tensor);
  }}
}};

int main() {{
  Vector x, out;
  {call};
  return out.data[0] == {expected}f ? 0 : 1;
}}
"""


def _run_cpp(folder: Path, package: str, call: str, expected: float) -> None:
    source = folder / "main.cpp"
    source.write_text(_PROGRAM.format(package=package, call=call, expected=expected))
    root = folder / "out" / package
    library = root / "lib" / f"lib{package}.so"
    soname = binaries.binary(library).soname
    if soname not in (None, library.name):  # what CS605 says of it
        (root / "lib" / soname).symlink_to(library.name)
    CLANG.build(folder / "program", [source], library, standard="c++17", include=root / "include")
    assert subprocess.run([folder / "program"]).returncode == 0

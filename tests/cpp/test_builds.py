"""Text of one build and library of another: refused by Python, linkers, the loader and ``load_library``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import filelock
import msgspec
import pytest
from tvm_ffi import libinfo

from stubgen.abi import identity
from stubgen.model.library import Library
from stubgen.output import manifest
from stubgen.render.native import linkage
from stubgen.render.package_files import render
from tests.conftest import ROOT, run_stubgen
from tests.cpp import builds

TVM_FFI = Path(libinfo.find_libtvm_ffi())
PROJECT = '[tool.cute-stubgen]\nkernels = ["kernels"]\npackage = "mixed"\narchs = ["sm_90a"]\n'


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of the package that the others' texts are put beside."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if root.name.startswith("popen-") else root
    project = root / "mixed"
    with filelock.FileLock(root / "mixed.lock"):
        if not project.exists():
            (project / "kernels").mkdir(parents=True)
            (project / "kernels" / "ops.py").write_text(builds.KERNELS)
            (project / "pyproject.toml").write_text(PROJECT)
            done = run_stubgen("generate", "-C", project)
            assert done.returncode == 0, done.stderr
    return project / "generated"


@pytest.fixture(scope="module")
def library(output: Path) -> Library:
    read = manifest.read(output / "mixed" / manifest.NAME)
    assert read is not None
    assert re.fullmatch("[0-9a-f]{12}", read.library.build_id)
    assert read.library.build_id == identity.build_id(read.library)
    return read.library


def changed(library: Library, change: builds.Change) -> Library:
    made = change(library)
    return msgspec.structs.replace(made, build_id=identity.build_id(made))


def write(library: Library, binaries: Path, folder: Path) -> Path:
    """Write the text of a package beside the binaries of another; give the package's folder."""
    for path, text in render(library).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for file in binaries.glob("mixed/lib/*.*"):
        if file.is_file():
            (folder / "mixed" / "lib" / file.name).symlink_to(file)
    return folder / "mixed"


Packages = dict[str, Path]


def written(changes: dict[str, builds.Change], library: Library, output: Path, folder: Path) -> Packages:
    """Write, for each change of a library, the text beside the library as it was."""
    packages: Packages = {}
    for number, (name, change) in enumerate(changes.items()):
        other = changed(library, change)
        assert other != library, name
        packages[name] = write(other, output, folder / str(number))
        (packages[name].parent / "loader.c").write_text(linkage.loader(other))
    return packages


@pytest.fixture(scope="module")
def noticed(library: Library, output: Path, tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Packages whose text is of another build, by what it differs in."""
    return written(builds.NOTICED, library, output, tmp_path_factory.mktemp("noticed"))


@pytest.fixture(scope="module")
def unnoticed(library: Library, output: Path, tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Packages whose text is of another build, in which callers notice nothing."""
    return written(builds.UNNOTICED, library, output, tmp_path_factory.mktemp("unnoticed"))


def ids(package: Path, library: Library) -> tuple[str, str]:
    """Return the id of a package's text, and that of the library."""
    [own] = re.findall(r'^_BUILD = "(\w+)"$', (package / "_runtime.py").read_text(), re.M)
    return own, library.build_id


def python(code: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def run(*command: object) -> subprocess.CompletedProcess[str]:
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def compiled(
    package: Path, sources: dict[str, str], *linked: object, options: tuple[str, ...] = ("-O1",)
) -> subprocess.CompletedProcess[str]:
    """Compile and link a program; it is ``program`` in the folder of the package."""
    folder = package.parent
    for name, text in sources.items():
        (folder / name).write_text(text)
    is_cpp = any(name.endswith(".cpp") for name in sources)
    return run(
        *(("g++", "-std=c++17") if is_cpp else ("gcc", "-std=c11")),
        *("-Wall", "-Wextra", "-Werror", *options, f"-I{package / 'include'}"),
        *(word for path in libinfo.include_paths() for word in ("-isystem", path)),
        *(folder / name for name in sources),
        *linked,
        TVM_FFI,
        f"-Wl,-rpath,{TVM_FFI.parent}",
        *("-lpthread", "-ldl", "-lm", "-o", folder / "program"),
    )


USES = """
#include <stdio.h>
#include <{header}>

int main(int count, char** words) {{
  char kind[100], message[1000];
  int (*volatile function)({types}) = {function};
  if (count > 1 && mixed_load_library(words[1]) != 0) {{
    mixed_take_error(kind, sizeof kind, message, sizeof message);
    printf("%s: %s\\n", kind, message);
    return 3;
  }}
  return function == NULL;
}}
"""
"""Refers to a function, and loads the library if it is told to."""


def use(package: Path) -> str:
    """Return a C program that refers to the first function of the package."""
    header = next(f for f in sorted(package.rglob("*.h")) if f.name in ("ops.h", "others.h"))
    found = re.search(r"^static inline int (mixed_\w+)\((.*?)\) \{", header.read_text(), re.M | re.S)
    assert found is not None
    types = ", ".join(text.strip().rpartition(" ")[0] for text in found[2].split(","))
    return USES.format(header=f"mixed/{header.name}", types=types, function=found[1])


STAND_IN = """
int mixed_load_library(const char* path);
int mixed_load_library(const char* path) { return path == 0; }
"""
"""Only the loader's archive defines it."""


IMPORTS = """
import json, os, sys, traceback
import numpy, tvm_ffi, tvm_ffi.utils.kwargs_wrapper
folders, code = json.loads(sys.argv[1]), sys.argv[2]
for folder in folders:
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        sys.path.insert(0, folder)
        try:
            exec(code, {})
            print("fine")
        except BaseException as error:
            print(*traceback.format_exception_only(error)[-1].splitlines())
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""
"""Runs code with each of several folders to import from, in a process of its own, and tells how it ended."""


def imported(packages: Packages, code: str) -> dict[str, str]:
    folders = json.dumps([str(package.parent) for package in packages.values()])
    done = run(sys.executable, "-c", IMPORTS, folders, code)
    assert done.returncode == 0, done.stderr
    return dict(zip(packages, done.stdout.splitlines(), strict=True))


def loaded(package: Path) -> subprocess.CompletedProcess[str]:
    """Let a program of a package's build load the package's library."""
    sources = {"use.c": use(package), "loader.c": (package.parent / "loader.c").read_text()}
    done = compiled(package, sources, options=("-O1", "-D_GNU_SOURCE"))
    assert done.returncode == 0, done.stderr
    return run(package.parent / "program", package / "lib" / "libmixed.so")


class TestNoticed:
    def test_each_has_an_id_of_its_own(self, noticed: Packages, library: Library) -> None:
        assert len(noticed) > 30
        assert len({library.build_id, *(ids(package, library)[0] for package in noticed.values())}) == (
            len(noticed) + 1
        )

    def test_importing_is_refused_with_both_ids(self, noticed: Packages, library: Library) -> None:
        said = imported(noticed, "import mixed")
        for name, package in noticed.items():
            own, its = ids(package, library)
            assert said[name] == (
                f"ImportError: {package / 'lib' / 'libmixed.so'} is of build {its}, and the Python files "
                f"beside it are of build {own}: generate the package again, or install it again"
            ), name

    @pytest.mark.parametrize("file", ["libmixed.so", "libmixed.a"])
    def test_linking_is_refused(self, noticed: Packages, library: Library, file: str) -> None:
        for name, package in noticed.items():
            done = compiled(package, {"use.c": use(package), "stand_in.c": STAND_IN}, package / "lib" / file)
            assert done.returncode != 0, name
            undefined = set(re.findall(r"undefined reference to [`']([^`']+)'", done.stderr))
            assert f"mixed__headers_of_build_{ids(package, library)[0]}" in undefined, name

    def test_load_library_refuses_with_both_ids(self, noticed: Packages, library: Library) -> None:
        for name, package in noticed.items():
            own, its = ids(package, library)
            done = loaded(package)
            assert done.stdout == (
                f"OSError: {package / 'lib' / 'libmixed.so'} is of build {its}, and the program and its "
                f"headers of mixed are of build {own}: install the package again and compile the program "
                "again\n"
            ), name
            assert done.returncode == 3


CALLS = """
import numpy as np
from mixed import ops, kwargs
x, y, out = np.array([5, 7], np.float32), np.array([1, 2], np.float32), np.zeros(2, np.float32)
ops.subtract(x, y, out, 2.0)
assert out.tolist() == [3, 3], out
kwargs.ops.subtract(x=x, out=out, y=y)
assert out.tolist() == [4, 5], out
kwargs.ops.scaled(x, ops.Scales(2.0, 1.0), out)
assert out.tolist() == [9, 13], out
ops.picked(x, "negate", out)
assert out.tolist() == [-5, -7], out
"""


class TestUnnoticed:
    def test_python_calls(self, unnoticed: Packages) -> None:
        assert imported(unnoticed, CALLS) == dict.fromkeys(unnoticed, "fine")

    def test_programs_are_linked_and_load(self, unnoticed: Packages, library: Library) -> None:
        for name, package in unnoticed.items():
            assert ids(package, library) == (library.build_id, library.build_id), name
            for file in ("libmixed.so", "libmixed.a"):
                sources = {"use.c": use(package), "stand_in.c": STAND_IN}
                linked = (package / "lib" / file, f"-Wl,-rpath,{package / 'lib'}")
                done = compiled(package, sources, *linked)
                assert done.returncode == 0, (name, done.stderr)
                assert run(package.parent / "program").returncode == 0, name
            done = loaded(package)
            assert (done.returncode, done.stdout) == (0, ""), name


# ---------------------------------------------------------------------------------------------------------
# Programs


@pytest.fixture
def package(library: Library, output: Path, tmp_path: Path) -> Path:
    """A whole package of its own build."""
    return write(library, output, tmp_path / "own")


@pytest.fixture
def swapped(library: Library, output: Path, tmp_path: Path) -> Path:
    """One whose text has two parameters of one type the other way round."""
    return write(changed(library, builds.NOTICED["parameters swapped"]), output, tmp_path / "swapped")


UNUSED = "#include <mixed.{}>\nint main(void) {{ return 0; }}\n"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize(("suffix", "name"), [("h", "main.c"), ("h", "main.cpp"), ("hpp", "main.cpp")])
def test_a_program_that_calls_nothing_needs_no_library(
    package: Path, level: str, suffix: str, name: str
) -> None:
    done = compiled(package, {name: UNUSED.format(suffix)}, options=(level,))
    assert done.returncode == 0, done.stderr


CALL_C = """
#include <mixed/ops.h>
int call(const DLTensor* x, const DLTensor* y, const DLTensor* out);
int call(const DLTensor* x, const DLTensor* y, const DLTensor* out) { return mixed_subtract(x, y, out, 2); }
"""
CALL_CPP = """
#include <mixed/ops.hpp>
using tvm::ffi::TensorView;
void call_NUMBER(const TensorView& x, const TensorView& y, const TensorView& out) {
  mixed::subtract(x, y, out, 2.0f);
}
"""


def objects(package: Path, name: str, text: str, *options: str) -> Path:
    source = package.parent / name
    source.write_text(text)
    compiler = ("g++", "-std=c++17") if name.endswith("cpp") else ("gcc", "-std=c11")
    system = [word for path in libinfo.include_paths() for word in ("-isystem", path)]
    made = source.with_suffix(f"{source.suffix}.o")
    done = run(*compiler, *options, f"-I{package / 'include'}", *system, "-c", source, "-o", made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("text", [CALL_C, CALL_CPP], ids=["C", "C++"])
def test_one_old_translation_unit_of_several_is_refused(
    package: Path, swapped: Path, level: str, text: str
) -> None:
    """In C++ the linker keeps one inline function of a name: the right build's must not do for both."""
    suffix = "cpp" if text is CALL_CPP else "c"
    right = objects(package, f"right.{suffix}", text.replace("NUMBER", "1").replace("call(", "right("), level)
    wrong = objects(swapped, f"wrong.{suffix}", text.replace("NUMBER", "2").replace("call(", "wrong("), level)
    main = "int main() { return 0; }\n" if suffix == "cpp" else "int main(void) { return 0; }\n"
    library = package / "lib" / "libmixed.so"
    for linked in ([right, wrong], [wrong, right]):
        done = compiled(package, {f"main.{suffix}": main}, *linked, library, options=(level,))
        assert "undefined reference to `mixed__headers_of_build_" in done.stderr
    done = compiled(package, {f"main.{suffix}": main}, right, library, options=(level,))
    assert done.returncode == 0, done.stderr


def test_a_program_does_not_start_with_a_library_that_was_replaced(
    package: Path, library: Library, tmp_path: Path
) -> None:
    """The check needs no compiler: the loader of the system makes it."""
    stub = tmp_path / "other" / "libmixed.so"
    stub.parent.mkdir()
    other = changed(library, builds.NOTICED["parameters swapped"])
    text = "".join(f"int {symbol}(void) {{ return 0; }}\n" for symbol in linkage.entry_symbols(other))
    (stub.parent / "stub.c").write_text(text)
    done = run("gcc", "-shared", "-fPIC", "-Wl,-soname,libmixed.so", stub.parent / "stub.c", "-o", stub)
    assert done.returncode == 0, done.stderr
    rpath = tmp_path / "lib"
    rpath.symlink_to(package / "lib")
    done = compiled(
        package, {"use.c": use(package), "stand_in.c": STAND_IN}, rpath / "libmixed.so", f"-Wl,-rpath,{rpath}"
    )
    assert done.returncode == 0, done.stderr
    program = package.parent / "program"
    assert run(program).returncode == 0
    rpath.unlink()
    rpath.symlink_to(stub.parent)
    done = run(program)
    assert done.returncode != 0
    assert f"mixed__headers_of_build_{library.build_id}" in done.stderr


TWO = """
#include <mixed/ops.hpp>
#include <mixed/ops.h>
#include <second/ops.hpp>
#include <second/ops.h>
int main(int count, char**) {
  if (count > 5) {
    tvm::ffi::TensorView* none = nullptr;
    mixed::subtract(*none, *none, *none, 1);
    second::subtract(*none, *none, *none, 1);
    return mixed_subtract(nullptr, nullptr, nullptr, 1) + second_subtract(nullptr, nullptr, nullptr, 1);
  }
}
"""


def test_headers_of_two_packages_go_into_one_program(package: Path, tmp_path: Path) -> None:
    done = run_stubgen(
        "stubs", package / "lib" / "libmixed.so", "-o", tmp_path / "two", "--package", "second"
    )
    assert done.returncode == 0, done.stderr
    include = f"-I{tmp_path / 'two' / 'second' / 'include'}"
    library = package / "lib" / "libmixed.so"
    linked = (library, f"-Wl,-rpath,{package / 'lib'}")
    done = compiled(package, {"two.cpp": TWO}, *linked, options=("-O0", include))
    assert done.returncode == 0, done.stderr
    assert run(package.parent / "program").returncode == 0


def test_a_header_beside_those_of_another_build_is_refused(package: Path, swapped: Path) -> None:
    (package / "include" / "mixed" / "ops.h").write_text((swapped / "include/mixed/ops.h").read_text())
    done = compiled(package, {"main.c": UNUSED.format("h")})
    assert "are of different builds" in done.stderr


# ---------------------------------------------------------------------------------------------------------
# Python


@pytest.mark.parametrize("module", ["ops", "kwargs/ops"])
def test_a_python_file_beside_those_of_another_build_is_refused(
    package: Path, swapped: Path, module: str, library: Library
) -> None:
    (package / f"{module}.py").write_text((swapped / f"{module}.py").read_text())
    name = f"mixed.{module.replace('/', '.')}"
    done = python(f"import {name}", package.parent)
    own, its = ids(swapped, library)
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {name} is of build {own}, and mixed._runtime, which it calls, of build {its}: "
        "start Python again; if that does not help, install or generate the package again"
    )


def test_describe_tells_the_id(package: Path, library: Library) -> None:
    file = package / "lib" / "libmixed.so"
    assert f"build {library.build_id}\n" in run_stubgen("describe", file).stdout
    described = msgspec.json.decode(run_stubgen("describe", file, "--json").stdout)
    assert described["build_id"] == library.build_id


def test_stubs_of_a_library_are_of_its_build(package: Path, tmp_path: Path) -> None:
    done = run_stubgen("stubs", package / "lib" / "libmixed.so", "-o", tmp_path, "--package", "again")
    assert done.returncode == 0, done.stderr
    done = python(CALLS.replace("mixed", "again"), tmp_path)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------------------------------------------------
# Generating again

REIMPORT = """
import shutil, subprocess, sys
import numpy as np

def call():
    from mixed import ops
    x, y, out = np.array([5], np.float32), np.array([1], np.float32), np.zeros(1, np.float32)
    ops.subtract(x, y, out, 1.0)
    return out.tolist()

print(call())
command = [sys.executable, "-m", "stubgen", "generate", "-C", sys.argv[1]]
subprocess.run(command, check=True, capture_output=True)
for name in [name for name in sys.modules if name.startswith("mixed")]:
    del sys.modules[name]
try:
    print(call())
except ImportError as error:
    print(error)
"""


def test_a_process_that_has_loaded_a_library_does_not_take_a_new_one(output: Path, tmp_path: Path) -> None:
    """The system's loader would give the old one: it goes by the path."""
    project = tmp_path / "project"
    shutil.copytree(output.parent, project, symlinks=True)
    library = project / "generated" / "mixed" / "lib" / "libmixed.so"
    source = project / "kernels" / "ops.py"
    source.write_text(builds.KERNELS.replace("x[i] - factor * y[i]", "y[i] - factor * x[i]"))
    (tmp_path / "again.py").write_text(REIMPORT)
    environment = {**os.environ, "PYTHONPATH": f"{project / 'generated'}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(tmp_path / "again.py"), str(project)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[4.0]",
        f"{library} was replaced after this process had loaded it: start Python again",
    ]
    fine = python(REIMPORT.partition("command =")[0], project / "generated")
    assert fine.stdout == "[-4.0]\n", fine.stderr


def test_sources_that_say_something_else_make_another_build(
    output: Path, library: Library, tmp_path: Path
) -> None:
    """A kernel whose parameters have changed places, as its author changes it; and one with other words."""
    project = tmp_path / "project"
    shutil.copytree(output.parent, project, symlinks=True)
    source, package = project / "kernels" / "ops.py", project / "generated" / "mixed"

    def generated(text: str) -> str:
        source.write_text(text)
        done = run_stubgen("generate", "-C", project)
        assert done.returncode == 0, done.stderr
        return ids(package, library)[0]

    words = builds.KERNELS.replace(
        '"""out = x - factor * y."""', '"""Documented otherwise."""  # and a remark'
    )
    assert generated("\n" + words) == library.build_id
    swapped = builds.KERNELS.replace(
        "subtract(x: cute.Tensor, y: cute.Tensor, ", "subtract(y: cute.Tensor, x: cute.Tensor, "
    )
    own = generated(swapped)
    assert own != library.build_id
    shutil.copy(output / "mixed" / "lib" / "libmixed.so", package / "lib" / "libmixed.so")
    done = python("import mixed.ops", project / "generated")
    assert f"is of build {library.build_id}, and the Python files beside it are of build {own}" in done.stderr

"""Programs that find the generated package with CMake, pkg-config and its own ``config`` module."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cpp.projects import TVM_FFI, build, configure, project, run

HERE = Path(__file__).parent
PRINTS = "1.5 2.5\n"

CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(add LANGUAGES {language})
find_package(cute_kernels {version} CONFIG REQUIRED)
foreach(way cute_kernels static load)
  add_executable(${{way}} add.{suffix})
  target_link_libraries(${{way}} PRIVATE cute_kernels::${{way}})
endforeach()
target_compile_definitions(load PRIVATE LOAD)
"""


def cmake_project(folder: Path, language: str = "C", version: str = "0.1") -> Path:
    suffix = {"C": "c", "CXX": "cpp"}[language]
    project(folder, CMakeLists_txt=CMAKE.format(language=language, suffix=suffix, version=version))
    shutil.copy(HERE / "add.c", folder / f"add.{suffix}")
    return folder


def said(program: Path, *arguments: object) -> str:
    return run(program, *arguments)


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_cmake_links_in_every_way(package: Path, language: str, tmp_path: Path) -> None:
    source, made = cmake_project(tmp_path / "source", language), tmp_path / "build"
    configure(source, made, f"-Dcute_kernels_ROOT={package}")
    build(made)
    assert said(made / "cute_kernels") == PRINTS
    assert said(made / "static") == PRINTS
    assert said(made / "load", package / "lib" / "libcute_kernels.so") == PRINTS
    assert "no work to do" in build(made)


def test_package_can_be_moved(package: Path, tmp_path: Path) -> None:
    """And finds tvm-ffi beside it, where pip would put both, without asking a Python."""
    site = tmp_path / "another place"
    shutil.copytree(package, site / "cute_kernels")
    (site / "tvm_ffi").symlink_to(TVM_FFI)
    source, made = cmake_project(tmp_path / "source"), tmp_path / "build"
    folder = site / "cute_kernels" / "lib" / "cmake" / "cute_kernels"
    configure(source, made, f"-Dcute_kernels_DIR={folder}", "-DPython_EXECUTABLE=/nowhere")
    build(made)
    assert said(made / "cute_kernels") == PRINTS
    assert said(made / "static") == PRINTS
    assert str(package) not in (made / "build.ninja").read_text()


def test_cmake_takes_the_tvm_ffi_of_the_project(package: Path, tmp_path: Path) -> None:
    source, made = cmake_project(tmp_path / "source", "CXX"), tmp_path / "build"
    lists = source / "CMakeLists.txt"
    root = TVM_FFI / "share" / "cmake" / "tvm_ffi"
    found = f'set(tvm_ffi_ROOT "{root}")\nfind_package(tvm_ffi CONFIG REQUIRED)\n'
    lists.write_text(lists.read_text().replace("find_package(cute", found + "find_package(cute"))
    configure(source, made, f"-Dcute_kernels_ROOT={package}")
    assert "cute_kernels_TVM_FFI" not in (made / "CMakeCache.txt").read_text()
    build(made)
    assert said(made / "cute_kernels") == PRINTS


def test_cmake_says_what_is_missing(package: Path, tmp_path: Path) -> None:
    source = cmake_project(tmp_path / "source")
    settings = (f"-Dcute_kernels_ROOT={package}", "-DPython_EXECUTABLE=/nowhere")
    text = configure(source, tmp_path / "build", *settings, fails=True)
    assert "pip install apache-tvm-ffi" in text


@pytest.mark.parametrize("version", ["0.2", "1.0", "0.1.0 EXACT"])
def test_cmake_knows_the_version(package: Path, version: str, tmp_path: Path) -> None:
    source = cmake_project(tmp_path / "source", version=version)
    text = configure(
        source, tmp_path / "build", f"-Dcute_kernels_ROOT={package}", fails="EXACT" not in version
    )
    assert ("version: 0.1.0" in text) == ("EXACT" not in version)


@pytest.mark.parametrize(
    ("name", "way"),
    [("cute_kernels", "shared"), ("cute_kernels-static", "static"), ("cute_kernels-load", "load")],
)
def test_pkg_config_links(package: Path, name: str, way: str, tmp_path: Path) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("needs pkg-config")
    search = {"PKG_CONFIG_PATH": str(package / "lib" / "pkgconfig")}
    ask = ("pkg-config", f"--define-variable=tvm_ffi={TVM_FFI}")
    flags = run(*ask, "--cflags", "--libs", name, **search).split()
    assert run(*ask, "--modversion", name, **search) == "0.1.0\n"
    link(flags, way, package, tmp_path)


@pytest.mark.parametrize("way", ["shared", "static", "load"])
def test_the_config_module_links(package: Path, way: str, tmp_path: Path) -> None:
    flags = [*ask(package, "--cflags"), *ask(package, "--libs", "--link", way), *ask(package, "--rpath")]
    link(flags, way, package, tmp_path)


def test_the_config_module_knows_the_folders(package: Path) -> None:
    [include] = ask(package, "--includedir")
    assert Path(include, "cute_kernels.h").is_file()
    [cmake] = ask(package, "--cmakedir")
    assert Path(cmake, "cute_kernelsConfig.cmake").is_file()
    [pkg_config] = ask(package, "--pkgconfigdir")
    assert Path(pkg_config, "cute_kernels.pc").is_file()
    [libraries] = ask(package, "--libdir")
    assert Path(libraries, "libcute_kernels.so").is_file()


def ask(package: Path, *options: str) -> list[str]:
    """Ask the package's own module."""
    command = (sys.executable, "-m", "cute_kernels.config", *options)
    return run(*command, PYTHONPATH=str(package.parent)).split()


def link(flags: list[str], way: str, package: Path, folder: Path) -> None:
    """Build a program with such arguments, and run it."""
    program = folder / "program"
    define = ["-DLOAD"] if way == "load" else []
    run("cc", HERE / "add.c", *define, *flags, "-o", program)
    paths = f"{package / 'lib'}:{TVM_FFI / 'lib'}"
    given = [str(package / "lib" / "libcute_kernels.so")] if way == "load" else []
    done = subprocess.run(
        [program, *given], env={"LD_LIBRARY_PATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.stdout == PRINTS

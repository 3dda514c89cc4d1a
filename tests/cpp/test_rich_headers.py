"""The headers and the dispatcher of a library that has something of everything compile without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from stubgen.model.library import Library
from stubgen.render.native import dispatcher
from stubgen.render.package_files import render
from tests.cpp.compilers import CLANG, CLANG_C, GCC, GCC_C, Compiler
from tests.unit import rich

LIBRARIES = [rich.RICH, rich.FRAMED]


def written(library: Library, folder: Path) -> Path:
    for path, text in render(library).items():
        folder.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        folder.joinpath(path).write_text(text)
    return folder / library.package / "include"


@pytest.mark.parametrize("compiler", [GCC, CLANG, GCC_C, CLANG_C], ids=str)
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.package)
def test_headers_compile(library: Library, compiler: Compiler, tmp_path: Path) -> None:
    include = written(library, tmp_path)
    suffix, header, standard = ("cpp", "hpp", "c++17") if "++" in compiler.name else ("c", "h", "c11")
    source = tmp_path / f"unit.{suffix}"
    source.write_text(f"#include <{library.package}.{header}>\nextern int something;\n")
    compiler.compile(source, standard=standard, include=include)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.package)
def test_the_dispatcher_compiles(library: Library, tmp_path: Path) -> None:
    source = tmp_path / "dispatcher.c"
    source.write_text(dispatcher.dispatcher(library))
    GCC_C.compile(source, standard="gnu11", include=tmp_path)

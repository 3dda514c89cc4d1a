"""The constants that describe kernels, read by a compiler; what they say is compared with the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stubgen.model.library import Kernel, Library, ScalarSlot, Symbol, TensorSlot
from stubgen.output import manifest
from tests.conftest import ROOT
from tests.cpp.compilers import CLANG, GCC, Compiler

DOCUMENTATION = (ROOT / "docs" / "cpp.md").read_text()


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", [GCC, CLANG], ids=str)
def test_says_of_every_kernel_what_was_compiled(
    compiler: Compiler, standard: str, generated: Path, tmp_path: Path
) -> None:
    read = manifest.read(generated / "cute_kernels" / manifest.NAME)
    assert read is not None
    source = tmp_path / "description.cpp"
    lines = ["#include <cute_kernels/description.hpp>", "namespace d = cute_kernels::description;"]
    asserted = list(_asserted(read.library))
    assert len(asserted) > 1000
    lines += [f"static_assert({text});" for text in asserted]
    source.write_text("\n".join([*lines, ""]))
    compiler.compile(source, standard=standard, include=generated / "cute_kernels" / "include")


def test_a_wrong_statement_is_refused(generated: Path, tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text(
        "#include <cute_kernels/description.hpp>\n"
        'static_assert(cute_kernels::description::add_constant.parameters[0].dtype == "float64");\n'
    )
    include = generated / "cute_kernels" / "include"
    assert "static" in GCC.complaints(source, standard="c++17", include=include)


def _asserted(library: Library) -> Iterator[str]:
    """Yield what has to be true, in C++."""
    for module in library.modules:
        for family in module.families:
            variants = module.variants(family)
            yield f"d::{family.name}.variants.size == {len(variants)}"
            for kernel in variants:
                assert kernel.variant is not None
                yield from _of_kernel(f'd::{family.name}.find("{kernel.variant.key}")->', kernel)
        for kernel in module.kernels:
            if kernel.variant is None:
                yield from _of_kernel(f"d::{kernel.name}.", kernel)


def _of_kernel(at: str, kernel: Kernel) -> Iterator[str]:
    yield f"{at}parameters.size == {len(kernel.parameters)}"
    yield f"{at}archs.size == {len(kernel.archs)}"
    for index, arch in enumerate(kernel.archs):
        yield f'{at}archs[{index}] == "{arch}"'
    for index, parameter in enumerate(kernel.parameters):
        here = f"{at}parameters[{index}]"
        yield f'{here}.name == "{parameter.name}"'
        match parameter.slot:
            case TensorSlot() as slot:
                yield f"{here}.kind == d::Kind::tensor"
                yield f'{here}.dtype == "{slot.dtype}"'
                yield f'{here}.device == "{slot.device}"'
                yield f"{here}.alignment == {slot.alignment or 1}"
                yield f"{here}.rank() == {len(slot.shape)}"
                for dim, extent in enumerate(slot.shape):
                    if isinstance(extent, Symbol):
                        yield f'{here}.shape[{dim}].name == "{extent.name}"'
                        yield f"{here}.shape[{dim}].divisible_by == {extent.divisible_by}"
                        yield f"!{here}.shape[{dim}].is_fixed()"
                    else:
                        yield f"{here}.shape[{dim}].value == {extent}"
                        yield f"{here}.shape[{dim}].is_fixed()"
            case ScalarSlot(dtype=dtype):
                yield f'{here}.dtype == "{dtype}"'
            case _:
                pass


def test_what_the_documentation_shows_compiles(generated: Path, tmp_path: Path) -> None:
    shown = re.findall(r"```cpp\n(#include <cute_kernels/description.hpp>.*?)```", DOCUMENTATION, re.DOTALL)
    source = tmp_path / "shown.cpp"
    source.write_text(shown[0])
    GCC.compile(source, standard="c++17", include=generated / "cute_kernels" / "include")

"""The C of the dispatcher by itself: under sanitizers, with many threads, and for GPUs that nobody has.

Its builds are functions that answer with a number, and the device's compute capability comes from the test:
that is the one thing here that no machine has all of.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import tvm_ffi
from tvm_ffi import libinfo

from stubgen.model import archs
from stubgen.model.library import (
    ConstantSlot,
    Kernel,
    Library,
    NoneSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    Symbol,
    TupleSlot,
    tvm_ffi_symbol,
)
from stubgen.render.native import dispatcher
from tests.dispatch import models
from tests.dispatch.models import PACKAGE, tensor, variant

HERE = Path(__file__).parent / "native"
ARCHS = ("sm_80", "sm_90a", "sm_100f", "sm_120")
DTYPES = ("float16", "bfloat16", "float32")
CAPABILITIES = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120)
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    if not shutil.which(request.param):
        pytest.skip(f"needs {request.param}")
    return str(request.param)


def numbered(library: Library) -> dict[str, int]:
    """Number what the dispatchers of a library call: builds, and functions without device code."""
    found: list[str] = []
    for kernel in library.kernels:
        builds = [tvm_ffi_symbol(kernel.build_name(PACKAGE, arch)) for arch in kernel.archs]
        found += builds or [kernel.linker_symbol(PACKAGE)]
    return {symbol: number for number, symbol in enumerate(found)}


def build(source: str, library: Library, folder: Path, compiler: str, *options: str, **includes: str) -> Path:
    """Compile one of the programs with the dispatcher of a library."""
    (folder / "dispatcher.c").write_text(dispatcher.dispatcher(library))
    builds = "".join(f"BUILD({symbol}, {number})\n" for symbol, number in numbered(library).items())
    for name, text in {"builds": builds, **includes}.items():
        (folder / f"{name}.inc").write_text(text)
    runtime = Path(libinfo.find_libtvm_ffi())
    program = folder / Path(source).stem
    command = [compiler, "-std=gnu11", "-O1", "-g", *WARNINGS, *options, f"-I{folder}", HERE / source]
    command += [text for path in libinfo.include_paths() for text in ("-isystem", path)]
    command += [runtime, f"-Wl,-rpath,{runtime.parent}", "-lm", "-lpthread", "-o", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # Sanitizers want their memory where some kernels put other things at random.
    still = ["setarch", "-R"] if shutil.which("setarch") else []
    return subprocess.run(
        [*still, program], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}
    )


# ---------------------------------------------------------------------------------------------------------
# Which GPU runs what


def test_the_rules_for_gpus_are_the_same_in_c_as_in_python(tmp_path: Path, compiler: str) -> None:
    library = models.library([device_variant(DTYPES[0], ARCHS)])
    done = run(build("rules.c", library, tmp_path, compiler))
    numbers = range(50, 131)
    expected = "".join(
        str(int(archs.Arch(number, suffix).runs_on(device)))
        for number, suffix, device in itertools.product(numbers, ("", "a", "f"), numbers)
    )
    assert done.stdout == expected
    assert "1" in expected


# ---------------------------------------------------------------------------------------------------------
# Threads


def device_variant(dtype: str, its_archs: tuple[str, ...]) -> Kernel:
    slots: dict[str, Slot] = {"x": tensor(dtype, "n", device="cuda")}
    return variant("family", slots, {"dtype": dtype}, archs=its_archs)


BY_DTYPE: Mapping[str, tuple[str, ...]] = {"float16": ARCHS, "bfloat16": ("sm_90a",), "float32": ARCHS[:2]}


@pytest.fixture
def several_archs() -> Library:
    return models.library([device_variant(dtype, BY_DTYPE[dtype]) for dtype in DTYPES])


def threads(library: Library, folder: Path, compiler: str, *options: str) -> Path:
    numbers = numbered(library)
    rows: list[str] = []
    for capability in CAPABILITIES:
        row: list[int] = []
        for kernel in library.kernels:
            arch = archs.best(kernel.archs, capability)
            row.append(-1 if arch is None else numbers[tvm_ffi_symbol(kernel.build_name(PACKAGE, arch))])
        rows.append(f"{{{', '.join(map(str, row))}}},\n")
    function = library.families[0].symbol
    options = (f"-DFUNCTION={function}", "-fsanitize=thread", *options)
    return build("threads.c", library, folder, compiler, *options, expected="".join(rows))


def test_first_calls_of_many_threads_at_once(several_archs: Library, tmp_path: Path, compiler: str) -> None:
    done = run(threads(several_archs, tmp_path, compiler))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 wrong\n", "")


def test_the_sanitizer_finds_the_race_that_the_atomics_prevent(
    several_archs: Library, tmp_path: Path
) -> None:
    # gcc alone: the program of clang 14 stops for good where it should report.
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    done = run(threads(several_archs, tmp_path, "gcc", "-DRACY"), TSAN_OPTIONS="halt_on_error=1")
    assert done.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in done.stderr


# ---------------------------------------------------------------------------------------------------------
# Hostile arguments


def everything() -> Library:
    """Families whose dispatchers read arguments in every way that there is."""
    ld, n8 = Symbol("ld"), Symbol("n", divisible_by=8)
    matrix = tensor("float32", "n", "m")
    x: dict[str, Slot] = {
        "row_major": matrix,
        "any_strides": tensor("float32", "n", "m", strides=(Symbol("a", 64), Symbol("b", 64))),
        "contiguous": tensor("float64", "n", "m", strides=None),
        "column_major": tensor("float64", "n", "m", strides=(1, Symbol("s", divisible_by=8))),
        "aligned": tensor("float16", "n", alignment=16),
        "plain": tensor("float16", "n"),
        "square": tensor("int8", "n", "n"),
        "oblong": tensor("int8", "n", "m"),
        "divisible": tensor("int16", n8),
        "indivisible": tensor("int16", "n"),
        "same_strides": tensor("int32", "n", "m", strides=(ld, ld)),
        "strides": tensor("int32", "n", "m", strides=(ld, Symbol("other"))),
        "none": NoneSlot(),
        "pointer": PointerSlot(),
        "shape": ShapeSlot((4, 8)),
        "some_shape": ShapeSlot((4, Symbol("k"))),
        "tuple": TupleSlot((matrix, ScalarSlot("int8"), ConstantSlot(1e-5))),
        "other_tuple": TupleSlot((matrix, ScalarSlot("int32"), ConstantSlot(float("inf")))),
        "nested": TupleSlot((TupleSlot((TupleSlot((ConstantSlot(True), matrix)),)),)),
    }
    kinds = [variant("kinds", {"x": slot}, {"x": label}) for label, slot in x.items()]
    numbers = [
        variant("numbers", {"x": ScalarSlot(dtype, divisible_by=divisor)}, {"x": f"{dtype}_{divisor}"})
        for dtype, divisor in (("uint8", 2), ("uint8", 1), ("int16", 1), ("float32", 1))
    ]
    choices = (None, True, 2, 2.5, "relu", "a text that does not fit in place", "")
    chosen = [
        variant("chosen", {"x": slot}, {"mode": f"m{i}", "x": label}, values={"mode": value, "x": label})
        for i, value in enumerate(choices)
        for label, slot in (("vector", tensor("float32", "n")), ("none", NoneSlot()))
    ]
    only_chosen = [variant("only_chosen", {}, {"mode": str(mode)}, values={"mode": mode}) for mode in (1, 2)]
    long_names = {f"{'a_name_that_is_rather_long' * 4}_{i}": ScalarSlot("int32") for i in range(39)}
    many = [
        variant("many", {**long_names, "last": ScalarSlot(dtype)}, {"last": dtype})
        for dtype in ("int8", "float32")
    ]
    return models.library([*kinds, *numbers, *chosen, *only_chosen, *many])


def test_hostile_arguments_are_read_without_harm(tmp_path: Path, compiler: str) -> None:
    library = everything()
    functions = "".join(
        f"FUNCTION({family.symbol}, {len(family.parameters)})\n" for family in library.families
    )
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = build("hostile.c", library, tmp_path, compiler, *sanitizers, functions=functions)
    done = run(program, ASAN_OPTIONS="detect_leaks=0")
    assert done.returncode == 0, done.stdout + done.stderr
    values, calls, refused = map(int, (word for word in done.stdout.split() if word.isdigit()))
    assert values > 80
    assert calls / 2 < refused < calls


# ---------------------------------------------------------------------------------------------------------
# Many variants


def test_a_thousand_variants_are_each_found(tmp_path: Path) -> None:
    dtypes, sizes = ("float16", "float32", "float64", "int8", "int16"), range(8, 408, 8)
    combinations = list(itertools.product(dtypes, sizes, (False, True), ("no", "yes")))
    kernels = [
        variant(
            "family",
            {"x": tensor(dtype, "n", size), "bias": tensor(dtype, size) if bias else NoneSlot()},
            {"dtype": dtype, "size": str(size), "bias": str(bias), "causal": causal},
        )
        for dtype, size, bias, causal in combinations
    ]
    library = models.library(kernels)
    shared = build("library.c", library, tmp_path, "gcc", "-shared", "-fPIC")
    function = tvm_ffi.load_module(shared.rename(tmp_path / "library.so"))["family"]
    numbers = numbered(library)
    assert len(numbers) == 1000
    for kernel, (dtype, size, bias, causal) in zip(kernels, combinations, strict=True):
        x = np.zeros((3, size), dtype)
        given = x[0] if bias else None
        assert function(x, given, causal) == numbers[kernel.linker_symbol(PACKAGE)]
        with pytest.raises(TypeError, match="No variant accepts"):
            function(x[:, 1:].copy(), given, causal)
        with pytest.raises(TypeError, match="No variant accepts"):
            function(x, given, "perhaps")

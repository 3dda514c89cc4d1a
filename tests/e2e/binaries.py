"""What the tests of inspection share: libraries of other tools, and what texts can tell of a model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tvm_ffi import libinfo

from stubgen.inspection import binaries
from stubgen.model.library import (
    ChoiceSlot,
    Extent,
    Family,
    Kernel,
    Library,
    OneOfSlot,
    PointerSlot,
    ScalarSlot,
    ShapeSlot,
    Slot,
    Symbol,
    TensorSlot,
    TupleSlot,
)
from stubgen.model.section import to_section
from stubgen.output import manifest

EXPORTER = (
    """\
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream


@cute.kernel
def increment_on_gpu(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    b[thread] = a[thread] + 1.0


@cute.jit
def gpu(a: cute.Tensor, b: cute.Tensor, stream):
    increment_on_gpu(a, b).launch(grid=[1, 1, 1], block=[32, 1, 1], stream=stream)


class Times:
    def __init__(self, factor):
        self.factor = factor

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor):
        for i in range(a.shape[0]):
            b[i] = a[i] * self.factor


@cute.jit
def mixed(out: cute.Tensor, pair: tuple, shape: cute.Shape, count, bias=None, stream=None):
    out[0] = pair[0][0] + 1.0


@cute.jit
def thirty({parameters}):
    p0[0] = p1[0]


def vector(space, dtype=cutlass.Float32, *shape):
    return make_fake_compact_tensor(dtype, shape or (cute.sym_int32(),), memspace=space)


def export(name, function, *arguments):
    compiled = cute.compile(function, *arguments, options="--enable-tvm-ffi --gpu-arch sm_90a")
    for suffix in ("o", "ll"):
        compiled.export_to_c(f"{name}.{{suffix}}", name, export_only_tvm_ffi_symbols=True)


host, device = cutlass.AddressSpace.generic, cutlass.AddressSpace.gmem
export("increment", gpu, vector(device), vector(device), make_fake_stream(use_tvm_ffi_env_stream=True))
export("twice", Times(2.0), vector(host), vector(host))
export("thrice", Times(3.0), vector(host), vector(host))
export("to_double", Times(1.0), vector(host), vector(host, cutlass.Float64))
pair = (vector(host), (vector(host, cutlass.Float16, 4, 8), cutlass.Float32(1.0)))
export("mixed", mixed, vector(host), pair, (4, cutlass.Int32(2)), cutlass.Int64(3), None, make_fake_stream())
export("thirty", thirty, *[vector(host, cutlass.Float32, 10 + i) for i in range(30)])
""".replace("{parameters}", ", ".join(f"p{i}: cute.Tensor" for i in range(30)))
    .replace("{{", "{")
    .replace("}}", "}")
)
"""Exports functions as the DSL's own documentation shows it. Three of them call themselves ``__call__``."""

TWICE = (("a", ("tensor", "float32", ("n0",))), ("b", ("tensor", "float32", ("n1",))))

FOREIGN: dict[str, Any] = {
    "increment": TWICE,
    "twice": TWICE,
    "thrice": TWICE,
    "to_double": (TWICE[0], ("b", ("tensor", "float64", ("n1",)))),
    "mixed": (
        ("out", ("tensor", "float32", ("n0",))),
        (
            "pair",
            (
                "tuple",
                ("tensor", "float32", ("n1",)),
                ("tuple", ("tensor", "float16", (4, 8)), ("scalar", "float32")),
            ),
        ),
        ("shape", ("shape", (4, "n2"))),
        ("count", ("scalar", "int64")),
        ("bias", ("none",)),
        ("stream", ("stream",)),
    ),
    "thirty": tuple((f"p{i}", ("tensor", "float32", (10 + i,))) for i in range(30)),
}
"""What they take, as :func:`plain` gives it."""


def export(folder: Path) -> None:
    """Let the DSL export the functions, each as an object and as LLVM IR."""
    (folder / "export.py").write_text(EXPORTER)  # the DSL wants to read the source
    subprocess.run([sys.executable, "export.py"], cwd=folder, check=True, capture_output=True, timeout=300)


def zig(*arguments: object) -> None:
    """Run the packaged compiler."""
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *map(str, arguments)], check=True, capture_output=True
    )


def link(folder: Path, target: str, output: Path, *names: str) -> Path:
    """Link exported functions, compiled from IR, as another tool may do it."""
    objects = []
    for name in names:
        obj = folder / f"{name}.{target}.o"
        if not obj.exists():
            zig("-O2", "-fPIC", "-w", "-c", folder / f"{name}.ll", "-target", target, "-o", obj)
        objects.append(obj)
    runtime = [libinfo.find_libtvm_ffi()] if target.startswith("x86_64") else []
    zig("-shared", "-target", target, "-Wl,-z,undefs", *objects, *runtime, "-o", output)
    return output


def link_complete(folder: Path, target: str, output: Path) -> Path:
    """Link all exported functions with a section that holds their model, as a generated library has it."""
    library = binaries.read(link(folder, target, output, *FOREIGN)).library
    model = ", ".join(map(str, to_section(library)))
    source = output.with_suffix(".c")
    attributes = '__attribute__((section(".cute_stubgen"), used, retain))'
    source.write_text(f"{attributes} static const unsigned char model[] = {{{model}}};\n")
    objects = [folder / f"{name}.{target}.o" for name in FOREIGN]
    zig("-shared", "-fPIC", "-target", target, "-Wl,-z,undefs", source, *objects, "-o", output)
    return output


# ---------------------------------------------------------------------------------------------------------


def plain(library: Library) -> Iterator[tuple[Any, ...]]:
    """Return of each public function, in their order, what the texts in the library tell of it."""
    for module in library.modules:
        for function in module.functions:
            variants = module.variants(function) if isinstance(function, Family) else ()
            yield (
                function.name,
                _parameters(function),
                function.archs,
                tuple(
                    (v.name, v.variant and v.variant.key, _values(v, function), _parameters(v), v.archs)
                    for v in variants
                ),
            )


def _values(variant: Kernel, family: Kernel | Family) -> tuple[object, ...]:
    assert variant.variant is not None
    assert isinstance(family, Family)
    slots = [p.slot for p in family.choices]
    return tuple(variant.variant.values[slot.axis] for slot in slots if isinstance(slot, ChoiceSlot))


def _parameters(function: Kernel | Family) -> tuple[tuple[str, Any], ...]:
    return tuple((parameter.name, plain_slot(parameter.slot)) for parameter in function.parameters)


def plain_slot(slot: Slot) -> Any:
    """Return what the text of a slot tells."""
    match slot:
        case TensorSlot(dtype=dtype, shape=shape):
            return ("tensor", dtype, _extents(shape))
        case ScalarSlot(dtype=dtype):
            return ("scalar", dtype)
        case ShapeSlot(extents=extents):
            return ("shape", _extents(extents))
        case PointerSlot():
            return ("pointer",)
        case TupleSlot(items=items):
            return ("tuple", *map(plain_slot, items))
        case ChoiceSlot(values=values):
            return ("choice", values)
        case OneOfSlot(alternatives=alternatives):
            return ("one of", *dict.fromkeys(map(plain_slot, alternatives)))
        case _:
            return tuple(msgspec.to_builtins(slot).values())


def _extents(extents: tuple[Extent, ...]) -> tuple[int | str, ...]:
    return tuple(extent.name if isinstance(extent, Symbol) else extent for extent in extents)


def texts(folder: Path) -> dict[str, bytes]:
    """Return the text files of a package, less those that hold the hashes of others."""
    others = (manifest.NAME, "sbom.cdx.json")
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.name not in others
        and path.suffix not in (".so", ".a")
    }


def without_section(library: Path, output: Path) -> Path:
    """Copy a library, but for its metadata: no section has that name."""
    data = library.read_bytes()
    assert data.count(b"\0.cute_stubgen\0") == 1
    output.write_bytes(data.replace(b"\0.cute_stubgen\0", b"\0.something_else"[:14] + b"\0"))
    return output

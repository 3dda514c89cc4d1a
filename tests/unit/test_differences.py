"""What ``cute-stubgen diff`` reports of two libraries."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from stubgen.families.families import families
from stubgen.inspection.differences import difference
from stubgen.model.effects import Backward, Effects
from stubgen.model.library import (
    Default,
    Field,
    Framework,
    Kernel,
    Library,
    Module,
    NoneSlot,
    Parameter,
    Place,
    Record,
    ScalarSlot,
    Symbol,
    TensorSlot,
    Variant,
    Versions,
)
from stubgen.output import manifest
from tests.conftest import run_stubgen

N = Symbol("n")
X = Parameter("x", TensorSlot("float32", (N,), alignment=16))
EPS = Parameter("eps", ScalarSlot("float32"), default=Default(1e-5))
SCALE = Kernel("scale", "ops", (X, EPS), "", Place("ops.py", 1), archs=("sm_80", "sm_90a"))


def library(*kernels: Kernel, records: tuple[Record, ...] = (), package: str = "lib") -> Library:
    module = Module("ops", "ops.py", kernels, families(kernels), records)
    return Library(package, (module,), Versions("1", "2", "3", "4"), {})


def changed(kernel: Kernel, **values: object) -> Kernel:
    return msgspec.structs.replace(kernel, **values)


def with_parameter(index: int, **values: object) -> Kernel:
    parameters = list(SCALE.parameters)
    parameters[index] = msgspec.structs.replace(parameters[index], **values)
    return changed(SCALE, parameters=tuple(parameters))


def reported(old: Library, new: Library) -> list[str]:
    """Return the changes in the form in which the table below writes them."""
    return [
        f"{'breaking' if change.breaking else 'compatible'}: {change.function} {change.what} "
        f"[{', '.join(change.surfaces)}]"
        for change in difference(old, new).changes
    ]


ALL = "[Python, keywords, C, C++]"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (SCALE, []),
        (changed(SCALE, doc="Other words.", place=Place("ops.py", 99)), []),
        (
            changed(SCALE, name="rescale"),
            [f"breaking: ops.scale was removed {ALL}", f"compatible: ops.rescale was added {ALL}"],
        ),
        (changed(SCALE, parameters=(X,)), [f"breaking: ops.scale takes (x) where it took (x, eps) {ALL}"]),
        (
            changed(SCALE, parameters=(EPS, X)),
            [f"breaking: ops.scale has its parameters in another order: eps, x {ALL}"],
        ),
        (
            changed(SCALE, parameters=(EPS, changed(X, slot=TensorSlot("float16", (N,), alignment=16)))),
            [
                f"breaking: ops.scale has its parameters in another order: eps, x {ALL}",
                "breaking: ops.scale takes other arguments: x is float16, shape (n,), CUDA, 16-byte aligned "
                f"where it was float32, shape (n,), CUDA, 16-byte aligned {ALL}",
            ],
        ),
        (
            with_parameter(1, name="epsilon"),
            ["breaking: ops.scale calls its parameter eps epsilon now [keywords]"],
        ),
        (
            with_parameter(1, default=None),
            ["breaking: ops.scale has no default for eps any more [keywords, C++]"],
        ),
        (
            with_parameter(1, default=Default(1e-6)),
            ["breaking: ops.scale has another default for eps: 1e-06 where it was 1e-05 [keywords, C++]"],
        ),
        (
            with_parameter(1, kind="keyword_only"),
            ["breaking: ops.scale takes eps keyword only where it took it positional or keyword [keywords]"],
        ),
        (
            with_parameter(0, slot=TensorSlot("float32", (N,), alignment=4)),
            [
                "compatible: ops.scale accepts more than it did: x is float32, shape (n,), CUDA where it was "
                f"float32, shape (n,), CUDA, 16-byte aligned {ALL}"
            ],
        ),
        (
            with_parameter(0, slot=TensorSlot("float32", (1024,), alignment=16)),
            [
                f"breaking: ops.scale accepts less than it did: x is float32, shape (1024,), CUDA"
                f", 16-byte aligned where it was float32, shape (n,), CUDA, 16-byte aligned {ALL}"
            ],
        ),
        (changed(SCALE, archs=("sm_80",)), [f"breaking: ops.scale does not run on sm_90 any more {ALL}"]),
        (
            changed(SCALE, archs=("sm_80", "sm_90a", "sm_120a")),
            [f"compatible: ops.scale runs on sm_120 too {ALL}"],
        ),
        (changed(SCALE, archs=()), [f"breaking: ops.scale runs on the host now {ALL}"]),
    ],
)
def test_of_one_function(new: Kernel, expected: list[str]) -> None:
    assert reported(library(SCALE), library(new)) == expected


def test_a_new_default_breaks_nobody() -> None:
    found = reported(library(with_parameter(1, default=None)), library(SCALE))
    assert found == ["compatible: ops.scale has a default for eps, 1e-05 [keywords, C++]"]


def test_an_argument_that_becomes_hidden_breaks_the_headers() -> None:
    given = Parameter("bias", TensorSlot("float32", (N,)))
    absent = Parameter("bias", NoneSlot())
    old, new = (changed(SCALE, parameters=(X, bias)) for bias in (given, absent))
    assert "breaking: ops.scale passes bias itself now [C, C++]" in reported(library(old), library(new))
    assert "breaking: ops.scale has to be given bias now [C, C++]" in reported(library(new), library(old))


def rows(*dtypes: str) -> Library:
    return library(
        *(
            changed(
                SCALE,
                name=f"scale__{dtype}",
                parameters=(Parameter("x", TensorSlot(dtype, (N,))),),
                variant=Variant("scale", {"dtype": dtype}, {"dtype": dtype}),
            )
            for dtype in dtypes
        )
    )


def test_families_lose_and_gain_variants() -> None:
    few, many = rows("float16"), rows("float16", "float32")
    lost = difference(many, few)
    assert lost.verdict == "breaking"
    assert [c.what for c in lost.changes if c.surfaces == ("Python", "C++")] == [
        "has no variant float32 any more"
    ]
    gained = difference(few, many)
    assert gained.verdict == "compatible"
    assert [c.what for c in gained.changes if c.surfaces == ("Python", "C++")] == ["has a variant float32"]


def test_variants_are_told_in_one_line() -> None:
    few, many = rows("float16"), rows("float16", "float32", "bfloat16")
    told = {c.what for pair in ((many, few), (few, many)) for c in difference(*pair).changes}
    assert {"has no variants bfloat16, float32 any more", "has variants bfloat16, float32"} <= told


def test_a_kernel_that_becomes_a_family_accepts_what_it_did() -> None:
    one = library(changed(SCALE, parameters=(Parameter("x", TensorSlot("float16", (N,))),)))
    assert difference(one, rows("float16", "float32")).verdict == "compatible"
    assert difference(rows("float16", "float32"), one).verdict == "breaking"


@pytest.mark.parametrize(
    ("new", "what"),
    [
        (Record("Config", "namedtuple", (Field("a"),)), "has other fields: a"),
        (Record("Config", "dataclass", (Field("a"), Field("b"))), "is a dataclass now"),
        (Record("Config", "namedtuple", (Field("a"), Field("b", Default(1)))), "has other defaults"),
        (Record("Other", "namedtuple", (Field("a"), Field("b"))), "was removed"),
    ],
)
def test_classes(new: Record, what: str) -> None:
    old = Record("Config", "namedtuple", (Field("a"), Field("b")))
    found = difference(library(SCALE, records=(old,)), library(SCALE, records=(new,)))
    assert found.verdict == "breaking"
    assert ("ops.Config", what) in [(change.function, change.what) for change in found.changes]


@pytest.mark.parametrize(
    ("new", "status", "verdict"),
    [
        (library(SCALE), 0, "identical"),
        (library(SCALE, changed(SCALE, name="other")), 0, "compatible"),
        (library(SCALE, package="renamed"), 1, "breaking"),
        (None, 2, "CS504"),
    ],
)
def test_the_command(new: Library | None, status: int, verdict: str, tmp_path: Path) -> None:
    for name, found in {"old": library(SCALE), "new": new}.items():
        if found is not None:
            (tmp_path / name).mkdir()
            (tmp_path / name / manifest.NAME).write_bytes(manifest.encode(found, {}))
    done = run_stubgen("diff", tmp_path / "old", tmp_path / "new")
    assert done.returncode == status
    assert verdict in (done.stdout.splitlines() or done.stderr.splitlines())[-1]
    as_json = json.loads(run_stubgen("diff", tmp_path / "old", tmp_path / "new", "--json").stdout)
    assert as_json.get("verdict", "CS504") == verdict


def test_effects_matter_to_frameworks_that_both_have() -> None:
    def made(effects: Effects, *frameworks: Framework) -> Library:
        return msgspec.structs.replace(library(changed(SCALE, effects=effects)), frameworks=frameworks)

    backward = Backward("scale_backward", {"y": "dy"}, {"x": "dx"})
    plain, more = Effects(("x",)), Effects(("x", "y"), ("y",), backward)
    assert reported(made(plain), made(more)) == []
    assert reported(made(plain, "torch", "jax"), made(more, "torch")) == [
        "breaking: lib has no module for JAX any more [JAX]",
        "breaking: ops.scale returns y, not nothing [PyTorch]",
        "breaking: ops.scale writes to x, y, not x [PyTorch]",
        "compatible: ops.scale has its gradient from scale_backward [PyTorch]",
    ]
    assert reported(made(plain), made(plain, "jax")) == ["compatible: lib has a module for JAX [JAX]"]
    assert "breaking: ops.scale has no gradient any more [JAX]" in reported(
        made(more, "jax"), made(plain, "jax")
    )

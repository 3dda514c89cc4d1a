"""What was compiled becomes modules: public signatures, families, classes, and names that clash."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stubgen.abi.signatures import Argument, AuthorParameter
from stubgen.build import binding
from stubgen.build.compilation import KernelBuild
from stubgen.compiler.jobs import Compiled
from stubgen.frameworks import eligibility
from stubgen.model.effects import Effects
from stubgen.model.library import (
    Default,
    Field,
    Frozen,
    Kernel,
    Library,
    Module,
    Parameter,
    Place,
    Record,
    ScalarSlot,
    Slot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Variant,
    Versions,
)
from stubgen.problems.problem import StubgenError
from stubgen.sources.modules import KernelModule
from tests.dispatch.models import tensor, variant

PLACE = Place("kernels/k.py", 3)
F32 = ScalarSlot("float32")
X = tensor("float32", "n")


def built(name: str, archs: Sequence[str] = (), *, line: int = 3, **details: Any) -> KernelBuild:
    found = Compiled(
        name,
        Place("kernels/k.py", line),
        (Argument("x", X),),
        (AuthorParameter("x"),),
        f"{name}(x)",
        has_device_code=bool(archs),
    )
    paths = {arch: Path(f"{arch}.ll") for arch in archs or ("",)}
    return KernelBuild(msgspec.structs.replace(found, **details), paths, Effects(("x",)))


def modules(**found: Sequence[KernelBuild]) -> tuple[Module, ...]:
    known = [
        KernelModule(name, Path(f"/kernels/{name}.py"), f"kernels/{name}.py", f"Doc of {name}.")
        for name in found
    ]
    return binding.bound_modules(known, found)


def test_a_kernel_has_all_that_is_known_of_it() -> None:
    one = built(
        "one",
        ["sm_80", "sm_90a"],
        arguments=(Argument("x", X), Argument("stream", None), Argument("s", F32)),
        author=(
            AuthorParameter("x"),
            AuthorParameter("k", frozen="3"),
            AuthorParameter("stream"),
            AuthorParameter("s", "keyword_only", Default(1.5)),
        ),
        doc="Do it.",
        source=Place("kernels/k.py", 1),
        options="--opt-level 2",
    )
    [module] = modules(k=[one])
    assert module == Module(
        "k",
        "kernels/k.py",
        (
            Kernel(
                "one",
                "k",
                (Parameter("x", X), Parameter("s", F32, "keyword_only", Default(1.5))),
                "one(x)",
                PLACE,
                "Do it.",
                Place("kernels/k.py", 1),
                (Frozen("k", "3", 1),),
                ("stream",),
                ("sm_80", "sm_90a"),
                "--opt-level 2",
                None,
                effects=Effects(("x",)),
            ),
        ),
        doc="Doc of k.",
    )


def test_modules_stand_in_order_and_empty_ones_are_left_out() -> None:
    found = modules(b=[built("one")], empty=[], a=[built("two"), built("three")])
    assert [(m.name, [k.name for k in m.kernels]) for m in found] == [("b", ["one"]), ("a", ["two", "three"])]
    assert found[1].kernels[0].module == "a"


def test_variants_become_a_family() -> None:
    pair = [
        built(
            f"fam__{dtype}",
            arguments=(Argument("x", tensor(dtype, "n")),),
            variant=Variant("fam", {"t": dtype}),
        )
        for dtype in ("float16", "float32")
    ]
    [module] = modules(k=[*pair, built("one")])
    [family] = module.families
    assert (family.name, family.variants) == ("fam", ("fam__float16", "fam__float32"))
    assert [function.name for function in module.functions] == ["fam", "one"]


# ---------------------------------------------------------------------------------------------------------
# Classes


def record(name: str, *fields: str) -> Record:
    return Record(name, "dataclass", tuple(map(Field, fields)))


def taking(name: str, *records: Record, line: int = 3, **details: Any) -> KernelBuild:
    """Make a kernel that takes records, the second inside of the first, and so on."""
    slot: Slot = F32
    for own in reversed(records):
        slot = TupleSlot((slot, *[F32] * (len(own.fields) - 1)), own.name, tuple(f.name for f in own.fields))
    arguments = (Argument("stream", None), Argument("x", X), Argument("t", slot))
    author = (AuthorParameter("stream"), AuthorParameter("x"), AuthorParameter("t"))
    return built(name, line=line, arguments=arguments, author=author, records=records, **details)


def test_classes_that_are_the_same_are_one() -> None:
    pair = record("Pair", "a", "b")
    [module] = modules(k=[taking("one", pair), taking("two", pair)])
    assert module.records == (pair,)


def test_classes_that_differ_have_the_name_of_their_function_in_front() -> None:
    first, other, outer = record("Pair", "a"), record("Pair", "a", "b"), record("Outer", "pair")
    [module] = modules(
        k=[
            taking("one", first),
            taking("gemm_act", outer, other),
            taking("fam__a", record("Pair", "c"), variant=Variant("fam", {"l": "a"})),
        ]
    )
    assert [item.name for item in module.records] == ["Pair", "Outer", "GemmActPair", "FamPair"]
    assert module.records[2].fields == other.fields
    slots = {kernel.name: kernel.parameters[-1].slot for kernel in module.kernels}
    assert slots == {
        "one": TupleSlot((F32,), "Pair", ("a",)),
        "gemm_act": TupleSlot((TupleSlot((F32, F32), "GemmActPair", ("a", "b")),), "Outer", ("pair",)),
        "fam__a": TupleSlot((F32,), "FamPair", ("c",)),
    }
    assert [kernel.env_streams for kernel in module.kernels] == [("stream",)] * 3
    assert module.kernels[1].parameters[0] == Parameter("x", X)


def test_plain_tuples_keep_what_is_in_them() -> None:
    first, other = record("Pair", "a"), record("Pair", "b")
    inner = TupleSlot((TupleSlot((F32,), "Pair", ("b",)), X))
    two = built("two", arguments=(Argument("t", inner),), author=(AuthorParameter("t"),), records=(other,))
    [module] = modules(k=[taking("one", first), two])
    assert module.kernels[1].parameters[0].slot == TupleSlot((TupleSlot((F32,), "TwoPair", ("b",)), X))


def refused(*found: KernelBuild) -> list[str]:
    with pytest.raises(StubgenError) as caught:
        modules(k=found)
    return [f"{p.code} {p.place}: {p.message}" for p in caught.value.problems]


def test_two_classes_of_one_public_function_are_refused() -> None:
    variants = [
        taking(f"fam__{label}", record("Pair", label), line=line, variant=Variant("fam", {"l": label}))
        for line, label in ((4, "a"), (5, "b"), (6, "c"))
    ]
    assert refused(*variants) == [
        "CS214 kernels/k.py:6: fam__c takes a FamPair that differs from another class of that name "
        "in the same module"
    ]


def test_a_kernel_may_not_be_called_like_a_class() -> None:
    pair = record("Pair", "a")
    assert refused(taking("one", pair), built("Pair", line=7)) == [
        "CS218 kernels/k.py:7: Pair has the name of a class that kernels of the same module take"
    ]
    family = [
        built(
            f"Pair__{label}",
            line=line,
            arguments=(Argument("x", slot),),
            variant=Variant("Pair", {"l": label}),
        )
        for line, label, slot in ((8, "a", X), (9, "b", tensor("float16", "n")))
    ]
    assert refused(taking("one", pair), *family) == [
        "CS218 kernels/k.py:8: Pair has the name of a class that kernels of the same module take"
    ]


def test_classes_of_other_modules_are_of_no_concern() -> None:
    found = modules(
        k=[taking("one", record("Pair", "a"))], m=[taking("two", record("Pair", "b")), built("three")]
    )
    assert [[item.name for item in module.records] for module in found] == [["Pair"], ["Pair"]]


def test_what_is_wrong_in_one_module_hides_nothing_of_the_next() -> None:
    """Nor what frameworks have to be told of: the families are there all the same."""
    known = [KernelModule(name, Path(f"/kernels/{name}.py"), f"kernels/{name}.py", "") for name in "klm"]
    alike = [
        built(
            f"fam__{by}",
            arguments=(Argument("x", tensor("float32", "n", Symbol("m", divisible_by=by))),),
            variant=Variant("fam", {"by": str(by)}),
        )
        for by in (4, 6)
    ]
    clash = [
        taking(f"fam__{label}", record("Pair", label), variant=Variant("fam", {"l": label}))
        for label in "abc"
    ]
    silent = dataclasses.replace(built("silent"), effects=Effects())
    found, wrong = binding.bind_modules(known, {"k": alike, "l": clash, "m": [silent]})
    assert [item.code for item in wrong] == ["CS238", "CS214"]
    whole = Library("p", found, Versions("", "", "", ""), {}, frameworks=("torch",))
    assert [(p.code, p.kernel) for p in eligibility.problems(whole) if p.kernel == "silent"] == [
        ("CS240", "silent")
    ]
    with pytest.raises(StubgenError, match="CS238") as raised:
        binding.bound_modules(known, {"k": alike, "l": clash, "m": []})
    assert sorted(item.code for item in raised.value.problems) == ["CS214", "CS238"]


# ---------------------------------------------------------------------------------------------------------
# Symbols


def library(*kernels: Kernel, families: bool = False) -> Library:
    from stubgen.families import families as of_variants

    made = of_variants.families(kernels) if families else ()
    return Library("p", (Module("m", "m.py", kernels, made),), Versions("", "", "", ""), {})


def kernel(name: str, *archs: str, line: int = 1) -> Kernel:
    return Kernel(name, "m", (Parameter("x", X),), "", Place("m.py", line), archs=archs)


def test_names_that_differ_in_what_they_are_must_differ() -> None:
    binding.require_distinct_symbols(library(kernel("one", "sm_80"), kernel("two", "sm_80")))
    with pytest.raises(StubgenError) as caught:
        binding.require_distinct_symbols(
            library(kernel("one", "sm_80", line=4), kernel("p__one__sm_80", line=5))
        )
    [problem] = caught.value.problems
    assert str(problem).startswith(
        "m.py:5: CS213: 'p__one__sm_80' is exported a second time; the first is at m.py:4"
    )


def test_a_kernel_may_not_be_called_like_a_choice_of_a_family() -> None:
    pair = [variant("fam", {"x": X}, {"mode": mode}) for mode in ("a", "b")]
    binding.require_distinct_symbols(library(*pair, kernel("fam_"), families=True))
    with pytest.raises(StubgenError, match=r"^kernels/module\.py:1: CS213: 'fam' is exported a second time"):
        binding.require_distinct_symbols(library(*pair, kernel("p__fam___a", line=8), families=True))


def test_a_size_may_have_any_width() -> None:
    """A tensor's own symbols are no names of the library."""
    slot = TensorSlot("float32", (Symbol("one", 64),))
    one = built("one", arguments=(Argument("x", slot),))
    [module] = modules(k=[one])
    assert module.kernels[0].parameters[0].slot == slot

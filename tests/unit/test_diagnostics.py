"""What is reported, and how often."""

from __future__ import annotations

from stubgen.model.library import Place
from stubgen.problems.problem import Problem, in_order, problem

HERE = Place("kernels/k.py", 3)


def refused(kernel: str, reason: str = "it is odd", family: str | None = "f") -> Problem:
    remedy = f"the full text is in /logs/{kernel}.log"
    return Problem("CS301", f"{kernel}: {reason}", remedy, HERE, kernel, family=family)


def test_what_variants_share_is_said_once_with_their_number() -> None:
    found = in_order([refused("f__a"), refused("f__b"), refused("f__a"), refused("f__c")])
    assert [item.message for item in found] == ["f__a: it is odd (also 2 more variants)"]
    assert found[0].remedy == "the full text is in /logs/f__a.log"
    assert [item.message for item in in_order([refused("f__a"), refused("f__b")])] == [
        "f__a: it is odd (also one more variant)"
    ]


def test_what_differs_is_said_each_time() -> None:
    different = [
        refused("f__a"),
        refused("f__b", "it is even"),
        refused("g__a", family="g"),
        refused("a", family=None),
        refused("b", family=None),
    ]
    assert in_order(different) == tuple(different)


def test_a_problem_of_a_variant_knows_its_family() -> None:
    found = problem("CS237", kernel="f__b", family="f", parameters="x", other="f__a", expected="y")
    assert found.family == "f"

"""Names: what cannot be a kernel or a package, and why."""

from __future__ import annotations

import ast
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stubgen import names


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no identifier"),
        ("two words", "no identifier"),
        ("1st", "no identifier"),
        ("größe", "no identifier"),
        ("a-b", "no identifier"),
        ("a\n", "no identifier"),
        ("class", "keyword in Python"),
        ("None", "keyword in Python"),
        ("int", "C or C++"),
        ("namespace", "C or C++"),
        ("co_await", "C or C++"),
        ("errno", "C or C++"),
        ("INT8_MAX", "C or C++"),
        ("__init__", "C or C++"),
        ("_Bool", "C or C++"),
        ("M_PI", "macro"),
        ("SEEK_SET", "macro"),
        ("Tensor", "stubs use it"),
        ("Literal", "stubs use it"),
        ("tuple", "stubs use it"),
        ("annotations", "stubs use it"),
        ("_hidden", "private"),
    ],
)
def test_no_kernel_can_be_called(name: str, reason: str) -> None:
    assert reason in (names.why_no_kernel(name) or "nothing wrong")


@pytest.mark.parametrize(
    "name", ["add", "RMSNorm", "softmax__float16_4096", "match", "type", "x", "gemm_nt", "relu2", "print"]
)
def test_kernels_can_be_called(name: str) -> None:
    assert names.why_no_kernel(name) is None


WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True)
ODD = st.sampled_from(["ﬁ", "ª", "é", "class", "x y", "x.y", "µ", "match", "None", "int"])
"""Among them letters that Python normalises to others."""


def test_what_is_accepted_as_a_kernel_can_be_defined() -> None:
    accepted = refused = 0

    @given(WORDS | st.tuples(WORDS, ODD).map("".join) | st.text(min_size=1, max_size=8))
    def check(name: str) -> None:
        nonlocal accepted, refused
        if names.why_no_kernel(name) is not None:
            refused += 1
            return
        accepted += 1
        (node,) = ast.parse(f"def {name}(): ...").body
        assert isinstance(node, ast.FunctionDef)
        assert node.name == name, "Python does not normalise it to another"

    check()
    assert accepted >= 20
    assert refused >= 10


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "no identifier"),
        ("my-kernels", "no identifier"),
        ("a.b", "no identifier"),
        ("Kernels", "capital letters"),
        ("lambda", "keeps it"),
        ("namespace", "keeps it"),
        ("print", "keeps it"),
        ("json", "hide another Python package"),
        ("torch", "hide another Python package"),
        ("stubgen", "hide another Python package"),
        ("std", "namespace"),
        ("index", "a function or a type"),
        ("remove", "a function or a type"),
        ("div", "a function or a type"),
        ("log", "a function or a type"),
        ("read", "a function or a type"),
        ("link", "a function or a type"),
        ("wait", "a function or a type"),
        ("size_t", "a function or a type"),
        ("time_t", "a function or a type"),
        ("int8_t", "a function or a type"),
        ("timeval", "a function or a type"),
        ("environ", "a function or a type"),
        ("_mine", "private"),
    ],
)
def test_no_package_can_be_called(name: str, reason: str) -> None:
    assert reason in (names.why_no_package(name) or "nothing wrong")


@pytest.mark.parametrize("name", ["cute_kernels", "flash2", "k", "indexes", "reader", "wait_kernels", "logs"])
def test_packages_can_be_called(name: str) -> None:
    assert names.why_no_package(name) is None


def test_no_module_of_the_standard_library_can_be_hidden() -> None:
    assert [name for name in sys.stdlib_module_names if names.why_no_package(name) is None] == []

"""Names: what cannot be a kernel or a package, and why."""

from __future__ import annotations

import ast
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stubgen.model import names


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
    assert reason in (names.kernel_name_error(name) or "nothing wrong")


@pytest.mark.parametrize(
    "name", ["add", "RMSNorm", "softmax__float16_4096", "match", "type", "x", "gemm_nt", "relu2", "print"]
)
def test_kernels_can_be_called(name: str) -> None:
    assert names.kernel_name_error(name) is None


WORDS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True)
ODD = st.sampled_from(["ﬁ", "ª", "é", "class", "x y", "x.y", "µ", "match", "None", "int"])
"""Among them letters that Python normalises to others."""


def test_what_is_accepted_as_a_kernel_can_be_defined() -> None:
    accepted = refused = 0

    @given(WORDS | st.tuples(WORDS, ODD).map("".join) | st.text(min_size=1, max_size=8))
    def check(name: str) -> None:
        nonlocal accepted, refused
        if names.kernel_name_error(name) is not None:
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
    assert reason in (names.package_name_error(name) or "nothing wrong")


@pytest.mark.parametrize("name", ["cute_kernels", "flash2", "k", "indexes", "reader", "wait_kernels", "logs"])
def test_packages_can_be_called(name: str) -> None:
    assert names.package_name_error(name) is None


def test_no_module_of_the_standard_library_can_be_hidden() -> None:
    assert [name for name in sys.stdlib_module_names if names.package_name_error(name) is None] == []


# ---------------------------------------------------------------------------------------------------------
# Every name that is taken

CPP = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case
catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit const_cast
continue contract_assert co_await co_return co_yield decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict
return short signed sizeof static static_assert static_cast struct switch synchronized template this
thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void
volatile wchar_t while xor xor_eq NULL EOF INFINITY NAN EDOM ERANGE EILSEQ assert errno stdin stdout stderr
linux unix i386 __x _X INT8_C UINT64_MAX INT_FAST8_MIN UINTPTR_WIDTH
""".split()  # noqa: SIM905
MACROS = """
M_PI M_PI_4f32x SEEK_SET E2BIG EAGAIN L_tmpnam P_tmpdir SYS_write WNOHANG WEXITED SNAN SNANF NANF64X BUFSIZ
CSIGNAL HUGE I MAXFLOAT math_errhandling NFDBITS NZERO sched_priority A1_B2
""".split()  # noqa: SIM905
NO_MACROS = "W WS N mA BM Q K_cache L_x_ E1 Mx M_ S NA sched L_ LP_x SYSx".split()  # noqa: SIM905
IN_STUBS = ["Literal", "Pointer", "Stream", "Tensor", "annotations"]
IN_HEADERS = ["Number", "StreamGuard", "load_library", "register_functions", "set_stream", "take_error"]
IN_MODULES = ["_NamedTuple", "_Protocol", "_TypedDict", "_dataclass", "_family", "_keywords", "_native"]


@pytest.mark.parametrize("name", CPP)
def test_what_c_and_cpp_keep_is_taken(name: str) -> None:
    assert names.is_reserved_in_c(name)
    assert names.kernel_name_error(name) is not None


@pytest.mark.parametrize("name", MACROS)
def test_what_headers_define_is_taken(name: str) -> None:
    assert names.looks_like_macro(name)
    assert names.kernel_name_error(name) is not None


@pytest.mark.parametrize("name", NO_MACROS)
def test_what_only_looks_a_little_like_a_macro_is_free(name: str) -> None:
    assert not names.looks_like_macro(name)


def test_what_generated_files_use_is_taken() -> None:
    assert {names.kernel_name_error(name) for name in IN_STUBS} == {"the generated stubs use it"}
    assert {names.kernel_name_error(name) for name in IN_HEADERS} == {"the generated headers use it"}
    assert set(IN_HEADERS) == names.USED_BY_HEADERS


@pytest.mark.parametrize(
    ("name", "can"),
    [
        *((name, False) for name in (*IN_STUBS, *IN_MODULES, "_overload", "_positional")),
        *((name, False) for name in ("bool", "float", "int", "tuple", "class", "two words", "<locals>", "")),
        *((name, True) for name in ("Pair", "_Pair", "größe", "namespace", "StreamGuard", "print", "std")),
    ],
)
def test_what_a_class_can_be_called(name: str, can: bool) -> None:
    assert names.can_name_class(name) == can


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        *((name, True) for name in ("config", "description", "include", "jax", "kwargs", "lib", "runtime")),
        *(
            (name, True)
            for name in ("register_functions", "torch", "torch.x", "_x", "a._x", "_a.x", "lib.a.b")
        ),
        *((name, False) for name in ("ops", "a.torch", "a.config", "numpy", "a_b", "x_")),
    ],
)
def test_what_a_module_can_be_called(name: str, reserved: bool) -> None:
    assert names.is_reserved_module(name) == reserved


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ops", None),
        ("a.b.größe", None),
        ("a b", "'a b' is no identifier"),
        ("a..b", "'' is no identifier"),
        ("a.1", "'1' is no identifier"),
        ("a.class.b", "'class' is a keyword"),
    ],
)
def test_what_python_can_import(name: str, reason: str | None) -> None:
    assert names.module_name_error(name) == reason


@pytest.mark.parametrize(
    "name", ["cuda", "cupy", "cutlass", "jax", "numpy", "stubgen", "torch", "tvm_ffi", "json", "re"]
)
def test_packages_of_others_are_not_hidden(name: str) -> None:
    assert names.package_name_error(name) == "it would hide another Python package"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *(
            (name, "C or C++ has a namespace, a function or a type")
            for name in ("main", "std", "tvm", "printf")
        ),
        ("a__b", "two underscores separate it from the kernel's name in symbols"),
        ("_a", "a leading underscore would make it private"),
        ("aB", "it has capital letters"),
        ("größe", "it is no identifier"),
        ("and_eq", "Python, C or C++ keeps it for itself"),
        ("lambda", "Python, C or C++ keeps it for itself"),
    ],
)
def test_why_a_package_cannot_be_called(name: str, words: str) -> None:
    assert (names.package_name_error(name) or "nothing wrong").startswith(words)


def test_what_lies_in_the_output_folder_for_a_while_is_hidden() -> None:
    assert names.staging_prefix("ops") == ".ops.new-"

"""Real calls of every host function: the values prove that each argument arrived in its place."""

from __future__ import annotations

import importlib
import inspect
import math
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, WrapperDescriptorType
from typing import Any

import numpy as np
import pytest
import torch


@pytest.fixture(scope="module")
def package(generated: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(generated))
    yield importlib.import_module("cute_kernels")
    sys.path.remove(str(generated))


@pytest.fixture(scope="module")
def host(package: ModuleType) -> Any:
    return package.host


@pytest.fixture(scope="module")
def kw(package: ModuleType) -> Any:
    return importlib.import_module("cute_kernels.kwargs.host")


def f32(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


X = f32(1.0, 2.0, -3.0, 0.5)


def out() -> torch.Tensor:
    return torch.full((4,), math.nan)


def check(result: torch.Tensor, *expected: float) -> None:
    torch.testing.assert_close(result.to(torch.float64), torch.tensor(expected, dtype=torch.float64))


def test_default_is_used_and_can_be_given(host: Any, kw: Any) -> None:
    for call, expected in (
        (lambda o: host.host_add_constant(X, o, 2.0), (3.0, 4.0, -1.0, 2.5)),
        (lambda o: kw.host_add_constant(X, o), (2.0, 3.0, -2.0, 1.5)),
        (lambda o: kw.host_add_constant(offset=-1, b=o, a=X), (0.0, 1.0, -4.0, -0.5)),
    ):
        o = out()
        assert call(o) is None
        check(o, *expected)


def test_each_operand_of_axpby_has_its_own_weight(host: Any, kw: Any) -> None:
    y = f32(10.0, 20.0, 30.0, 40.0)
    for call in (
        lambda o: host.host_axpby(2.0, X, 0.5, y, o),
        lambda o: kw.host_axpby(out=o, y=y, beta=0.5, x=X, alpha=2.0),
    ):
        o = out()
        call(o)
        check(o, 7.0, 14.0, 9.0, 21.0)


def test_every_scalar_type_arrives_exactly(host: Any) -> None:
    integers = torch.zeros(9, dtype=torch.int64)
    floats = torch.zeros(2, dtype=torch.float64)
    scalars = [True, -(2**7), -(2**15), -(2**31), -(2**63), 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**63 - 1]
    host.host_scalars(*scalars, 1.5, 0.1, integers, floats)
    assert integers.tolist() == [int(s) for s in scalars]
    assert floats.tolist() == [1.5, 0.1]


def test_out_of_range_integers_are_refused(host: Any) -> None:
    integers = torch.zeros(9, dtype=torch.int64)
    floats = torch.zeros(2, dtype=torch.float64)
    good = [True, 1, 2, 3, 4, 5, 6, 7, 8, 1.0, 2.0, integers, floats]
    for index, too_big in ((1, 2**7), (2, -(2**15) - 1), (3, 2**31), (5, 256), (6, -1), (7, 2**32)):
        arguments = list(good)
        arguments[index] = too_big
        name = list(inspect.signature(host.host_scalars).parameters)[index]
        with pytest.raises(ValueError, match=rf"^{name} is {too_big}, expected u?int\d+, from "):
            host.host_scalars(*arguments)
    assert integers.eq(0).all(), "nothing was written"


def test_boxed_default_reaches_the_function_as_a_number(kw: Any) -> None:
    o = torch.zeros(4, dtype=torch.float64)
    kw.host_defaults(o)
    check(o, 1.0, -7.0, 0.25, 9.0)
    kw.host_defaults(o, False, boxed=2.0, ratio=0.5)
    check(o, 0.0, -7.0, 0.5, 2.0)


def test_keyword_only_stays_keyword_only(host: Any, kw: Any) -> None:
    o = out()
    kw.host_keyword_only(X, o)
    check(o, 2.0, 4.0, -6.0, 1.0)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3"):
        kw.host_keyword_only(X, o, 3.0)
    host.host_keyword_only(X, o, 3.0)
    check(o, 3.0, 6.0, -9.0, 1.5)


def test_variadic_arguments_keep_their_order(host: Any) -> None:
    o = out()
    host.host_weighted_sum(o, f32(1, 1, 1, 1), f32(10, 10, 10, 10), f32(100, 100, 100, 100))
    check(o, 321.0, 321.0, 321.0, 321.0)


def test_tuple_namedtuple_and_dataclass(host: Any, kw: Any) -> None:
    o = out()
    y = f32(1.0, 1.0, 1.0, 1.0)
    host.host_tuple((X, (y, 2.0)), o)
    check(o, -1.0, 0.0, -5.0, -1.5)
    host.host_affine((X, 2.0, None), o)
    check(o, 2.0, 4.0, -6.0, 1.0)
    kw.host_affine(arguments=kw.HostAffine(X, factor=3.0, shift=None), out=o)
    check(o, 3.0, 6.0, -9.0, 1.5)
    expected = X - X**2 + X**3 if _alternates(kw) else X + X**2 + X**3
    kw.host_powers(kw.HostPowers(X, 1.0), o)
    torch.testing.assert_close(o, expected)
    host.host_powers((X, 2.0, 3, True), o)
    torch.testing.assert_close(o, 2 * expected)


def _alternates(kw: Any) -> bool:
    return (
        bool(kw.HostPowers.__dataclass_fields__["alternate"].default)
        if "alternate" in kw.HostPowers.__dataclass_fields__
        else True
    )


def test_constants_of_a_dataclass_are_checked(host: Any) -> None:
    with pytest.raises(ValueError, match="host_powers"):
        host.host_powers((X, 1.0, 4, True), out())


def test_pointer_counts_from_its_address(host: Any) -> None:
    values = f32(1.0, 10.0, 100.0)
    o = torch.zeros(1)
    host.host_pointer(values.data_ptr(), 3, o)
    check(o, 321.0)
    host.host_pointer(values.data_ptr() + 4, 2, o)
    check(o, 210.0)


def test_shapes_static_and_dynamic(host: Any) -> None:
    o = torch.zeros(3, dtype=torch.int64)
    host.host_shape_static((4, 8), o)
    assert o.tolist() == [4, 8, 32]
    with pytest.raises(ValueError, match="shape"):
        host.host_shape_static((4, 9), o)
    o = torch.zeros(4, dtype=torch.int64)
    host.host_shape_mixed((4, 5, 6), o)
    assert o.tolist() == [4, 5, 6, 120]


def test_optional_absent_and_given(host: Any, kw: Any) -> None:
    o = out()
    host.host_bias(X, None, o)
    check(o, 2.0, 4.0, -6.0, 1.0)
    kw.host_bias_given(X, bias=f32(1, 1, 1, 1), out=o)
    check(o, 3.0, 5.0, -5.0, 2.0)
    with pytest.raises(TypeError, match=r"^bias is Tensor.*expected None.*`host_bias\("):
        host.host_bias(X, X, o)
    check(o, 3.0, 5.0, -5.0, 2.0)


def test_numpy_and_tvm_ffi_tensors(host: Any) -> None:
    import tvm_ffi

    a = np.array([1, 2, 3], dtype=np.float32)
    b = np.zeros_like(a)
    host.host_add_constant(a, b, 1.0)
    assert b.tolist() == [2.0, 3.0, 4.0]
    host.host_add_constant(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b), 2.0)
    assert b.tolist() == [3.0, 4.0, 5.0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("columns", [2, 5])
def test_a_family_finds_the_variant_that_each_call_means(
    host: Any, kw: Any, dtype: str, columns: int
) -> None:
    kind = getattr(torch, dtype)
    x = torch.arange(3 * columns).reshape(3, columns).to(kind)
    expected = (x * torch.arange(1, columns + 1).to(kind)).sum(1).to(kind)
    family = host.host_row_sums
    key = f"{dtype}_{columns}"
    calls = {
        "position": lambda o: family(x, o),
        "keyword": lambda o: kw.host_row_sums(out=o, x=x),
        "variant": lambda o: family.variants[key](x, o),
    }
    for way, call in calls.items():
        o = torch.zeros(3, dtype=kind)
        call(o)
        assert torch.equal(o, expected), way
    o = torch.zeros(3, dtype=kind)
    with pytest.raises(TypeError, match=r"^No variant accepts \(x: Tensor\(\[3, 4\], .*`host_row_sums\("):
        family(torch.zeros(3, 4).to(kind), o)
    with pytest.raises(ValueError, match=rf"^x\.shape\[1\] is 4, expected {columns}; .*`host_row_sums\("):
        family.variants[key](torch.zeros(3, 4).to(kind), o)
    for other, function in family.variants.items():
        if other != key:
            with pytest.raises((TypeError, ValueError), match="host_row_sums"):
                function(x, o)
    assert not o.any()


def test_errors_name_the_function_and_the_argument(host: Any) -> None:
    for arguments, error, words in (
        ((1, X, 1.0), TypeError, ("host_add_constant", "a is 1, expected a tensor")),
        ((X, X, "1"), TypeError, ("host_add_constant", 'offset is "1", expected a number')),
        (
            (X, f32(1.0), 1.0),
            ValueError,
            ("host_add_constant", "b.shape[0] is 1, but n is 4 from a.shape[0]"),
        ),
        (
            (X.double(), X, 1.0),
            (TypeError, ValueError),
            ("host_add_constant", "a is Tensor([4], float64, CPU), "),
        ),
        (
            (X, torch.zeros(8)[::2], 1.0),
            ValueError,
            ("host_add_constant", "b.strides[0] is 2, expected 1; b is Tensor("),
        ),
    ):
        with pytest.raises(error) as caught:  # type: ignore[arg-type]
            host.host_add_constant(*arguments)
        assert all(word in str(caught.value) for word in words)


def test_function_survives_pickling_and_stays_unbound_in_a_class(host: Any) -> None:
    function = host.host_add_constant
    assert pickle.loads(pickle.dumps(function)) is function

    class Holder:
        call = function

    assert Holder().call is function
    assert "host_add_constant(a: Tensor, b: Tensor, offset: float, /)" in repr(function)


def test_no_python_frame_stands_between(host: Any) -> None:
    import tvm_ffi

    kind = type(host.host_add_constant)
    assert issubclass(kind, tvm_ffi.Function)
    assert all(
        isinstance(vars(c).get("__call__", kind.__call__), WrapperDescriptorType) for c in kind.__mro__[:-1]
    )


def test_a_tensor_does_for_a_pointer_by_keyword_and_is_checked(kw: Any) -> None:
    o = torch.zeros(1)
    values = f32(1.0, 10.0, 100.0, 1000.0)
    kw.host_pointer(values[1:], count=3, out=o)
    check(o, 3210.0)
    kw.host_pointer(p=np.array([5, 6], dtype=np.float32), count=2, out=o)
    check(o, 17.0)
    kw.host_pointer(values.data_ptr(), 1, o)
    check(o, 1.0)
    with pytest.raises(TypeError, match=r"^p is a tensor of float64 on cpu:0, expected dtype float32$"):
        kw.host_pointer(values.double(), 1, o)
    misaligned = np.zeros(9, np.uint8)[1:5].view(np.float32)
    with pytest.raises(
        ValueError, match=r"^p is a tensor of float32 on cpu:0, expected its data aligned to 4 b"
    ):
        kw.host_pointer(misaligned, 1, o)
    freed = torch.zeros(4)
    freed.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match=r"^p is a tensor of float32 on cpu:0 without memory"):
        kw.host_pointer(freed, 1, o)


def test_records_passed_by_position_are_called_by_their_type_and_told_where_to_go(host: Any, kw: Any) -> None:
    x, out = np.float32([1, 2]), np.float32([0, 0])
    series = host.HostPowers(x, 2.0)
    with pytest.raises(
        TypeError,
        match=r"^series is an object of type HostPowers, expected a tuple; "
        r"cute_kernels\.kwargs\.host\.host_powers takes the object when calling",
    ):
        host.host_powers(series, out)
    kw.host_powers(series, out)
    assert out.any()
    with pytest.raises(
        TypeError, match=r"^operands\[1\] is an object of type HostPowers, expected a tuple; "
    ):
        host.host_tuple((x, series), out)
    with pytest.raises(
        TypeError, match=r"^a is an object of type HostPowers, expected a tensor when calling"
    ):
        host.host_add_constant(series, out, 1.0)
    with pytest.raises(
        TypeError, match=r"^arguments is an object of type object, expected a tuple when calling"
    ):
        host.host_affine(object(), out)
    with pytest.raises(ValueError, match=r"^operands is \(5,\), expected a tuple of 2 items when calling"):
        host.host_tuple((5,), out)


@pytest.mark.parametrize(
    ("rows", "out", "said"),
    [
        (np.ones((3, 4), np.float32), np.ones(3, np.float32), "x.shape[1] is 4, expected 2"),
        (np.ones((3, 2), np.int16), np.ones(3, np.int16), "x is Tensor([3, 2], int16, CPU), expected dtype"),
        (
            np.ones(3, np.float32),
            np.ones(3, np.float32),
            "x is Tensor([3], float32, CPU), expected 2 dimensions",
        ),
    ],
)
def test_a_family_says_what_does_not_fit_the_nearest_variant(
    host: Any, rows: Any, out: Any, said: str
) -> None:
    with pytest.raises(TypeError, match=rf"; the nearest is \w+, but {re.escape(said)}"):
        host.host_row_sums(rows, out)


@pytest.mark.parametrize(("negate", "shown"), [(5, "5"), (None, "None"), ("yes", '"yes"')])
def test_a_family_says_which_choice_is_none(host: Any, negate: Any, shown: str) -> None:
    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match=rf"negate: {shown}, .*`; negate is expected to be False or True$"):
        host.host_scale_add(x, 2.0, negate, None, x)


def test_empty_keywords_are_none_and_the_function_runs_once(host: Any) -> None:
    x = np.float32([1, 2])
    type(host.host_add_constant).__call__(host.host_add_constant, x, x, 1.0, **{})
    assert x.tolist() == [2, 3]


def test_docstrings_say_what_is_written_to(host: Any, kw: Any) -> None:
    for function in (host.host_row_sums, kw.host_row_sums):
        assert "\n    Writes to out.\n" in function.__doc__
    functional = importlib.import_module("cute_kernels.torch.functional")
    assert "Returns out." in functional.host_row_sums.__doc__
    assert "Writes to" not in functional.host_row_sums.__doc__

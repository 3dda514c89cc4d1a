"""The module for JAX, called for real on the CPU: compiled and not, with and without aliases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax-tvm-ffi needs Python 3.11")
import jax.numpy as jnp  # noqa: E402  (after the check for jax)

pytestmark = pytest.mark.xdist_group("jax")


@pytest.fixture(scope="module", autouse=True)
def _double_precision() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def module(framed_output: Path) -> ModuleType:
    import framed.jax

    return framed.jax


def vector(*values: float, dtype: Any = jnp.float32) -> Any:
    return jnp.asarray(values, dtype=dtype)


@pytest.fixture(params=["eager", "jit"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call a function of arrays, compiled or not."""
    return lambda function, *arrays: (jax.jit(function) if request.param == "jit" else function)(*arrays)


def test_the_package_alone_imports_no_jax(run_apart: Callable[[str], str]) -> None:
    assert run_apart("import framed, sys; print('jax' in sys.modules)") == "False"


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_outputs_are_made_by_their_declaration(module: ModuleType, run: Any, dtype: Any) -> None:
    x, y = vector(1, 2, 3, dtype=dtype), vector(5, 7, 11, dtype=dtype)
    made = run(lambda x, y: module.axpby(2.0, x, beta=3, y=y) + 1, x, y)
    assert (made.dtype, made.tolist()) == (dtype, [18.0, 26.0, 40.0])
    twos = run(module.twos, jnp.zeros((5, 3), jnp.float32))
    assert (twos.dtype, twos.tolist()) == (jnp.int32, [[2, 2]] * 5)


def test_several_outputs_come_as_a_tuple(module: ModuleType, run: Any) -> None:
    x, y = vector(1, 2), vector(3, 4)
    grad_x, grad_y = run(lambda x, y: module.product_backward(x, y, 2, vector(10, 100)), x, y)
    assert grad_x.tolist() == [90.0, 1600.0]
    assert grad_y.tolist() == [60.0, 1600.0]


def test_what_a_kernel_changes_is_returned_and_the_input_kept(module: ModuleType, run: Any) -> None:
    x = vector(1, 2)
    assert run(lambda x: module.scale(x, 0.5), x).tolist() == [0.5, 1.0]
    assert run(module.scale, x).tolist() == [2.0, 4.0], "the default of the kernel's author"
    out, total = run(module.cumulate, x, vector(10, 20))
    assert (out.tolist(), total.tolist()) == ([11.0, 22.0], [11.0, 22.0])
    assert x.tolist() == [1.0, 2.0]


def test_functions_of_the_package_itself_write_into_what_they_are_given(framed_output: Path) -> None:
    """As docs/frameworks.md warns: an array of JAX's too, of which JAX does not know."""
    import framed.cpu

    x, out = vector(1, 2, dtype=jnp.float64), vector(0, 0, dtype=jnp.float64)
    assert framed.cpu.axpby(2.0, x, 1.0, x, out) is None
    assert np.asarray(out).tolist() == [3.0, 6.0]


def test_a_donated_input_is_changed_in_place(module: ModuleType) -> None:
    x = jnp.arange(1024, dtype=jnp.float32) + 0
    address = x.unsafe_buffer_pointer()
    made = jax.jit(module.scale, donate_argnums=0, static_argnums=1)(x, 3.0)
    assert made.unsafe_buffer_pointer() == address
    assert x.is_deleted()
    assert made.tolist() == [3.0 * i for i in range(1024)]


@pytest.mark.parametrize("count", [3, -(2**40), np.int32(7)])
def test_numbers_and_bools_arrive(module: ModuleType, run: Any, count: Any) -> None:
    for flag in (True, False):
        made = run(lambda out, flag=flag: module.fill(out, flag, count, 0.5), jnp.zeros(3))
        assert made.tolist() == [float(flag), float(count), 0.5]


@pytest.mark.parametrize("kind", ["identity", "relu", "negate"])
def test_strings_and_absent_arrays_choose_a_variant(module: ModuleType, run: Any, kind: str) -> None:
    x, bias = vector(-1, 2), vector(10, 20)
    want = {"identity": [-1.0, 2.0], "relu": [0.0, 2.0], "negate": [1.0, -2.0]}[kind]
    bare, biased = run(
        lambda x, bias: (module.activated(x, kind, None), module.activated(x, kind, bias=bias)), x, bias
    )
    assert bare.tolist() == want
    assert biased.tolist() == [want[0] + 10, want[1] + 20]


def test_callers_choose_a_dtype_where_the_inputs_leave_a_choice(module: ModuleType, run: Any) -> None:
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    usual, wide = run(lambda x: (module.row_sums(x), module.row_sums(x, out_dtype=jnp.float64)), x)
    assert (usual.dtype, wide.dtype) == (jnp.float32, jnp.float64)
    assert usual.tolist() == wide.tolist() == [3.0, 12.0]


def test_vmap_calls_one_after_the_other(module: ModuleType) -> None:
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    assert jax.vmap(lambda x: module.axpby(2.0, x, 1.0, x))(x).tolist() == (3 * x).tolist()


@pytest.mark.parametrize("power", [1, 2])
def test_gradients_are_those_of_the_same_in_jax(module: ModuleType, run: Any, power: int) -> None:
    x, y = vector(1, -2, 3, dtype=jnp.float64), vector(4, 0.5, 6, dtype=jnp.float64)

    def loss(product: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda x, y: (product(jnp.sin(x), y) * x).sum()

    found = run(jax.grad(loss(lambda x, y: module.product(x, y, power)), (0, 1)), x, y)
    want = jax.grad(loss(lambda x, y: x * y**power), (0, 1))(x, y)
    assert all(map(jnp.allclose, found, want))


def test_a_gradient_that_nobody_declared_is_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: module.axpby(1.0, x, 1.0, x).sum())(vector(1, 2))


def test_wrong_calls_say_what_is_wrong(module: ModuleType, run: Any) -> None:
    x = vector(1, 2)
    with pytest.raises(TypeError, match=r"cpu\.axpby has no variant for .*: y is float64\[2\], expected"):
        run(lambda x: module.axpby(1.0, x, 1.0, x.astype(jnp.float64)), x).block_until_ready()
    with pytest.raises(TypeError, match=r"cpu\.activated has no variant for "):
        run(lambda x: module.activated(x, "tanh", None), x).block_until_ready()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        run(lambda x: module.axpby(1.0, x, 1.0), x)
    with pytest.raises(TypeError, match="alpha is a part of what is compiled"):
        jax.jit(lambda alpha, x: module.axpby(alpha, x, 1.0, x))(2.0, x)


def test_what_jax_cannot_pass_is_left_out_and_named(module: ModuleType) -> None:
    assert not {"at_pointer", "of_pair"} & {*dir(module)}
    assert "at_pointer  p is a pointer\nof_pair     pair is a tuple\n" in str(module.__doc__)


# ---------------------------------------------------------------------------------------------------------
# Wrong calls, which are refused before anything runs

WRONG = {
    "sizes that differ": (
        lambda m, x: m.axpby(2.0, x, 3.0, jnp.ones(4, x.dtype)),
        r"cpu\.axpby has no variant for \(alpha: 2\.0, x: float32\[3\], .*\): y is float32\[4\], expected "
        r"shape \(n = 3,\)",
    ),
    "dtypes that differ": (
        lambda m, x: m.cumulate(x, jnp.ones(3, jnp.int32)),
        r"cpu\.cumulate: total is int32\[3\], expected float32",
    ),
    "a dtype that no variant has": (
        lambda m, x: m.axpby(2.0, x.astype(jnp.int32), 3.0, x.astype(jnp.int32)),
        r"x is int32\[3\], expected float32 \| float64, shape \(n,\), CPU",
    ),
    "rank": (lambda m, x: m.scale(x[None], 2.0), r"x is float32\[1, 3\], expected shape \(n,\)"),
    "too few dimensions": (
        lambda m, x: m.row_sums(x),
        r"x is float32\[3\], expected float32 \| float64, shape \(rows, 3\), CPU",
    ),
    "fixed size": (lambda m, x: m.twos(jnp.ones((2, 4), jnp.float32)), r"expected shape \(rows = 2, 3\)"),
    "choice": (
        lambda m, x: m.activated(x, "nonsense", None),
        'kind is \'nonsense\', expected "identity", "relu" or "negate"',
    ),
    "choice of a number": (lambda m, x: m.product(x, x, 7), r"power is 7, expected 1 or 2"),
    "dtype of an output": (
        lambda m, x: m.row_sums(x[None], out_dtype=jnp.int32),
        r"out is int32\[1\], expected float32 \| float64, shape \(rows,\), CPU",
    ),
    "no array": (lambda m, x: m.scale(None, 2.0), r"x is None, expected an array"),
    "a list": (lambda m, x: m.scale([1.0], 2.0), r"cpu\.scale: x is list, expected an array"),
    "a word for a number": (lambda m, x: m.scale(x, "two"), r"factor is 'two', expected float32"),
    "an array for a number": (
        lambda m, x: m.scale(x, np.ones(2)),
        r"factor is an array of shape \(2,\), expected one value",
    ),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("how", ["eager", "eval_shape", "lower"])
def test_what_no_variant_takes_is_refused_while_it_is_traced(module: ModuleType, what: str, how: str) -> None:
    call, message = WRONG[what]
    x = vector(1, 2, 3)
    ways: dict[str, Callable[[], Any]] = {
        "eager": lambda: call(module, x),
        "eval_shape": lambda: jax.eval_shape(lambda x: call(module, x), x),
        "lower": lambda: jax.jit(lambda x: call(module, x)).lower(x),
    }
    with pytest.raises(TypeError, match=rf"{message}(\n|$)"):  # JAX has more lines to add
        ways[how]()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((2, 1, 0.5), "flag is 2, out of the range of bool"),
        ((True, 2**63, 0.5), "count is 9223372036854775808, out of the range of int64"),
        ((True, 10**30, 0.5), f"count is {10**30}, out of the range of int64"),
        ((True, 1, 1e300), r"ratio is 1e\+300, out of the range of float32"),
        ((True, 1, 3.4028235677973366e38), r"ratio is 3\.40\d+e\+38, out of the range of float32"),
        ((True, 1, 10**30), f"ratio is {10**30}, out of the range of float32"),
    ],
)
def test_numbers_out_of_range_are_refused_while_traced(
    module: ModuleType, numbers: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=rf"^cpu\.fill: {message}(\n|$)"):
        jax.eval_shape(lambda x: module.fill(x, *numbers), jnp.zeros(3, jnp.float64))


def test_what_is_remembered_of_accepted_calls_has_an_end(module: ModuleType) -> None:
    require = sys.modules[f"{module.__name__}._runtime"]._Requirements("cpu.fill")
    for number in range(1000):
        require([jnp.zeros(3, jnp.float64), True, 1, float(number)])
        assert 0 < len(require._accepted) <= 256
    with pytest.raises(TypeError, match=r"^cpu\.fill: ratio is 'much'"):
        require([jnp.zeros(3, jnp.float64), True, 1, "much"])


def test_numbers_at_the_end_of_a_range_arrive(module: ModuleType, run: Any) -> None:
    for numbers in ((1, -(2**63), 3.4028235677973362e38), (0, 2**63 - 1, float("-inf"))):
        made = run(lambda out, numbers=numbers: module.fill(out, *numbers), jnp.zeros(3))
        assert made.tolist() == [float(numbers[0]), float(numbers[1]), float(np.float32(numbers[2]))]


def test_outputs_that_cannot_be_told_yet_are_not_shown(module: ModuleType) -> None:
    with pytest.raises(
        TypeError, match=r"for \(alpha: 1\.0, x: None, beta: 1\.0, y: float32\[1\]\): x is None"
    ):
        module.axpby(1.0, None, 1.0, vector(1))


def test_arrays_are_canonicalised_before_their_dtype_is_taken(module: ModuleType) -> None:
    with jax.enable_x64(False):
        x = np.array([1.0, 2.0])
        made = module.axpby(2.0, x, 3.0, x)
        assert (made.dtype, made.tolist()) == (jnp.float32, [5.0, 10.0])
        assert module.activated(x, "negate", None).tolist() == [-1.0, -2.0]
        assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "two", [np.float32(2), jnp.float32(2), np.array(2.0), jnp.array(2), jnp.bfloat16(2)], ids=repr
)
def test_numbers_may_be_arrays_of_one_value(module: ModuleType, two: Any) -> None:
    assert module.scale(vector(1, 3), two).tolist() == [2.0, 6.0]
    assert jax.jit(lambda x: module.scale(x, two))(vector(1, 3)).tolist() == [2.0, 6.0]


def test_a_function_for_the_gpu_says_so_on_the_cpu(module: ModuleType) -> None:
    """As it would be declared if the kernel were one for the GPU."""

    def scale(x: Any, factor: float) -> Any:
        return ()

    scale.__annotations__ = {"x": "Array", "factor": "float", "return": "Array"}
    declared = module._runtime.function("cpu.scale", (0, 1), "gpu", changes=("x",))(scale)
    with pytest.raises(ValueError, match=r"^cpu\.scale: x is on the CPU, expected on the GPU"):
        declared(vector(1, 2), 2.0)
    with pytest.raises(Exception, match=r"cpu\.scale is compiled for the GPU, and is run on the CPU"):
        jax.jit(lambda x: declared(x, 2.0))(vector(1, 2)).block_until_ready()


@pytest.mark.parametrize("missing", ["jax", "jax_tvm_ffi"])
def test_what_is_missing_is_named_with_the_pip_command(run_apart: Callable[[str], str], missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
try:
    import framed.jax
except ImportError as error:
    print(type(error).__name__, error)
"""
    said = run_apart(code)
    assert said.startswith(
        "ImportError framed.jax needs JAX and jax-tvm-ffi, one of which cannot be imported ("
    )
    assert missing in said
    assert said.endswith("): pip install 'jax>=0.7.2' 'jax-tvm-ffi>=0.1.3,<0.2'")


def test_the_module_can_be_loaded_again(run_apart: Callable[[str], str]) -> None:
    code = """
import sys, jax.numpy as jnp
for _ in range(3):
    import framed.jax
    print(framed.jax.scale(jnp.array([1.0, 2.0], jnp.float32), 3.0).tolist())
    for name in [name for name in sys.modules if name.startswith("framed")]:
        del sys.modules[name]
"""
    assert run_apart(code).splitlines() == ["[3.0, 6.0]"] * 3


def test_a_lack_of_memory_is_no_wrong_type(run_apart: Callable[[str], str], framed_output: Path) -> None:
    code = f"""
import ctypes, resource, tvm_ffi, framed.cpu
from pathlib import Path
library = ctypes.CDLL({str(framed_output / "framed" / "lib" / "libframed.so")!r})
runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())

class Value(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_uint64)]

class Error(ctypes.Structure):
    _fields_ = [("header", ctypes.c_uint64 * 3)]
    _fields_ += [(name, ctypes.c_void_p if i % 2 == 0 else ctypes.c_size_t)
                 for i, name in enumerate(("kind", "kind_size", "message", "message_size"))]

function = Value(68, 0, framed.cpu.scale.__chandle__())
resource.setrlimit(resource.RLIMIT_AS, (1 << 34, resource.RLIM_INFINITY))
# What it makes for so many arguments does not fit; it looks at none of them before it has the memory.
returned = library.__tvm_ffi_framed___arranged(None, ctypes.byref(function), 2**31 - 1, ctypes.byref(Value()))
error = ctypes.POINTER(Error)()
runtime.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
kind, message = (error[0].kind, error[0].kind_size), (error[0].message, error[0].message_size)
print(returned, ctypes.string_at(*kind), ctypes.string_at(*message))
"""
    assert run_apart(code) == "-1 b'MemoryError' b'out of memory'"

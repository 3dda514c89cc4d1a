"""Calls that the library makes itself, without tvm-ffi's conversions, and those that it leaves to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.xdist_group("torch")

COUNTING = """
import ctypes, sys, threading, time
import numpy as np
import torch, framed, framed.torch as native
from framed import _calls, cpu as plain

turn = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
tensors = 0
kept = []

def counted_exchange_of(kind):
    address = _calls.exchange_of(kind)
    if not address:
        return 0
    theirs = (ctypes.c_uint64 * 7).from_address(address)
    def counting(tensor, into):
        global tensors
        tensors += 1
        try:
            return turn(theirs[5])(tensor, into)
        except Exception:  # ctypes would call it a success
            return -1
    mine, function = (ctypes.c_uint64 * 7)(*theirs), turn(counting)
    mine[5] = ctypes.cast(function, ctypes.c_void_p).value
    kept.extend((mine, function))
    return ctypes.addressof(mine)

library = ctypes.CDLL(framed.__path__[0] + "/lib/libframed.so")
state = _calls._State.in_dll(library, "framed__python")
state._exchange_of = id(counted_exchange_of)

def called(function, *arguments):
    global tensors
    tensors = 0
    try:
        function(*arguments)
    except Exception as error:
        return tensors, type(error), str(error)
    return tensors, None, ""

x, y, out = torch.arange(3.0), torch.ones(3), torch.zeros(3)
assert called(plain.axpby, 1.0, x, 1.0, y, out)[0] == 0, "the first tensor is tvm-ffi's"
assert called(plain.axpby, 1.0, x, 1.0, y, out)[0] == 3, "so is no other"
out.zero_()
"""
"""Counts the tensors that the library turns itself."""

AFTER_ITS_MODULES = """
import gc, sys
import torch
import framed.cpu

axpby, x = framed.cpu.axpby, torch.ones(3)
for name in [name for name in sys.modules if name.startswith("framed")]:
    del sys.modules[name]
del framed
gc.collect()
spoil = [bytearray(range(64)) * (1 + i % 32) for i in range(100_000)]

def called(*arguments, **keywords):
    try:
        return axpby(*arguments, **keywords)
    except Exception as error:
        return type(error).__name__

class Own(torch.Tensor):
    pass

own = x.as_subclass(Own)
print(called(1.0, x, 1.0, x, x), called(1.0), called(alpha=1.0), called(1.0, own, 1.0, own, x))
"""

SURFACES = pytest.mark.parametrize("surface", ["plain", "native"])


@SURFACES
def test_what_the_library_does_not_know_is_left_to_tvm_ffi(
    run_apart: Callable[[str], str], surface: str
) -> None:
    code = f"""
for given in [x, torch.nn.Parameter(x), x.numpy(), torch.from_numpy(x.numpy())]:
    called({surface}.axpby, 2.0, given, 3, y, out)  # now the type is known
    for two in (2.0, 2, np.float64(2), np.float32(2), True):
        expected = 2 * x + 3
        if two is True:
            expected = x + 3
        out.zero_()
        count, *error = called({surface}.axpby, two, given, 3, y, out)
        assert torch.equal(out, expected), (two, given, error)
        is_known = type(two) in (float, int, bool) and isinstance(given, torch.Tensor)
        assert count == (3 if is_known else 0), (two, given, count)
print("right")
"""
    assert run_apart(COUNTING + code) == "right"


@SURFACES
def test_errors_are_those_of_calls_that_tvm_ffi_makes(run_apart: Callable[[str], str], surface: str) -> None:
    """Nothing runs twice, and nothing is said differently."""
    code = f"""
wrong = [
    (2.0, x, 3.0, y, torch.zeros(4)),
    (2.0, x.int(), 3.0, y, out),
    (2.0, x[::2], 3.0, y, out),
    (2.0, x, "a", y, out),
    (2.0, x, "\\ud800", y, out),
    (2.0, x, 3.0, y, "a\\0b"),
    (2.0, x, None, y, out),
    (2.0, x, 3.0, y, None),
    (2.0, 1.0, 3.0, y, out),
    (2.0, x, 3.0, y),
    (2.0, x, 3.0, y, out, out),
    (2**70, x, 3.0, y, out),
    (2.0, x, 3.0, y, *[out] * 40),
    (),
]
errors = [called({surface}.axpby, *arguments) for arguments in wrong]
function_at, state._function_at = state._function_at, 0
for arguments, (count, *error) in zip(wrong, errors):
    known, *expected = called(plain.axpby, *arguments)
    assert error == expected and error[0] is not None and not known, (arguments, error, expected)
assert not out.any()
print("right", max(count for count, *_ in errors))
"""
    assert run_apart(COUNTING + code) == "right 4"


@SURFACES
def test_families_are_called_by_name(run_apart: Callable[[str], str], surface: str) -> None:
    code = f"""
x -= 1
print(called({surface}.activated, x, "relu", None, out)[0], out.tolist())
print(called({surface}.activated, x, "negate", y, out)[0], out.tolist())
wrong = x, "nonsense", y, out
mine = called({surface}.activated, *wrong)[1:]
state._function_at = 0
print(mine == called(plain.activated, *wrong)[1:])
"""
    lines = run_apart(COUNTING + code).splitlines()
    assert lines == ["2 [0.0, 0.0, 1.0]", "3 [2.0, 1.0, 0.0]", "True"]


def test_references_are_given_back(run_apart: Callable[[str], str]) -> None:
    code = """
wrong = torch.arange(3)
objects = (x, wrong, plain.scale, None, 2.0)
def counts():
    return [sys.getrefcount(item) for item in objects]
for tensor in objects[:2]:
    called(plain.scale, tensor, 2.0)
    before = counts()
    for _ in range(1_000):
        called(plain.scale, tensor, 2.0)
    assert max(abs(a - b) for a, b in zip(before, counts())) < 100, (before, counts())
print("right")
"""
    assert run_apart(COUNTING + code) == "right"


@pytest.mark.parametrize("releases", [True, False])
def test_others_run_meanwhile_if_the_function_lets_them(
    run_apart: Callable[[str], str], releases: bool
) -> None:
    code = f"""
sys.setswitchinterval(1e-4)
x = torch.ones(50_000_000)
plain.scale.release_gil = {releases}
ticks, done = [], threading.Event()
def tick():
    while not done.is_set():
        ticks.append(time.monotonic())
        time.sleep(0)
thread = threading.Thread(target=tick)
thread.start()
start = time.monotonic()
count, *_ = called(plain.scale, x, 1.0)
end = time.monotonic()
done.set()
thread.join()
quarter = (end - start) / 4
print(count, sum(start + quarter < tick < end - quarter for tick in ticks) > 0)
"""
    assert run_apart(COUNTING + code) == f"1 {releases}"


def test_all_types_that_are_not_known_are_tvm_ffis(run_apart: Callable[[str], str]) -> None:
    """Hundreds of types have the places of others among those that are remembered."""
    code = """
kinds = [type(f"T{number}", (torch.Tensor,), {}) for number in range(300)]
counts = []
for again in range(2):
    for kind in kinds:
        out.zero_()
        count, *error = called(plain.axpby, 2.0, x.as_subclass(kind), 3.0, y, out)
        assert torch.equal(out, 2 * x + 3), (kind, error)
        counts.append(count)
print(set(counts[:300]) <= {0, 1, 2, 3}, len(counts))
"""
    assert run_apart(COUNTING + code) == "True 600"


def test_the_stream_is_set_and_restored(run_apart: Callable[[str], str]) -> None:
    """The first tensor that is not on the CPU says which it is. Here one only says that it is on a GPU."""
    code = """
of_device = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
asked, during = [], []
env = ctypes.CDLL(None)
env.TVMFFIEnvGetStream.restype = ctypes.c_void_p

@turn
def on_a_gpu(tensor, into):
    code = turn(torch_exchange[5])(tensor, into)
    ctypes.c_int32.from_address(into + 8).value = 2
    ctypes.c_int32.from_address(into + 12).value = 3
    return code

@of_device
def stream_of(kind, number, into):
    asked.append((kind, number))
    ctypes.c_uint64.from_address(into).value = 0x1234
    return 0

class There(torch.Tensor):
    pass

torch_exchange = (ctypes.c_uint64 * 7).from_address(_calls.exchange_of(torch.Tensor))
there = (ctypes.c_uint64 * 7)(*torch_exchange)
there[5], there[6] = (ctypes.cast(f, ctypes.c_void_p).value for f in (on_a_gpu, stream_of))
exchange_of = lambda kind: ctypes.addressof(there) if kind is There else counted_exchange_of(kind)
state._exchange_of = id(exchange_of)
z = x.as_subclass(There)
called(plain.axpby, 1.0, z, 1.0, y, out)
import tvm_ffi
tvm_ffi.core._env_set_current_stream(2, 3, 0x99)
for _ in range(2):
    print(called(plain.axpby, 1.0, y, 1.0, z, out)[2].partition(";")[0])
print(asked, hex(tvm_ffi.core._env_get_current_stream(2, 3)))
"""
    lines = run_apart(COUNTING + code).splitlines()
    assert all(line.startswith("y is Tensor([3], float32, cuda:3), expected ") for line in lines[:2]), lines
    assert lines[2] == "[(2, 3), (2, 3)] 0x99"


def test_an_exchange_that_fails_is_left_to_tvm_ffi(run_apart: Callable[[str], str]) -> None:
    code = """
quantized = torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)
for given in (x.to_sparse(), x.to("meta"), torch.ones(3, dtype=torch.complex32), quantized):
    mine = called(plain.scale, given, 2.0)
    function_at, state._function_at = state._function_at, 0
    theirs = called(plain.scale, given, 2.0)
    state._function_at = function_at
    assert mine[1:] == theirs[1:] and mine[1] is not None, (mine, theirs)
print("right")
"""
    assert run_apart(COUNTING + code) == "right"


def test_functions_outlive_the_modules_of_their_package(run_apart: Callable[[str], str]) -> None:
    """Whoever cleans ``sys.modules`` may have kept some; the library refers to what those modules made."""
    assert run_apart(AFTER_ITS_MODULES).split() == ["None", "TypeError", "TypeError", "None"]


@SURFACES
def test_what_contains_itself_is_refused(run_apart: Callable[[str], str], surface: str) -> None:
    """tvm-ffi would take it apart until the stack ends."""
    code = f"""
endless, around, deep, flat = [], {{}}, 1, 1
endless.append(endless)
around[1] = (around,)
for _ in range(21):
    deep = (deep,)
for _ in range(20):
    flat = [flat]
for given in (endless, around, deep, (1, endless)):
    print(*called({surface}.axpby, 1.0, given, 1.0, y, out)[1:])
print(*called({surface}.axpby, 1.0, x, 1.0, y, out, endless)[1:])
print(called({surface}.axpby, 1.0, flat, 1.0, y, out)[1])
"""
    lines = run_apart(COUNTING + code).splitlines()
    refusal = "<class 'ValueError'> {} nests more than 20 levels deep, or contains itself"
    assert lines == [*[refusal.format("x")] * 4, refusal.format("argument 6"), "<class 'TypeError'>"]

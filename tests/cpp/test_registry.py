"""Functions that Python registers, found and called by C in the same process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cpp.compilers import GCC_C

NATIVE = """
#include <stddef.h>
#include <tvm/ffi/c_api.h>

int call_by_name(const char* name, size_t length, void* x, double factor, void* out);

int call_by_name(const char* name, size_t length, void* x, double factor, void* out) {
  const TVMFFIByteArray wanted = {name, length};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny arguments[3], result;
  int code = TVMFFIFunctionGetGlobal(&wanted, &function);
  if (code != 0 || function == NULL) return 1;
  for (int i = 0; i < 3; ++i) arguments[i].zero_padding = 0;
  arguments[0].type_index = arguments[2].type_index = kTVMFFIDLTensorPtr;
  arguments[1].type_index = kTVMFFIFloat;
  arguments[0].v_ptr = x;
  arguments[1].v_float64 = factor;
  arguments[2].v_ptr = out;
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  code = TVMFFIFunctionCall(function, arguments, 3, &result);
  TVMFFIObjectDecRef(function);
  return code;
}
"""

PYTHON = """
import ctypes, sys
import numpy as np
import tvm_ffi
import cute_kernels

name = "cute_kernels.host_positional_only"
assert tvm_ffi.get_global_func(name, allow_missing=True) is None
cute_kernels.register_functions()
cute_kernels.register_functions()  # a second time changes nothing

x, out = np.array([1, 2], np.float32), np.zeros(2, np.float32)
tvm_ffi.get_global_func(name)(x, 3.0, out)
assert out.tolist() == [3, 6], out

native = ctypes.CDLL(sys.argv[1]).call_by_name
native.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p)
given, got = tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out)
# A tensor object begins with its header, and goes on with the DLTensor.
address = lambda tensor: tensor.__chandle__() + 24
entered = []
note = entered.append
sys.setprofile(lambda frame, event, argument: note(frame.f_code.co_name) if event == "call" else None)
first, second = address(given), address(got)
entered.clear()
code = native(name.encode(), len(name), first, 5.0, second)
sys.setprofile(None)
assert code == 0 and out.tolist() == [5, 10], (code, out)
assert not entered, entered

names = set(tvm_ffi.registry.list_global_func_names())
kernels = {f"cute_kernels.{name}" for name in vars(cute_kernels.host) if name.startswith("host_")}
assert kernels and kernels <= names, kernels - names
"""


def test_c_calls_what_python_registered_without_entering_python(package: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "native.c", tmp_path / "native.so"
    source.write_text(NATIVE)
    options = ("-shared", "-fPIC")
    GCC_C.build(library, [source], standard="c11", include=package / "include", options=options)
    done = subprocess.run(
        [sys.executable, "-c", PYTHON, library],
        env={"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr

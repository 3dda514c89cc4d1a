"""The private corners of the DSL that the tool must touch, and nothing else.

Written against nvidia-cutlass-dsl 4.7.1 and 4.8.1. :func:`check` looks for every private name before anything
is compiled, so that another version fails with a clear message rather than somewhere inside.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
import traceback
import types
import typing
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import cutlass.base_dsl.compiler as dsl_compiler
import cutlass.base_dsl.runtime.cuda as dsl_cuda
import cutlass.base_dsl.tvm_ffi_builder as ffi_builder
import cutlass.cute._tvm_ffi_args_spec_converter as converter
from cuda.bindings.driver import CUstream
from cutlass import AddressSpace, cute
from cutlass._mlir import ir
from cutlass.base_dsl import Arch
from cutlass.base_dsl.common import DSLBaseError
from cutlass.base_dsl.runtime.jit_arg_adapters import is_arg_annotation_constexpr
from cutlass.base_dsl.tvm_ffi_builder import spec
from cutlass.base_dsl.tvm_ffi_builder.tvm_ffi_builder import TVMFFIFunctionBuilder as FunctionBuilder
from cutlass.cutlass_dsl import CuTeDSL, is_cute_algebra_type
from cutlass.runtime import _FakeStream
from cutlass.utils import HardwareInfo
from tvm_ffi.utils import kwargs_wrapper

from stubgen.compiler.worker.device import DeviceAnswers
from stubgen.compiler.worker.dsl import argument_checks, size_names
from stubgen.compiler.worker.errors import PROJECT

_REQUIRED: tuple[tuple[object, str], ...] = (
    (ffi_builder, "attach_ffi_func"),
    (converter, "ConverterContext"),
    (converter, "AcceptableNumericTypesForScalar"),
    (converter, "NumericToTVMFFIDtype"),
    (converter.ConverterContext, "alloc_or_reuse_symint_var"),
    (converter, "_convert_single_arg"),
    (converter, "_tvm_ffi_args_spec_converter"),
    (spec, "create_map_tensor_dtype_f4x2_to_f4_spec"),
    (CuTeDSL, "_get_dsl"),
    (CuTeDSL, "mangle_name"),
    *argument_checks.REQUIRED,
    (dsl_compiler, "_parse_compile_options_from_str"),
    (dsl_cuda, "_get_gpu_arch_info"),
    (dsl_cuda, "get_device_attribute"),
    (ir.Location, "file"),
    (HardwareInfo, "get_max_active_clusters"),
    (HardwareInfo, "get_device_multiprocessor_count"),
    (HardwareInfo, "get_l2_cache_size_in_bytes"),
)


def check() -> str | None:
    """Name the first private corner that the installed DSL lacks, if there is one."""
    for owner, name in _REQUIRED:
        if not hasattr(owner, name):
            return f"{getattr(owner, '__name__', owner)}.{name}"
    if "fn_display_name" not in inspect.signature(ffi_builder.attach_ffi_func).parameters:
        return "the parameter fn_display_name of attach_ffi_func"
    if "_fn_call_context" not in inspect.get_annotations(FunctionBuilder):
        return "TVMFFIFunctionBuilder._fn_call_context"
    if not is_jit(cute.jit(lambda: None)) or not is_kernel(cute.kernel(lambda: None)):
        return "a mark of what a function is decorated with"
    return None


def known_archs() -> tuple[str, ...]:
    """Return the names of all architectures that the DSL compiles for."""
    return tuple(Arch.__members__)


def set_arch(arch: str) -> None:
    """Set the architecture that kernels see while they are built; ``--gpu-arch`` alone does not do that."""
    CuTeDSL._get_dsl().envar.arch = arch


def detect_arch() -> str | None:
    """Return the architecture of the machine's GPU, or ``None`` if it has none."""
    major, minor = dsl_cuda.get_compute_capability_major_minor()
    if major is None or minor is None:
        return None
    return str(dsl_cuda._get_gpu_arch_info(major, minor)[1])


def is_jit(fn: Any) -> bool:
    """Return whether a function is decorated with ``@cute.jit``."""
    return _decorator_kind(fn) == "jit"


def is_kernel(fn: Any) -> bool:
    """Return whether a function is decorated with ``@cute.kernel``, and so runs on the GPU."""
    return _decorator_kind(fn) == "kernel"


def is_own_wrapper(fn: Any) -> bool:
    """Return whether a function that wraps another is the DSL's own, as its decorators make them."""
    module = str(getattr(fn, "__globals__", {}).get("__name__"))
    return module.partition(".")[0] == "cutlass"


def is_compile(value: Any) -> bool:
    """Return whether this is ``cute.compile``, with options in brackets or without."""
    return isinstance(value, type(cute.compile))


def _decorator_kind(fn: Any) -> str | None:
    kind = getattr(fn, "_decorator_kind", None)
    if kind is not None or not hasattr(fn, "_dsl_cls"):
        return kind
    # DSL 4.7 notes it nowhere; the function that its decorators wrap others in knows what to call.
    while fn is not None:
        outer = getattr(getattr(fn, "__code__", None), "co_freevars", ())
        if "executor_name" in outer:
            called = fn.__closure__[outer.index("executor_name")].cell_contents
            return "kernel" if called == "_kernel_helper" else "jit"
        fn = getattr(fn, "__wrapped__", None)
    return None


def is_constexpr(annotation: Any, name: str) -> bool:
    """Return whether a parameter with this annotation is a compile-time constant."""
    return bool(is_arg_annotation_constexpr(annotation, name, 1, None))


def is_numeric_type(value: Any) -> bool:
    """Return whether this is one of the DSL's number types, such as ``cutlass.Float32``."""
    return isinstance(value, type) and issubclass(value, cute.typing.Numeric)


def is_concrete_type(value: Any) -> bool:
    """Return whether this is a number type that has a width, unlike ``cutlass.Numeric``."""
    return is_numeric_type(value) and value not in _ABSTRACT


def is_scalar_type(value: Any) -> bool:
    """Return whether this is a number type that an argument can be passed as by value."""
    return isinstance(value, type) and value in converter.AcceptableNumericTypesForScalar


def is_shape_type(annotation: Any) -> bool:
    """Return whether this is ``cute.Shape``, or another annotation for tuples of integers."""
    return bool(is_cute_algebra_type(annotation))


def is_union(annotation: Any) -> bool:
    """Return whether an annotation offers several types."""
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


_ABSTRACT = (cute.typing.Numeric, cute.typing.Integer, cute.typing.Float)

_PLAIN: dict[type, Any] = {
    bool: cute.typing.Boolean,
    int: cute.typing.Int32,
    float: cute.typing.Float32,
}


def type_of_plain(python_type: Any) -> Any:
    """Return the type that the DSL makes of a plain Python number; ``None`` for other types."""
    return _PLAIN.get(python_type) if isinstance(python_type, type) else None


def tvm_ffi_dtype(numeric: Any) -> str | None:
    """Return tvm-ffi's name for a number type, or ``None`` if it has none."""
    name = converter.NumericToTVMFFIDtype.get(numeric)
    return None if name is None else str(name)


def numeric_type(name: str) -> Any:
    """Return the number type that tvm-ffi calls by a name, or ``None`` if there is none."""
    return next((t for t, known in converter.NumericToTVMFFIDtype.items() if known == name), None)


def is_kind_of(annotation: Any, python_type: Any) -> bool:
    """Return whether an annotation is a number type, of any width, of the kind that a Python type is."""
    if python_type is bool or annotation is cute.typing.Boolean:
        return python_type is bool and annotation is cute.typing.Boolean
    kind = {int: cute.typing.Integer, float: cute.typing.Float}.get(python_type)
    return kind is not None and is_scalar_type(annotation) and issubclass(annotation, kind)


def plain(value: Any) -> Any:
    """Unbox a number of the DSL's, such as ``Float32(9.0)``; other values pass through."""
    return value.value if isinstance(value, cute.typing.Numeric) else value


# ---------------------------------------------------------------------------------------------------------
# Arguments, as ``cute.compile`` takes them

TENSOR, POINTER, STREAM = cute.Tensor, cute.Pointer, CUstream
"""What authors annotate arguments with."""

RESERVED_PARAMETERS: frozenset[str] = frozenset(kwargs_wrapper._INTERNAL_NAMES)
"""Names that tvm-ffi's keyword wrappers use themselves."""

_own_converters = (converter._convert_single_arg, converter._tvm_ffi_args_spec_converter)


def converts_arguments_itself() -> bool:
    """Return whether no library has replaced what turns arguments into the ABI, as some do to extend it."""
    return _own_converters == (converter._convert_single_arg, converter._tvm_ffi_args_spec_converter)


def is_argument(value: Any) -> bool:
    """Return whether this is, or contains, what a compiled function can be called with."""
    if value is None or isinstance(value, _ARGUMENTS):
        return True
    return hasattr(value, "__dataclass_fields__") or hasattr(value, "_struct_type")


def is_number(value: Any) -> bool:
    """Return whether this is a number of the DSL's, such as ``Float32(9.0)``."""
    return isinstance(value, cute.typing.Numeric)


def is_integer(value: Any) -> bool:
    """Return whether this is an integer of the DSL's, such as ``Int32(9)``."""
    return isinstance(value, cute.typing.Integer)


def is_symbol(value: Any) -> bool:
    """Return whether this is a size that is known only at run time."""
    return isinstance(value, cute.SymInt)


def type_of_symbol(symbol: Any) -> Any:
    """Return the number type that a size is passed as by value."""
    return cute.typing.Int64 if symbol.width == 64 else cute.typing.Int32


def is_tensor(value: Any) -> bool:
    """Return whether this is a tensor, a fake one included."""
    return isinstance(value, cute.Tensor)


def is_pointer(value: Any) -> bool:
    """Return whether this is a pointer."""
    return isinstance(value, cute.Pointer)


def is_tensor_type(annotation: Any) -> bool:
    """Return whether an annotation is for a tensor."""
    return annotation is cute.Tensor


def is_pointer_type(annotation: Any) -> bool:
    """Return whether an annotation is for a pointer."""
    return annotation is cute.Pointer


def is_gpu_tensor(value: Any) -> bool:
    """Return whether this is a tensor that does not lie in the host's memory."""
    return is_tensor(value) and value.memspace != AddressSpace.generic


def is_stream_type(annotation: Any) -> bool:
    """Return whether an annotation is for a stream."""
    return annotation is CUstream or (is_union(annotation) and CUstream in typing.get_args(annotation))


def is_stream(value: Any) -> bool:
    """Return whether this stands for a stream."""
    return isinstance(value, _FakeStream)


def is_env_stream(value: Any) -> bool:
    """Return whether this stands for the stream that tvm-ffi's environment holds."""
    return is_stream(value) and bool(value.use_tvm_ffi_env_stream)


_ARGUMENTS: tuple[type, ...] = (
    int,
    float,
    tuple,
    list,
    cute.Tensor,
    cute.Pointer,
    cute.SymInt,
    cute.typing.Numeric,
    _FakeStream,
    CUstream,
)


# ---------------------------------------------------------------------------------------------------------
# Compiling


@dataclass
class Recorded:
    """What the compiler really used."""

    params: Sequence[Any] = ()
    """The spec parameters that the ABI was built from."""
    has_device_code: bool = False


@dataclass(frozen=True)
class CompiledFunction:
    """A compiled function that has not been exported yet."""

    recorded: Recorded
    _compiled: Any

    def export_ir(self, path: str, name: str) -> None:
        """Write its host code, with the device code inside, as LLVM IR; ``__tvm_ffi_<name>`` is its symbol.

        IR rather than an object: the DSL compiles objects for the CPU of the machine that it runs on.
        """
        self._compiled.export_to_c(path, name, export_only_tvm_ffi_symbols=True)


def compile_function(
    fn: Any, bound: inspect.BoundArguments, *, name: str, arch: str | None, options: str
) -> CompiledFunction:
    """Compile a function under a name of our choosing, and record the ABI that the compiler used.

    The options have to be a string: classes in brackets are ignored, and without TVM-FFI, what comes back
    could not be exported. It cannot be called: machine code for the process itself, which nobody would run,
    takes as long as all the rest.
    """
    flags = ["--enable-tvm-ffi", *([f"--gpu-arch {arch}"] if arch else []), options]
    with _recording(name) as recorded:
        compiled = cute.compile(
            fn, *bound.args, **bound.kwargs, options=" ".join(filter(None, flags)), no_jit_engine=True
        )
    return CompiledFunction(recorded, compiled)


@contextlib.contextmanager
def _recording(display_name: str) -> Generator[Recorded, None, None]:
    """Record the spec that the compiler builds the ABI from, and put our name into its error messages.

    Hooked in where the ABI is built and not where arguments are converted: libraries replace the converter.
    """
    recorded = Recorded()
    attach: Callable[..., None] = ffi_builder.attach_ffi_func

    def record(module: Any, symbol_name: str, params: Sequence[Any], call_provider: Any, **_: Any) -> None:
        size_names.name_apart(params)
        recorded.params = tuple(params)
        recorded.has_device_code = bool(call_provider.has_gpu_module)
        attach(module, symbol_name, params, call_provider, fn_display_name=display_name)

    ffi_builder.attach_ffi_func = record
    try:
        yield recorded
    finally:
        ffi_builder.attach_ffi_func = attach


def name_functions_in_ascii() -> None:
    """Let functions, classes and constants have any name; the DSL loses symbols that are not ASCII."""
    mangle = CuTeDSL.mangle_name

    def mangle_name(self: Any, *arguments: Any) -> str:
        return re.sub(r"[^ -~]", lambda match: f"_u{ord(match[0]):x}_", mangle(self, *arguments))

    CuTeDSL.mangle_name = mangle_name


def shorten_paths(project: str) -> None:
    """Name source files by their paths below the project, or else below the folder that Python found them in.

    Line information has these names in it, and must not depend on where things lie. They must not lead to a
    file either: the assembler would add its time and size.
    """
    file = ir.Location.file

    @functools.cache
    def shortened(filename: str) -> str:
        folders = [
            (project, PROJECT),
            *((path, "~python") for path in sorted(sys.path, key=len, reverse=True)),
        ]
        found = ((f"{name}{filename[len(path) :]}") for path, name in folders if _is_below(filename, path))
        return next(found, filename)

    ir.Location.file = lambda filename, *arguments, **more: file(shortened(filename), *arguments, **more)


def _is_below(filename: str, folder: str) -> bool:
    return bool(folder) and filename.startswith(f"{folder}/")


def keep_devices_of_packed_tensors() -> None:
    """Let tensors of 4-bit floats keep their device and alignment, which DSL 4.7 forgets as it packs them."""
    pack = spec.create_map_tensor_dtype_f4x2_to_f4_spec

    def create_map_tensor_dtype_f4x2_to_f4_spec(given: Any) -> Any:
        packed = pack(given)
        for name in ("dlpack_device_type", "device_type_name", "device_id", "data_alignment"):
            setattr(packed, name, getattr(given, name))
        return packed

    spec.create_map_tensor_dtype_f4x2_to_f4_spec = create_map_tensor_dtype_f4x2_to_f4_spec


# ---------------------------------------------------------------------------------------------------------
# Errors


def is_own_error(error: BaseException) -> bool:
    """Return whether the DSL raised this with a message of its own."""
    return isinstance(error, DSLBaseError)


def launched_without_stream(error: BaseException) -> bool:
    """Return whether an error was raised while a kernel was launched on the stream ``None``."""
    configs = (frame.f_locals.get("config") for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(getattr(config, "async_deps", ...) is None for config in configs)


# ---------------------------------------------------------------------------------------------------------
# The device


def answer_for_device(answers: DeviceAnswers) -> None:
    """Let a profile answer what kernels ask of the GPU while they are built.

    Covers ``cutlass.utils.HardwareInfo`` and the DSL's own attribute queries; with torch's, which
    :mod:`stubgen.compiler.worker.device` replaces, that was enough for all of 78 published kernels.
    """

    def init(self: Any, device_id: int = 0) -> None:
        self.device_id = device_id

    HardwareInfo.__init__ = init
    HardwareInfo.get_max_active_clusters = lambda _self, size, stream=None: answers.max_active_clusters(size)
    HardwareInfo.get_l2_cache_size_in_bytes = lambda _self: answers.profile.l2_cache
    HardwareInfo.get_device_multiprocessor_count = lambda _self: answers.profile.sm_count
    dsl_cuda.get_device_attribute = lambda attribute, device_id=0: answers.attribute(attribute.name)

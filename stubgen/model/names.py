"""Which names the generated Python, C and C++ files can use."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import functools
import keyword
import re
import sys

_C_AND_CPP = frozenset(
    # Keywords and alternative tokens, and macros of headers that the generated ones include.
    """
    alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break
    case catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit
    const_cast continue contract_assert co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch synchronized template this thread_local throw true try typedef typeid typename typeof
    typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
    NULL EOF INFINITY NAN EDOM ERANGE EILSEQ assert errno stdin stdout stderr linux unix i386
    """.split()  # noqa: SIM905  # a list of a hundred quoted words is harder to read and to check
)

_MACRO = re.compile(
    # Two or more words in capitals, error numbers, and families and single macros that are spelled otherwise.
    r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|E[A-Z0-9]{2,}|([LP]|SYS)_\w*[a-z0-9]|M_[A-Z0-9_]+[a-z][0-9x]*|W[A-Z]{3,}"
    r"|S?NAN[FL]?[0-9X]*|BUFSIZ|CSIGNAL|HUGE|I|MAXFLOAT|math_errhandling|NFDBITS|NZERO|sched_priority"
)
"""Macros of glibc and tvm-ffi that take no arguments: where one is defined, its name means something else."""

_USED_BY_STUBS = frozenset({"Literal", "Pointer", "Stream", "Tensor", "bool", "float", "int", "tuple"})
"""Names that the stubs refer to at the level where kernels are defined."""

_USED_BY_MODULES = frozenset(
    {
        "_NamedTuple",
        "_Protocol",
        "_TypedDict",
        "_dataclass",
        "_family",
        "_field",
        "_keywords",
        "_native",
        "_of_build",
        "_overload",
        "_positional",
    }
)
"""Private names that generated modules use beside the kernels."""

_OTHERS_PACKAGES = frozenset({"cuda", "cupy", "cutlass", "jax", "numpy", "stubgen", "torch", "tvm_ffi"})
"""What programs that call kernels import beside the generated package."""

_OTHERS_NAMESPACES = frozenset({"main", "std", "tvm"})

_C_LIBRARIES = ("libc.so.6", "libm.so.6")

_C_TYPES = frozenset(
    """
    addrinfo dirent fd_set group hostent in_addr iovec ip_mreq itimerspec itimerval linger msghdr mode
    option passwd pollfd protoent rlimit rusage sched_param servent sigcontext sigevent siginfo sigstack
    sigval sockaddr stat statfs statvfs termio termios timespec timeval timezone tm tms uint ulong
    ushort utimbuf utsname winsize
    """.split()  # noqa: SIM905
)
"""Those of the C library whose names do not end with ``_t``."""

_MODULE_ATTRIBUTES = frozenset({"annotations"})

RESERVED_MODULES = frozenset(
    {"config", "description", "include", "jax", "kwargs", "lib", "register_functions", "runtime", "torch"}
)
"""Modules and folders that a generated package has of its own, besides private ones."""

USED_BY_HEADERS = frozenset(
    {"Number", "StreamGuard", "load_library", "register_functions", "set_stream", "take_error"}
)
"""What the generated headers define in the package's namespace beside the kernels."""


def is_reserved_in_c(name: str) -> bool:
    """Return whether C or C++ keeps a name for itself."""
    return (
        name in _C_AND_CPP
        or name.startswith("__")
        or (name.startswith("_") and name[1:2].isupper())
        or re.fullmatch(r"U?INT\w*_(C|MAX|MIN|WIDTH)", name) is not None
    )


def looks_like_macro(name: str) -> bool:
    """Return whether a header of the C library or of tvm-ffi may define a macro of that name."""
    return _MACRO.fullmatch(name) is not None


def kernel_name_error(name: str) -> str | None:
    """Say why a kernel cannot have this name, or ``None`` if it can.

    The name becomes a Python function, a C++ function and part of a symbol, unchanged.
    """
    if not name.isidentifier() or not name.isascii():
        return "it is no identifier"
    if keyword.iskeyword(name):
        return "it is a keyword in Python"
    if is_reserved_in_c(name):
        return "C or C++ keeps it for itself"
    if looks_like_macro(name):
        return "a header of the C library may define a macro of that name"
    if name in _USED_BY_STUBS or name in _MODULE_ATTRIBUTES:
        return "the generated stubs use it"
    if name in USED_BY_HEADERS:
        return "the generated headers use it"
    if name.startswith("_"):
        return "a leading underscore would make it private"
    return None


def can_name_class(name: str) -> bool:
    """Return whether a class of the author's can keep its name; ``__name__`` may be any text."""
    used = name in _USED_BY_STUBS or name in _USED_BY_MODULES or name in _MODULE_ATTRIBUTES
    return name.isidentifier() and not keyword.iskeyword(name) and not used


def _is_in_c_library(name: str) -> bool:
    """Return whether a header of the C library may declare a name that is not in any namespace."""
    return name.endswith("_t") or name in _C_TYPES or any(hasattr(lib, name) for lib in _c_libraries())


@functools.cache
def _c_libraries() -> tuple[ctypes.CDLL, ...]:
    """Load the C library, which this process has loaded; with another one than glibc's, there is none."""
    libraries: list[ctypes.CDLL] = []
    for file in _C_LIBRARIES:
        with contextlib.suppress(OSError):
            libraries.append(ctypes.CDLL(file))
    return tuple(libraries)


def is_reserved_module(name: str) -> bool:
    """Return whether a generated package has something of its own in the place of a module, with dots."""
    first, *_ = parts = name.split(".")
    return first in RESERVED_MODULES or any(part.startswith("_") for part in parts)


def module_name_error(name: str) -> str | None:
    """Return why Python cannot import a module by this name, with dots, or ``None`` if it can."""
    for part in name.split("."):
        if not part.isidentifier():
            return f"{part!r} is no identifier"
        if keyword.iskeyword(part):
            return f"{part!r} is a keyword"
    return None


def can_name_field(name: str) -> bool:
    """Return whether a field of a generated class can have this name, which hides a type so called."""
    return name not in _USED_BY_STUBS


def package_name_error(name: str) -> str | None:
    """Say why a package cannot have this name, or ``None`` if it can."""
    if not name.isidentifier() or not name.isascii():
        return "it is no identifier"
    if name != name.lower():
        return "it has capital letters"
    if keyword.iskeyword(name) or is_reserved_in_c(name) or hasattr(builtins, name):
        return "Python, C or C++ keeps it for itself"
    if name in sys.stdlib_module_names or name in _OTHERS_PACKAGES:
        return "it would hide another Python package"
    if name in _OTHERS_NAMESPACES or _is_in_c_library(name):
        return "C or C++ has a namespace, a function or a type of that name already"
    if "__" in name:
        return "two underscores separate it from the kernel's name in symbols"
    return "a leading underscore would make it private" if name.startswith("_") else None


def staging_prefix(package: str) -> str:
    """Begin the name of what lies in the output folder only while that is written."""
    return f".{package}.new-"

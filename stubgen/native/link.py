"""Makes one self-contained shared library out of the kernels' LLVM IR.

The library holds the DSL's small runtime and the CUDA runtime, if any of its kernels has device
code, and needs nothing but ``libtvm_ffi.so`` and glibc where it runs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stubgen.native import elf, host_ir
from stubgen.native.commands import ToolError
from stubgen.native.host_ir import IR
from stubgen.native.runtimes import Runtimes, find_runtimes, find_tvm_ffi
from stubgen.native.toolchain import HostTarget, Source, Toolchain
from stubgen.problems.problem import StubgenError, problem, raise_if_any
from stubgen.store import cache

# What the archives of the CUDA runtime use of glibc; before 2.34 these were libraries of their own.
_GLIBC_PARTS = ("pthread", "dl", "rt")

_ALLOWED_NEEDS = frozenset(
    {
        "libtvm_ffi.so",
        "libc.so.6",
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
        *(f"lib{part}.so.{number}" for part, number in (("pthread", 0), ("dl", 2), ("rt", 1))),
    }
)

_STATIC_RUNTIME = """\
#include <stdint.h>

extern const char* cuda_dialect_get_error_name(int error);

/* The static runtime of the DSL calls this and leaves it to others to define. It is weak so that a runtime
 * which brings its own wins. */
__attribute__((weak)) void CuteDSLRT_TVMFFISetRaisedCudaError(
    void (*set_error_from_parts)(const char* kind, const char** parts, int32_t count), int error) {
  const char* parts[2] = {"CUDA Error: ", cuda_dialect_get_error_name(error)};
  set_error_from_parts("RuntimeError", parts, 2);
}"""


@dataclass(frozen=True)
class KernelIR:
    """What the compiler made of one kernel.

    Attributes
    ----------
    name : str
        The kernel's public name; its symbol is ``__tvm_ffi_<name>``.
    ir : IR
        LLVM IR of the host code, with the device code inside.
    has_device_code : bool
        Whether it launches anything on a GPU.
    alias : str or None
        Another symbol for the same function.
    description : str or None
        What the function takes, for the C of :mod:`stubgen.render.native.refusals`, which has to be linked
        too. Without it, the function's errors stay as the compiler made them.
    """

    name: str
    ir: IR
    has_device_code: bool = True
    alias: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class Objects:
    """What a library is linked of.

    Attributes
    ----------
    own : mapping of str to bytes
        By file name, the objects of the kernels, in their order, and those of the C beside them.
    runtimes : Runtimes
        What these need.
    """

    own: Mapping[str, bytes]
    runtimes: Runtimes


def compile_objects(
    kernels: Sequence[KernelIR],
    *,
    definitions: str = "",
    sources: Mapping[str, str] | None = None,
    toolchain: Toolchain,
    host: HostTarget | None = None,
    runtimes: Runtimes | None = None,
    work: Path,
    jobs: int | None = None,
) -> Objects:
    """Compile kernels and the C beside them.

    Parameters
    ----------
    kernels
        In the order they get in the library.
    definitions
        C that goes into the library with the kernels, such as dispatchers and metadata. It may
        include ``tvm/ffi/c_api.h``.
    sources
        More such C, by name; each becomes an object of its own, which a program that is linked with a
        static archive gets only if it uses it.
    toolchain, host
        What compiles, and for which machine; by default ``HostTarget()``.
    runtimes
        What the library will be linked with; by default the static runtimes, if it has device code.
    work
        Existing folder for the objects, and the C that some are made of.
    jobs
        How many compilers run at once; by default one a CPU.

    Raises
    ------
    StubgenError
        CS401 to CS403, CS405, CS406 and CS409. Kernels that do not compile are all reported at once.
    """
    host = host or HostTarget()
    include = find_tvm_ffi().include
    device_code = any(kernel.has_device_code for kernel in kernels)
    runtimes = runtimes or find_runtimes(device_code=device_code, machine=host.machine)
    companion = companion_source(definitions, static_runtime=device_code and runtimes.library is None)
    texts = {"companion": companion, **(sources or {})}
    # The C first: that of a thousand kernels takes longer than any of them.
    compiled = _at_once(
        [
            *(
                partial(compile_source, name, text, include, toolchain, host, work)
                for name, text in texts.items()
            ),
            *_kernel_compilations(kernels, toolchain, host, work),
        ],
        jobs or os.cpu_count() or 1,
    )
    names = [f"{name}.o" for name in (*texts, *(_file_name(kernel) for kernel in kernels))]
    own = dict(zip(names, compiled, strict=True))
    for name in names[: len(texts)]:  # behind the kernels
        own[name] = own.pop(name)
    return Objects(own, runtimes)


def link_objects(
    objects: Objects,
    output: Path,
    *,
    exports: Sequence[str],
    toolchain: Toolchain,
    host: HostTarget | None = None,
) -> Path:
    """Link a shared library.

    Parameters
    ----------
    objects
        What it is made of.
    output
        The library to write; its file name becomes the soname.
    exports
        All symbols that can be seen from outside.
    toolchain, host
        What links, and for which machine; by default ``HostTarget()``.

    Returns
    -------
    Path
        ``output``.

    Raises
    ------
    StubgenError
        CS401, CS402, CS404 to CS406.
    """
    runtimes = objects.runtimes
    shared = [library for library in (runtimes.tvm_ffi, runtimes.library) if library]
    toolchain.link(
        objects.own,
        runtimes.archives,
        output,
        soname=output.name,
        exports=exports,
        library_dirs=[library.parent for library in shared],
        libraries=[
            *(library.stem.removeprefix("lib") for library in shared),
            *(_GLIBC_PARTS if runtimes.archives else ()),
        ],
        host=host or HostTarget(),
    )
    return output


def link_library(
    kernels: Sequence[KernelIR],
    output: Path,
    *,
    exports: Sequence[str],
    definitions: str = "",
    toolchain: Toolchain,
    host: HostTarget | None = None,
    work: Path,
    jobs: int | None = None,
) -> Path:
    """Compile kernels and the companion C, and link them: both steps in one.

    Takes and raises what :func:`compile_objects` and :func:`link_objects` do, and gives ``output``.
    """
    objects = compile_objects(
        kernels, definitions=definitions, toolchain=toolchain, host=host, work=work, jobs=jobs
    )
    return link_objects(objects, output, exports=exports, toolchain=toolchain, host=host)


def verify_library(
    library: Path,
    *,
    exports: Sequence[str],
    archs: Sequence[str],
    needs: Sequence[str] = (),
) -> None:
    """Read a linked library back and compare it with what was asked for.

    Parameters
    ----------
    library
        The file.
    exports
        All symbols that it must have, and no others.
    archs
        The architecture of every build that has device code.
    needs
        The shared libraries that it must need, beside those that any may.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged; CS408 for each difference.
    """
    reasons = [
        *_wrong_exports(set(elf.exported_symbols(library)), set(exports)),
        *_wrong_needs(elf.needed(library), needs),
        *_wrong_archs([cubin.arch for cubin in elf.cubins(library)], archs),
    ]
    raise_if_any(problem("CS408", file=library, reason=reason) for reason in reasons)


def companion_source(definitions: str, *, static_runtime: bool) -> str:
    """Return the C that is compiled into a library beside its kernels.

    Parameters
    ----------
    definitions
        C of the library's own.
    static_runtime
        Whether to define what the DSL's static runtime leaves open.
    """
    parts = [_STATIC_RUNTIME if static_runtime else "", definitions.strip("\n")]
    return "\n\n".join(["/* Compiled into the library beside its kernels. */", *filter(None, parts)]) + "\n"


def compile_kernels(
    kernels: Sequence[KernelIR], toolchain: Toolchain, host: HostTarget, work: Path, jobs: int
) -> list[bytes]:
    """Compile kernels, in their order; :func:`compile_objects` does it with the C beside them.

    Raises
    ------
    StubgenError
        CS401 to CS403, CS405 and CS406, for all that do not compile.
    """
    return _at_once(_kernel_compilations(kernels, toolchain, host, work), jobs)


def _kernel_compilations(
    kernels: Sequence[KernelIR], toolchain: Toolchain, host: HostTarget, work: Path
) -> list[Callable[[], bytes]]:
    """Return what compiles each kernel; the store hears of all of them first."""
    irs = [_completed(kernel, work) for kernel in kernels]
    toolchain.expect(irs, host)
    return [partial(toolchain.compile_ir, ir, host) for ir in irs]


def _file_name(kernel: KernelIR) -> str:
    # The hyphen keeps a kernel called `companion` apart from the companion.
    return f"kernel-{kernel.name}"


def _at_once(compilations: Sequence[Callable[[], bytes]], jobs: int) -> list[bytes]:
    """Run compilers, so many at once, and give their objects; what fails is reported together."""
    pool = ThreadPoolExecutor(jobs)
    try:
        outcomes = list(pool.map(_outcome, compilations))
    finally:
        pool.shutdown(cancel_futures=True)  # who interrupts does not wait for what was not begun
    failures = [outcome for outcome in outcomes if isinstance(outcome, StubgenError)]
    if failures:
        found = dict.fromkeys(found for failure in failures for found in failure.problems)
        output = "\n".join(getattr(failure, "output", "") for failure in failures)
        raise ToolError(*found, output=output)
    return [outcome for outcome in outcomes if isinstance(outcome, bytes)]


def _completed(kernel: KernelIR, work: Path) -> Source:
    """Return the kernel's IR with what is added to it; it is read only if it has to be compiled."""
    additions = (kernel.name, kernel.description, kernel.alias)
    digest = cache.key(kernel.ir.digest, host_ir.added(*additions))
    return Source(
        work / f"{_file_name(kernel)}.ll", digest, lambda: host_ir.completed(kernel.ir.read(), *additions)
    )


def _outcome(action: Callable[[], bytes]) -> bytes | StubgenError:
    try:
        return action()
    except StubgenError as error:
        return error


def compile_source(
    name: str, text: str, include: Path, toolchain: Toolchain, host: HostTarget, work: Path
) -> bytes:
    """Return the object that a text becomes as C, which goes by the name that is given here.

    Raises
    ------
    StubgenError
        CS401 to CS403 and CS405.
    """
    return toolchain.compile_c(Source.of(work / f"{name}.c", text.encode()), host, [include])


def _wrong_exports(found: set[str], wanted: set[str]) -> Iterator[str]:
    for symbol in sorted(wanted - found):
        yield f"it does not export {symbol}"
    for symbol in sorted(found - wanted):
        yield f"it exports {symbol}, which should be hidden"


def _wrong_needs(found: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    for library in found:
        if library not in _ALLOWED_NEEDS and library not in wanted:
            yield f"it needs {library}"
    for library in wanted:
        if library not in found:
            yield f"it does not need {library}"


def _wrong_archs(found: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    # A cubin does not tell which export it belongs to: its kernels are named after other functions.
    # But each build with device code brings exactly one.
    have = Counter(map(_plain_arch, found))
    want = Counter(map(_plain_arch, wanted))
    for arch in sorted(have.keys() | want.keys()):
        if have[arch] != want[arch]:
            yield f"it holds {have[arch]} GPU binaries for {arch}, and should hold {want[arch]}"


def _plain_arch(arch: str) -> str:
    """Return the name that cubins know an architecture by."""
    # Thor was sm_101 up to CUDA 12, and the DSL for CUDA 12 still writes that when asked for sm_110.
    return arch.replace("sm_110", "sm_101")

"""Finds what generated libraries are linked with, without importing the packages that have it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal, TypeAlias

from packaging.version import Version

from stubgen.model.library import Machine, SharedRuntime
from stubgen.native import foreign
from stubgen.problems.problem import StubgenError, problem

RuntimeKind: TypeAlias = Literal["static", "shared"]

_DSL = "nvidia-cutlass-dsl-libs-cu{major}"
_DSL_ARCHIVE = "libcuda_dialect_runtime_static.a"
_DSL_LIBRARY = "libcute_dsl_runtime.so"
_CUDART_ARCHIVE = "libcudart_static.a"
_TVM_FFI = "apache-tvm-ffi"
_TVM_FFI_LIBRARY = "libtvm_ffi.so"
_HERE: Machine = "x86_64"
"""The machine that the installed packages are for: the tool runs on no other."""


@dataclass(frozen=True)
class CudaRuntime:
    """The archives that device code needs on the host side.

    Attributes
    ----------
    major : int
        The CUDA version they are for.
    archives : tuple of Path
        The DSL's runtime, and then the CUDA runtime that it calls.
    distributions : tuple of str
        The distributions that these come from.
    """

    major: int
    archives: tuple[Path, ...]
    distributions: tuple[str, ...]


@dataclass(frozen=True)
class TvmFfi:
    """Where tvm-ffi has its headers and its shared library."""

    include: Path
    libraries: Path


@dataclass(frozen=True)
class Runtimes:
    """What a library is linked with, beside glibc.

    Attributes
    ----------
    tvm_ffi : Path
        ``libtvm_ffi.so``.
    archives : tuple of Path
        Static runtimes for device code.
    distributions : tuple of str
        The distributions that these come from.
    library : Path or None
        The DSL's runtime library, for device code without static runtimes.
    shared : SharedRuntime or None
        How that is found where the library runs.
    """

    tvm_ffi: Path
    archives: tuple[Path, ...] = ()
    distributions: tuple[str, ...] = ()
    library: Path | None = None
    shared: SharedRuntime | None = None


@dataclass(frozen=True)
class _Flavour:
    """One CUDA version that the DSL comes for, and the package that has its CUDA runtime."""

    major: int
    cudart: str

    @property
    def dsl(self) -> str:
        return _DSL.format(major=self.major)

    @property
    def requirement(self) -> str:
        """What pip installs the DSL of this flavour by."""
        return "nvidia-cutlass-dsl" if self.major == 12 else f"nvidia-cutlass-dsl[cu{self.major}]"


# The older first: where both are installed, a library with the older runtime loads with more
# drivers.
_FLAVOURS = (
    _Flavour(12, "nvidia-cuda-runtime-cu12"),
    _Flavour(13, "nvidia-cuda-runtime"),
)


def find_runtimes(*, device_code: bool, kind: RuntimeKind = "static", machine: Machine = _HERE) -> Runtimes:
    """Find what a library is linked with.

    Parameters
    ----------
    device_code
        Whether it has any. Without, nothing calls the CUDA runtime, and the library is some 0.7 MB smaller.
    kind
        Whether the runtimes get into the library, or are found when it is loaded.
    machine
        The machine that the library is for.

    Raises
    ------
    StubgenError
        CS406 if a package or a file in it is missing; CS405 and CS412 if another machine's cannot be fetched.
    """
    tvm_ffi = _tvm_ffi_library(machine)
    if not device_code:
        return Runtimes(tvm_ffi)
    if kind == "static":
        cuda = find_cuda_runtime(machine)
        return Runtimes(tvm_ffi, cuda.archives, cuda.distributions)
    flavour = _flavour()
    library = _file(flavour.dsl, _DSL_LIBRARY, flavour.requirement, machine)
    # The dispatchers ask the CUDA runtime for the device, and the DSL's library keeps its own one to itself.
    cudart = _file(flavour.cudart, _CUDART_ARCHIVE, _cudart_requirement(flavour), machine)
    return Runtimes(tvm_ffi, (cudart,), (flavour.cudart,), library, _shared(flavour))


def find_cuda_runtime(machine: Machine = _HERE) -> CudaRuntime:
    """Find the DSL's static runtime and the CUDA runtime of the same CUDA version.

    Raises
    ------
    StubgenError
        As for :func:`find_runtimes`.
    """
    flavour = _flavour()
    dsl = _file(flavour.dsl, _DSL_ARCHIVE, flavour.requirement, machine)
    cudart = _file(flavour.cudart, _CUDART_ARCHIVE, _cudart_requirement(flavour), machine)
    return CudaRuntime(flavour.major, (dsl, cudart), (flavour.dsl, flavour.cudart))


def find_tvm_ffi() -> TvmFfi:
    """Find the installed tvm-ffi.

    Raises
    ------
    StubgenError
        CS406 if it is not installed.
    """
    package = importlib.util.find_spec("tvm_ffi")
    for folder in (package and package.submodule_search_locations) or ():
        if Path(folder, "lib", _TVM_FFI_LIBRARY).is_file():
            return TvmFfi(include=Path(folder, "include"), libraries=Path(folder, "lib"))
    raise _missing(_TVM_FFI_LIBRARY, _TVM_FFI, _TVM_FFI)


def _tvm_ffi_library(machine: Machine) -> Path:
    if machine == _HERE:
        return find_tvm_ffi().libraries / _TVM_FFI_LIBRARY
    return _file(_TVM_FFI, _TVM_FFI_LIBRARY, _TVM_FFI, machine)


def _flavour() -> _Flavour:
    installed = [flavour for flavour in _FLAVOURS if _installed(flavour.dsl)] or _FLAVOURS[:1]
    complete = (flavour for flavour in installed if _installed(flavour.cudart))
    return next(complete, installed[0])


def _cudart_requirement(flavour: _Flavour) -> str:
    return f"{flavour.cudart}>={flavour.major},<{flavour.major + 1}"


def _shared(flavour: _Flavour) -> SharedRuntime:
    version = distribution(flavour.dsl).version
    release = Version(version)
    return SharedRuntime(
        distribution=flavour.dsl,
        version=version,
        requirement=f"{flavour.dsl}>={version},<{release.major}.{release.minor + 1}",
        file=f"cu{flavour.major}/lib/{_DSL_LIBRARY}",
    )


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _file(name: str, file: str, requirement: str, machine: Machine) -> Path:
    package = _installed(name)
    if package and machine != _HERE:
        return foreign.fetch(name, package.version, file, machine)
    listed = (package.files if package else None) or ()
    for path in (Path(str(entry.locate())) for entry in listed if entry.name == file):
        # The DSL's packages have stubs of the same name for machines that they are not for.
        if path.is_file() and "stubs" not in path.parts:
            return path
    raise _missing(file, name, requirement)


def _missing(file: str, name: str, requirement: str) -> StubgenError:
    return StubgenError(problem("CS406", file=file, distribution=name, requirement=requirement))

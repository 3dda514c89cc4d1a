"""Finds what generated libraries are linked with, without importing the packages that have it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from stubgen.diagnostics import StubgenError, problem

_DSL = "nvidia-cutlass-dsl-libs-cu{major}"
_DSL_ARCHIVE = "libcuda_dialect_runtime_static.a"
_CUDART_ARCHIVE = "libcudart_static.a"


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
        The installed distributions that these come from.
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


def find_cuda_runtime() -> CudaRuntime:
    """Find the DSL's static runtime and the CUDA runtime of the same CUDA version.

    Raises
    ------
    StubgenError
        CS406 if a package or an archive in it is missing.
    """
    installed = [flavour for flavour in _FLAVOURS if _installed(flavour.dsl)] or _FLAVOURS[:1]
    complete = (flavour for flavour in installed if _installed(flavour.cudart))
    flavour = next(complete, installed[0])
    dsl = _archive(flavour.dsl, _DSL_ARCHIVE, flavour.requirement)
    requirement = f"{flavour.cudart}>={flavour.major},<{flavour.major + 1}"
    cudart = _archive(flavour.cudart, _CUDART_ARCHIVE, requirement)
    return CudaRuntime(flavour.major, (dsl, cudart), (flavour.dsl, flavour.cudart))


def find_tvm_ffi() -> TvmFfi:
    """Find tvm-ffi.

    Raises
    ------
    StubgenError
        CS406 if it is not installed.
    """
    package = importlib.util.find_spec("tvm_ffi")
    for folder in (package and package.submodule_search_locations) or ():
        if Path(folder, "lib", "libtvm_ffi.so").is_file():
            return TvmFfi(include=Path(folder, "include"), libraries=Path(folder, "lib"))
    raise _missing("libtvm_ffi.so", "apache-tvm-ffi", "apache-tvm-ffi")


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _archive(name: str, file: str, requirement: str) -> Path:
    package = _installed(name)
    listed = (package.files if package else None) or ()
    for path in (Path(str(entry.locate())) for entry in listed if entry.name == file):
        if path.is_file():
            return path
    raise _missing(file, name, requirement)


def _missing(file: str, name: str, requirement: str) -> StubgenError:
    return StubgenError(problem("CS406", file=file, distribution=name, requirement=requirement))

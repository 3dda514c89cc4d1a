"""What has to be installed where a generated package is used."""

from __future__ import annotations

from packaging.version import Version

from stubgen.model.library import Framework, Library
from stubgen.model.supported import TVM_FFI

_OF_FRAMEWORKS: dict[Framework, tuple[str, ...]] = {
    "torch": ("torch>=2.6",),
    "jax": ("jax>=0.7.2", "jax-tvm-ffi>=0.1.3,<0.2"),
}


def requirements(library: Library) -> tuple[str, ...]:
    """Return all that pip has to install.

    Which tvm-ffi the library was built with does not matter: what it calls of it has been there since the
    oldest that is supported, and its ABI only grows within a minor version.
    """
    shared = library.shared_runtime
    return (TVM_FFI.requirement, *([shared.requirement] if shared else []))


def extras(library: Library) -> dict[Framework, tuple[str, ...]]:
    """Return what the modules of frameworks need, by framework."""
    return {name: _OF_FRAMEWORKS[name] for name in library.frameworks}


def tvm_ffi_releases() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the oldest release of tvm-ffi that a package works with, and the first that it does not."""
    return Version(TVM_FFI.oldest).release, Version(TVM_FFI.below).release

"""What has to be installed where a generated package is used."""

from __future__ import annotations

from packaging.version import Version

from stubgen.model import Framework, Library


def requirements(library: Library) -> tuple[str, ...]:
    """Give all that pip has to install."""
    shared = library.shared_runtime
    return (tvm_ffi_requirement(library), *([shared.requirement] if shared else []))


_OF_FRAMEWORKS: dict[Framework, tuple[str, ...]] = {
    "torch": ("torch>=2.6",),
    "jax": ("jax>=0.7.2", "jax-tvm-ffi>=0.1.3,<0.2"),
}


def extras(library: Library) -> dict[Framework, tuple[str, ...]]:
    """Give what the modules of frameworks need, by framework."""
    return {name: _OF_FRAMEWORKS[name] for name in library.frameworks}


def tvm_ffi_requirement(library: Library) -> str:
    """Give what pip finds a tvm-ffi by that the library fits.

    The ABI only grows within a minor version: what was built with one release runs with the later ones.
    """
    oldest = tvm_ffi_release(library)
    return f"apache-tvm-ffi>={'.'.join(map(str, oldest))},<{oldest[0]}.{oldest[1] + 1}"


def tvm_ffi_release(library: Library) -> tuple[int, int, int]:
    """Give the release of tvm-ffi that the library was built with."""
    built = Version(library.versions.tvm_ffi)
    return built.major, built.minor, built.micro

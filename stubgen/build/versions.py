"""What is installed of what the tool builds on, and whether the tool was tested with it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from stubgen import __version__
from stubgen.model.library import Versions
from stubgen.model.supported import DSL, TVM_FFI, Supported
from stubgen.native.toolchain import Toolchain
from stubgen.problems.problem import Problem, StubgenError, problem


def installed(compiler: Toolchain) -> Versions:
    """Return the versions that a library is made with.

    Raises
    ------
    StubgenError
        CS106 if the DSL or tvm-ffi is missing; CS401, CS402 for the toolchain.
    """
    return Versions(
        cute_stubgen=__version__,
        cutlass_dsl=_installed(DSL),
        tvm_ffi=_installed(TVM_FFI),
        toolchain=compiler.describe(),
    )


def untested(versions: Versions) -> tuple[Problem, ...]:
    """Warn of versions that are older or newer than all that the tool was tested with."""
    found = ((DSL, versions.cutlass_dsl), (TVM_FFI, versions.tvm_ffi))
    return tuple(warning for supported, version in found for warning in _untested(supported, version))


def _untested(supported: Supported, installed: str) -> Iterator[Problem]:
    try:
        if Version(supported.oldest) <= Version(installed) <= Version(supported.newest):
            return
    except InvalidVersion:
        pass
    yield problem("CS607", **supported._asdict(), installed=installed)


def _installed(supported: Supported) -> str:
    """Return the installed version of what the tool cannot work without."""
    name = supported.distribution
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        raise StubgenError(
            problem("CS106", distribution=name, reason="not found", requirement=supported.requirement)
        ) from None

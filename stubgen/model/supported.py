"""Which versions of the DSL and of tvm-ffi the tool was tested with, and works with.

``nox -s compat`` tests the ends of both ranges, each with each. Plain data without imports of the tool, for
the noxfile reads it too. ``pyproject.toml`` and README say the same, which is tested.
"""

from __future__ import annotations

from typing import NamedTuple


class Supported(NamedTuple):
    """The versions of a distribution."""

    distribution: str
    oldest: str
    """The oldest that is tested."""
    newest: str
    """The newest that is tested."""
    below: str
    """The first that is not to be installed: it may change what the tool relies on."""

    @property
    def specifier(self) -> str:
        """Which versions are to be installed, as pip reads it."""
        return f">={self.oldest},<{self.below}"

    @property
    def requirement(self) -> str:
        """What pip is to install."""
        return f"{self.distribution}{self.specifier}"


DSL = Supported("nvidia-cutlass-dsl", "4.7.1", "4.8.1", "4.9")
TVM_FFI = Supported("apache-tvm-ffi", "0.1.13.post2", "0.1.15.post2", "0.2")

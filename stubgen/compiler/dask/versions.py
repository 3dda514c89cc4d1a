"""What is installed on a machine, as far as it shapes compiled kernels."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from stubgen import __version__
from stubgen.sources import fingerprint, inputs
from stubgen.sources import installed as distributions

_TOOL = "the sources of cute-stubgen"
_ALWAYS = ("nvidia-cutlass-dsl", "apache-tvm-ffi", "cute-stubgen")


def installed(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of everything that shapes the kernels of modules that import these packages."""
    return {
        "Python": "{}.{}".format(*sys.version_info[:2]),
        **{name: distributions.identity(name) for name in _ALWAYS},
        "cute-stubgen": __version__,
        **inputs.of_packages(packages),
        _TOOL: fingerprint.of_tool()[:12],
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> tuple[str, ...]:
    """Say what is another version there, of all that is known of both."""
    found = {name: (there[name], here[name]) for name in here if name in there and there[name] != here[name]}
    if len(found) > 1:
        found.pop(_TOOL, None)  # it has the versions of the others in it
    return tuple(
        f"{name} {other or 'not installed'} (here {own or 'not installed'})"
        for name, (other, own) in found.items()
    )

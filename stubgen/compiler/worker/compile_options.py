"""Compile options of declarations: what the DSL would stumble over, and what is not theirs to choose."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from cutlass.base_dsl import compiler as dsl_compiler

from stubgen.compiler.worker.findings import Finding, finding
from stubgen.compiler.worker.wording import shown

_OF_THE_PACKAGE = {
    "GPUArch": (
        "it chooses the architecture, which the package does",
        "name architectures with archs = [...] in [tool.cute-stubgen], or with --arch; "
        'min_arch="sm_90a" leaves out older ones',
    ),
    "HostTarget": (
        "it chooses what host code is compiled for, which the package does",
        'set host = "aarch64" in [tool.cute-stubgen]',
    ),
}
"""By the DSL's class for an option, why a declaration cannot have it, and what to write instead."""

_EXAMPLE = 'write options as cute.compile takes them, such as "--opt-level 2 --generate-line-info"'


def find(options: Any) -> Finding | None:
    """Find what is wrong with compile options."""
    if not isinstance(options, str):
        return _finding(options, "it is no text", 'write it as text, such as "--opt-level 2"')
    if not options.strip():
        return None
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):  # argparse prints what it does not understand
            parsed = dsl_compiler._parse_compile_options_from_str(options)
    except Exception as error:
        printed = said.getvalue().rpartition("error: ")[2].strip()
        reason = printed or str(error.__cause__ or error).partition("\n")[0].rpartition(": ")[2]
        return _finding(options, reason[:1].lower() + reason[1:], _EXAMPLE)
    return _of_the_package(options, parsed) or _level(options, parsed)


def _of_the_package(options: str, parsed: Any) -> Finding | None:
    for kind, value in parsed.options.items():
        if kind.__name__ in _OF_THE_PACKAGE and value.value:
            return _finding(options, *_OF_THE_PACKAGE[kind.__name__])
    return None


def _level(options: str, parsed: Any) -> Finding | None:
    """Find a level of optimisation that there is not; the DSL looks only where none is written as text."""
    level = parsed.options[dsl_compiler.OptLevel].value
    if level in range(4):
        return None
    return _finding(options, "the level is none of 0, 1, 2 and 3", 'write "--opt-level 2", for example')


def _finding(options: Any, reason: str, instead: str) -> Finding:
    return finding("CS246", options=shown(options), reason=reason, instead=instead)

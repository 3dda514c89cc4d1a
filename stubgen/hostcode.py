"""Reads back what the host code of a library asks of the machine that it runs on, and holds it to its target.

The CUDA runtime and the DSL's, which are linked into a library, choose by the CPU while they run; only what
was compiled here is held to the target's instruction sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from iced_x86 import Code, CpuidFeature, Decoder, Instruction

from stubgen import elf
from stubgen.diagnostics import Problem, problem, raise_if_any
from stubgen.model import HostCode
from stubgen.toolchain import CpuName, HostTarget

# What every x86-64 CPU has; the decoder counts among it what older ones take for a NOP.
_PLAIN = frozenset(
    """
    INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL386 INTEL486 X64 CPUID TSC CMOV CX8 FPU FPU287 FPU387 FXSR
    MMX MULTIBYTENOP PAUSE SYSCALL CET_IBT
    """.split()  # noqa: SIM905
)

_V1 = frozenset({"SSE", "SSE2"})
_V2 = _V1 | {"SSE3", "SSSE3", "SSE4_1", "SSE4_2", "POPCNT", "CMPXCHG16B"}
_V3 = _V2 | {"AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA", "LZCNT", "MOVBE"}

_LEVELS: dict[CpuName, frozenset[str]] = {"x86-64-v2": _V2, "x86-64-v3": _V3}
"""The instruction sets of the levels of the x86-64 ABI, by the decoder's names."""

_NAMES: dict[int, str] = {value: name for name, value in vars(CpuidFeature).items() if isinstance(value, int)}

_HARMLESS = frozenset(
    {
        Code.INVALID,  # constants between functions
        # Older CPUs run it as BSF; compilers write it for them where zero cannot come, so that both agree.
        Code.TZCNT_R16_RM16,
        Code.TZCNT_R32_RM32,
        Code.TZCNT_R64_RM64,
    }
)


def read_host_code(
    library: Path, objects: Sequence[Path], target: HostTarget, glibc: str | None = None
) -> HostCode:
    """Read back what a linked library asks of a machine.

    Parameters
    ----------
    library
        The shared library.
    objects
        What was compiled for it.
    target
        What it was compiled for.
    glibc
        The oldest that it has to run with, if that matters.

    Raises
    ------
    StubgenError
        CS407 if a file is damaged; CS410 if it needs a newer glibc; CS411 for each object
        with instructions that the target's CPU may lack.
    """
    used = {path: instruction_sets(path) for path in objects} if target.machine == "x86_64" else {}
    found = elf.glibc_version(library)
    raise_if_any([*_too_new(library, found, glibc), *_too_wide(used, target)])
    return HostCode(
        target.machine,
        elf.needed(library),
        found,
        elf.libstdcxx_version(library),
        tuple(sorted(set[str]().union(*used.values()))),
    )


def instruction_sets(path: Path) -> frozenset[str]:
    """Give the extensions of plain x86-64 that an object's instructions belong to, such as ``AVX2``.

    Raises
    ------
    StubgenError
        CS407 if the file is damaged.
    """
    seen, features = set[int](_HARMLESS), set[int]()
    instruction = Instruction()
    for section in elf.code(path):
        decoder = Decoder(64, section)
        while decoder.can_decode:
            decoder.decode_out(instruction)
            if instruction.code not in seen:
                seen.add(instruction.code)
                features.update(instruction.cpuid_features())
    return frozenset(_NAMES[feature] for feature in features) - _PLAIN


def _too_new(library: Path, found: str | None, limit: str | None) -> Iterator[Problem]:
    if found and limit and elf.version_key(found) > elf.version_key(limit):
        yield problem("CS410", library=library.name, found=found, limit=limit)


def _too_wide(used: dict[Path, frozenset[str]], target: HostTarget) -> Iterator[Problem]:
    if target.cpu not in _LEVELS:  # the building machine's own: whatever it has
        return
    for path, found in used.items():
        beyond = sorted(found - _LEVELS[target.cpu])
        if beyond:
            yield problem("CS411", what=path.stem, host=target, found=", ".join(beyond))

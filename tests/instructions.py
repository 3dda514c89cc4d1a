"""Disassembles host code, to prove what CPU it runs on."""

from __future__ import annotations

from io import BytesIO

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from iced_x86 import Code, CpuidFeature, Decoder, Instruction

_NAMES = {value: name for name, value in vars(CpuidFeature).items() if isinstance(value, int)}

# What every x86-64 CPU has; the decoder counts among it what older ones take for a NOP.
_PLAIN = frozenset(
    """
    INTEL8086 INTEL8086_ONLY INTEL186 INTEL286 INTEL386 INTEL486 X64 CPUID TSC CMOV CX8 FPU FPU287 FPU387 FXSR
    MMX MULTIBYTENOP PAUSE SYSCALL CET_IBT
    """.split()  # noqa: SIM905
)

X86_64_V2 = frozenset({"SSE", "SSE2", "SSE3", "SSSE3", "SSE4_1", "SSE4_2", "POPCNT", "CMPXCHG16B"})
"""What the second level of the x86-64 ABI adds to that, by the decoder's names."""

_HARMLESS = frozenset(
    {
        Code.INVALID,  # constants between functions
        # Older CPUs run it as BSF; compilers write it for them where zero cannot come, so that both agree.
        Code.TZCNT_R16_RM16,
        Code.TZCNT_R32_RM32,
        Code.TZCNT_R64_RM64,
    }
)


def instruction_sets(obj: bytes) -> frozenset[str]:
    """Return the extensions of plain x86-64 that an object's instructions belong to, such as ``AVX2``."""
    features: set[int] = set()
    instruction = Instruction()
    for section in ELFFile(BytesIO(obj)).iter_sections():
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR:
            decoder = Decoder(64, section.data())
            while decoder.can_decode:
                decoder.decode_out(instruction)
                if instruction.code not in _HARMLESS:
                    features.update(instruction.cpuid_features())
    return frozenset(_NAMES[feature] for feature in features) - _PLAIN

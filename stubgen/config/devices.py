"""Device profiles of the common GPUs, one for each architecture.

A kernel may ask for these numbers while it is built, and the answers end up in the compiled code. An entry
stands for the GPU of its architecture that most people deploy on; others are set under
``[tool.cute-stubgen.devices.<arch>]``. Sources: the compute capability tables of the CUDA programming guide,
and NVIDIA's data sheets for the SM counts.
"""

from __future__ import annotations

from stubgen.model.library import DeviceProfile

_KIB = 1024
_MIB = 1024 * 1024


def _clusters(sm_count: int) -> dict[int, int]:
    """Return how many clusters fit if every SM can be used; real GPUs may hold fewer large ones."""
    return {size: sm_count // size for size in (1, 2, 4, 8, 16)}


_MEASURED_ON_H200 = {1: 132, 2: 66, 4: 30, 8: 15, 16: 7}
"""cudaOccupancyMaxActiveClusters with the largest shared memory; clusters do not span GPCs."""


def _profile(
    name: str, sm_count: int, shared_kib: int, l2_mib: int, *, threads: int, clusters: dict[int, int]
) -> DeviceProfile:
    return DeviceProfile(
        name=name,
        sm_count=sm_count,
        max_active_clusters=clusters,
        shared_memory_per_sm=shared_kib * _KIB,
        shared_memory_per_block=(shared_kib - 1) * _KIB,  # the system keeps 1 KiB of each block's
        l2_cache=l2_mib * _MIB,
        max_threads_per_sm=threads,
        registers_per_sm=65536,
    )


_A100 = _profile("NVIDIA A100", 108, 164, 40, threads=2048, clusters={1: 108})
_A10 = _profile("NVIDIA A10", 72, 100, 6, threads=1536, clusters={1: 72})
_ORIN = _profile("NVIDIA Jetson AGX Orin", 16, 164, 4, threads=1536, clusters={1: 16})
_L40 = _profile("NVIDIA L40", 142, 100, 96, threads=1536, clusters={1: 142})
_H100 = _profile("NVIDIA H100 SXM", 132, 228, 50, threads=2048, clusters=_MEASURED_ON_H200)
_B200 = _profile("NVIDIA B200", 148, 228, 126, threads=2048, clusters=_clusters(148))
_B300 = _profile("NVIDIA B300", 148, 228, 126, threads=2048, clusters=_clusters(148))
_THOR = _profile("NVIDIA Jetson Thor", 20, 228, 32, threads=1536, clusters=_clusters(20))
_RTX_PRO = _profile("NVIDIA RTX PRO 6000 Blackwell", 188, 100, 128, threads=1536, clusters=_clusters(188))
_SPARK = _profile("NVIDIA DGX Spark", 48, 100, 24, threads=1536, clusters=_clusters(48))

_BY_CAPABILITY = {
    "80": _A100,
    "86": _A10,
    "87": _ORIN,
    "89": _L40,
    "90": _H100,
    "100": _B200,
    "101": _THOR,
    "103": _B300,
    "110": _THOR,
    "120": _RTX_PRO,
    "121": _SPARK,
}


def builtin_profile(arch: str) -> DeviceProfile | None:
    """Return the profile of an architecture such as ``sm_90a``, or ``None`` if there is none built in."""
    return _BY_CAPABILITY.get(arch.removeprefix("sm_").rstrip("af"))

"""Answers for the GPU that is not there."""

from __future__ import annotations

import contextlib
import sys
import types
from dataclasses import dataclass
from typing import Any

import wrapt

from stubgen.model.library import DeviceProfile


@dataclass(frozen=True)
class DeviceAnswers:
    """A device profile, asked the way that kernels ask."""

    arch: str
    profile: DeviceProfile

    def max_active_clusters(self, size: int) -> int:
        """Return how many clusters of a size the GPU holds at once.

        Raises
        ------
        LookupError
            The profile does not say.
        """
        try:
            return self.profile.max_active_clusters[size]
        except KeyError:
            raise LookupError(
                f"the device profile of {self.arch} does not say how many clusters of {size} are active "
                "at once; set max-active-clusters for it in the configuration"
            ) from None

    def attribute(self, name: str) -> int:
        """Return a device attribute by its CUDA name, such as ``CU_DEVICE_ATTRIBUTE_WARP_SIZE``.

        Raises
        ------
        LookupError
            The profile does not say.
        """
        major, minor = self.capability
        known = {
            "MULTIPROCESSOR_COUNT": self.profile.sm_count,
            "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": self.profile.shared_memory_per_sm,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": self.profile.shared_memory_per_block,
            "L2_CACHE_SIZE": self.profile.l2_cache,
            "MAX_THREADS_PER_MULTIPROCESSOR": self.profile.max_threads_per_sm,
            "MAX_REGISTERS_PER_MULTIPROCESSOR": self.profile.registers_per_sm,
            "WARP_SIZE": self.profile.warp_size,
            "COMPUTE_CAPABILITY_MAJOR": major,
            "COMPUTE_CAPABILITY_MINOR": minor,
        }
        short = name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        if short not in known:
            raise LookupError(f"the device profile of {self.arch} does not say {short}")
        return known[short]

    @property
    def capability(self) -> tuple[int, int]:
        """Major and minor number of the architecture."""
        digits = "".join(filter(str.isdigit, self.arch))
        return int(digits[:-1]), int(digits[-1])


class _DefaultStream:
    """What torch calls the stream 0 of the device 0."""

    cuda_stream = 0
    stream_id = 0
    device_index = 0

    @property
    def device(self) -> Any:
        """The device, as torch writes it."""
        return sys.modules["torch"].device("cuda", 0)

    def query(self) -> bool:
        """Return whether everything is done."""
        return True

    def synchronize(self, *_: Any) -> None:
        """Wait for nothing, as nothing was begun."""

    wait_stream = wait_event = record_event = synchronize


class _Nowhere(contextlib.nullcontext[None]):
    """Chooses a device or stream, of which there is one; ``None`` and several forms of it are accepted."""

    def __init__(self, device: Any = None) -> None:
        super().__init__()


def answer_for_torch(answers: DeviceAnswers) -> None:
    """Let a profile answer torch's device queries, as soon as something imports torch."""

    def patch(cuda: Any) -> None:
        major, minor = answers.capability
        profile = answers.profile
        properties = types.SimpleNamespace(
            name=profile.name,
            major=major,
            minor=minor,
            multi_processor_count=profile.sm_count,
            max_threads_per_multi_processor=profile.max_threads_per_sm,
            shared_memory_per_block_optin=profile.shared_memory_per_block,
            shared_memory_per_multiprocessor=profile.shared_memory_per_sm,
            regs_per_multiprocessor=profile.registers_per_sm,
            L2_cache_size=profile.l2_cache,
            warp_size=profile.warp_size,
        )
        cuda.get_device_properties = lambda device=None: properties
        cuda.get_device_capability = lambda device=None: (major, minor)
        cuda.get_device_name = lambda device=None: profile.name
        cuda.current_device = lambda: 0
        # Asked before the rest is: libraries that see no GPU fall back on what is for none of them.
        cuda.is_available = lambda: True
        cuda.device_count = lambda: 1
        cuda.is_bf16_supported = lambda including_emulation=True: major >= 8
        cuda.get_arch_list = lambda: [answers.arch]
        cuda.can_device_access_peer = lambda device, peer_device: False
        # Nothing runs on it yet: there is one stream, where nothing is captured and all is done. Each is an
        # object of its own, because torch's compiler tells its functions apart by identity.
        cuda.is_current_stream_capturing = lambda: False
        for name in ("current_stream", "default_stream"):
            setattr(cuda, name, lambda device=None: _DefaultStream())
        for name in ("device", "device_of", "stream"):
            setattr(cuda, name, type(name, (_Nowhere,), {}))
        for name in ("set_device", "set_stream", "synchronize"):
            setattr(cuda, name, lambda device=None: None)

    wrapt.register_post_import_hook(patch, "torch.cuda")

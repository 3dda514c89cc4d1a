"""What torch is told of the GPU that is built for, on a machine that has none."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

ASKED = """
from stubgen.compiler.worker.device import DeviceAnswers, answer_for_torch
from stubgen.config.devices import builtin_profile
import torch

answer_for_torch(DeviceAnswers("sm_90a", builtin_profile("sm_90a")))
cuda = torch.cuda
stream = cuda.current_stream()
print(stream.cuda_stream, stream.device, stream.query(), cuda.default_stream(0).cuda_stream)
print(cuda.is_current_stream_capturing(), cuda.is_bf16_supported(), cuda.get_arch_list())
with cuda.device(0), cuda.device(torch.device("cuda", 0)), cuda.stream(stream), cuda.stream(None):
    print(cuda.current_device(), cuda.device_count(), cuda.is_available())
cuda.set_device(0)
cuda.synchronize()
stream.synchronize()
stream.wait_stream(stream)
print(cuda.get_device_capability(), cuda.get_device_properties().multi_processor_count)
"""


def test_torch_answers_all_that_libraries_ask_while_kernels_are_built() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 cuda:0 True 0",
        "False True ['sm_90a']",
        "0 1 True",
        "(9, 0) 132",
    ]

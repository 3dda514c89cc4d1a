"""What the library knows of the GPU it runs on."""

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg


@cute.jit
def built_for(out: cute.Tensor, stream: CUstream, capability: cutlass.Constexpr[int]):
    """Write the compute capability that the running build was made for, as ten times major plus minor.

    Parameters
    ----------
    out
        Output; one number.
    """
    _write(out, capability).launch(grid=[1, 1, 1], block=[1, 1, 1], stream=stream)


@cute.kernel
def _write(out: cute.Tensor, capability: cutlass.Constexpr[int]):
    out[0] = capability


_arch = sg.target_arch()
sg.export(mutates=("out",))(
    built_for,
    out=sg.tensor(cutlass.Int32, 1),
    stream=sg.env_stream(),
    capability=int("".join(filter(str.isdigit, _arch or "0"))),
)

"""RMS normalisation of the rows of a matrix, the row length being fixed."""

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

WARP = 32
LOAD_BITS = 128


class RMSNorm:
    """RMS normalisation of rows of a fixed length, one block per row.

    A row stays in registers between its only load and its only store.

    Parameters
    ----------
    dtype
        Element type of input, weight and output.
    hidden
        Row length, a multiple of what a warp loads at once: 256 elements of 16 bits.
    """

    def __init__(self, dtype: type[cutlass.Numeric], hidden: int):
        self.hidden = hidden
        self.vector = LOAD_BITS // dtype.width
        if hidden % (WARP * self.vector):
            raise ValueError(f"hidden={hidden} is not a multiple of {WARP * self.vector}")
        # A power of two that divides the row's vectors, for 32 elements per thread or more: with
        # fewer, too few loads would be in flight.
        most = min(1024, max(WARP, hidden // 32))
        self.threads = WARP
        while self.threads * 2 <= most and hidden % (2 * self.threads * self.vector) == 0:
            self.threads *= 2

    @cute.jit
    def __call__(
        self,
        x: cute.Tensor,
        weight: cute.Tensor,
        out: cute.Tensor,
        eps: cutlass.Float32,
        stream: CUstream,
    ):
        """out = x / sqrt(mean(x**2) + eps) * weight along each row.

        Parameters
        ----------
        x
            Input.
        weight
            Factor of every column.
        out
            Output; may be the same memory as ``x``.
        eps
            Added to the mean of the squares.
        """
        # CUDA refuses an empty grid.
        blocks = cutlass.max(x.shape[0], 1)
        self._kernel(x, weight, out, eps).launch(
            grid=[blocks, 1, 1], block=[self.threads, 1, 1], stream=stream
        )

    @cute.kernel
    def _kernel(self, x: cute.Tensor, weight: cute.Tensor, out: cute.Tensor, eps: cutlass.Float32):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        # The same for the whole block, and false only for the block of an empty matrix.
        if block < x.shape[0]:
            load = cute.make_copy_atom(
                cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=LOAD_BITS
            )
            copy = cute.make_tiled_copy_tv(
                load, cute.make_layout(self.threads), cute.make_layout(self.vector)
            )
            mine = copy.get_slice(thread)
            # A matrix may have more than 2**31 elements.
            row = cutlass.Int64(block)
            source = mine.partition_S(x[row, None])
            factors = mine.partition_S(weight)
            destination = mine.partition_D(out[row, None])

            # The weights are asked for before the reduction, so that it hides their latency.
            values, weights = (
                cute.make_rmem_tensor_like(source),
                cute.make_rmem_tensor_like(factors),
            )
            cute.copy(copy, source, values)
            cute.copy(copy, factors, weights)

            elements = values.load().to(cutlass.Float32)
            squares = (elements * elements).reduce(cute.ReductionOp.ADD, 0.0, 0)
            mean = self._sum_over_block(squares) / self.hidden
            normalised = elements * cute.math.rsqrt(mean + eps) * weights.load().to(cutlass.Float32)
            values.store(normalised.to(x.element_type))
            cute.copy(copy, values, destination)

    def _sum_over_block(self, value):
        """Add up one value per thread; every thread gets the sum."""
        value = cute.arch.warp_reduction_sum(value)
        warps = self.threads // WARP
        if warps > 1:
            thread, _, _ = cute.arch.thread_idx()
            partial = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, warps), cute.make_layout(warps))
            partial[thread // WARP] = value  # from every lane, all alike
            cute.arch.sync_threads()
            value = cute.arch.warp_reduction_sum(partial[thread % warps], threads_in_group=warps)
        return value


@sg.family(dtype=[cutlass.Float16, cutlass.BFloat16], hidden=[1024, 4096, 8192])
def rmsnorm(dtype, hidden):
    """RMS normalisation for 16-bit rows of common lengths."""
    x = sg.tensor(dtype, sg.dim("m"), hidden, align=16)
    return sg.kernel(returns=("out",))(
        RMSNorm(dtype, hidden),
        x=x,
        weight=sg.tensor(dtype, hidden, align=16),
        out=x,
        eps=cutlass.Float32,
        stream=sg.env_stream(),
    )

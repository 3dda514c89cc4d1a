"""Softmax over the rows of a matrix, the row length being fixed.

A row stays in registers from its only load to its only store, so the kernel moves as many bytes as
a copy does. About 32 elements per thread keep enough loads in flight to reach the memory's
bandwidth.
"""

import math

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

import stubgen as sg

WARP = 32
LOAD_BITS = 128


class Softmax:
    """Softmax of rows with a fixed number of columns.

    Parameters
    ----------
    dtype
        Element type of input and output.
    columns
        Row length, a multiple of what a warp loads at once: 128 of float32, 256 of bfloat16.
    """

    def __init__(self, dtype: type[cutlass.Numeric], columns: int):
        self.vector = LOAD_BITS // dtype.width
        if columns % (WARP * self.vector):
            raise ValueError(f"{columns} columns are not a multiple of {WARP * self.vector}")
        # Threads of a row: a power of two that divides its vectors, for 32 elements each or more.
        most = min(1024, max(WARP, columns // 32))
        self.threads = WARP
        while self.threads * 2 <= most and columns % (2 * self.threads * self.vector) == 0:
            self.threads *= 2
        # Blocks of less than four warps could not fill a multiprocessor.
        self.rows = max(1, 4 * WARP // self.threads)

    @cute.jit
    def __call__(self, x: cute.Tensor, out: cute.Tensor, stream: CUstream):
        """out = exp(x) / sum(exp(x)) along each row.

        Parameters
        ----------
        x
            Input.
        out
            Output; may be the same memory as ``x``.
        """
        # CUDA refuses an empty grid.
        blocks = cutlass.max(cute.ceil_div(x.shape[0], self.rows), 1)
        self._kernel(x, out).launch(
            grid=[blocks, 1, 1], block=[self.rows * self.threads, 1, 1], stream=stream
        )

    @cute.kernel
    def _kernel(self, x: cute.Tensor, out: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        # A matrix may have more than 2**31 elements.
        row = cutlass.Int64(block) * self.rows + thread // self.threads
        in_range = row < x.shape[0]

        load = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=LOAD_BITS)
        copy = cute.make_tiled_copy_tv(load, cute.make_layout(self.threads), cute.make_layout(self.vector))
        mine = copy.get_slice(thread % self.threads)
        source = mine.partition_S(x[row, None])
        destination = mine.partition_D(out[row, None])

        values = cute.make_rmem_tensor_like(source)
        if in_range:
            cute.copy(copy, source, values)

        logits = values.load().to(cutlass.Float32)
        # A slot per warp for each reduction: the second need not wait for the first's readers.
        warps = self.rows * self.threads // WARP
        partial = cute.make_tensor(
            cute.arch.alloc_smem(cutlass.Float32, 2 * warps),
            cute.make_layout((warps, 2)),
        )
        highest = logits.reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0)
        highest = self._reduce_row(highest, cute.arch.fmax, partial[None, 0])
        # Subtracting first keeps the exponent exact where it matters, and never overflows.
        exponentials = cute.math.exp2((logits - highest) * math.log2(math.e), fastmath=True)
        total = exponentials.reduce(cute.ReductionOp.ADD, 0.0, 0)
        total = self._reduce_row(total, lambda a, b: a + b, partial[None, 1])

        values.store((exponentials * (1.0 / total)).to(x.element_type))
        if in_range:
            cute.copy(copy, values, destination)

    def _reduce_row(self, value, combine, partial):
        """Combine one value per thread over the threads of a row, for every one of them."""
        value = cute.arch.warp_reduction(value, combine)
        warps = self.threads // WARP
        if warps > 1:
            thread, _, _ = cute.arch.thread_idx()
            lane, warp = thread % WARP, thread // WARP
            partial[warp] = value  # from every lane, all alike
            cute.arch.sync_threads()
            first = warp // warps * warps
            value = partial[first + lane % warps]
            value = cute.arch.warp_reduction(value, combine, threads_in_group=warps)
        return value


class SoftmaxBackward(Softmax):
    """The gradient of softmax, with the same division of labour."""

    @cute.jit
    def __call__(self, out: cute.Tensor, grad: cute.Tensor, grad_x: cute.Tensor, stream: CUstream):
        """grad_x = out * (grad - sum(out * grad)) along each row.

        Parameters
        ----------
        out
            What softmax gave.
        grad
            Gradient of ``out``.
        grad_x
            Output: gradient of softmax's input; may be the same memory as ``grad``.
        """
        # CUDA refuses an empty grid.
        blocks = cutlass.max(cute.ceil_div(out.shape[0], self.rows), 1)
        self._backward(out, grad, grad_x).launch(
            grid=[blocks, 1, 1], block=[self.rows * self.threads, 1, 1], stream=stream
        )

    @cute.kernel
    def _backward(self, out: cute.Tensor, grad: cute.Tensor, grad_x: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        row = cutlass.Int64(block) * self.rows + thread // self.threads
        in_range = row < out.shape[0]

        load = cute.make_copy_atom(
            cute.nvgpu.CopyUniversalOp(), out.element_type, num_bits_per_copy=LOAD_BITS
        )
        copy = cute.make_tiled_copy_tv(load, cute.make_layout(self.threads), cute.make_layout(self.vector))
        mine = copy.get_slice(thread % self.threads)
        my_out, my_grad = mine.partition_S(out[row, None]), mine.partition_S(grad[row, None])
        destination = mine.partition_D(grad_x[row, None])

        outs, grads = cute.make_rmem_tensor_like(my_out), cute.make_rmem_tensor_like(my_grad)
        if in_range:
            cute.copy(copy, my_out, outs)
            cute.copy(copy, my_grad, grads)

        weights, slopes = outs.load().to(cutlass.Float32), grads.load().to(cutlass.Float32)
        warps = self.rows * self.threads // WARP
        partial = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float32, warps), cute.make_layout(warps))
        mean = (weights * slopes).reduce(cute.ReductionOp.ADD, 0.0, 0)
        mean = self._reduce_row(mean, lambda a, b: a + b, partial)

        grads.store((weights * (slopes - mean)).to(out.element_type))
        if in_range:
            cute.copy(copy, grads, destination)


@sg.family(dtype=[cutlass.Float32, cutlass.BFloat16], columns=[1024, 4096, 8192])
def softmax(dtype, columns):
    """Softmax for float32 and bfloat16 rows of common lengths."""
    x = sg.tensor(dtype, sg.dim("rows"), columns, align=16)
    return sg.kernel(
        returns=("out",),
        backward=sg.backward("softmax_backward", grads={"out": "grad"}, gives={"x": "grad_x"}),
    )(
        Softmax(dtype, columns),
        x=x,
        out=x,
        stream=sg.env_stream(),
    )


@sg.family(dtype=[cutlass.Float32, cutlass.BFloat16], columns=[1024, 4096, 8192])
def softmax_backward(dtype, columns):
    """The gradient of softmax."""
    out = sg.tensor(dtype, sg.dim("rows"), columns, align=16)
    return sg.kernel(returns=("grad_x",))(
        SoftmaxBackward(dtype, columns),
        out=out,
        grad=out,
        grad_x=out,
        stream=sg.env_stream(),
    )

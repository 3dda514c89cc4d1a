"""Matrix product for 16-bit inputs on tensor cores, for GPUs since Ampere.

Each block computes one tile of C. It walks along k through a ring of tiles in shared memory:
``cp.async`` fills the ring some tiles ahead while ``ldmatrix`` and ``mma.sync`` work on the tile at
hand. Whatever is applied to the product is applied to the float32 sums, on the way out.
"""

import math
from typing import Literal

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

import stubgen as sg

COPY_BITS = 128
MMA_MNK = (16, 8, 16)


class Gemm:
    """C = activation(A B^T), accumulated in float32.

    Parameters
    ----------
    b_major
        Along which of its dimensions, n or k, the elements of B are neighbours in memory.
    tile
        What one block computes, and how far it goes along k in one step: (m, n, k). An extent along
        which elements are neighbours is 32, 64 or 128.
    warps
        How the warps of a block divide its tile: along m, along n.
    stages
        Tiles in the ring in shared memory. The default takes 64 KiB, for which every GPU since
        Ampere has room.
    """

    def __init__(
        self,
        b_major: Literal["n", "k"] = "k",
        tile: tuple[int, int, int] = (128, 128, 32),
        warps: tuple[int, int] = (2, 2),
        stages: int = 4,
    ):
        self.b_major = b_major
        self.tile_m, self.tile_n, self.tile_k = tile
        self.warps = warps
        self.threads = 32 * warps[0] * warps[1]
        self.stages = stages

    @cute.jit
    def __call__(
        self,
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        activation: cutlass.Constexpr[str],
        stream: CUstream,
    ):
        """c = activation(a @ b.T), accumulated in float32.

        Parameters
        ----------
        a
            Left operand.
        b
            Right operand, transposed: row j holds what column j of the product is made with.
        c
            Output.
        activation
            What is applied to every element: "none", "relu", or "gelu" in its tanh approximation.
        """
        dtype = a.element_type
        fill_a = self._filling_copy(dtype, 1, self.tile_k)
        if cutlass.const_expr(self.b_major == "k"):
            fill_b = fill_a
        else:
            fill_b = self._filling_copy(dtype, 0, self.tile_n)

        # Two instructions side by side along n: then one ldmatrix of four 8x8 blocks feeds both.
        m, n, k = MMA_MNK
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(dtype, cutlass.Float32, MMA_MNK),
            (*self.warps, 1),
            permutation_mnk=(m * self.warps[0], 2 * n * self.warps[1], k),
        )

        # CUDA refuses an empty grid.
        blocks_m = cutlass.max(cute.ceil_div(c.shape[0], self.tile_m), 1)
        blocks_n = cutlass.max(cute.ceil_div(c.shape[1], self.tile_n), 1)
        self._kernel(a, b, c, activation, fill_a, fill_b, mma).launch(
            grid=[blocks_m, blocks_n, 1], block=[self.threads, 1, 1], stream=stream
        )

    def _filling_copy(self, dtype, major, extent):
        """Return the copy of a tile into shared memory: neighbouring threads copy neighbouring vectors.

        Elements are neighbours along the dimension ``major``, in which the tile has that extent.
        """
        vector = COPY_BITS // dtype.width
        side_by_side = extent // vector
        threads, values = (self.threads // side_by_side, side_by_side), (1, vector)
        if major == 0:
            threads, values = threads[::-1], values[::-1]
        return cute.make_tiled_copy_tv(
            cute.make_copy_atom(
                cpasync.CopyG2SOp(cute.nvgpu.LoadCacheMode.GLOBAL),
                dtype,
                num_bits_per_copy=COPY_BITS,
            ),
            cute.make_ordered_layout(threads, order=(major, 1 - major)),
            cute.make_layout(values),
        )

    @cute.kernel
    def _kernel(
        self,
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        activation: cutlass.Constexpr[str],
        fill_a: cute.TiledCopy,
        fill_b: cute.TiledCopy,
        mma: cute.TiledMma,
    ):
        thread, _, _ = cute.arch.thread_idx()
        block_m, block_n, _ = cute.arch.block_idx()
        dtype = a.element_type
        tile_a, tile_b = (self.tile_m, self.tile_k), (self.tile_n, self.tile_k)
        tile_c = (self.tile_m, self.tile_n)

        smem = cutlass.utils.SmemAllocator()
        smem_a = self._ring(smem, dtype, tile_a, 1)
        smem_b = self._ring(smem, dtype, tile_b, 1 if self.b_major == "k" else 0)

        # What this thread copies: (vector, rows, vectors of a row, steps) in global memory, in the
        # ring stages for steps, and the coordinates, to know what is outside.
        copier_a, copier_b = fill_a.get_slice(thread), fill_b.get_slice(thread)
        from_a = copier_a.partition_S(cute.local_tile(a, tile_a, (block_m, None)))
        from_b = copier_b.partition_S(cute.local_tile(b, tile_b, (block_n, None)))
        into_a, into_b = copier_a.partition_D(smem_a), copier_b.partition_D(smem_b)
        where_a = copier_a.partition_S(
            cute.local_tile(cute.make_identity_tensor(a.shape), tile_a, (block_m, None))
        )
        where_b = copier_b.partition_S(
            cute.local_tile(cute.make_identity_tensor(b.shape), tile_b, (block_n, None))
        )

        # What this thread multiplies: fragments in registers and how ldmatrix fills them.
        worker = mma.get_slice(thread)
        frag_a = mma.make_fragment_A(worker.partition_A(smem_a[None, None, 0]))
        frag_b = mma.make_fragment_B(worker.partition_B(smem_b[None, None, 0]))
        turned = self.b_major == "n"
        load_a = cute.make_tiled_copy_A(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), dtype), mma
        )
        load_b = cute.make_tiled_copy_B(
            cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=turned, num_matrices=4), dtype), mma
        )
        loader_a, loader_b = load_a.get_slice(thread), load_b.get_slice(thread)
        ready_a, ready_b = loader_a.partition_S(smem_a), loader_b.partition_S(smem_b)
        view_a, view_b = loader_a.retile(frag_a), loader_b.retile(frag_b)

        accumulators = cute.make_rmem_tensor(mma.partition_shape_C(tile_c), cutlass.Float32)
        accumulators.fill(0.0)

        steps = cute.ceil_div(a.shape[1], self.tile_k)
        for step in cutlass.range_constexpr(self.stages - 1):
            self._fill_stage(fill_a, from_a, where_a, a.shape, into_a, step, step)
            self._fill_stage(fill_b, from_b, where_b, b.shape, into_b, step, step)
            cute.arch.cp_async_commit_group()

        for step in range(steps):
            stage = step % self.stages
            # All but the newest stages - 2 groups have landed, which includes this step's.
            cute.arch.cp_async_wait_group(self.stages - 2)
            # So have every thread's, and every thread has finished with the stage filled next.
            cute.arch.sync_threads()
            ahead = step + self.stages - 1
            self._fill_stage(fill_a, from_a, where_a, a.shape, into_a, ahead, ahead % self.stages)
            self._fill_stage(fill_b, from_b, where_b, b.shape, into_b, ahead, ahead % self.stages)
            cute.arch.cp_async_commit_group()

            for i in cutlass.range_constexpr(self.tile_k // MMA_MNK[2]):
                cute.copy(load_a, ready_a[None, None, i, stage], view_a[None, None, i])
                cute.copy(load_b, ready_b[None, None, i, stage], view_b[None, None, i])
                cute.gemm(
                    mma,
                    accumulators,
                    frag_a[None, None, i],
                    frag_b[None, None, i],
                    accumulators,
                )

        # Nothing may be in flight into the shared memory of a block that has ended.
        cute.arch.cp_async_wait_group(0)

        into_c = worker.partition_C(cute.local_tile(c, tile_c, (block_m, block_n)))
        where_c = worker.partition_C(
            cute.local_tile(cute.make_identity_tensor(c.shape), tile_c, (block_m, block_n))
        )
        for i in cutlass.range_constexpr(cute.size(accumulators)):
            if cute.elem_less(where_c[i], c.shape):
                into_c[i] = self._activate(accumulators[i], activation).to(c.element_type)

    def _ring(self, smem, dtype, tile, major):
        """Allocate the stages of an operand whose elements are neighbours along the dimension ``major``.

        Swizzled, so that the 8 rows that ldmatrix reads at a time lie in different banks. The
        allocator's swizzle is of byte addresses: it permutes the 16-byte vectors of a row.
        """
        swizzle = {64: (2, 4, 3), 128: (3, 4, 3), 256: (3, 4, 4)}[tile[major] * dtype.width // 8]
        return smem.allocate_tensor(
            dtype,
            cute.make_ordered_layout((*tile, self.stages), order=(major, 1 - major, 2)),
            byte_alignment=128,
            swizzle=cute.make_swizzle(*swizzle),
        )

    def _activate(self, value, activation):
        if activation == "relu":
            return cutlass.max(value, 0.0)
        if activation == "gelu":
            # (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)), which is exact where the left side cancels.
            u = math.sqrt(2 / math.pi) * value * (1.0 + 0.044715 * value * value)
            exponential = cute.math.exp2(u * (-2.0 * math.log2(math.e)), fastmath=True)
            return value * cute.arch.rcp_approx(1.0 + exponential)
        return value

    def _fill_stage(self, fill, source, where, shape, ring, step, stage):
        """Start to copy a step's tile; what lies outside the matrix becomes zero.

        That takes no extra code: a predicated-off ``cp.async`` becomes one with source size 0 (seen
        in the PTX), which reads nothing and writes zeros. So a step past the last one is harmless
        too, and the number of groups in flight stays the same to the end.
        """
        target = ring[None, None, None, stage]
        inside = cute.make_rmem_tensor((1, *target.shape[1:]), cutlass.Boolean)
        for i in range(cute.size(inside, mode=[1])):
            for j in range(cute.size(inside, mode=[2])):
                inside[0, i, j] = cute.elem_less(where[0, i, j, step], shape)
        cute.copy(fill, source[None, None, None, step], target, pred=inside)


@sg.family(
    dtype=[cutlass.Float16, cutlass.BFloat16],
    out=[cutlass.Float16, cutlass.BFloat16, cutlass.Float32],
    activation=["none", "relu", "gelu"],
    b_major=["k", "n"],
)
def gemm(dtype, out, activation, b_major):
    """c = activation(a @ b.T) with c of the operands' type or float32.

    The operand b is row-major, or column-major where c is of its type.
    """
    if out not in (dtype, cutlass.Float32) or (b_major == "n" and out != dtype):
        return None
    # A vector that is copied ends in the row, or column, that it begins in.
    m, k = sg.dim("m"), sg.dim("k", divisible_by=8)
    n = sg.dim("n", divisible_by=8 if b_major == "n" else 1)
    return sg.kernel(returns=("c",))(
        Gemm(b_major),
        a=sg.tensor(dtype, m, k, align=16),
        b=sg.tensor(dtype, n, k, order=(0, 1) if b_major == "n" else (1, 0), align=16),
        c=sg.tensor(out, m, n),
        activation=activation,
        stream=sg.env_stream(),
    )

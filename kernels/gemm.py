"""Matrix product for 16-bit inputs on tensor cores, for GPUs since Ampere.

Each block computes one tile of C. It walks along k through a ring of tiles in shared memory:
``cp.async`` fills the ring some tiles ahead while ``ldmatrix`` and ``mma.sync`` work on the tile at
hand.
"""

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

import stubgen as sg

COPY_BITS = 128
MMA_MNK = (16, 8, 16)


class Gemm:
    """C = A B^T, accumulated in float32.

    Parameters
    ----------
    tile
        What one block computes, and how far it goes along k in one step, which is 32 or 64: (m, n, k).
    warps
        How the warps of a block divide its tile: along m, along n.
    stages
        Tiles in the ring in shared memory. The default takes 64 KiB, for which every GPU since
        Ampere has room.
    """

    def __init__(
        self,
        tile: tuple[int, int, int] = (128, 128, 32),
        warps: tuple[int, int] = (2, 2),
        stages: int = 4,
    ):
        self.tile_m, self.tile_n, self.tile_k = tile
        self.warps = warps
        self.threads = 32 * warps[0] * warps[1]
        self.stages = stages

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, stream: CUstream):
        """c = a @ b.T, accumulated in float32.

        Parameters
        ----------
        a
            Left operand.
        b
            Right operand, transposed: row j holds what column j of the product is made with.
        c
            Output.
        """
        dtype = a.element_type

        # Neighbouring threads copy neighbouring vectors of a row.
        vector = COPY_BITS // dtype.width
        per_row = self.tile_k // vector
        fill = cute.make_tiled_copy_tv(
            cute.make_copy_atom(
                cpasync.CopyG2SOp(cute.nvgpu.LoadCacheMode.GLOBAL),
                dtype,
                num_bits_per_copy=COPY_BITS,
            ),
            cute.make_layout((self.threads // per_row, per_row), stride=(per_row, 1)),
            cute.make_layout((1, vector)),
        )

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
        self._kernel(a, b, c, fill, mma).launch(
            grid=[blocks_m, blocks_n, 1], block=[self.threads, 1, 1], stream=stream
        )

    @cute.kernel
    def _kernel(
        self,
        a: cute.Tensor,
        b: cute.Tensor,
        c: cute.Tensor,
        fill: cute.TiledCopy,
        mma: cute.TiledMma,
    ):
        thread, _, _ = cute.arch.thread_idx()
        block_m, block_n, _ = cute.arch.block_idx()
        dtype = a.element_type
        tile_a, tile_b = (self.tile_m, self.tile_k), (self.tile_n, self.tile_k)
        tile_c = (self.tile_m, self.tile_n)

        smem = cutlass.utils.SmemAllocator()
        # Swizzled, so that the 8 rows that ldmatrix reads at a time lie in different banks. The
        # allocator's swizzle is of byte addresses: it permutes the 16-byte vectors of a row.
        swizzle = cute.make_swizzle({32: 2, 64: 3}[self.tile_k], 4, 3)
        smem_a, smem_b = (
            smem.allocate_tensor(
                dtype,
                cute.make_ordered_layout((*tile, self.stages), order=(1, 0, 2)),
                byte_alignment=128,
                swizzle=swizzle,
            )
            for tile in (tile_a, tile_b)
        )

        # What this thread copies: (vector, rows, vectors of a row, steps) in global memory, in the
        # ring stages for steps, and the coordinates, to know what is outside.
        copier = fill.get_slice(thread)
        from_a = copier.partition_S(cute.local_tile(a, tile_a, (block_m, None)))
        from_b = copier.partition_S(cute.local_tile(b, tile_b, (block_n, None)))
        into_a, into_b = copier.partition_D(smem_a), copier.partition_D(smem_b)
        where_a = copier.partition_S(
            cute.local_tile(cute.make_identity_tensor(a.shape), tile_a, (block_m, None))
        )
        where_b = copier.partition_S(
            cute.local_tile(cute.make_identity_tensor(b.shape), tile_b, (block_n, None))
        )

        # What this thread multiplies: fragments in registers and how ldmatrix fills them.
        worker = mma.get_slice(thread)
        frag_a = mma.make_fragment_A(worker.partition_A(smem_a[None, None, 0]))
        frag_b = mma.make_fragment_B(worker.partition_B(smem_b[None, None, 0]))
        ldmatrix = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), dtype)
        load_a = cute.make_tiled_copy_A(ldmatrix, mma)
        load_b = cute.make_tiled_copy_B(ldmatrix, mma)
        loader_a, loader_b = load_a.get_slice(thread), load_b.get_slice(thread)
        ready_a, ready_b = loader_a.partition_S(smem_a), loader_b.partition_S(smem_b)
        view_a, view_b = loader_a.retile(frag_a), loader_b.retile(frag_b)

        accumulators = cute.make_rmem_tensor(mma.partition_shape_C(tile_c), cutlass.Float32)
        accumulators.fill(0.0)

        steps = cute.ceil_div(a.shape[1], self.tile_k)
        for step in cutlass.range_constexpr(self.stages - 1):
            self._fill_stage(fill, from_a, where_a, a.shape, into_a, step, step)
            self._fill_stage(fill, from_b, where_b, b.shape, into_b, step, step)
            cute.arch.cp_async_commit_group()

        for step in range(steps):
            stage = step % self.stages
            # All but the newest stages - 2 groups have landed, which includes this step's.
            cute.arch.cp_async_wait_group(self.stages - 2)
            # So have every thread's, and every thread has finished with the stage filled next.
            cute.arch.sync_threads()
            ahead = step + self.stages - 1
            self._fill_stage(fill, from_a, where_a, a.shape, into_a, ahead, ahead % self.stages)
            self._fill_stage(fill, from_b, where_b, b.shape, into_b, ahead, ahead % self.stages)
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

        result = cute.make_rmem_tensor_like(accumulators, c.element_type)
        result.store(accumulators.load().to(c.element_type))
        into_c = worker.partition_C(cute.local_tile(c, tile_c, (block_m, block_n)))
        where_c = worker.partition_C(
            cute.local_tile(cute.make_identity_tensor(c.shape), tile_c, (block_m, block_n))
        )
        for i in cutlass.range_constexpr(cute.size(result)):
            if cute.elem_less(where_c[i], c.shape):
                into_c[i] = result[i]

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
)
def gemm(dtype, out):
    """c = a @ b.T with c of the operands' type or float32."""
    if out not in (dtype, cutlass.Float32):
        return None
    m, n, k = sg.dim("m"), sg.dim("n"), sg.dim("k", divisible_by=8)
    return sg.kernel(
        Gemm(),
        a=sg.tensor(dtype, m, k, align=16),
        b=sg.tensor(dtype, n, k, align=16),
        c=sg.tensor(out, m, n),
        stream=sg.env_stream(),
    )

"""Attention for 16-bit inputs on tensor cores, for GPUs since Ampere.

Each block computes the output of one tile of queries of one head. It walks along the keys, tile by
tile, with an online softmax, so that no score ever leaves registers. There is one buffer for keys
and one for values: ``cp.async`` fills the one while the tensor cores work on the other.

References
----------
Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning,
https://arxiv.org/abs/2307.08691
"""

import math

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

import stubgen as sg

WARP = 32
COPY_BITS = 128
MMA_MNK = (16, 8, 16)


class Attention:
    """softmax(scale * Q K^T) V for every head, accumulated in float32.

    Parameters
    ----------
    queries
        Rows of Q that one block works on: 16 for each warp.
    keys
        Rows of K and V in one step, a multiple of 16.
    """

    def __init__(self, queries: int = 64, keys: int = 64):
        self.queries, self.keys = queries, keys
        self.warps = queries // MMA_MNK[0]
        self.threads = WARP * self.warps

    @cute.jit
    def __call__(
        self,
        q: cute.Tensor,
        k: cute.Tensor,
        v: cute.Tensor,
        out: cute.Tensor,
        lse: cute.Tensor | None,
        scale: cutlass.Float32,
        causal: cutlass.Constexpr[bool],
        stream: CUstream,
    ):
        """out = softmax(scale * q @ k.T) @ v for every head.

        Consecutive query heads share a head of k and v where there are fewer of those. A query that
        sees no key gets zeros.

        Parameters
        ----------
        q
            Queries.
        k, v
            Keys and values.
        out
            Output.
        lse
            Output: logarithm of the sum of exp(scale * q @ k.T) over the keys, -inf without any.
        scale
            Factor of the scores, 1 / sqrt(head_dim) as a rule.
        causal
            Whether a query sees only the keys up to its own place, the last query being at that of
            the last key.
        """
        dtype, head_dim = q.element_type, q.shape[3]

        # Neighbouring threads copy neighbouring vectors of a row.
        vector = COPY_BITS // dtype.width
        per_row = head_dim // vector
        fill = cute.make_tiled_copy_tv(
            cute.make_copy_atom(
                cpasync.CopyG2SOp(cute.nvgpu.LoadCacheMode.GLOBAL),
                dtype,
                num_bits_per_copy=COPY_BITS,
            ),
            cute.make_layout((self.threads // per_row, per_row), stride=(per_row, 1)),
            cute.make_layout((1, vector)),
        )

        # A warp has whole rows of scores. Two instructions side by side along n: then one ldmatrix
        # of four 8x8 blocks feeds both.
        m, n, k_step = MMA_MNK
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(dtype, cutlass.Float32, MMA_MNK),
            (self.warps, 1, 1),
            permutation_mnk=(m * self.warps, 2 * n, k_step),
        )

        batches, queries, heads, _ = q.shape
        tiles = cute.ceil_div(queries, self.queries)
        # CUDA refuses an empty grid. The batches are not in a dimension of their own, because there
        # may be more than 65535.
        if tiles * batches > 0 and heads > 0:
            self._kernel(q, k, v, out, lse, scale * math.log2(math.e), causal, tiles, fill, mma).launch(
                grid=[tiles * batches, heads, 1], block=[self.threads, 1, 1], stream=stream
            )

    @cute.kernel
    def _kernel(
        self,
        q: cute.Tensor,
        k: cute.Tensor,
        v: cute.Tensor,
        out: cute.Tensor,
        lse: cute.Tensor | None,
        scale_log2: cutlass.Float32,
        causal: cutlass.Constexpr[bool],
        tiles: cutlass.Int32,
        fill: cute.TiledCopy,
        mma: cute.TiledMma,
    ):
        thread, _, _ = cute.arch.thread_idx()
        block, head, _ = cute.arch.block_idx()
        batch = block // tiles
        # With a causal mask the last tiles have the most keys: they go first.
        first_query = (tiles - 1 - block % tiles) * self.queries
        dtype, head_dim = q.element_type, q.shape[3]
        queries = q.shape[1]
        # There are no keys without a head either.
        keys = k.shape[1] * cutlass.min(k.shape[2], 1)
        # Query i sees the keys before i + beyond.
        beyond = keys - queries + 1
        visible = keys
        if cutlass.const_expr(causal):
            # What the tile's last query sees.
            visible = cutlass.min(keys, first_query + self.queries - 1 + beyond)
        head_kv = head * k.shape[2] // q.shape[2]
        q, out = q[batch, None, head, None], out[batch, None, head, None]
        k, v = k[batch, None, head_kv, None], v[batch, None, head_kv, None]
        tile_q, tile_k = (self.queries, head_dim), (self.keys, head_dim)
        tile = first_query // self.queries

        smem = cutlass.utils.SmemAllocator()
        # Swizzled, so that the 8 rows that ldmatrix reads at a time lie in different banks. The
        # allocator's swizzle is of byte addresses: it permutes the 16-byte vectors of a row.
        swizzle = cute.make_swizzle(3, 4, {64: 3, 128: 4}[head_dim])
        smem_q, smem_k, smem_v = (
            smem.allocate_tensor(
                dtype,
                cute.make_ordered_layout(shape, order=(1, 0)),
                byte_alignment=128,
                swizzle=swizzle,
            )
            for shape in (tile_q, tile_k, tile_k)
        )

        # What this thread copies: (vector, rows, vectors of a row) in shared memory, and a step
        # more in global memory.
        copier = fill.get_slice(thread)
        from_q = copier.partition_S(cute.local_tile(q, tile_q, (tile, 0)))
        from_k = copier.partition_S(cute.local_tile(k, tile_k, (None, 0)))
        from_v = copier.partition_S(cute.local_tile(v, tile_k, (None, 0)))
        into_q, into_k, into_v = (copier.partition_D(buffer) for buffer in (smem_q, smem_k, smem_v))
        rows_q = copier.partition_S(cute.make_identity_tensor(tile_q))
        rows_k = copier.partition_S(cute.make_identity_tensor(tile_k))

        # What this thread multiplies: fragments in registers and how ldmatrix fills them. Values
        # are read transposed: the second product sums over keys.
        worker = mma.get_slice(thread)
        transposed_v = cute.make_tensor(smem_v.iterator, cute.select(smem_v.layout, mode=[1, 0]))
        frag_q = mma.make_fragment_A(worker.partition_A(smem_q))
        frag_k = mma.make_fragment_B(worker.partition_B(smem_k))
        frag_v = mma.make_fragment_B(worker.partition_B(transposed_v))
        straight = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), dtype)
        turned = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), dtype)
        load_q = cute.make_tiled_copy_A(straight, mma)
        load_k = cute.make_tiled_copy_B(straight, mma)
        load_v = cute.make_tiled_copy_B(turned, mma)
        ready_q = load_q.get_slice(thread).partition_S(smem_q)
        ready_k = load_k.get_slice(thread).partition_S(smem_k)
        ready_v = load_v.get_slice(thread).partition_S(transposed_v)
        view_q = load_q.get_slice(thread).retile(frag_q)
        view_k = load_k.get_slice(thread).retile(frag_k)
        view_v = load_v.get_slice(thread).retile(frag_v)

        # Accumulators, and views of them by row and column; where the scores are in their tile.
        shape = (self.queries, self.keys)
        frag_scores = cute.make_rmem_tensor(mma.partition_shape_C(shape), cutlass.Float32)
        frag_out = cute.make_rmem_tensor(mma.partition_shape_C(tile_q), cutlass.Float32)
        scores, sums = self._by_row(frag_scores), self._by_row(frag_out)
        where = self._by_row(worker.partition_C(cute.make_identity_tensor(shape)))

        rows = cute.size(scores, mode=[0])
        highest = cute.make_rmem_tensor((rows,), cutlass.Float32)
        total = cute.make_rmem_tensor((rows,), cutlass.Float32)
        highest.fill(-cutlass.Float32.inf)
        total.fill(0.0)
        frag_out.fill(0.0)

        self._fill_tile(fill, from_q, into_q, rows_q, queries - first_query)
        self._fill_tile(fill, from_k[None, None, None, 0], into_k, rows_k, visible)
        cute.arch.cp_async_commit_group()

        for step in range(cute.ceil_div(visible, self.keys)):
            left = visible - step * self.keys
            # Every thread's keys have landed, and every thread has finished with the last values.
            cute.arch.cp_async_wait_group(0)
            cute.arch.sync_threads()
            self._fill_tile(fill, from_v[None, None, None, step], into_v, rows_k, left)
            cute.arch.cp_async_commit_group()

            frag_scores.fill(0.0)
            for i in cutlass.range_constexpr(head_dim // MMA_MNK[2]):
                cute.copy(load_q, ready_q[None, None, i], view_q[None, None, i])
                cute.copy(load_k, ready_k[None, None, i], view_k[None, None, i])
                cute.gemm(mma, frag_scores, frag_q[None, None, i], frag_k[None, None, i], frag_scores)
            frag_scores.store(frag_scores.load() * scale_log2)

            # What the tile's first query sees ends in this tile, or before it.
            seen = visible
            if cutlass.const_expr(causal):
                seen = cutlass.min(seen, first_query + beyond)
            if seen < (step + 1) * self.keys:
                for i in cutlass.range_constexpr(rows):
                    seen_by_row = visible
                    if cutlass.const_expr(causal):
                        seen_by_row = cutlass.min(keys, first_query + where[i, 0][0] + beyond)
                    for j in cutlass.range_constexpr(cute.size(scores, mode=[1])):
                        if step * self.keys + where[i, j][1] >= seen_by_row:
                            scores[i, j] = -cutlass.Float32.inf

            for i in cutlass.range_constexpr(rows):
                row = scores[i, None].load()
                before = highest[i]
                highest[i] = cute.arch.warp_reduction(
                    row.reduce(cute.ReductionOp.MAX, before, 0), cute.arch.fmax, threads_in_group=4
                )
                # Without any key so far, -inf - (-inf) would be no number.
                base = 0.0 if highest[i] == -cutlass.Float32.inf else highest[i]
                row = cute.math.exp2(row - base, fastmath=True)
                correction = cute.math.exp2(before - base, fastmath=True)
                total[i] = row.reduce(cute.ReductionOp.ADD, total[i] * correction, 0)
                scores[i, None].store(row)
                sums[i, None].store(sums[i, None].load() * correction)

            # Every thread's values have landed, and every thread has finished with the keys.
            cute.arch.cp_async_wait_group(0)
            cute.arch.sync_threads()
            self._fill_tile(fill, from_k[None, None, None, step + 1], into_k, rows_k, left - self.keys)
            cute.arch.cp_async_commit_group()

            frag_weights = self._as_operand(frag_scores, dtype)
            for i in cutlass.range_constexpr(self.keys // MMA_MNK[2]):
                cute.copy(load_v, ready_v[None, None, i], view_v[None, None, i])
                cute.gemm(mma, frag_out, frag_weights[None, None, i], frag_v[None, None, i], frag_out)

        # Nothing may be in flight into the shared memory of a block that has ended.
        cute.arch.cp_async_wait_group(0)

        result = cute.make_rmem_tensor_like(frag_out, dtype)
        into_out = worker.partition_C(cute.local_tile(out, tile_q, (tile, 0)))
        result_by_row, into_out = self._by_row(result), self._by_row(into_out)
        for i in cutlass.range_constexpr(rows):
            row = first_query + where[i, 0][0]
            # The four threads of a row have summed its columns each for itself.
            total[i] = cute.arch.warp_reduction_sum(total[i], threads_in_group=4)
            factor = 0.0 if total[i] == 0.0 else 1.0 / total[i]
            result_by_row[i, None].store((sums[i, None].load() * factor).to(dtype))
            if row < queries:
                cute.autovec_copy(result_by_row[i, None], into_out[i, None])
            if cutlass.const_expr(lse is not None):
                logarithm = highest[i] + cute.math.log2(total[i], fastmath=True)
                if row < queries and thread % 4 == 0:
                    lse[batch, head, row] = logarithm * math.log(2.0)

    def _fill_tile(self, fill, source, target, where, rows):
        """Start to copy the tile's first rows; the others become zero.

        That takes no extra code: a predicated-off ``cp.async`` becomes one with source size 0, which
        reads nothing and writes zeros.
        """
        inside = cute.make_rmem_tensor((1, *target.shape[1:]), cutlass.Boolean)
        for i in range(cute.size(inside, mode=[1])):
            for j in range(cute.size(inside, mode=[2])):
                inside[0, i, j] = where[0, i, j][0] < rows
        cute.copy(fill, source, target, pred=inside)

    def _by_row(self, fragment):
        """View an accumulator ((2 columns, 2 rows), m, n) as (rows, columns)."""
        layout = fragment.layout
        (column, row), m, n = layout.shape
        d_column, d_row = layout.stride[0]
        by_row = cute.make_layout(
            ((row, m), (column, n)),
            stride=((d_row, layout.stride[1]), (d_column, layout.stride[2])),
        )
        return cute.make_tensor(fragment.iterator, by_row)

    def _as_operand(self, fragment, dtype):
        """Convert an accumulator to left operands.

        Two accumulators side by side, 8 columns each, hold in every thread what that thread has of a
        left operand of 16 columns.
        """
        converted = cute.make_rmem_tensor_like(fragment, dtype)
        converted.store(fragment.load().to(dtype))
        pairs = cute.logical_divide(converted.layout, (None, None, 2))
        (first, m, (pair, n)), (d_first, d_m, (d_pair, d_n)) = pairs.shape, pairs.stride
        layout = cute.make_layout(((*first, pair), m, n), stride=((*d_first, d_pair), d_m, d_n))
        return cute.make_tensor(converted.iterator, layout)


def _strided(name, dtype, *shape):
    """Return a tensor whose innermost dimension alone is contiguous."""
    strides = [sg.dim(f"{name}_stride{i}", divisible_by=8, bits=64) for i in range(len(shape) - 1)]
    return sg.tensor(dtype, *shape, strides=(*strides, 1), align=16)


@sg.family(
    dtype=[cutlass.Float16, cutlass.BFloat16],
    head_dim=[64, 128],
    causal=[False, True],
    lse=[False, True],
)
def attention(dtype, head_dim, causal, lse):
    """Attention for common head sizes, causal or not, with or without the log-sum-exp."""
    batch, heads, heads_kv = sg.dim("batch"), sg.dim("heads"), sg.dim("heads_kv")
    seqlen_q, seqlen_k = sg.dim("seqlen_q"), sg.dim("seqlen_k")
    return sg.kernel(mutates=("lse",), returns=("out",))(
        Attention(),
        q=_strided("q", dtype, batch, seqlen_q, heads, head_dim),
        k=_strided("k", dtype, batch, seqlen_k, heads_kv, head_dim),
        v=_strided("v", dtype, batch, seqlen_k, heads_kv, head_dim),
        out=_strided("out", dtype, batch, seqlen_q, heads, head_dim),
        lse=sg.tensor(cutlass.Float32, batch, heads, seqlen_q) if lse else None,
        causal=causal,
        stream=sg.env_stream(),
    )

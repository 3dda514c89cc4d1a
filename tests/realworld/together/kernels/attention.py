"""Attention of flash-attn-4."""

from cutlass import BFloat16, Float32
from flash_attn.cute.flash_fwd_sm90 import FlashAttentionForwardSm90

import stubgen as sg


@sg.family(causal=[False, True])
def attention_fwd(causal):
    """Attention with as many heads for keys and values as for queries."""
    batch, heads = sg.dim("batch"), sg.dim("heads")
    queries = sg.strided(BFloat16, batch, sg.dim("m"), heads, 128, vector=8)
    keys = sg.strided(BFloat16, batch, sg.dim("n"), heads, 128, vector=8)
    sums = sg.tensor(Float32, batch, heads, sg.dim("m"))
    kernel = FlashAttentionForwardSm90(
        *(BFloat16, 128, 128, 1),
        is_causal=causal,
        pack_gqa=False,
        num_stages=2,
        num_threads=384,
    )
    return sg.kernel(kernel, queries, keys, keys, queries, sums, Float32, stream=sg.env_stream())

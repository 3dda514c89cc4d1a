"""Compares the declared GEMMs with what quack itself would compile, as ``like_quack`` does for the rest."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from cutlass import Float32

from tests.realworld import like_quack


class Description(like_quack.Description):
    """Describes calls without defaults, some of which quack passes and sets itself."""

    def of_call(self, fn: Any, *args: Any) -> list[Any]:
        described = super().of_call(fn, *args)
        while described[-1] is None:  # the last parameters have that for a default
            described.pop()
        return described

    def of(self, value: Any) -> Any:
        described = super().of(value)
        if not isinstance(described, tuple) or not isinstance(described[-1], dict):
            return described
        kind, attributes = described
        own = {name: found for name, found in attributes.items() if found != getattr(kind, name, self)}
        return kind, own


def keys() -> dict[str, Callable[..., tuple[Any, ...]]]:
    """For each declared function, what quack compiles for a variant."""
    from quack.epilogue.library import dact_mod, linear_act_mod

    def act(activation: str, **options: bool) -> Any:
        return linear_act_mod(activation, has_c=False, has_colvec=False, **options)

    bias = {"mRowVecBroadcast": (Float32, 2)}
    return {
        "gemm": lambda dtype, b_major, linear: (
            _linear(dtype, b_major, c=dtype, rowvec_dtype=Float32, alpha_mode=1, beta_mode=1)
            if linear
            else _linear(dtype, b_major)
        ),
        "gemm_batched": lambda dtype: _linear(dtype, "k", batched=True),
        "gemm_act": lambda dtype, activation, preact: _fused(
            act(activation, gated=False, has_rowvec=True), dtype, bias, preact, mRowVecBroadcast="row"
        ),
        "gemm_gated": lambda dtype, activation: _fused(act(activation, gated=True, has_rowvec=False), dtype),
        "gemm_dact": lambda dtype: _fused(dact_mod("gelu_tanh_approx"), dtype, c="c"),
    }


def _linear(dtype: Any, b_major: str, c: Any = None, batched: bool = False, **given: Any) -> tuple[Any, ...]:
    """Let quack compile a GEMM with its linear epilogue."""
    from quack.gemm import _compile_gemm

    absent = ("rowvec_dtype", "colvec_dtype", "num_warps", "concat_layout")
    off = ("alpha_mode", "beta_mode", "sr_seed_mode", "colvec_ndim")
    no = ("add_to_output", "varlen_m", "varlen_k", "gather_A", "use_tma_gather", "has_batch_idx_permute")
    options = {**dict.fromkeys(absent), **dict.fromkeys(off, 0), **dict.fromkeys(no, False), **given}
    options |= {"rounding_mode": _nearest(), "batched": batched}
    return _compiling(_compile_gemm, *_tensors(dtype, dtype, c, b_major), **_configuration(), **options)


def _fused(epilogue: Any, dtype: Any, loaded: Any = (), preact: bool = True, **kinds: str) -> tuple[Any, ...]:
    """Let quack compile a GEMM with an epilogue that is a function."""
    from quack.gemm_runtime.host import _compile_gemm_epi

    options = _configuration()
    gated, generation = epilogue.mode == "acc_pair", options["device_capacity"][0]
    minted = (tuple(kinds.items()), generation, gated, False, (), _nearest(), (), False)
    names = ("a_dtype", "b_dtype", "d_dtype", "c_dtype", "a_major", "b_major", "d_major", "c_major")
    tensors = _tensors(dtype, dtype if preact else None, dtype if "c" in kinds else None, "k")
    options |= dict(zip(names, tensors, strict=True))
    options |= dict.fromkeys(("varlen_m", "gather_A", "batched", "b_kn"), False)
    options["epi_keys"] = tuple(sorted({"mAuxOut": (dtype, "n"), **dict(loaded)}.items()))
    return _compiling(_compile_gemm_epi, epilogue._class_ref(minted), **options)


def _tensors(dtype: Any, d: Any, c: Any, b_major: str) -> tuple[Any, ...]:
    """Return dtypes and majors of a, b, d and c."""
    return (dtype, dtype, d, c, "k", b_major, "n", "n" if c else None)


def _configuration() -> dict[str, Any]:
    """Return what quack takes by default for the GPU."""
    from quack.cute_dsl_utils import get_device_capacity
    from quack.gemm_config import default_config

    config = default_config(None)
    return {
        "tile_shape_mn": (config.tile_m, config.tile_n),
        "cluster_shape_mnk": (config.cluster_m, config.cluster_n, 1),
        "pingpong": config.pingpong,
        "persistent": True,
        "is_dynamic_persistent": config.is_dynamic_persistent,
        "device_capacity": get_device_capacity(),
    }


def _nearest() -> Any:
    from quack.rounding import RoundingMode

    return RoundingMode.RN


def _compiling(compile_it: Any, *given: Any, **options: Any) -> tuple[Any, ...]:
    """Return what ``like_quack`` calls, with arguments that quack passes by name."""
    return (SimpleNamespace(__wrapped__=functools.partial(compile_it.__wrapped__, *given, **options)),)


if __name__ == "__main__":
    like_quack.Description, like_quack.keys = Description, keys  # type: ignore[misc]
    like_quack.main()

"""Sizes that are different and might be called the same: by their authors, by numbers, and in families."""

from typing import NamedTuple, Optional

import cutlass
from cutlass import cute

import stubgen as sg

f32 = cutlass.Float32


class Twins(NamedTuple):
    x: cute.Tensor
    y: Optional[cute.Tensor] = None


def t(*shape):
    return sg.tensor(f32, *shape, device="cpu")


def strided(*shape):
    return sg.strided(f32, *shape, vector=4, device="cpu")


@cute.jit
def two(a: cute.Tensor, b: cute.Tensor):
    pass


@cute.jit
def three(a: cute.Tensor, b: Optional[cute.Tensor], c: cute.Tensor):
    pass


@cute.jit
def in_a_record(p: Twins, c: cute.Tensor):
    pass


n, k = sg.dim("n"), sg.dim("k", divisible_by=32)
sg.export(name="same_size")(two, t(n), t(n))
sg.export(name="same_name")(two, t(sg.dim("n1")), t(sg.dim("n1")))
sg.export(name="beside_a_number")(two, t(sg.dim("n1")), t(cute.sym_int()))
sg.export(name="behind_a_number")(two, t(cute.sym_int()), t(sg.dim("n0")))
sg.export(name="name_with_a_number")(three, t(sg.dim("n")), t(sg.dim("n")), t(sg.dim("n_2")))
sg.export(name="beside_a_stride")(two, sg.strided(f32, 4, n, device="cpu"), t(sg.dim("s0")))
sg.export(name="beside_packed")(two, sg.tensor(cutlass.Float4E2M1FN, 4, k, device="cpu"), t(k))


@sg.family(with_b=[False, True])
def free_strides(with_b):
    m = sg.dim("m")
    return sg.kernel(three, strided(4, m), strided(4, m) if with_b else None, strided(4, m))


@sg.family(with_b=[False, True])
def of_one_name(with_b):
    return sg.kernel(three, t(sg.dim("n")), t(sg.dim("n")) if with_b else None, t(sg.dim("n")))


@sg.family(with_b=[False, True])
def without_names(with_b):
    y = t(cute.sym_int()) if with_b else None
    return sg.kernel(three, t(cute.sym_int()), y, t(cute.sym_int()))


@sg.family(with_y=[False, True])
def in_records(with_y):
    y = t(cute.sym_int()) if with_y else None
    return sg.kernel(in_a_record, Twins(t(cute.sym_int()), y), t(cute.sym_int()))

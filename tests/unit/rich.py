"""A library that has something of everything: each slot in each place, families of every kind, effects.

Nobody compiled it. What the tool prints for it is tracked in ``expected/``, where a review sees what changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import families
from stubgen.model.effects import Backward, Effects
from stubgen.model.library import (
    ConstantSlot,
    Default,
    DeviceProfile,
    Field,
    Frozen,
    Kernel,
    Library,
    Module,
    NoneSlot,
    Parameter,
    ParameterKind,
    Place,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Variant,
    Versions,
)
from tests.dispatch.models import tensor

N, M = Symbol("n"), Symbol("m", divisible_by=8)
WIDE = Symbol("wide", 64, 4)
X = tensor("float32", N, device="cuda")
HOST = tensor("float32", N)
F32 = ScalarSlot("float32")
NONE = NoneSlot()
ARCHS = ("sm_80", "sm_90a", "sm_100f")


def take(
    slot: Slot, default: object = ..., kind: ParameterKind = "positional_or_keyword"
) -> tuple[Slot, Default | None, ParameterKind]:
    """Say how a parameter is taken, for :func:`kernel`."""
    return slot, None if default is ... else Default(default), kind  # type: ignore[arg-type]


def kernel(
    name: str,
    module: str,
    line: int,
    parameters: dict[str, Slot | tuple[Slot, Default | None, ParameterKind]],
    **details: object,
) -> Kernel:
    """Make a kernel of parameters by name."""
    made: list[Parameter] = []
    for parameter, taken in parameters.items():
        slot, default, kind = taken if isinstance(taken, tuple) else take(taken)
        made.append(Parameter(parameter, slot, kind, default))
    place = Place(f"kernels/{module.replace('.', '/')}.py", line)
    return Kernel(name, module, tuple(made), abi="", place=place, **details)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------------
# Every slot

SCALARS = kernel(
    "scalars",
    "slots",
    10,
    {
        "first": ScalarSlot("bool"),
        "i8": take(ScalarSlot("int8"), -8),
        "i16": take(ScalarSlot("int16"), 16),
        "i32": take(ScalarSlot("int32", 4), -(2**31)),
        "i64": take(ScalarSlot("int64"), -(2**63)),
        "u8": take(ScalarSlot("uint8"), 255),
        "u16": take(ScalarSlot("uint16"), 16),
        "u32": take(ScalarSlot("uint32"), 2**32 - 1),
        "u64": take(ScalarSlot("uint64"), 2**63 - 1),
        "f16": take(ScalarSlot("float16"), 0.5),
        "bf16": take(ScalarSlot("bfloat16"), 1.5),
        "f32": take(F32, 0.1),
        "f64": take(ScalarSlot("float64"), 0.1),
        "flag": take(ScalarSlot("bool"), True, "keyword_only"),
        "needed": take(F32, ..., "keyword_only"),
        "infinite": take(F32, math.inf, "keyword_only"),
        "minus": take(ScalarSlot("float64"), -math.inf, "keyword_only"),
        "nothing": take(F32, math.nan, "keyword_only"),
        "whole": take(F32, 3, "keyword_only"),
        "truth": take(ScalarSlot("int32"), True, "keyword_only"),
    },
    doc="Take numbers.\n\nParameters\n----------\nfirst\n    Whether\n    it is.\ni8, i16\n    Small.\n",
    source=Place("kernels/slots.py", 8),
)

TENSORS = kernel(
    "tensors",
    "slots",
    20,
    {
        "scalar": tensor("bool", device="cuda"),
        "vector": tensor("float8_e4m3fn", N, device="cuda", alignment=16),
        "packed": tensor("float4_e2m1fnx2", M, 64, device="cuda", alignment=1),
        "column": tensor("bfloat16", N, M, strides=(1, Symbol("ld", 64, 8)), device="cuda", alignment=32),
        "gaps": tensor("int64", 4, 8, strides=(16, 2), device="cuda"),
        "fixed": tensor("uint8", 4, 8, device="cuda"),
        "single": tensor("float64", N, 1, device="cuda", alignment=8),
        "compact": TensorSlot("float32x4", (WIDE, N), None, 16, "cuda"),
        "host": tensor("float16", WIDE),
    },
    archs=ARCHS,
    env_streams=("stream",),
    frozen=(Frozen("tile", "(64, 128)", 1), Frozen("act", "'relu'", 2, "keyword_only")),
    doc="Take tensors.",
)

ADDRESSES = kernel(
    "addresses",
    "slots",
    30,
    {
        "plain": PointerSlot(),
        "typed": PointerSlot("float32", 16, "cuda"),
        "near": take(PointerSlot("int32", 1, "cpu"), None),
        "somewhere": take(PointerSlot("int64"), None),
        "stream": take(StreamSlot(), None),
        "shape": take(ShapeSlot((4, N)), (4, 8)),
        "one": take(ShapeSlot((WIDE,)), (12,)),
        "empty": take(ShapeSlot(()), ()),
        "absent": take(NONE, None),
    },
    archs=("sm_90a",),
)

PAIR = TupleSlot((X, F32), "Pair", ("x", "scale"))
BARE = TupleSlot((X, NONE), "Pair", ("x", "scale"))
OPTIONS = TupleSlot(
    (PAIR, ConstantSlot(True), ConstantSlot(7), ConstantSlot(math.inf), ScalarSlot("uint64"), NONE),
    "Options",
    ("pair", "fast", "stages", "limit", "count", "gone"),
)
HIDDEN = TupleSlot((ConstantSlot(-(2**63)), NONE), "Hidden", ("low", "none"))
TUPLES = kernel(
    "tuples",
    "slots",
    40,
    {
        "pair": PAIR,
        "options": OPTIONS,
        "hidden": HIDDEN,
        "plain": TupleSlot((F32, TupleSlot((NONE, ScalarSlot("int32"))), TupleSlot(()), ShapeSlot((2, N)))),
        "empty": TupleSlot(()),
        "numbers": take(TupleSlot((ScalarSlot("int32"), F32)), (1, 0.5)),
        "mixed": TupleSlot((F32, F32, F32), "Mixed", ("x", "y", "z")),
        "keyword": take(TupleSlot((F32,), "Keyword", ("x",)), (2.0,)),
    },
    archs=("sm_90a",),
    options="--opt-level 2",
)
BARE_PAIR = kernel("bare_pair", "slots", 44, {"pair": BARE, "out": X}, archs=("sm_90a",))

NAMES = kernel(
    "names",
    "slots",
    50,
    {
        "int": F32,
        "größe": F32,
        "NULL": F32,
        "self": F32,
        "ffi_arguments": ScalarSlot("int32"),
        "DLTensor": ScalarSlot("int32"),
        "a_b": F32,
        "a": TupleSlot((F32, TupleSlot((F32, F32)))),
    },
    doc="Names.\n\nParameters\n----------\nint : x\n    One.\nstranger\n    Nobody.\n\nNotes\n-----\nA note.",
)
NOTHING = kernel("nothing", "slots", 60, {})

SLOTS = Module(
    "slots",
    "kernels/slots.py",
    (SCALARS, TENSORS, ADDRESSES, TUPLES, BARE_PAIR, NAMES, NOTHING),
    records=(
        Record(
            "Pair",
            "namedtuple",
            (Field("x"), Field("scale", Default(0.5))),
            "A pair.\n\nAttributes\n----------\nx\n    Data.",
        ),
        Record(
            "Options",
            "dataclass",
            (
                *(Field("pair"), Field("fast", Default(True)), Field("stages", Default(7))),
                *(Field("limit", Default(2.0)), Field("count", Default(3)), Field("gone", Default(None))),
            ),
        ),
        Record("Hidden", "dataclass", (Field("low"), Field("none"))),
        Record(
            "Mixed",
            "dataclass",
            (Field("x"), Field("y", Default(2.0), kw_only=True), Field("z", kw_only=True)),
        ),
        Record("Keyword", "dataclass", (Field("x", Default(1.0), kw_only=True),)),
    ),
    doc="Every kind of argument.\n\nAnd more.",
)

# ---------------------------------------------------------------------------------------------------------
# Families


def variants(
    family: str,
    line: int,
    rows: Sequence[tuple[dict[str, str], dict[str, Slot | tuple[Slot, Default | None, ParameterKind]]]],
    values: dict[str, dict[str, ChoiceValue]] | None = None,
    archs: Sequence[tuple[str, ...]] = ((),),
    priorities: Sequence[int] = (0,),
    **details: object,
) -> list[Kernel]:
    """Make the variants of a family of labels and parameters; what is shorter than the rows goes round."""
    made = []
    for (labels, parameters), own, priority in zip(
        rows, itertools.cycle(archs), itertools.cycle(priorities), strict=False
    ):
        chosen = {axis: (values or {}).get(axis, {}).get(label, label) for axis, label in labels.items()}
        frozen = tuple(
            Frozen(axis, repr(value), 1, "positional_or_keyword", Default(next(iter(values[axis].values()))))
            for axis, value in chosen.items()
            if values and axis in values
        )
        made.append(
            kernel(
                f"{family}__{'_'.join(labels.values())}",
                "families",
                line,
                parameters,
                variant=Variant(family, labels, chosen, priority),
                archs=own,
                frozen=frozen,
                **details,
            )
        )
    return made


NORM = variants(
    "norm",
    10,
    [
        (
            {"dtype": dtype, "hidden": str(hidden), "bias": str(bias).lower()},
            {
                "x": tensor(dtype, Symbol("rows"), hidden, device="cuda", alignment=16),
                "bias": take(tensor(dtype, hidden, device="cuda") if bias else NONE),
                "out": tensor(dtype, Symbol("rows"), hidden, device="cuda", alignment=16),
                "eps": take(F32, 1e-05),
            },
        )
        for dtype in ("float16", "bfloat16")
        for hidden in (1024, 4096)
        for bias in (False, True)
    ],
    archs=[("sm_80", "sm_90a"), ("sm_80",)],
    doc="Normalise rows.\n\nParameters\n----------\nx, out\n    Rows.\neps\n    Added.\n",
    env_streams=("stream",),
)
CHOSEN = variants(
    "chosen",
    20,
    [
        (
            {"act": act, "causal": causal, "tile": tile},
            {"x": HOST, "out": HOST, "amount": take(ScalarSlot("int32"), 3)},
        )
        for act in ("relu", "gelu")
        for causal in ("false", "true")
        for tile in ("64", "128")
        if (act, tile) != ("gelu", "128")
    ],
    values={
        "act": {"relu": "relu", "gelu": 'ge"lu\\?'},
        "causal": {"false": False, "true": True},
        "tile": {"64": 64, "128": 2**40},
    },
    doc="Choose.",
)
MIXED = variants(
    "mixed",
    30,
    [({"kind": kind}, {"x": HOST}) for kind in ("none", "half", "two", "yes", "text", "low")],
    values={"kind": {"none": None, "half": 0.5, "two": 2, "yes": True, "text": "grüße", "low": -(2**63)}},
)
FLOATS = variants(
    "floats",
    35,
    [({"rate": rate}, {"x": HOST}) for rate in ("a", "b")],
    values={"rate": {"a": 0.25, "b": 2.0}},
)
RATES = variants(
    "rates",
    36,
    [({"rate": rate, "tile": tile}, {"x": HOST}) for rate in ("a", "b") for tile in ("64", "128")],
    values={"rate": {"a": 0.25, "b": 2.0}, "tile": {"64": 64, "128": 128}},
)
TOGETHER = variants(
    "together",
    40,
    [
        (
            {"given": given},
            {
                "x": HOST,
                "scale": take(HOST if given == "yes" else NONE),
                "shift": take(HOST if given == "yes" else NONE),
            },
        )
        for given in ("no", "yes")
    ],
)
OTHERS: list[tuple[str, Slot]] = [
    ("int", ScalarSlot("int32", 8)),
    ("float", ScalarSlot("float64")),
    ("none", NONE),
    ("shape", ShapeSlot((4, N))),
    ("shape3", ShapeSlot((N, 8, Symbol("k", 64, 16)))),
    ("tuple", TupleSlot((F32, TupleSlot((ScalarSlot("int8"),))))),
    ("tensor", HOST),
    ("matrix", tensor("float32", N, 16, alignment=64)),
]
ANYTHING = variants("anything", 50, [({"kind": kind}, {"x": slot, "out": HOST}) for kind, slot in OTHERS])
NUMBERS = variants("numbers", 55, [({"kind": kind}, {"x": take(slot, 1)}) for kind, slot in OTHERS[:2]])
OPTIONAL_NUMBER = variants(
    "optional_number", 56, [({"kind": kind}, {"x": take(slot)}) for kind, slot in OTHERS[::2][:2]]
)
OPTIONAL_POINTER = variants(
    "optional_pointer",
    57,
    [
        ({"kind": kind}, {"p": slot, "x": HOST})
        for kind, slot in (("p", PointerSlot("float32", 4, "cpu")), ("no", tensor("int8", N)))
    ],
)
TUPLE_ITEMS = variants(
    "tuple_items",
    60,
    [
        ({"kind": kind}, {"t": TupleSlot((slot, ScalarSlot("int32")))})
        for kind, slot in (
            ("one", ConstantSlot(1)),
            ("half", ConstantSlot(0.5)),
            ("tensor", HOST),
            ("none", NONE),
            ("deep", TupleSlot((tensor("int32", 4), F32))),
            ("deeper", TupleSlot((tensor("int64", 4), F32))),
        )
    ],
)
LAYOUTS = variants(
    "layouts",
    70,
    [
        ({"kind": kind}, {"x": slot, "y": HOST})
        for kind, slot in (
            ("row", TensorSlot("float32", (N, Symbol("k")), None, None, "cpu")),
            ("column", tensor("float32", N, Symbol("k"), strides=(1, Symbol("s0", 64)))),
            ("fixed", tensor("float32", N, 8)),
            ("aligned", tensor("float32", N, 8, alignment=64)),
            ("gap", tensor("float32", N, Symbol("k"), strides=(Symbol("s1", 32, 4), 2))),
            ("square", tensor("float64", N, N, strides=(Symbol("n"), 1))),
            ("any", tensor("float64", N, Symbol("k"), strides=(Symbol("s0", 64), 1))),
            ("eight", tensor("float64", N, Symbol("k", divisible_by=8), strides=(Symbol("s0", 64), 1))),
        )
    ],
    priorities=[-1, 0, 0, 0, 0, 2, 0, 1],
)
BUILDS = variants(
    "builds",
    80,
    [
        ({"arch": "old"}, {"x": X, "out": X}),
        ({"arch": "new"}, {"x": X, "out": X}),
        ({"arch": "host"}, {"x": HOST, "out": HOST}),
    ],
    archs=[("sm_80",), ("sm_90a", "sm_100f"), ()],
    values={"arch": {"old": 80, "new": 90, "host": 0}},
)
RECORDS = variants(
    "records",
    90,
    [
        ({"kind": kind}, {"pair": TupleSlot((slot, scale), "Both", ("x", "scale")), "out": X})
        for kind, slot, scale in (
            ("plain", X, F32),
            ("bare", X, NONE),
            ("half", tensor("float16", N, device="cuda"), F32),
        )
    ],
    archs=[("sm_90a",)],
)

PARTLY = variants(
    "partly",
    100,
    [
        (
            {"a": a, "b": b},
            {"self": HOST if a == "yes" else NONE, "y": HOST if b == "yes" else NONE, "z": HOST},
        )
        for a, b in (("no", "no"), ("no", "yes"), ("yes", "yes"))
    ],
)
NORM_VARIANT = variants(
    "norm_variants2", 110, [({"dtype": dtype}, {"x": tensor(dtype, N)}) for dtype in ("int8", "int16")]
)

KEYWORDED = variants(
    "keyworded",
    120,
    [
        (
            {"given": given},
            {
                "s": take(F32, 1.0),
                "y": take(slot) if given == "yes" else take(slot, None),
                "z": take(slot, None),
            },
        )
        for given, slot in (("no", NONE), ("yes", HOST))
    ],
)

_FAMILIES = [
    *(NORM, CHOSEN, MIXED, FLOATS, RATES, TOGETHER, ANYTHING, NUMBERS, OPTIONAL_NUMBER, OPTIONAL_POINTER),
    *(TUPLE_ITEMS, LAYOUTS, BUILDS, RECORDS, PARTLY, NORM_VARIANT, KEYWORDED),
]
_KERNELS = tuple(itertools.chain.from_iterable(_FAMILIES))
FAMILIES = Module(
    "families",
    "kernels/families.py",
    _KERNELS,
    families(_KERNELS),
    (Record("Both", "namedtuple", (Field("x"), Field("scale", Default(None)))),),
)

# ---------------------------------------------------------------------------------------------------------
# Effects


def _effects(mutates: str = "", returns: str = "", backward: Backward | None = None) -> Effects:
    return Effects((*mutates.split(), *returns.split()), tuple(returns.split()), backward)


ROWS, COLUMNS = Symbol("rows"), Symbol("columns")
MATRIX = tensor("float32", ROWS, COLUMNS, device="cuda")
PURE = [
    kernel("copy", "pure", 1, {"x": X, "out": X}, effects=_effects(returns="out"), archs=ARCHS),
    kernel(
        "scale",
        "pure",
        2,
        {"x": MATRIX, "by": F32, "out": MATRIX},
        effects=_effects(returns="out", backward=Backward("scale_backward", {"out": "dout"}, {"x": "dx"})),
        archs=ARCHS,
    ),
    kernel(
        "scale_backward",
        "pure",
        3,
        {"dout": MATRIX, "by": F32, "dx": MATRIX},
        effects=_effects(returns="dx"),
        archs=ARCHS,
    ),
    kernel(
        "sums",
        "pure",
        4,
        {
            "x": MATRIX,
            "total": tensor("float64", ROWS, device="cuda"),
            "count": tensor("int32", 1, device="cuda"),
            "flags": tensor("bool", COLUMNS, ROWS, device="cuda"),
            "all": tensor("float4_e2m1fnx2", device="cuda"),
        },
        effects=_effects(returns="total count flags all"),
        archs=ARCHS,
    ),
    kernel(
        "add_in_place",
        "pure",
        5,
        {"x": X, "y": X, "n": ScalarSlot("int64"), "f": ScalarSlot("bool")},
        effects=_effects("y"),
        archs=ARCHS,
    ),
    kernel("both", "pure", 6, {"x": X, "y": X, "out": X}, effects=_effects("y", "out"), archs=ARCHS),
    kernel(
        "on_host", "pure", 7, {"x": HOST, "out": HOST, "eps": take(F32, 0.5)}, effects=_effects(returns="out")
    ),
    kernel("pointer", "pure", 8, {"x": X, "p": PointerSlot()}, archs=ARCHS),
    kernel(
        "column",
        "pure",
        9,
        {"x": tensor("float32", ROWS, COLUMNS, strides=(1, Symbol("s", 64)), device="cuda"), "out": MATRIX},
        effects=_effects(returns="out"),
        archs=ARCHS,
    ),
    kernel("several_devices", "pure", 10, {"x": X, "y": HOST}, effects=_effects("x"), archs=ARCHS),
]


def _in_pure(kernels: Sequence[Kernel]) -> list[Kernel]:
    return [
        msgspec.structs.replace(own, module="pure", place=Place("kernels/pure.py", own.place.line))
        for own in kernels
    ]


def _rows(dtype: str) -> Slot:
    return tensor(dtype, ROWS, 64, device="cuda")


STATISTICS = tensor("float32", ROWS, device="cuda")
HALVES = tensor("int32", ROWS, device="cuda")
PURE += _in_pure(
    variants(
        "cast",
        20,
        [
            ({"from": of, "to": to, "weight": weight}, {"x": _rows(of), "weight": slot, "out": _rows(to)})
            for of, to, weight, slot in (
                ("float16", "float16", "no", NONE),
                ("float16", "float32", "no", NONE),
                ("float32", "float32", "yes", tensor("float32", 64, device="cuda")),
                ("float32", "float16", "yes", tensor("float32", 64, device="cuda")),
            )
        ],
        archs=[ARCHS],
        effects=_effects(returns="out"),
    )
)
PURE += _in_pure(
    variants(
        "cast_of_host",
        25,
        [
            (
                {"from": of, "to": to},
                {"x": tensor(of, ROWS), "y": HALVES, "out": tensor(to, ROWS, device="cuda")},
            )
            for of, to in (("float16", "float16"), ("float16", "float32"), ("float32", "float32"))
        ],
        archs=[ARCHS],
        effects=_effects(returns="out"),
    )
)
PURE += _in_pure(
    variants(
        "activation",
        30,
        [
            (
                {"act": act, "dtype": dtype, "aux": aux},
                {"x": _rows(dtype), "aux": STATISTICS if aux == "yes" else NONE, "out": _rows(dtype)},
            )
            for act in ("relu", "tanh")
            for dtype in ("float16", "float32")
            for aux in ("yes", "no")
        ],
        values={"act": {"relu": "relu", "tanh": "tanh"}},
        archs=[ARCHS],
        effects=_effects("aux", "out"),
    )
)
_PURE = tuple(PURE)
EFFECTS = Module("pure", "kernels/pure.py", _PURE, families(_PURE), doc="Functions that make their outputs.")

DEEP = Module(
    "nested.deep.inner",
    "kernels/nested/deep/inner.py",
    (
        kernel("inner", "nested.deep.inner", 1, {"x": HOST}),
        kernel("f" * 60, "nested.deep.inner", 2, {f"parameter_{i}": HOST for i in range(9)}),
    ),
)
BESIDE = Module(
    "nested.beside",
    "kernels/nested/beside.py",
    (kernel("outer", "nested.beside", 1, {"x": HOST}),),
    doc="Beside.",
)

_VERSIONS = Versions("0.1.0", "4.8.1", "0.1.15", "zig 0.17")
_PROFILE = DeviceProfile("H100", 132, {1: 132, 2: 66}, 233472, 232448, 52428800, 2048, 65536)

RICH = Library("rich", (SLOTS, FAMILIES, DEEP, BESIDE), _VERSIONS, {"sm_90a": _PROFILE})
FRAMED = Library("framed", (EFFECTS,), _VERSIONS, {"sm_90a": _PROFILE}, frameworks=("torch", "jax"))

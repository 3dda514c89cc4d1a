"""Hypothesis strategies for the model."""

from __future__ import annotations

import keyword

from hypothesis import strategies as st

from stubgen.model import effects, library

identifiers = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: not keyword.iskeyword(n))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
integers = st.integers(-(2**63), 2**64 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)
devices = st.sampled_from(["cuda", "cpu"])
dtypes = st.sampled_from(["bool", "int8", "uint64", "float16", "bfloat16", "float64", "float4_e2m1fnx2"])

symbols = st.builds(
    library.Symbol, identifiers, st.sampled_from([32, 64]), divisible_by=st.integers(1, 2**31 - 1)
)
extents = st.tuples() | st.lists(st.integers(1, 2**62) | symbols, max_size=4).map(tuple)
defaults = st.builds(
    library.Default,
    st.none()
    | st.booleans()
    | integers
    | finite
    | texts
    | st.lists(st.none() | st.booleans() | integers | finite, max_size=3).map(tuple),
)


def _tuple(items: tuple[library.Slot, ...], record: str | None) -> library.TupleSlot:
    """Make the slot of a tuple, or of a record whose fields have names."""
    return library.TupleSlot(items, record, tuple(f"field{n}" for n in range(len(items))) if record else ())


leaves = st.one_of(
    st.builds(
        library.TensorSlot,
        dtypes,
        extents,
        st.none() | extents,
        st.none() | st.sampled_from([1, 16, 128]),
        devices,
    ),
    st.builds(library.ScalarSlot, dtypes, st.integers(1, 64)),
    st.builds(library.ShapeSlot, extents),
    st.just(library.NoneSlot()),
    st.builds(library.ConstantSlot, st.booleans() | integers | finite),
    st.builds(library.PointerSlot, st.none() | dtypes, st.none() | st.just(16), st.none() | devices),
    st.just(library.StreamSlot()),
)
slots = st.recursive(
    leaves,
    lambda inner: st.builds(_tuple, st.lists(inner, max_size=3).map(tuple), st.none() | identifiers),
    max_leaves=6,
)
choice_values = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | finite | texts
family_slots = st.one_of(
    slots,
    st.builds(library.ChoiceSlot, identifiers, st.lists(choice_values, min_size=1, max_size=4).map(tuple)),
    st.builds(library.OneOfSlot, st.lists(slots, min_size=1, max_size=3).map(tuple)),
)

places = st.builds(library.Place, texts, st.integers(1, 10**6))
kinds = st.sampled_from(["positional_only", "positional_or_keyword", "keyword_only"])
parameters = st.builds(library.Parameter, identifiers, slots, kinds, st.none() | defaults)
frozen = st.builds(library.Frozen, identifiers, texts, st.integers(0, 9), kinds, st.none() | defaults)
archs = st.lists(st.sampled_from(["sm_80", "sm_90a", "sm_100f"]), unique=True, max_size=3).map(tuple)
labels = st.dictionaries(identifiers, identifiers, max_size=3)
names = st.lists(identifiers, max_size=2).map(tuple)
pairs = st.dictionaries(identifiers, identifiers, max_size=2)
declared_effects = st.builds(
    effects.Effects, names, names, st.none() | st.builds(effects.Backward, identifiers, pairs, pairs)
)
kernels = st.builds(
    library.Kernel,
    name=identifiers,
    module=identifiers,
    parameters=st.lists(parameters, max_size=3).map(tuple),
    abi=texts,
    place=places,
    doc=texts,
    source=st.none() | places,
    frozen=st.lists(frozen, max_size=2).map(tuple),
    env_streams=st.lists(identifiers, max_size=2).map(tuple),
    archs=archs,
    effects=declared_effects,
    options=texts,
    variant=st.none()
    | st.builds(
        library.Variant,
        identifiers,
        labels,
        st.dictionaries(identifiers, choice_values, max_size=3),
        st.integers(-9, 9),
    ),
)
families = st.builds(
    library.Family,
    name=identifiers,
    module=identifiers,
    parameters=st.lists(
        st.builds(library.Parameter, identifiers, family_slots, kinds, st.none() | defaults), max_size=3
    ).map(tuple),
    variants=st.lists(identifiers, max_size=3).map(tuple),
    axes=st.lists(
        st.builds(library.Axis, identifiers, st.lists(identifiers, max_size=3).map(tuple)), max_size=2
    ).map(tuple),
    place=places,
    doc=texts,
    source=st.none() | places,
    frozen=st.lists(frozen, max_size=2).map(tuple),
    env_streams=st.lists(identifiers, max_size=2).map(tuple),
    archs=archs,
    effects=declared_effects,
)
records = st.builds(
    library.Record,
    identifiers,
    st.sampled_from(["namedtuple", "dataclass"]),
    st.lists(st.builds(library.Field, identifiers, st.none() | defaults), max_size=3).map(tuple),
    texts,
)
modules = st.builds(
    library.Module,
    identifiers,
    texts,
    st.lists(kernels, max_size=2).map(tuple),
    st.lists(families, max_size=2).map(tuple),
    st.lists(records, max_size=2).map(tuple),
    texts,
)
counts = st.integers(1, 2**40)
profiles = st.builds(
    library.DeviceProfile, texts, counts, st.dictionaries(counts, counts, max_size=3), *[counts] * 6
)
libraries = st.builds(
    library.Library,
    identifiers,
    st.lists(modules, max_size=2).map(tuple),
    st.builds(library.Versions, texts, texts, texts, texts),
    st.dictionaries(st.sampled_from(["sm_80", "sm_90a", "sm_100f"]), profiles, max_size=2),
)

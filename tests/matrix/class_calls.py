"""Calls of the functions of ``kernels/classes.py`` and what ``out`` begins with afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

X = np.full(4, 8.0, np.float32)


def calls(k: Any) -> Iterator[tuple[Callable[..., None], tuple[Any, ...], dict[str, Any], list[float]]]:
    """Yield function, positional arguments, keywords and values; ``k`` is the keyword module."""
    yield k.keyword_only, (k.KeywordOnly(y=2.0),), {}, [1, 2]
    yield k.keyword_only, (k.KeywordOnly(x=4.0, y=2.0),), {}, [4, 2]
    yield k.mixed_fields, (k.Mixed(3.0, w=5.0),), {}, [3, 2, 5]
    yield k.mixed_fields, (k.Mixed(w=5.0, y=4.0),), {}, [7, 4, 5]
    yield k.after_sentinel, (k.AfterSentinel(1.0),), {}, [1, 3]
    yield k.after_sentinel, (k.AfterSentinel(1.0, y=2.0),), {}, [1, 2]
    yield k.not_a_namedtuple, (k.NotANamedTuple(1.0, 2.0),), {}, [1, 2]
    yield k.collected, (k.Collected(1.0),), {}, [1, 3]
    yield k.renamed, ((1.0, 2.0),), {}, [1, 2]
    yield k.child, (k.Child(4.0),), {}, [4, 1]
    yield k.child, (k.Child(4.0, 5.0, 6.0),), {}, [4, 5]
    yield k.undecorated, (k.Undecorated(4.0, 5.0, 6.0),), {}, [4, 5]
    yield k.shared, (k.Shared(1.0),), {}, [1, 5]
    yield k.shared, (k.Shared(1.0, 2.0),), {}, [1, 2]
    yield k.with_methods, (k.WithMethods(4.0),), {}, [4, 1]
    yield k.extended, (k.Extended(4.0, y=3.0),), {}, [4, 3]
    yield k.in_a_class, (k.Nested(1.0, 2.0),), {}, [1, 2]
    yield k.named_like_types, ((1.0, 2.0),), {}, [1, 2]
    yield k.with_optionals, (), {}, [3]
    yield k.with_optionals, (), {"p": k.Optionals()}, [2]
    yield k.with_optionals, (), {"p": k.Optionals(y=9.0)}, [9]
    yield k.with_settings, (), {}, [5, 6, 3]
    yield k.with_settings, (), {"p": k.Settings(9.0)}, [9, 2, 3]
    yield k.left_out, (X,), {}, [8, 0.25, 2, 3]
    yield k.left_out, (X,), {"eps": 1.0, "bias": None, "more": 4.0}, [8, 1, 2, 4]
    yield k.numbers, (), {}, [1, 2, 1.5, 2.5, 3, 4, 0]
    yield k.numbers, (), {"truth": False, "lie": True}, [0, 2, 1.5, 2.5, 3, 4, 1]
    for width in (k.of_any_width, k.of_any_width_by_annotation):
        named = {"a": 1, "b": 2.5, "c": True, "d": 3.5, "e": 2**40, "g": False}
        yield width, (), named, [1, 2.5, 1, 3.5, 2**40, 0]
    yield k.sometimes, (X, None), {}, [8, -1, 2]
    yield k.sometimes, (X, X), {"scale": 3.0}, [8, 8, 3]
    yield k.together, (X,), {}, [8, -1]
    yield k.together, (X,), {"bias": X}, [8, -1]
    yield k.together, (X,), {"bias": X, "lens": X + 1}, [8, 9]


WRONG = {
    "KeywordOnly": ((1.0, 2.0), "takes 1 positional argument but 3 were given"),
    "Mixed": ((1.0, 2.0), "takes from 1 to 2 positional arguments but 3"),
    "AfterSentinel": ((1.0, 2.0), "takes 2 positional arguments but 3 were given"),
    "NotANamedTuple": ((1.0,), "missing 1 required positional argument: 'y'"),
    "Nested": ((1.0,), "missing 1 required positional argument: 'y'"),
}
"""By class, arguments that its author's would refuse too, and the words."""

"""Every error that the tool reports: a code, what is wrong, and what to do.

Code that finds something wrong makes a :class:`Problem` with :func:`problem` and either raises it in a
:class:`StubgenError` or collects it with others, so that one run reports all there is. The texts live in
:data:`~stubgen.problems.catalogue.CATALOGUE`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from stubgen.model import archs
from stubgen.model.library import Place
from stubgen.problems.catalogue import CATALOGUE


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong, in the user's own names."""

    code: str
    message: str
    remedy: str
    place: Place | None = None
    kernel: str | None = None
    parameter: str | None = None
    family: str | None = None
    """That the kernel is a variant of."""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.code}: {self.message}; {self.remedy}"


class StubgenError(Exception):
    """A run cannot go on, or not to its end; carries everything that was found."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def problem(
    code: str,
    *,
    place: Place | None = None,
    kernel: str | None = None,
    parameter: str | None = None,
    family: str | None = None,
    **details: object,
) -> Problem:
    """Fill in a catalogue entry.

    Parameters
    ----------
    code
        A key of :data:`~stubgen.problems.catalogue.CATALOGUE`.
    place
        Where the user has to look.
    kernel, parameter
        What it is about, in the user's names.
    family
        That the kernel is a variant of. What is wrong in the same way with several is said once.
    **details
        Values for the ``{names}`` of the entry; the three above are available there too.
    """
    entry = CATALOGUE[code]
    values = {"kernel": kernel, "parameter": parameter, "family": family, **details}
    return Problem(
        code=code,
        message=entry.message.format(**values),
        remedy=entry.remedy.format(**values),
        place=place,
        kernel=kernel,
        parameter=parameter,
        family=family,
    )


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a remark that names what may have been meant, empty if nothing comes close."""
    in_lower_case: dict[str, str] = {}
    for name in known:
        in_lower_case.setdefault(name.lower(), name)
    close = difflib.get_close_matches(given.lower(), in_lower_case, n=1)
    return f" (did you mean {in_lower_case[close[0]]}?)" if close else ""


def arch_meant(given: str, known: Sequence[str]) -> str:
    """Return a remark that names the architecture that may have been meant; a real one means no other."""
    meant = archs.meant_by(given, known)
    return f" (did you mean {meant}?)" if meant else ""


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return problems by place, each once, and what variants of a family share once for all of them."""
    return tuple(
        sorted(
            _once_for_each_family(problems),
            key=lambda p: (p.place.file if p.place else "", p.place.line if p.place else 0, p.code),
        )
    )


def _once_for_each_family(problems: Iterable[Problem]) -> Iterator[Problem]:
    groups: dict[Problem, list[Problem]] = {}
    for item in dict.fromkeys(problems):
        groups.setdefault(_for_any_variant(item), []).append(item)
    for first, *others in groups.values():
        count = len({item.kernel for item in others} - {first.kernel})
        more = f" (also {count} more variants)" if count > 1 else " (also one more variant)"
        yield msgspec.structs.replace(first, message=first.message + more) if count else first


def _for_any_variant(item: Problem) -> Problem:
    """Return a problem without the name of the variant that has it."""
    if item.family is None or item.kernel is None:
        return item
    message, remedy = (text.replace(item.kernel, item.family) for text in (item.message, item.remedy))
    return msgspec.structs.replace(item, message=message, remedy=remedy, kernel=None)


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise all problems at once, each only once, ordered by place.

    Raises
    ------
    StubgenError
        There is at least one.
    """
    found = in_order(problems)
    if found:
        raise StubgenError(*found)

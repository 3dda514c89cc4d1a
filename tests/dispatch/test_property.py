"""The native dispatcher picks what a naive reference picks, for random sets of variants and random calls.

All kernels are compiled once, and the dispatchers of all sets go into one library with them. The reference
decides from what was declared (:mod:`tests.dispatch.kernels.slots`) which variants accept a call. It compares
variants by the calls that they accept: one is more specific than another if it accepts some of the other's
and no more.

There are 500 sets of 2 to 15 variants, and 60 calls of each that is not refused: nearly 27,000.
"""

from __future__ import annotations

import itertools
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm_ffi

from stubgen.abi import signatures
from stubgen.build import compilation
from stubgen.build.compilation import KernelBuild
from stubgen.build.pipeline import NullProgress
from stubgen.compiler.executors import Local
from stubgen.compiler.jobs import WorkerSettings
from stubgen.declare.labels import ChoiceValue
from stubgen.families import constraints
from stubgen.families.families import families
from stubgen.model.library import Family, Kernel, Library, Module, Variant, Versions
from stubgen.native import link
from stubgen.native.toolchain import toolchain
from stubgen.problems.problem import StubgenError
from stubgen.render.native import dispatcher
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules
from stubgen.store.cache import NoCache
from tests.dispatch import values
from tests.dispatch.kernels import slots

SEED = 20261129
SETS = 500
CALLS_OF_A_SET = 60
PACKAGE = "pool"
MODES: list[list[ChoiceValue]] = [
    [False, True],
    [64, 128, 256],
    ["relu", "gelu"],
    [None, "a name that is longer than seven bytes", ""],
    [0.5, 2.0, float("inf")],
    [None, -1, 2.5, "two"],
    [True, 2, "True"],
]
"""Values of selectors."""


# ---------------------------------------------------------------------------------------------------------
# The reference


class Reference:
    """Knows which kernels accept which calls, as sets of the calls' numbers."""

    def __init__(self) -> None:
        xs, ys = values.first_arguments(), values.second_arguments()
        self.calls = list(itertools.product(xs, ys))
        views = list(itertools.product(map(slots.viewed, xs), map(slots.viewed, ys)))
        unpaired = range(0, len(views), len(ys))  # those without a second argument
        self.accepted: list[frozenset[int]] = []
        for taken in slots.TABLE:
            tried = unpaired if taken[1] == slots.Nothing() else range(len(views))
            self.accepted.append(frozenset(i for i in tried if slots.accepts(taken, views[i])))
        self._degenerate = frozenset(i for i, call in enumerate(views) if _has_degenerate(call))

    def relation(self, first: int, second: int) -> set[constraints.Relation]:
        """Compare two kernels; with two answers where degenerate tensors make a difference.

        A tensor with a dimension of one element has several layouts at once. Dispatch may treat layouts as
        excluding each other all the same: such tensors then go to either.
        """
        ours, theirs = self.accepted[first], self.accepted[second]
        found = {_relation(ours, theirs)}
        if ours & theirs <= self._degenerate:
            found.add("disjoint")
        elif ours - self._degenerate and theirs - self._degenerate:
            found.add(_relation(ours - self._degenerate, theirs - self._degenerate))
        return found


def _relation(ours: frozenset[int], theirs: frozenset[int]) -> constraints.Relation:
    if ours == theirs:
        return "equal"
    if ours.isdisjoint(theirs):
        return "disjoint"
    if ours < theirs:
        return "subset"
    return "superset" if ours > theirs else "overlap"


def _has_degenerate(value: object) -> bool:
    if isinstance(value, slots.View):
        units = [stride == 1 for stride in value.strides]
        return any(extent < 2 for extent in value.shape) or sum(units) > 1
    return isinstance(value, tuple) and any(map(_has_degenerate, value))


@dataclass(frozen=True)
class Member:
    """A variant of a set."""

    kernel: int
    """Its number in the pool."""
    kind: str
    """The kernels that accept the same calls have one label."""
    mode: ChoiceValue
    mode_label: str
    priority: int


@dataclass
class Set:
    """Some variants, and what the reference says of them."""

    name: str
    members: list[Member]
    reference: Reference

    def is_chosen(self) -> bool:
        """Return whether callers have to say which mode they want."""
        return max(Counter(member.kind for member in self.members).values()) > 1

    def selections(self) -> list[list[Member]]:
        """Return the members that are left when a mode has been chosen."""
        if not self.is_chosen():
            return [self.members]
        labels = dict.fromkeys(member.mode_label for member in self.members)
        return [[member for member in self.members if member.mode_label == label] for label in labels]

    def is_ambiguous(self) -> bool | None:
        """Return whether two members accept one call and none comes first; ``None`` if either is right."""
        found: bool | None = False
        for selection in self.selections():
            for first, second in itertools.combinations(selection, 2):
                relation = self.reference.relation(first.kernel, second.kernel)
                if "overlap" in relation and first.priority == second.priority:
                    if len(relation) == 1:
                        return True
                    found = None
            if self._is_ring(selection):
                found = None
        return found

    def _is_ring(self, selection: list[Member]) -> bool:
        """Return whether specificity and priority go round in a circle."""
        left = list(selection)
        while left:
            free = [m for m in left if not any(self.may_beat(other, m) for other in left)]
            if not free:
                return True
            left = [m for m in left if m not in free]
        return False

    def beats(self, first: Member, second: Member) -> bool:
        """Return whether the first has to be preferred for calls that both accept."""
        relation = self.reference.relation(first.kernel, second.kernel)
        return relation == {"subset"} or (relation == {"overlap"} and first.priority > second.priority)

    def may_beat(self, first: Member, second: Member) -> bool:
        """Return whether the first has to be preferred if degenerate tensors are looked at otherwise."""
        relation = self.reference.relation(first.kernel, second.kernel)
        return "subset" in relation or ("overlap" in relation and first.priority > second.priority)

    def winners(self, call: int, selection: Sequence[Member]) -> list[Member]:
        """Return the members that may be run by a call: one, or none if none accepts it."""
        fitting = [member for member in selection if call in self.reference.accepted[member.kernel]]
        return [m for m in fitting if not any(self.beats(other, m) for other in fitting)]


# ---------------------------------------------------------------------------------------------------------
# Drawing


def draw(random_: random.Random, reference: Reference) -> list[Set]:
    """Draw sets of variants, most of which accept calls of others."""
    kinds = {accepted: f"k{kernel}" for kernel, accepted in enumerate(reference.accepted)}
    kernels: dict[str, list[int]] = {}
    for kernel, accepted in enumerate(reference.accepted):
        kernels.setdefault(kinds[accepted], []).append(kernel)
    neighbours = {
        kind: [
            o for o in kernels if "disjoint" not in reference.relation(own[0], kernels[o][0]) and o != kind
        ]
        for kind, own in kernels.items()
    }
    return [
        Set(f"set{index}", _members(random_, kernels, neighbours, reference), reference)
        for index in range(SETS)
    ]


def _members(
    random_: random.Random,
    kernels: dict[str, list[int]],
    neighbours: dict[str, list[str]],
    reference: Reference,
) -> list[Member]:
    chosen = [random_.choice(list(kernels))]
    for _ in range(random_.randint(1, 8)):
        near = neighbours[random_.choice(chosen)]
        chosen.append(random_.choice(near if near and random_.random() < 0.6 else list(kernels)))
    modes = random_.choice(MODES)
    prioritised = random_.random() < 0.5
    members: list[Member] = []
    for kind in dict.fromkeys(chosen):
        own = random_.sample(kernels[kind], len(kernels[kind]))
        count = random_.randint(1, min(len(modes), len(own))) if random_.random() < 0.5 else 1
        for kernel, mode in zip(own, random_.sample(range(len(modes)), count), strict=False):
            priority = random_.randint(-2, 5) if prioritised else 0
            members.append(Member(kernel, kind, modes[mode], f"m{mode}", priority))
    random_.shuffle(members)
    return _disambiguated(members, reference) if random_.random() < 0.7 else members


def _disambiguated(members: list[Member], reference: Reference) -> list[Member]:
    """Leave out members until what is left is not ambiguous."""
    kept: list[Member] = []
    for member in members:
        if not Set("", [*kept, member], reference).is_ambiguous():
            kept.append(member)
    return kept


# ---------------------------------------------------------------------------------------------------------
# The library


@pytest.fixture(scope="session")
def reference() -> Reference:
    return Reference()


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> list[KernelBuild]:
    """All kernels, compiled."""
    project = tmp_path_factory.mktemp("pool")
    for name in ("pool.py", "slots.py"):
        shutil.copy(Path(slots.__file__).with_name(name), project)
    inputs = BuildInputs(project, kernel_modules([project / "pool.py"], project))
    settings = WorkerSettings(str(project), None, None, str(project))
    built, _ = compilation.compile_modules(
        inputs, [settings], PACKAGE, project, Local(2), NullProgress(), NoCache()
    )
    return built["pool"]


@pytest.fixture(scope="session")
def kernels(pool: list[KernelBuild]) -> list[Kernel]:
    return [
        Kernel(
            name=built.compiled.name,
            module="pool",
            parameters=signatures.bind(built.compiled.author, built.compiled.arguments).parameters,
            abi=built.compiled.abi,
            place=built.compiled.place,
        )
        for built in pool
    ]


@pytest.fixture(scope="session")
def sets(reference: Reference) -> list[Set]:
    return draw(random.Random(SEED), reference)


def variants(drawn: Set, kernels: list[Kernel]) -> list[Kernel]:
    """Make variants of the kernels in a set."""
    return [
        msgspec.structs.replace(
            kernels[member.kernel],
            module=drawn.name,
            variant=Variant(
                drawn.name,
                {"kind": member.kind, "mode": member.mode_label},
                {"kind": member.kind, "mode": member.mode},
                member.priority,
            ),
        )
        for member in drawn.members
    ]


def module_of(drawn: Set, kernels: list[Kernel]) -> Module | None:
    """Make a module of one family; ``None`` if it is refused as ambiguous."""
    own = tuple(variants(drawn, kernels))
    try:
        public = families(own)
    except StubgenError as error:
        if {problem.code for problem in error.problems} != {"CS238"}:
            raise
        return None
    return Module(drawn.name, "pool.py", own, public)


@pytest.fixture(scope="session")
def modules(sets: list[Set], kernels: list[Kernel]) -> dict[str, Module | None]:
    return {drawn.name: module_of(drawn, kernels) for drawn in sets}


@pytest.fixture(scope="session")
def loaded(
    pool: list[KernelBuild],
    kernels: list[Kernel],
    modules: dict[str, Module | None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """The library with the kernels and with the dispatchers of all sets, loaded."""
    work = tmp_path_factory.mktemp("linked")
    own = Module("pool", "pool.py", tuple(kernels))
    compiled = [module for module in modules.values() if module is not None]
    library = Library(PACKAGE, (own, *compiled), Versions("", "", "", ""), {})
    shared = link.link_library(
        [ir for built in pool for ir in built.irs(PACKAGE)],
        work / "libpool.so",
        exports=tuple(dict.fromkeys(dispatcher.exports(library))),
        definitions=dispatcher.dispatcher(library),
        toolchain=toolchain("zig"),
        work=work,
        jobs=2,
    )
    return tvm_ffi.load_module(shared)


class Output:
    """What a kernel writes its number to."""

    def __init__(self) -> None:
        self.memory = np.full(1, -1, dtype=np.int64)

    def ran(self, function: Callable[..., object], *arguments: object) -> int | None:
        """Call a function and give the number of the kernel that it ran, ``None`` if it refused."""
        self.memory[0] = -1
        try:
            function(*arguments)
        except (TypeError, ValueError):
            assert self.memory[0] == -1, "a call that failed has written"
            return None
        return int(self.memory[0])


# ---------------------------------------------------------------------------------------------------------
# Tests


@pytest.mark.xdist_group("dispatch")
class TestReference:
    def test_it_knows_what_each_kernel_accepts(self, reference: Reference, loaded: Any) -> None:
        output, drawn = Output(), random.Random(SEED)
        for kernel, accepted in enumerate(reference.accepted):
            function = loaded[f"kernel{kernel}"]
            assert accepted, kernel
            for call in {*accepted, *drawn.sample(range(len(reference.calls)), 300)}:
                x, y = reference.calls[call]
                expected = kernel if call in accepted else None
                assert output.ran(function, x, y, output.memory) == expected, (slots.TABLE[kernel], x, y)

    def test_patterns_are_related_as_the_calls_that_kernels_accept(
        self, reference: Reference, kernels: list[Kernel]
    ) -> None:
        patterns = [constraints.pattern(p.slot for p in kernel.parameters) for kernel in kernels]
        seen: Counter[str] = Counter()
        for first, second in itertools.product(range(len(kernels)), repeat=2):
            found = patterns[first].relation(patterns[second])
            expected = reference.relation(first, second)
            assert found in expected, (slots.TABLE[first], slots.TABLE[second])
            seen[found] += 1
        assert min(seen.values()) > 100
        assert len(seen) == 5


@pytest.mark.xdist_group("dispatch")
class TestSets:
    def test_ambiguous_ones_are_refused_and_no_others(
        self, sets: list[Set], modules: dict[str, Module | None]
    ) -> None:
        found = Counter((drawn.is_ambiguous(), modules[drawn.name] is None) for drawn in sets)
        wrong = [
            drawn.members for drawn in sets if drawn.is_ambiguous() not in (None, modules[drawn.name] is None)
        ]
        assert not wrong, (len(wrong), [slots.TABLE[m.kernel] for m in wrong[0]])
        assert found[True, True] > SETS // 20
        assert found[False, False] > SETS // 3

    def test_selectors_are_what_no_argument_shows(
        self, sets: list[Set], modules: dict[str, Module | None]
    ) -> None:
        chosen = 0
        for drawn, family in _families(sets, modules):
            assert [p.name for p in family.choices] == ["mode"] * drawn.is_chosen()
            chosen += drawn.is_chosen()
        assert chosen > SETS // 20

    def test_every_call_runs_the_most_specific_variant_that_accepts_it(
        self, sets: list[Set], modules: dict[str, Module | None], loaded: Any, reference: Reference
    ) -> None:
        output, drawn = Output(), random.Random(SEED)
        outcomes: Counter[str] = Counter()
        for set_, family in _families(sets, modules):
            function = loaded[family.name]
            for call, mode, selection in _calls(set_, drawn):
                winners = [member.kernel for member in set_.winners(call, selection)]
                arguments = [*reference.calls[call], output.memory, *mode]
                ran = output.ran(function, *arguments)
                assert ran in winners if winners else ran is None, (
                    [(slots.TABLE[m.kernel], m) for m in set_.members],
                    arguments,
                    winners,
                )
                outcomes["none" if ran is None else "one" if len(winners) == 1 else "either"] += 1
            for wrong in ([], reference.calls[0], [*reference.calls[0], output.memory, *[None] * 4]):
                with pytest.raises(TypeError, match=r"Expects \d parameters?|No variant"):
                    function(*wrong)
        print(f"{len(modules)} sets, {sum(outcomes.values())} calls: {dict(outcomes)}")
        assert outcomes["one"] > 10_000
        assert outcomes["none"] > 3_000


def _families(sets: list[Set], modules: dict[str, Module | None]) -> Iterator[tuple[Set, Family]]:
    for drawn in sets:
        module = modules[drawn.name]
        if module is not None:
            yield drawn, module.families[0]


def _calls(set_: Set, drawn: random.Random) -> Iterator[tuple[int, list[ChoiceValue], list[Member]]]:
    """Draw calls, most of which some variant accepts, with a mode to choose and what is left by it."""
    fitting = sorted(frozenset[int]().union(*(set_.reference.accepted[m.kernel] for m in set_.members)))
    everything = range(len(set_.reference.calls))
    for _ in range(CALLS_OF_A_SET):
        call = drawn.choice(fitting if drawn.random() < 0.75 else everything)
        if not set_.is_chosen():
            yield call, [], set_.members
            continue
        selection = drawn.choice([[], *set_.selections()])
        wrong: list[ChoiceValue] = [m for modes in MODES for m in modes]
        mode = selection[0].mode if selection else drawn.choice(wrong)
        known = [m for m in set_.members if _is_same(m.mode, mode)]
        yield call, [mode], known


def _is_same(choice: ChoiceValue, given: ChoiceValue) -> bool:
    """Return whether a value chooses: integers pass for bools and floats, as they do for other arguments."""
    if isinstance(choice, bool):
        return type(given) in (bool, int) and given == choice
    if isinstance(choice, float):
        return type(given) in (int, float) and given == choice
    return type(given) is type(choice) and given == choice

"""What is compiled, in which order, and what becomes of it, for workers whose answers are known."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stubgen.abi.signatures import Argument, AuthorParameter
from stubgen.build.compilation import KernelBuild, compile_modules
from stubgen.build.shards import Division, Shard
from stubgen.compiler.jobs import (
    Compiled,
    CompileJob,
    Declared,
    Expansion,
    Exported,
    Facts,
    LeftOut,
    ModuleJob,
    Outcome,
    WorkerSettings,
)
from stubgen.model.effects import Effects
from stubgen.model.library import Default, NoneSlot, Place, Record, ScalarSlot, Variant
from stubgen.native.host_ir import IRFile
from stubgen.native.link import KernelIR
from stubgen.problems.problem import Problem, StubgenError
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import KernelModule
from stubgen.store.cache import Cache, FolderCache, NoCache

PLACE = Place("kernels/k.py", 3)
X = Argument("x", ScalarSlot("float32"))
AUTHOR = AuthorParameter("x")


def declared(name: str, index: int = 0, line: int = 3, **details: Any) -> Declared:
    return Declared(index, name, Place("kernels/k.py", line), **details)


def member(label: str, index: int = 0, family: str = "fam", line: int = 3, **details: Any) -> Declared:
    return declared(f"{family}__{label}", index, line, variant=Variant(family, {"a": label}), **details)


def compiled(name: str, *, gpu: bool = True, **details: Any) -> Compiled:
    found = Compiled(name, PLACE, (X,), (AUTHOR,), f"{name}(x: float32)", has_device_code=gpu)
    return msgspec.structs.replace(found, **details)


class Watcher:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def phase(self, title: str, total: int) -> None:
        self.told.append((title, total))

    def plan(self, reused: int, seconds: Mapping[str, float | None], workers: int) -> None:
        self.told.append(("plan", reused, dict(seconds), workers))

    def begin(self, what: str) -> None:
        self.told.append(("begin", what))

    def step(self, what: str) -> None:
        self.told.append(("step", what))


class Answers:
    """Workers, and an executor of them, that answer what is known for an architecture.

    Parameters
    ----------
    declared
        By architecture and module, what the module declares.
    compiled
        By name, or by name and architecture, what comes of a kernel; by default something simple.
    """

    count = 3

    def __init__(
        self,
        declared: Mapping[str | None, Mapping[str, Expansion | Sequence[Declared]]],
        compiled: Mapping[str | tuple[str, str | None], Compiled | Outcome] | None = None,
    ) -> None:
        self._declared = declared
        self._compiled = compiled or {}
        self._arch: str | None = None
        self.facts_of: dict[str, Facts] = {}
        self.expanded: list[tuple[str | None, str]] = []
        self.modules: list[ModuleJob] = []
        self.jobs: list[CompileJob] = []
        self.asked: list[str] = []
        self.started: list[str | None] = []

    @contextlib.contextmanager
    def workers(self, settings: WorkerSettings) -> Generator[Answers]:
        self._arch = settings.arch
        self.started.append(settings.arch)
        yield self

    def expand(self, modules: Sequence[ModuleJob]) -> list[Expansion]:
        found = [self._declared[self._arch][module.name] for module in modules]
        self.expanded += [(self._arch, module.name) for module in modules]
        self.modules += modules
        return [item if isinstance(item, Expansion) else Expansion(tuple(item)) for item in found]

    def compile(
        self,
        jobs: Sequence[CompileJob],
        on_start: Callable[[CompileJob], None],
        on_done: Callable[[CompileJob, Outcome], None],
    ) -> None:
        for job in jobs:
            on_start(job)
            self.jobs.append(job)
            name = job.declared.name
            Path(job.ir_path).write_text(f"IR of {job.build_name}")
            found = self._compiled.get((name, self._arch), self._compiled.get(name)) or compiled(name)
            outcome = found if isinstance(found, Outcome) else Outcome(found, seconds=float(len(name)))
            if outcome.compiled is not None:
                own = msgspec.structs.replace(outcome.compiled, variant=job.declared.variant)
                outcome = msgspec.structs.replace(outcome, compiled=own)
            on_done(job, outcome)

    def facts(self, jobs: Sequence[CompileJob]) -> list[Facts | None]:
        self.asked += [job.declared.name for job in jobs]
        return [self.facts_of.get(job.declared.name) for job in jobs]

    @property
    def names(self) -> list[str]:
        return [job.declared.name for job in self.jobs]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "kernels").mkdir()
    for name in ("k", "m"):
        (tmp_path / "kernels" / f"{name}.py").write_text("import stubgen as sg\n\nsg.export(print)\n")
    return tmp_path


def run(
    project: Path,
    answers: Answers,
    archs: Sequence[str | None] = ("sm_80", "sm_90a"),
    *,
    watcher: Watcher | None = None,
    store: Cache | None = None,
    division: Division | None = None,
    modules: Sequence[str] = ("k",),
) -> tuple[dict[str, list[KernelBuild]], tuple[Problem, ...]]:
    found = tuple(
        KernelModule(name, project / "kernels" / f"{name}.py", f"kernels/{name}.py") for name in modules
    )
    inputs = BuildInputs(project, found)
    targets = [WorkerSettings(str(project), arch, None, str(project)) for arch in archs]
    scratch = project / "scratch"
    return compile_modules(
        inputs, targets, "ops", scratch, answers, watcher or Watcher(), store or NoCache(), division
    )


def shown(built: dict[str, list[KernelBuild]]) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    return {module: [(b.compiled.name, tuple(b.ir)) for b in found] for module, found in built.items()}


def refused(project: Path, answers: Answers, archs: Sequence[str | None] = ("sm_80", "sm_90a")) -> list[str]:
    with pytest.raises(StubgenError) as caught:
        run(project, answers, archs)
    return [f"{p.code} {p.place}: {p.message}" for p in caught.value.problems]


# ---------------------------------------------------------------------------------------------------------
# All is well


def test_device_code_is_built_for_every_architecture_and_the_rest_once(project: Path) -> None:
    both = [declared("gpu", 0), declared("host", 1)]
    answers = Answers(
        {"sm_80": {"k": both, "m": []}, "sm_90a": {"k": both, "m": [declared("late")]}},
        {"host": compiled("host", gpu=False)},
    )
    watcher = Watcher()
    built, warnings = run(project, answers, watcher=watcher, modules=("k", "m"))
    assert warnings == ()
    assert shown(built) == {
        "k": [("gpu", ("sm_80", "sm_90a")), ("host", ("",))],
        "m": [("late", ("sm_90a",))],
    }
    assert [(job.declared.name, job.build_name, Path(job.ir_path).name) for job in answers.jobs] == [
        ("gpu", "ops__gpu__sm_80", "gpu-sm_80.ll"),
        ("host", "ops__host__sm_80", "host-sm_80.ll"),
        ("gpu", "ops__gpu__sm_90a", "gpu-sm_90a.ll"),
        ("late", "ops__late__sm_90a", "late-sm_90a.ll"),
    ]
    assert watcher.told == [
        ("Reading declarations for sm_80", 2),
        ("Compiling for sm_80", 2),
        ("plan", 0, {"gpu": None, "host": None}, 3),
        *(("begin", "gpu"), ("step", "gpu"), ("begin", "host"), ("step", "host")),
        ("Reading declarations for sm_90a", 2),
        ("Compiling for sm_90a", 2),
        ("plan", 0, {"gpu": None, "late": None}, 3),
        *(("begin", "gpu"), ("step", "gpu"), ("begin", "late"), ("step", "late")),
    ]
    gpu, host = built["k"]
    scratch = project / "scratch"
    assert (gpu.archs, host.archs) == (("sm_80", "sm_90a"), ())
    assert list(gpu.irs("ops")) == [
        KernelIR("ops__gpu__sm_80", IRFile(scratch / "gpu-sm_80.ll"), has_device_code=True),
        KernelIR("ops__gpu__sm_90a", IRFile(scratch / "gpu-sm_90a.ll"), has_device_code=True),
    ]
    assert list(host.irs("ops")) == [
        KernelIR(
            "host", IRFile(scratch / "host-sm_80.ll"), has_device_code=False, alias="__tvm_ffi_ops__host"
        )
    ]


def test_without_an_architecture_there_is_the_host(project: Path) -> None:
    answers = Answers({None: {"k": [declared("host")]}}, {"host": compiled("host", gpu=False)})
    watcher = Watcher()
    built, _ = run(project, answers, [None], watcher=watcher)
    assert shown(built) == {"k": [("host", ("",))]}
    assert [(job.build_name, Path(job.ir_path).name) for job in answers.jobs] == [
        ("ops__host__", "host-host.ll")
    ]
    assert [title for title, *_ in watcher.told][:2] == ["Reading declarations", "Compiling"]


def test_jobs_know_their_module(project: Path) -> None:
    answers = Answers({"sm_80": {"k": [declared("one")]}})
    run(project, answers, ["sm_80"])
    [job] = answers.jobs
    folder = project / "kernels"
    assert job.module == ModuleJob("k", str(folder / "k.py"), "kernels/k.py", "k", str(folder), changes="")


def test_nothing_to_do_starts_no_worker_for_compiling(project: Path) -> None:
    answers = Answers({"sm_80": {"k": []}, "sm_90a": {"k": []}})
    watcher = Watcher()
    built, _ = run(project, answers, watcher=watcher)
    assert built == {"k": []}
    assert watcher.told[:3] == [
        ("Reading declarations for sm_80", 1),
        ("Compiling for sm_80", 0),
        ("plan", 0, {}, 3),
    ]


def test_variants_that_one_architecture_has_stand_behind_those_that_they_follow(project: Path) -> None:
    def of(*labels: str) -> dict[str, list[Declared]]:
        return {"k": [member(label, index) for index, label in enumerate(labels)]}

    answers = Answers(
        {"sm_80": of("a", "c"), "sm_90a": of("new", "a", "b", "d", "c", "e"), "sm_100a": of("f")}
    )
    built, _ = run(project, answers, ["sm_80", "sm_90a", "sm_100a"])
    assert [b.compiled.name.removeprefix("fam__") for b in built["k"]] == [
        "f",
        "new",
        "a",
        "b",
        "d",
        "c",
        "e",
    ]
    assert [b.archs for b in built["k"]][2:4] == [("sm_80", "sm_90a"), ("sm_90a",)]


def test_effects_are_those_that_are_declared_now(project: Path) -> None:
    effects = Effects(("x",))
    answers = Answers({"sm_80": {"k": [declared("one", effects=effects)]}})
    built, _ = run(project, answers, ["sm_80"])
    assert built["k"][0].effects == effects


def test_what_fails_leaves_the_rest_and_warnings_are_given(project: Path) -> None:
    warning = Problem("CS602", "it returns", "do not", PLACE, "warned")
    wrong = Problem("CS102", "it is wrong", "do not", PLACE, "wrong")
    answers = Answers(
        {"sm_80": {"k": [declared("wrong", 0), declared("warned", 1)]}},
        {"wrong": Outcome(problems=(wrong,)), "warned": Outcome(compiled("warned"), warnings=(warning,))},
    )
    assert refused(project, answers, ["sm_80"]) == [f"CS102 {PLACE}: {wrong.message}"]
    assert answers.names == ["wrong", "warned"]
    answers = Answers(
        {"sm_80": {"k": [declared("left", 0), declared("warned", 1)]}},
        {"left": Outcome(), "warned": Outcome(compiled("warned"), warnings=(warning,))},
    )
    built, warnings = run(project, answers, ["sm_80"])
    assert (shown(built), warnings) == ({"k": [("warned", ("sm_80",))]}, (warning,))


# ---------------------------------------------------------------------------------------------------------
# Names


def test_names_that_cannot_be_are_reported_once_and_not_compiled(project: Path) -> None:
    wrong = [
        declared("int", 0, 1),
        declared("fine", 1, 2),
        declared("fine", 2, 3),
        *(member(label, 3, "class", 4) for label in ("a", "b")),
        member("a", 5, "ok", 5),
        member("a-b", 6, "ok", 5),
        declared("ok__a", 7, 6),
        declared("fam", 8, 7),
        member("x", 9, "fam", 8),
        member("same", 10, "twice", 9),
        member("same", 11, "twice", 9),
        member("other", 12, "twice", 10),
    ]
    answers = Answers({"sm_80": {"k": wrong}})
    assert refused(project, answers, ["sm_80"]) == [
        "CS212 kernels/k.py:1: 'int' cannot be the name of a kernel: C or C++ keeps it for itself",
        "CS213 kernels/k.py:3: 'fine' is exported a second time; the first is at kernels/k.py:2",
        "CS212 kernels/k.py:4: 'class' cannot be the name of a kernel: it is a keyword in Python",
        "CS212 kernels/k.py:5: 'ok__a-b' cannot be the name of a kernel: it is no identifier",
        "CS213 kernels/k.py:6: 'ok__a' is exported a second time; the first is at kernels/k.py:5",
        "CS213 kernels/k.py:8: 'fam' is exported a second time; the first is at kernels/k.py:7",
        "CS213 kernels/k.py:9: 'twice' is exported a second time; the first is at kernels/k.py:9",
        "CS213 kernels/k.py:10: 'twice' is exported a second time; the first is at kernels/k.py:9",
    ]


def test_a_kernel_whose_name_is_wrong_is_not_compiled(project: Path) -> None:
    answers = Answers({"sm_80": {"k": [declared("int", 0), declared("fine", 1, 4)]}})
    assert len(refused(project, answers, ["sm_80"])) == 1
    assert answers.names == ["fine"]


def test_problems_of_declarations_are_reported_with_the_rest(project: Path) -> None:
    wrong = Problem("CS211", "it has no name", "name it", PLACE)
    expansion = Expansion((declared("fine"), declared("int", 1, 9)), (wrong,))
    answers = Answers({"sm_80": {"k": expansion}})
    codes = [line.partition(" ")[0] for line in refused(project, answers, ["sm_80"])]
    assert codes == ["CS211", "CS212"]
    assert answers.names == ["fine"]


# ---------------------------------------------------------------------------------------------------------
# One architecture and another


FROZEN = AuthorParameter("tile", frozen="64")


@pytest.mark.parametrize(
    ("change", "alike"),
    [
        ({}, True),
        ({"doc": "Another."}, True),
        ({"author": (AUTHOR, AuthorParameter("tile", frozen="128"))}, True),
        ({"author": (AUTHOR,)}, True),
        ({"author": (AuthorParameter("x", default=Default(1.0)), FROZEN)}, False),
        ({"author": (AuthorParameter("x", "keyword_only"), FROZEN)}, False),
        ({"arguments": (Argument("x", NoneSlot()),)}, False),
        ({"records": (Record("Pair", "dataclass", ()),)}, False),
        ({"has_device_code": False}, False),
    ],
    ids=str,
)
def test_builds_of_one_function_are_alike_for_callers(
    project: Path, change: dict[str, Any], alike: bool
) -> None:
    first = compiled("one", author=(AUTHOR, FROZEN), abi="one(a)")
    second = msgspec.structs.replace(first, abi="one(b)", **change)
    every = {arch: {"k": [declared("one")]} for arch in ("sm_80", "sm_90a")}
    answers = Answers(every, {("one", "sm_80"): first, ("one", "sm_90a"): second})
    if alike:
        built, _ = run(project, answers)
        assert shown(built) == {"k": [("one", ("sm_80", "sm_90a"))]}
    else:
        assert refused(project, answers) == [
            f"CS239 {PLACE}: one is another function when it is built for sm_90a than for sm_80: "
            "one(b), and one(a)"
        ]


def test_a_function_that_has_device_code_for_some_is_said_to_be_another(project: Path) -> None:
    every = {arch: {"k": [declared("one")]} for arch in ("sm_80", "sm_90a")}
    both = [compiled("one", gpu=False), compiled("one")]
    answers = Answers(every, {("one", "sm_80"): both[0]})
    built, _ = run(project, answers)
    assert shown(built) == {"k": [("one", ("",))]}, "it was done already"
    assert answers.names == ["one"]


def test_what_differs_between_variants_of_a_family_is_said_with_its_name(project: Path) -> None:
    every = {arch: {"k": [member("a")]} for arch in ("sm_80", "sm_90a")}
    other = compiled("fam__a", arguments=())
    answers = Answers(every, {("fam__a", "sm_90a"): other})
    with pytest.raises(StubgenError) as caught:
        run(project, answers)
    [found] = caught.value.problems
    assert (found.code, found.kernel, found.family) == ("CS239", "fam__a", "fam")


def test_constants_that_differ_are_said_to_be_those_of_the_architecture(project: Path) -> None:
    def of(tile: str, *more: AuthorParameter) -> Compiled:
        return compiled("one", author=(AUTHOR, AuthorParameter("tile", frozen=tile), *more))

    gone = AuthorParameter("gone", frozen="1")
    every = {arch: {"k": [declared("one")]} for arch in ("sm_80", "sm_90a", "sm_100a")}
    answers = Answers(
        every,
        {("one", "sm_80"): of("64", gone), ("one", "sm_90a"): of("128"), ("one", "sm_100a"): of("128")},
    )
    built, _ = run(project, answers, list(every))
    assert built["k"][0].compiled.author == (AUTHOR, AuthorParameter("tile", frozen="(by architecture)"))


# ---------------------------------------------------------------------------------------------------------
# What is for no architecture


LATER = (("one", "sm_100a", None), ("fam__a", "sm_120a", "fam"), ("fam__b", "sm_120a", "fam"))


def empty(family: str) -> Problem:
    return Problem("CS216", f"{family} is empty", "fill it", PLACE, family=family)


def test_a_family_that_is_empty_everywhere_is_refused(project: Path) -> None:
    some = Expansion((declared("other"),), empty=(empty("fam"), empty("gone")))
    answers = Answers(
        {"sm_80": {"k": some}, "sm_90a": {"k": Expansion((member("a"),), empty=(empty("gone"),))}}
    )
    assert refused(project, answers) == [f"CS216 {PLACE}: gone is empty"]


def test_what_is_too_new_for_all_is_told_and_is_no_error(project: Path) -> None:
    left = [LeftOut(name, PLACE, "sm_120a", family) for name, family in (("one", None), ("fam__a", "fam"))]
    both = Expansion((declared("fine"),), empty=(empty("fam"),), too_new=tuple(left))
    some = Expansion((declared("fine"), declared("one", 1)), empty=(empty("fam"),), too_new=(left[1],))
    built, warnings = run(project, Answers({"sm_80": {"k": both}, "sm_90a": {"k": some}}))
    assert shown(built)["k"] == [("fine", ("sm_80", "sm_90a")), ("one", ("sm_90a",))]
    [warning] = warnings
    assert (warning.code, warning.kernel, warning.family, warning.place) == ("CS606", "fam__a", "fam", PLACE)
    assert "sm_80, sm_90a" in f"{warning.message} {warning.remedy}"
    assert "sm_120a" in f"{warning.message} {warning.remedy}"
    host = Expansion((declared("fine"),), too_new=(left[0], left[0]))
    _, warnings = run(project, Answers({None: {"k": host}}), [None])
    assert [w.kernel for w in warnings] == ["one"]
    assert "the host" in f"{warnings[0].message} {warnings[0].remedy}"


def test_where_all_is_too_new_the_run_is_refused(project: Path) -> None:
    left = tuple(LeftOut(n, Place("kernels/k.py", 9), arch, f) for n, arch, f in LATER)
    every = {arch: {"k": Expansion(too_new=left)} for arch in ("sm_80", "sm_90a")}
    [text] = refused(project, Answers(every))
    assert text == (
        "CS260 kernels/k.py:9: nothing is left to build for sm_80, sm_90a: "
        "one, fam are for later architectures"
    )
    every["sm_90a"] = {"k": Expansion((declared("fine"),), too_new=left)}
    built, warnings = run(project, Answers(every))
    assert (list(shown(built)["k"]), len(warnings)) == ([("fine", ("sm_90a",))], 2)
    [text] = refused(project, Answers({"sm_80": {"k": Expansion(too_new=left[:1])}}), ["sm_80"])
    assert "one is for later" in text


def test_modules_that_export_nothing_and_serve_no_other_are_named(project: Path) -> None:
    (project / "kernels" / "k.py").write_text("import stubgen as sg\nimport helper\n")
    for name in ("helper", "idle"):
        (project / "kernels" / f"{name}.py").write_text("import stubgen as sg\n")
    every = {"sm_80": {"k": [declared("one")], "helper": [], "idle": []}}
    _, warnings = run(project, Answers(every), ["sm_80"], modules=("k", "helper", "idle"))
    assert [(w.code, str(w.place)) for w in warnings] == [("CS614", "kernels/idle.py:1")]
    every = {"sm_80": {"k": [], "idle": []}}
    _, warnings = run(project, Answers(every), ["sm_80"], modules=("k", "idle"))
    assert warnings == (), "that nothing at all is exported is said elsewhere"


def test_what_is_exported_by_what_is_no_kernel_module_is_told_once(project: Path) -> None:
    elsewhere = tuple(
        Exported(n, Place(file, 4)) for n, file in (("two", "lib/x.py"), ("own", "kernels/k.py"))
    )
    each = {"k": Expansion((declared("one"),), elsewhere=elsewhere)}
    _, warnings = run(project, Answers({"sm_80": each, "sm_90a": each}))
    assert [(w.code, str(w.place), w.kernel) for w in warnings] == [("CS615", "lib/x.py:4", "two")]


def test_what_a_module_changes_and_imports_is_told_to_those_who_compile(project: Path) -> None:
    (project / "kernels" / "k.py").write_text("import stubgen as sg\nimport json\nimport numpy\n")
    warning = Problem("CS616", "it changes things", "do not", PLACE)
    answers = Answers({"sm_80": {"k": Expansion((declared("one"),), changes="torch", warnings=(warning,))}})
    _, warnings = run(project, answers, ["sm_80"])
    assert warnings == (warning,)
    assert [job.module.changes for job in answers.jobs] == ["torch"]
    assert [module.imports for module in answers.modules] == [("numpy", "stubgen")]


# ---------------------------------------------------------------------------------------------------------
# Shards and the cache


@pytest.mark.parametrize(
    ("seconds", "shares"),
    [({}, ["ac", "b"]), ({"a": 5.0, "b": 1.0, "c": 1.0}, ["a", "bc"]), ({"c": 2.0}, ["ac", "b"])],
)
def test_a_shard_compiles_its_kernels_for_all_architectures(
    project: Path, seconds: dict[str, float], shares: list[str]
) -> None:
    every = {
        arch: {"k": [declared("a", 0), declared("b", 1, 4)], "m": [declared("c", 0, 5)]}
        for arch in ("sm_80", "sm_90a")
    }
    for number, share in enumerate(shares, 1):
        answers = Answers(every)
        division = Division(Shard(number, len(shares)), seconds)
        run(project, answers, division=division, modules=("k", "m"))
        assert answers.names == [*share, *share]
        assert division.taken == dict.fromkeys(share, 2.0), "a second for each architecture"


def test_what_was_compiled_before_is_not_compiled_again(project: Path) -> None:
    """And what took longest, or is new, comes first."""
    store = FolderCache(project / "cache")
    three = [declared("brief", 0), declared("longest_name", 1, 4), declared("medium", 2, 5)]
    first = Answers({"sm_80": {"k": three}})
    run(project, first, ["sm_80"], store=store)
    assert (first.names, first.started) == (["brief", "longest_name", "medium"], ["sm_80"])

    again, watcher = Answers({}), Watcher()
    built, _ = run(project, again, ["sm_80"], store=store, watcher=watcher)
    assert again.started == []
    assert watcher.told[2:] == [("plan", 3, {}, 3)]
    assert shown(built)["k"] == [(name, ("sm_80",)) for name in ("brief", "longest_name", "medium")]
    [ir] = built["k"][0].ir.values()
    assert ir.read() == b"IR of ops__brief__sm_80"

    (project / "kernels" / "k.py").write_text("import stubgen as sg\n\nsg.export(print, 1)\n")
    edited, watcher = Answers({"sm_80": {"k": [*three, declared("added", 3, 6)]}}), Watcher()
    run(project, edited, ["sm_80"], store=store, watcher=watcher)
    assert edited.names == ["added", "longest_name", "medium", "brief"]
    assert watcher.told[2] == (
        "plan",
        0,
        {"brief": 5.0, "longest_name": 12.0, "medium": 6.0, "added": None},
        3,
    )

    store.prune(limit=0)
    with pytest.raises(StubgenError, match="CS413: what was compiled of brief is not in the cache any more"):
        ir.read()


def test_where_only_comments_changed_facts_are_read_and_nothing_is_compiled(project: Path) -> None:
    store = FolderCache(project / "cache")
    two = {"sm_80": {"k": [declared("one", 0), declared("two", 1, 4)]}}
    run(project, Answers(two), ["sm_80"], store=store)
    (project / "kernels" / "k.py").write_text("# New.\nimport stubgen as sg\n\nsg.export(print)\n")
    answers, watcher = Answers(two), Watcher()
    answers.facts_of = {"one": Facts("New doc.", Place("kernels/k.py", 9))}
    built, _ = run(project, answers, ["sm_80"], store=store, watcher=watcher)
    assert (answers.asked, answers.names) == (["one", "two"], ["two"]), "whose facts cannot be read"
    assert [b.compiled.doc for b in built["k"]] == ["New doc.", ""]
    assert watcher.told[2] == ("plan", 1, {"two": 3.0}, 3)
    third = Answers({})
    built, _ = run(project, third, ["sm_80"], store=store)
    assert (third.started, built["k"][0].compiled.doc) == ([], "New doc.")


def test_a_run_that_is_interrupted_keeps_what_it_compiled(project: Path) -> None:
    store = FolderCache(project / "cache")
    two = {"sm_80": {"k": [declared("one", 0), declared("two", 1, 4)]}}

    class Interrupted(Answers):
        def compile(self, jobs: Any, on_start: Any, on_done: Any) -> None:
            super().compile(jobs[:1], on_start, on_done)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(project, Interrupted(two), ["sm_80"], store=store)
    answers = Answers(two)
    run(project, answers, ["sm_80"], store=store)
    assert (answers.expanded, answers.names) == ([], ["two"])


def test_only_modules_that_export_something_need_a_name_of_their_own(project: Path) -> None:
    names = ("k", "torch", "config")
    for name in names:
        (project / "kernels" / f"{name}.py").write_text("import stubgen as sg\n")
    every = {"sm_80": {"k": [declared("one")], "torch": [], "config": [declared("two", 0, 4)]}}
    with pytest.raises(StubgenError) as caught:
        run(project, Answers(every), ["sm_80"], modules=names)
    assert [(p.code, str(p.place)) for p in caught.value.problems] == [
        ("CS208", "kernels/config.py:1"),
        ("CS614", "kernels/torch.py:1"),
    ]

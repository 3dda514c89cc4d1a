"""What a compiled kernel is found again by: each thing that shapes it, and nothing else."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import stubgen
from stubgen.build.reuse import CachedKernel, Reuse
from stubgen.compiler.jobs import Compiled, CompileJob, Declared, ModuleJob, Outcome, WorkerSettings
from stubgen.config.devices import builtin_profile
from stubgen.model.library import Place
from stubgen.native.host_ir import IRFile
from stubgen.sources import fingerprint, installed
from stubgen.sources.imports import import_name
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules
from stubgen.store.cache import FolderCache

KERNELS = '''
"""Kernels."""

import helper_package
import near
from cutlass import cute

import stubgen as sg


@cute.jit
def scale(x: cute.Tensor):  # a comment
    """x = 2 * x."""
    x[0] = 2 * x[0] + near.OFFSET


sg.export(scale, x=None)
'''
NEAR = "from farther import OFFSET  # a comment\n"
FARTHER = "OFFSET = 1\n"
OTHER = "import stubgen as sg\n\nsg.export(print, 1)\n"
FILES = {
    "kernels/k.py": KERNELS,
    "kernels/near.py": NEAR,
    "kernels/farther.py": FARTHER,
    "kernels/other.py": OTHER,
    "README.md": "Kernels.\n",
}
PROFILE = builtin_profile("sm_90a")


class Project:
    """A project with one compiled kernel in its cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for file, text in FILES.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        self.settings = WorkerSettings(str(folder), "sm_90a", PROFILE, str(folder))
        self.declared = Declared(0, "scale", Place("kernels/k.py", 17), options="--opt-level 3")
        self.package = "ops"
        compiled = Compiled("scale", self.declared.place, (), (), "scale()", has_device_code=True)
        Path(self.job().ir_path).write_text("the IR")
        self.reuse().keep(self.job(), Outcome(compiled), IRFile(Path(self.job().ir_path)))
        found = self.found()
        assert found is not None
        assert found.is_current

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def module(self) -> ModuleJob:
        path = self.folder / "kernels" / "k.py"
        name, root = import_name(path)
        return ModuleJob("k", str(path), "kernels/k.py", name, str(root))

    def job(self) -> CompileJob:
        name = f"{self.package}__{self.declared.name}__{self.settings.arch}"
        return CompileJob(self.module(), self.declared, name, str(self.folder / "k.ll"))

    def reuse(self) -> Reuse:
        modules = kernel_modules([self.folder / "kernels" / "k.py"], self.folder)
        inputs = BuildInputs(self.folder, modules)
        return Reuse(FolderCache(self.folder / "cache"), inputs, self.settings)

    def found(self) -> CachedKernel | None:
        return self.reuse().compiled(self.job())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    package = tmp_path / "site" / "helper_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("ANSWER = 42\n")
    _install(tmp_path / "site", "helper_package", "1.0", editable=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    _look_again()
    yield Project(tmp_path / "project")
    monkeypatch.undo()
    _look_again()


def _install(site: Path, name: str, version: str, *, editable: bool) -> None:
    for old in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "top_level.txt").write_text(f"{name}\n")
    if editable:
        (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')


def _look_again() -> None:
    """Forget what a process looks up only once."""
    installed.forget()
    fingerprint.of_tool.cache_clear()


def replace(field: str, **changes: object) -> Callable[[Project], None]:
    def change(project: Project) -> None:
        setattr(project, field, msgspec.structs.replace(getattr(project, field), **changes))

    return change


def edit(file: str, old: str, new: str) -> Callable[[Project], None]:
    return lambda project: project.edit(file, old, new)


SHAPING = {
    "the kernel": edit("kernels/k.py", "2 * x[0]", "3 * x[0]"),
    "another statement of its module": edit("kernels/k.py", "\nsg.export", "\nUNUSED = 1\nsg.export"),
    "a type annotation": edit("kernels/k.py", "x: cute.Tensor", "x: cute.Tensor | None"),
    "a module that it imports": edit("kernels/near.py", "import OFFSET", "import OFFSET as OFFSET"),
    "a module that this one imports": edit("kernels/farther.py", "1", "2"),
    "architecture": replace("settings", arch="sm_100a"),
    "number of SMs": replace("settings", profile=msgspec.structs.replace(PROFILE, sm_count=1)),
    "no device profile": replace("settings", profile=None),
    "options": replace("declared", options="--opt-level 2"),
    "name": replace("declared", name="other"),
    "package": lambda project: setattr(project, "package", "other"),
}


@pytest.mark.parametrize("change", SHAPING.values(), ids=SHAPING.keys())
def test_what_shapes_a_kernel(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    assert project.found() is None


INDIFFERENT = {
    "another module": edit("kernels/other.py", "print", "len"),
    "a file that is no source": edit("README.md", "Kernels", "My kernels"),
    "a new file": lambda project: (project.folder / "kernels" / "new.py").write_text("X = 1\n"),
    "folder for logs": replace("settings", log_dir="/elsewhere"),
    "limit of time": replace("settings", timeout=1.0),
    "what else is built for": replace("settings", named_archs=("sm_90a", "sm_100a")),
}


@pytest.mark.parametrize("change", INDIFFERENT.values(), ids=INDIFFERENT.keys())
def test_what_does_not_concern_a_kernel(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    found = project.found()
    assert found is not None
    assert found.is_current


SHOWN = {
    "a comment": edit("kernels/k.py", "  # a comment", ""),
    "a comment of another module": edit("kernels/near.py", "a comment", "another comment"),
    "a docstring": edit("kernels/k.py", "x = 2 * x.", "Double x."),
    "the docstring of the module": edit("kernels/k.py", '"""Kernels."""', ""),
    "layout": edit("kernels/k.py", "2 * x[0] +", "(2 * x[0]  ) +"),
    "the line": replace("declared", place=Place("kernels/k.py", 18)),
}


@pytest.mark.parametrize("change", SHOWN.values(), ids=SHOWN.keys())
def test_what_is_only_read_again(project: Project, change: Callable[[Project], None]) -> None:
    change(project)
    found = project.found()
    assert found is not None
    assert not found.is_current


def test_line_information_depends_on_lines(project: Project) -> None:
    replace("declared", options="--generate-line-info")(project)
    assert project.found() is None
    compiled = Compiled("scale", project.declared.place, (), (), "scale()", has_device_code=True)
    project.reuse().keep(project.job(), Outcome(compiled), IRFile(Path(project.job().ir_path)))
    assert project.found() is not None
    project.edit("kernels/k.py", "\n\n@cute.jit", "\n\n\n@cute.jit")
    assert project.found() is None


@pytest.mark.parametrize("distribution", ["nvidia-cutlass-dsl", "apache-tvm-ffi", "helper_package"])
def test_versions(project: Project, distribution: str) -> None:
    site = project.folder.parent / "site"
    _install(site, distribution.replace("-", "_"), "99.0", editable=False)
    _look_again()
    assert project.found() is None


def test_an_editable_package_counts_by_its_content(project: Project) -> None:
    site = project.folder.parent / "site"
    _install(site, "helper_package", "1.0", editable=True)
    _look_again()
    compiled = Compiled("scale", project.declared.place, (), (), "scale()", has_device_code=True)
    project.reuse().keep(project.job(), Outcome(compiled), IRFile(Path(project.job().ir_path)))
    assert project.found() is not None
    (site / "helper_package" / "__init__.py").write_text("ANSWER = 43\n")
    _look_again()
    assert project.found() is None


def test_the_version_of_python(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    _look_again()
    assert project.found() is None


@pytest.mark.parametrize(
    ("file", "shapes"),
    [
        ("stubgen/compiler/worker/worker.py", True),
        ("stubgen/compiler/worker/dsl/dsl.py", True),
        ("stubgen/declare/declarations.py", True),
        ("stubgen/cli/app.py", False),
    ],
)
def test_the_tool_itself(project: Project, monkeypatch: pytest.MonkeyPatch, file: str, shapes: bool) -> None:
    own, copy = Path(stubgen.__file__).parent, project.folder.parent
    shutil.copytree(own, copy / own.name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(fingerprint, "_FOLDER", copy)
    _look_again()
    assert project.found() is not None
    with (copy / file).open("a") as changed:
        changed.write("\nMORE = 1\n")
    _look_again()
    assert (project.found() is None) == shapes


def test_seconds_are_remembered_whatever_changes(project: Project) -> None:
    assert project.reuse().seconds(project.job()) is None
    project.reuse().keep_seconds([project.job()], [1.5])
    project.edit("kernels/k.py", "2 * x[0]", "3 * x[0]")
    assert project.reuse().seconds(project.job()) == 1.5
    project.reuse().keep_seconds([project.job()], [0.0])
    assert project.reuse().seconds(project.job()) == 1.5, "one that failed says nothing"
    replace("settings", arch="sm_80")(project)
    assert project.reuse().seconds(project.job()) is None


def test_whatever_a_worker_imports_of_the_tool_shapes_the_key() -> None:
    root = Path(stubgen.__file__).parents[1]
    shaping = {path.relative_to(root).as_posix() for path in fingerprint.shaping_sources()}
    assert {
        "stubgen/compiler/worker/worker.py",
        "stubgen/compiler/worker/dsl/dsl.py",
        "stubgen/declare/declarations.py",
        "stubgen/declare/labels.py",
        "stubgen/model/names.py",
        "stubgen/abi/signatures.py",
    } <= shaping
    assert shaping.isdisjoint(
        {
            "stubgen/render/native/dispatcher.py",
            "stubgen/render/python/python_package.py",
            "stubgen/cli/app.py",
            "stubgen/native/link.py",
        }
    )

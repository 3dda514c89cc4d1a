"""Which modules are kernel modules is decided by what happens when they are imported."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from stubgen.cli.app import app
from tests.tiny import Project

HELPER = """
import stubgen as sg


def publish(fn, *arguments, name=None):
    sg.export(name=name)(fn, *arguments)


def published(**axes):
    return sg.family(**axes)
"""

THROUGH_A_HELPER = '''
import cutlass
from cutlass import cute
from common.helper import publish, published

import stubgen.declare.arguments as arguments


@cute.jit
def doubled(x: cute.Tensor):
    """x = 2 x."""
    x[0] = 2 * x[0]


publish(doubled, arguments.tensor(cutlass.Float32, 4, device="cpu"))


@published(dtype=[cutlass.Float32])
def halves(dtype):
    from stubgen import kernel

    return kernel(doubled, arguments.tensor(dtype, 4, device="cpu"))
'''

INDIRECTLY = """
from cutlass import cute
import cutlass
import common.vectors
from common import helper


@cute.jit
def tripled(x: cute.Tensor):
    x[0] = 3 * x[0]


getattr(helper, "publish")(tripled, common.vectors.VECTOR, name="three_times")
"""

VECTORS = """
import cutlass
from cutlass import cute

import stubgen as sg

VECTOR = sg.tensor(cutlass.Float32, 4, device="cpu")


@cute.jit
def lost(x: cute.Tensor):
    x[0] = 1.0


sg.export(lost, VECTOR)
"""

FILES = {
    "common/helper.py": HELPER,
    "common/vectors.py": VECTORS,
    "kernels/through.py": THROUGH_A_HELPER,
    "kernels/indirectly.py": INDIRECTLY,
    "kernels/used.py": "import stubgen as sg\nANSWER = sg.dim('n')\n",
    "kernels/user.py": "import used\nfrom common.helper import publish\n",
    "kernels/script.py": "raise ImportError('no kernels here')\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    for name in ("first.py", "second.py", "shared.py"):
        (made.kernels / name).unlink()
    for name, text in FILES.items():
        (made.folder / name).parent.mkdir(exist_ok=True)
        (made.folder / name).write_text(text)
    return made


def listed(project: Project) -> dict[str, list[str]]:
    """Run ``list``, and return what each function is exported as."""
    done = CliRunner().invoke(app, ["list", "-C", str(project.folder), "--json"])
    assert done.exit_code == 0, done.output
    return {row["function"]: row["exported_as"] for row in json.loads(done.stdout)}


def test_exports_belong_to_the_module_whose_import_leads_to_them(project: Project) -> None:
    assert listed(project) == {"doubled": [], "tripled": []}, "what no text tells"
    done = project.run("generate", "--json")
    assert done.returncode == 0, done.stderr
    assert listed(project) == {"doubled": ["doubled", "family halves"], "tripled": ["three_times"]}
    assert_described_by_any_name(project)
    warnings = [(w["code"], w["file"], w["line"]) for w in json.loads(done.stdout)["warnings"]]
    # used.py serves user.py, but that exports nothing either; script.py does not lead to the tool.
    assert warnings == [
        ("CS615", "common/vectors.py", 15),
        ("CS614", "kernels/used.py", 1),
        ("CS614", "kernels/user.py", 1),
    ]
    manifest = json.loads(project.output()["cute_kernels/manifest.json"])
    modules = {
        module["name"]: [(kernel["name"], kernel["place"]["line"]) for kernel in module["kernels"]]
        for module in manifest["library"]["modules"]
    }
    assert modules == {
        "indirectly": [("three_times", 13)],
        "through": [("doubled", 15), ("halves__float32", 18)],
    }
    # A helper of a module that exports is named by nobody.
    (project.kernels / "user.py").unlink()
    with (project.kernels / "through.py").open("a") as file:
        file.write("import used\n")
    assert listed(project) == {"doubled": [], "tripled": ["three_times"]}, "a file that has changed since"
    done = project.run("generate", "--json")
    assert [w["code"] for w in json.loads(done.stdout)["warnings"]] == ["CS615"]


def assert_described_by_any_name(project: Project) -> None:
    """See that ``describe`` takes the names that it prints, and those that Python has."""
    output = str(project.folder / "generated")

    def described(name: str) -> Result:
        return CliRunner().invoke(app, ["describe", output, name])

    first = described("halves")
    assert "through.halves(" in first.output
    for name in ("through.halves", "cute_kernels.through.halves"):
        assert described(name).output == first.output
    for name in ("indirectly.halves", "through.halve", "other.through.halves", "cute_kernels.halves"):
        done = described(name)
        assert done.exit_code == 1
        assert f"CS505: cute_kernels has no function '{name}'" in done.output


BROKEN = {
    "misspelled.py": ("import stubgen as sg\nsg.exports(print, 1)\n", "CS204", 2),
    "raises.py": ("from common.helper import publish\n\nraise RuntimeError('not today')\n", "CS204", 3),
    "lacks.py": ("import common.helper\nimport no_such_library\n", "CS204", 2),
    "unparsed.py": ("from common.helper import publish\npublish(\n", "CS203", 2),
}


def test_a_module_that_leads_to_the_tool_and_fails_is_an_error(project: Project) -> None:
    for name, (text, *_) in BROKEN.items():
        (project.kernels / name).write_text(text)
    (project.kernels / "idle.py").write_text("import stubgen\n")
    (project.kernels / "served.py").write_text("import stubgen\n")  # perhaps by what cannot be read
    with (project.kernels / "unparsed.py").open("a") as file:
        file.write("import served\n")
    done = project.run("generate", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    problems = {(p["file"], p["code"], p["line"]) for p in told["problems"]}
    assert problems == {(f"kernels/{name}", code, line) for name, (_, code, line) in BROKEN.items()}
    idle = {p["file"] for p in told["warnings"] if p["code"] == "CS614"}
    assert "kernels/idle.py" in idle
    assert not idle & {"kernels/served.py", *(f"kernels/{name}" for name in BROKEN)}


USES_LIBRARY = """
import cutlass
from cutlass import cute
import stubgen as sg
from numbers_of_ours import VALUE


@cute.jit
def constant(x: cute.Tensor):
    x[0] = float(VALUE)


sg.export(constant, sg.tensor(cutlass.Float32, 4, device="cpu"))
"""


def install(site: Path, name: str, version: str, requires: str = "") -> None:
    for old in site.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    required = f"Requires-Dist: {requires}\n" if requires else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}")
    (info / "top_level.txt").write_text(f"{name}\n")


def test_what_is_installed_is_part_of_the_record(tmp_path: Path) -> None:
    """One history: each step changes one thing, and the next run has to notice it."""
    project = Project(tmp_path / "project")
    for name in ("first.py", "second.py", "shared.py"):
        (project.kernels / name).unlink()
    (project.kernels / "k.py").write_text(USES_LIBRARY)
    site = tmp_path / "site"
    site.mkdir()
    library = site / "numbers_of_ours.py"
    library.write_text("VALUE = 1\n")
    install(site, "numbers_of_ours", "1.0", "below-it>=1")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    project.environment["PYTHONPATH"] = path

    again = ["imported k", "compiled constant"]
    assert project.generate() == again
    assert project.generate() == []
    library.write_text("VALUE = 2\n")
    install(site, "numbers_of_ours", "1.1", "below-it>=1")
    assert project.run("check").returncode == 1, "the library was upgraded"
    assert project.generate() == [], "which check has compiled"
    install(site, "below_it", "1.0")
    assert project.generate() == again, "what the library needs was installed"
    install(site, "below_it", "2.0")
    assert project.generate() == again, "and upgraded"
    packages = json.loads(project.output()["cute_kernels/manifest.json"])["sources"]["packages"]
    assert (packages["numbers-of-ours"], packages["below-it"]) == ("1.1", "2.0")
    assert {"nvidia-cutlass-dsl", "apache-tvm-ffi", "ziglang"} <= packages.keys()

    # On a path without an account of what is installed, the files count.
    shutil.rmtree(next(site.glob("numbers_of_ours-*")))
    assert project.generate() == again
    assert project.generate() == []
    before = library.stat()
    library.write_text("VALUE = 3\n")
    os.utime(library, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.generate() == again, "a file of the same size and time"
    assert project.generate() == []

    kernel = project.kernels / "k.py"
    before = kernel.stat()
    kernel.write_text(USES_LIBRARY.replace("x[0] = float", "x[1] = float"))
    os.utime(kernel, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.generate() == again, "a source of the same size and time"

    stub = project.folder / "generated/cute_kernels/k.pyi"
    text, before = stub.read_text(), stub.stat()
    stub.write_text(text.replace("x", "z"))
    os.utime(stub, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.generate() == []
    assert stub.read_text() == text, "an output of the same size and time"

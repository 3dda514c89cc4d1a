"""What declarations say of effects: what is refused, and what is done again when it changes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import run_stubgen
from tests.tiny import Project

HEAD = """
import cutlass
from cutlass import cute
import stubgen as sg

n, m = sg.dim("n"), sg.dim("m")
x = sg.tensor(cutlass.Float32, n, device="cpu")
wide = sg.tensor(cutlass.Float64, n, device="cpu")
other = sg.tensor(cutlass.Float32, m, device="cpu")

@cute.jit
def f(x: cute.Tensor, k: cutlass.Int32, out: cute.Tensor):
    out[0] = out.element_type(k)

@cute.jit
def g(pair: tuple, out: cute.Tensor):
    out[0] = out.element_type(0)
"""

MALFORMED = """
sg.export(mutates=3, name="a")(f, x, out=x)
sg.export(returns=("out", "out"), name="b")(f, x, out=x)
sg.export(mutates="out", backward=sg.backward("a", grads={}, gives={}), name="c")(f, x, out=x)
sg.export(returns="out", backward="a", name="d")(f, x, out=x)
sg.export(returns="out", backward=sg.backward("a", grads=["out"], gives={}), name="e")(f, x, out=x)
"""
MALFORMED_PROBLEMS = [
    'CS210: a: mutates=3 is no tuple of names of parameters, such as ("out",)',
    "CS210: b: returns=('out', 'out') names a parameter twice",
    "CS210: c: it has backward= without returns=; only what is returned has a gradient",
    "CS210: d: backward='a'; write stubgen.backward(...)",
    "CS210: e: backward has grads=['out']; give a dict from name to name",
]

UNTRUE = """
sg.export(mutates=("nothing",), name="a")(f, x, out=x)
sg.export(returns=("k",), name="b")(f, x, out=x)
sg.export(mutates=("pair",), name="c")(g, (x, x), x)

@sg.family(t=[cutlass.Float32, cutlass.Float64])
def d(t):
    y = sg.tensor(t, n, device="cpu")
    return sg.kernel(mutates=("out",) if t is cutlass.Float32 else ())(f, y, out=y)
"""
UNTRUE_PROBLEMS = [
    "CS241: mutates of a names 'nothing', which is no parameter of it; name parameters that are tensors: x",
    "CS241: returns of b names 'k', which is no tensor; name parameters that are tensors: x, out",
    "CS241: mutates of c names 'pair', which is no tensor; name parameters that are tensors: out",
    "CS243: d__float64 says something else of its effects than d__float32, and both are variants of d",
]

UNUSABLE = """
scalar = sg.tensor(cutlass.Float32, device="cpu")
columns = sg.tensor(cutlass.Float32, 3, n, order=(0, 1), device="cpu")

sg.export(name="p")(f, x, out=x)
sg.export(returns="out", name="q")(f, x, out=other)
sg.export(returns="out", name="r")(f, scalar, out=columns)
sg.export(returns="out", backward=sg.backward("h", grads={}, gives={}), name="s")(f, x, out=x)
sg.export(returns="out", name="back")(f, x, out=x)
astray = sg.backward("back", grads={"y": "x"}, gives={"k": "z"})
sg.export(returns="out", backward=astray, name="t")(f, x, out=x)

sg.export(returns="out", name="tupled")(g, (x, x), x)
beyond = sg.backward("tupled", grads={}, gives={})
sg.export(returns="out", backward=beyond, name="w")(f, x, out=x)

@sg.family(t=[cutlass.Float32, cutlass.Float64], u=[cutlass.Float16, cutlass.BFloat16])
def v(t, u):
    y, out = (sg.tensor(dtype, n, device="cpu") for dtype in (t, u))
    return sg.kernel(returns="out")(f, y, out=out)
"""
UNUSABLE_PROBLEMS = [
    "CS240: p does not say which tensors it writes to, which its function for PyTorch and JAX has to know",
    "CS244: q returns out, but no input has its size m, dimension 0",
    "CS244: r returns out, but it is not row-major",
    "CS242: the backward of s is 'h', which is no function of this package",
    "CS242: the backward of t has grads for y, which is no output",
    "CS242: the backward of t gives a gradient of k, which is no tensor that is passed",
    "CS242: the backward of t is back, which does not return z",
    "CS242: the backward of w is tupled, which PyTorch cannot call: pair is a tuple",
    "CS244: v returns out, but no input has its dtype, float16 or bfloat16",
]


def problems(folder: Path, declarations: str, *options: str) -> list[str]:
    """Generate in vain, and give what is refused, without places and remedies."""
    (folder / "kernels").mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "kernels" / "k.py").write_text(HEAD + declarations)
    done = run_stubgen("generate", "-C", folder, "--json", *options)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)["problems"]
    return [f"{p['code']}: {p['message']}; {p['remedy']}" for p in found]


@pytest.mark.parametrize(
    ("declarations", "expected"),
    [(MALFORMED, MALFORMED_PROBLEMS), (UNTRUE + UNUSABLE, UNTRUE_PROBLEMS + UNUSABLE_PROBLEMS)],
    ids=["malformed", "untrue"],
)
def test_what_cannot_be_is_refused_all_at_once(
    tmp_path: Path, declarations: str, expected: list[str]
) -> None:
    found = problems(tmp_path, declarations, "--framework", "torch", "--framework", "jax")
    assert len(found) == len(expected), found
    for text in expected:
        assert any(line.startswith(text) for line in found), (text, found)


def test_without_frameworks_only_what_is_untrue_is_refused(tmp_path: Path) -> None:
    found = problems(tmp_path, UNTRUE + UNUSABLE)
    assert [line[:5] for line in found] == [line[:5] for line in UNTRUE_PROBLEMS]


def test_frameworks_are_named_in_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.cute-stubgen]\nframeworks = ["torch", "tensorflow"]\n')
    done = run_stubgen("generate", "-C", tmp_path)
    assert done.returncode == 1
    assert re.search(r"CS101: .*frameworks.*tensorflow", done.stderr.replace("\n", " ")), done.stderr


def test_effects_that_change_are_rendered_and_nothing_is_compiled(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.configure('frameworks = ["torch"]')
    project.edit("first.py", lambda text: text.replace("sg.export(", 'sg.export(mutates="x")('))
    project.edit("second.py", lambda text: text.replace("sg.kernel(", 'sg.kernel(mutates=("x",))('))
    project.generate()
    stub = tmp_path / "generated" / "cute_kernels" / "torch" / "__init__.py"
    assert "(Tensor(a0!) x) -> ()" in stub.read_text()
    project.edit("second.py", lambda text: text.replace("mutates=", "backward=None, mutates="))
    project.configure('frameworks = ["torch", "jax"]')
    assert project.generate() == ["imported second"]
    assert "changes=" in (tmp_path / "generated" / "cute_kernels" / "jax" / "__init__.py").read_text()
    # And a run with nothing to do imports none of what is slow to import.
    (tmp_path / "tracer.py").write_text(
        "import sys\nfrom stubgen.cli.app import app\napp(standalone_mode=False)\n"
        "print([n for n in ('cutlass', 'libcst', 'jinja2', 'torch', 'jax') if n in sys.modules])\n"
    )
    done = project.run("generate")
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr

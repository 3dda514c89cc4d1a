"""Sessions: ``nox -s generate`` builds the kernels; plain ``nox`` runs everything that CI runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import nox

nox.options.sessions = ["lint", "typecheck", "tests"]
nox.options.reuse_existing_virtualenvs = True

PROJECT = nox.project.load_toml("pyproject.toml")

_SUPPORTED = runpy.run_path("stubgen/model/supported.py")
DSL, TVM_FFI = _SUPPORTED["DSL"], _SUPPORTED["TVM_FFI"]

COMPAT_TESTS = (
    "tests/e2e/test_calls.py",
    "tests/e2e/test_archs.py",
    "tests/e2e/test_families.py",
    "tests/e2e/test_signatures.py",
    "tests/e2e/test_wheel.py",
    "tests/typing",
    "tests/matrix",
    "tests/cpp/test_headers.py",
    "tests/cpp/test_c_headers.py",
    "tests/cpp/test_example.py",
    "tests/dispatch/test_native.py",
)
"""What proves by value that Python, C and C++ callers get what they ask for; tests/README.md says more."""


def groups(*names: str) -> list[str]:
    """Return the requirements of some dependency groups."""
    return nox.project.dependency_groups(PROJECT, *names)


@nox.session
def generate(session: nox.Session) -> None:
    """Compile kernels/ and write generated/. Arguments go to `cute-stubgen generate`."""
    session.install("-e", ".")
    session.run("cute-stubgen", "generate", *session.posargs)


@nox.session
def check(session: nox.Session) -> None:
    """Fail if generated/ is not what kernels/ would give; write nothing."""
    session.install("-e", ".")
    session.run("cute-stubgen", "check", *session.posargs)


@nox.session
def example(session: nox.Session) -> None:
    """Call a generated kernel from Python, with nothing installed but tvm-ffi and NumPy."""
    session.install(TVM_FFI.requirement, "numpy")
    session.run("python", "examples/python/call.py", env={"PYTHONPATH": "generated"})


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests. Arguments go to pytest."""
    session.install("-e", ".[dask,remote]", *groups("test"))
    session.run("pytest", *(session.posargs or ["-n", "2", "--dist", "loadgroup"]))


@nox.session
def realworld(session: nox.Session) -> None:
    """Build the kernels of published libraries, and test what comes out. Arguments go to pytest."""
    session.install("-e", ".", *groups("test", "realworld"))
    session.install("--no-deps", *groups("realworld-alone"))
    session.run("pytest", "tests/realworld", *(session.posargs or ["-n", "2", "--dist", "loadgroup"]))


@nox.session
def mutation(session: nox.Session) -> None:
    """Change the code in one place at a time and see that tests notice. Arguments: see tests/mutation."""
    session.install("-e", ".", *groups("test", "mutation"))
    folder = Path(session.create_tmp()) / "mutation"
    session.run("python", "-m", "tests.mutation", *(session.posargs or [str(folder)]))


@nox.session
@nox.parametrize("tvm_ffi", [TVM_FFI.oldest, TVM_FFI.newest])
@nox.parametrize("dsl", [DSL.oldest, DSL.newest])
def compat(session: nox.Session, dsl: str, tvm_ffi: str) -> None:
    """Run what proves every surface with the oldest and the newest versions. Arguments go to pytest."""
    versions = (f"{DSL.distribution}=={dsl}", f"{TVM_FFI.distribution}=={tvm_ffi}")
    session.install("-e", ".", *groups("test"), *versions)
    arguments = session.posargs or ["-n", "2", "--dist", "loadgroup", *COMPAT_TESTS]
    session.run("pytest", *arguments, env={"STUBGEN_TEST_ARCHS": "sm_90a"})


@nox.session
def typecheck(session: nox.Session) -> None:
    """Check the types of the tool with mypy and pyright, both strict; of the tests, that names exist."""
    session.install(*groups("typecheck"))
    session.run("mypy")
    session.run("mypy", "--config-file", "tests/mypy.ini")
    session.run("pyright")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, and that rooms import only those below them."""
    session.install(*groups("lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure what README quotes, and draw it. Arguments choose benchmarks."""
    session.install("-e", ".", *groups("test", "bench"))
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def gpu(session: nox.Session) -> None:
    """Compare every kernel with a float64 reference on a GPU; skips where there is none."""
    packages = ("generated", "examples/quack/generated", "examples/cutlass_operators/generated")
    session.install(TVM_FFI.requirement, *groups("gpu"))
    session.run("pytest", "tests/gpu", "-s", *session.posargs, env={"PYTHONPATH": ":".join(packages)})

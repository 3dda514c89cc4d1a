"""Kernels that kill, crash or block the process that builds them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.conftest import Known
from tests.faults.projects import Project, contents, errors

TROUBLE = '''
"""A kernel that makes trouble while it is built."""

import ctypes
import os
import signal
from pathlib import Path

import cutlass
from cutlass import cute

import stubgen as sg


def make_trouble():
    {trouble}


def die_once():
    try:
        Path({folder!r}, "died").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@cute.jit
def {name}(x: cute.Tensor):
    """x = 2 * x."""
    make_trouble()
    for i in range(x.shape[0]):
        x[i] = 2.0 * x[i]


sg.export({name}, x=sg.tensor(cutlass.Float32, sg.dim("n"), device="cpu"))
'''

TROUBLES = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "crashes": "ctypes.string_at(0)",
    "leaves": "os._exit(3)",
    "hangs": "ctypes.PyDLL(None).sleep(1000)  # and lets no other thread run",
}
GOOD = "pass"


def make(project: Project, name: str, trouble: str) -> None:
    text = TROUBLE.format(name=name, trouble=trouble, folder=str(project.folder))
    project.write(f"kernels/{name}.py", text)


def test_each_costs_only_its_own_kernel(known: Known, project: Project) -> None:
    for name, trouble in TROUBLES.items():
        make(project, name, trouble)
    make(project, "good", GOOD)
    done = project.generate("--timeout", "10")
    assert done.returncode == 1
    assert contents(project.output) == known.old
    found = sorted(errors(done))
    assert len(found) == len(TROUBLES), done.stderr
    expected = {
        "crashes": "CS303 the process that worked on crashes was killed by SIGSEGV",
        "hangs": "CS305 the process that worked on hangs was ended after 10 seconds",
        "killed": "CS303 the process that worked on killed was killed by SIGKILL, as when memory runs out",
        "leaves": "CS303 the process that worked on leaves ended itself with status 3",
    }
    for line, (name, words) in zip(found, expected.items(), strict=True):
        assert f"kernels/{name}.py:" in line
        code, _, message = words.partition(" ")
        assert code in line
        assert message in line
    for name in TROUBLES:  # what was good is kept
        (project.folder / "kernels" / f"{name}.py").unlink()
    again = project.generate()
    assert again.returncode == 0, again.stderr
    assert "Compiling for sm_90a (3)\n  3 of 3; 3 from the cache\n" in again.stderr
    assert "good" in contents(project.output)["cute_kernels/good.pyi"].decode()


def test_a_run_of_nothing_but_trouble_ends(known: Known, project: Project) -> None:
    """While modules are imported and while kernels are built: a process for each, and a limit of time."""
    kinds = list(TROUBLES.items())
    for number in range(26):
        name, trouble = kinds[number % len(kinds)]
        make(project, f"{name}{number}", trouble)
        if number % 2:  # at once, and not when the kernel is built
            file = project.folder / "kernels" / f"{name}{number}.py"
            file.write_text(file.read_text() + "\nmake_trouble()\n")
    done = project.generate("--timeout", "5", "--jobs", "2")
    assert done.returncode == 1
    assert contents(project.output) == known.old
    found = errors(done)
    named = {re.findall(r"kernels/(\w+)\.py", line)[0] for line in found}
    assert named == {f"{kinds[number % len(kinds)][0]}{number}" for number in range(26)}
    assert all(re.search(r"CS30[35]", line) for line in found), found


def test_a_process_that_is_killed_once_is_forgiven(project: Project) -> None:
    make(project, "unlucky", "die_once()")
    done = project.generate()
    assert done.returncode == 0, done.stderr
    assert (project.folder / "died").exists()
    assert "unlucky" in contents(project.output)["cute_kernels/unlucky.pyi"].decode()


def test_a_module_that_cannot_be_imported_without_dying(known: Known, project: Project) -> None:
    project.write(
        "kernels/bad.py", "import ctypes\nimport stubgen as sg\nctypes.string_at(0)\nsg.export(1)\n"
    )
    done = project.generate()
    assert done.returncode == 1
    (line,) = errors(done)
    assert "kernels/bad.py" in line
    assert "SIGSEGV" in line
    assert contents(project.output) == known.old


@pytest.mark.parametrize("to_all", [True, False], ids=["from the terminal", "to the tool alone"])
def test_interrupts(known: Known, project: Project, to_all: bool) -> None:
    for name, trouble in {"good": GOOD, "hangs": TROUBLES["hangs"]}.items():
        make(project, name, trouble)
    run = project.start("--jobs", "1")
    assert run.stderr is not None
    while "Compiling" not in run.stderr.readline():
        assert run.poll() is None
    _await_process_that_sleeps(run)
    if to_all:
        os.killpg(run.pid, signal.SIGINT)
    else:
        run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=300)  # what it waits for would take 1000 s
    assert run.returncode == 130
    assert err.splitlines()[-1] == "interrupted; the previous output is whole"
    assert "Traceback" not in err
    deadline = time.monotonic() + 60  # the system ends them, when it gets round to it
    while _processes_of(run.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _processes_of(run.pid) == []
    assert contents(project.output) == known.old


def _await_process_that_sleeps(run: subprocess.Popen[str]) -> None:
    """Wait until a process of the run does what blocks it."""
    deadline = time.monotonic() + 120
    while not any("nanosleep" in _text(Path(f"/proc/{pid}/wchan")) for pid in _processes_of(run.pid)):
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.1)


def _processes_of(session: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = _text(stat).rpartition(")")[2].split()
        if fields and int(fields[3]) == session and fields[0] != "Z":
            found.append(int(re.sub(r"\D", "", stat.parent.name)))
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # ended in between
        return ""

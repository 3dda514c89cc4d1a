"""Consoles that cannot show the text, and standard streams that are closed, full, or without a reader."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny import Project, traced

STRICT = {"PYTHONIOENCODING": "ascii:strict"}
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FOLDER = "größe-漢字"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose folder and texts are not ASCII, generated once with a console that is."""
    made = Project(tmp_path_factory.mktemp("streams") / FOLDER)
    made.edit("first.py", lambda text: text.replace("x = FACTOR * x.", "Skaliert Größen — 尺度."))
    done = made.run("generate", **STRICT)
    assert done.returncode == 0, done.stderr
    assert "compiled scale moved__float32 moved__float64" in traced(done)
    return made


def shell(project: Project, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``$S`` with arguments in a shell."""
    script = f"S='{sys.executable} -m stubgen'; {command}"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=project.folder,
        env={**project.environment, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "status", "shown"),
    [
        ("$S describe generated scale", 0, r"Skaliert Gr\xf6\xdfen \u2014 \u5c3a\u5ea6."),
        ("$S generate --arch sm_größe", 1, r"sm_gr\xf6\xdfe"),
        ("$S generate --ärch x", 2, r"--\xe4rch"),
        ("$S describe generated größe", 1, r"gr\xf6\xdfe"),
        ("$S verify nirgends-größe", 1, r"gr\xf6\xdfe"),
        ("$S cache prune --limit größe", 2, r"gr\xf6\xdfe"),
    ],
)
def test_what_a_console_lacks_is_escaped(project: Project, command: str, status: int, shown: str) -> None:
    done = shell(project, command, **STRICT)
    assert done.returncode == status, done.stderr
    assert shown in done.stdout + done.stderr
    assert "CS901" not in done.stderr


def test_a_locale_without_these_letters(project: Project, tmp_path: Path) -> None:
    """Python takes the bytes of arguments for what they are then, and so do we."""
    described = shell(project, "$S describe generated scale", **C_LOCALE)
    assert r"\u2014 \u5c3a\u5ea6." in described.stdout
    refused = shell(Project(tmp_path / "project"), "$S generate --arch sm_größe", **C_LOCALE)
    assert refused.returncode == 1
    assert (r"error: CS103: unknown GPU architecture 'sm_gr\\udcc3\\udcb6") in refused.stderr


def test_json_is_the_same_on_every_console(project: Project, tmp_path: Path) -> None:
    plain = json.loads(shell(project, "$S list --json").stdout)
    assert "Skaliert Größen" in plain[0]["summary"]
    assert json.loads(shell(project, "$S list --json", **STRICT).stdout) == plain

    elsewhere = Project(tmp_path / "ascii")
    elsewhere.edit("first.py", lambda _: (project.folder / "kernels" / "first.py").read_text("utf-8"))
    assert json.loads(shell(elsewhere, "$S list --json", **C_LOCALE).stdout) == plain


def test_a_locale_in_which_a_folder_has_no_name(project: Project) -> None:
    """Files name others in UTF-8, so what the locale cannot read so is refused, and what helps is said."""
    refused = shell(project, "$S generate", **C_LOCALE)
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: CS256: the name of ")
    assert "set PYTHONUTF8=1" in refused.stderr
    assert shell(project, "$S generate", **{**C_LOCALE, "PYTHONUTF8": "1"}).returncode == 0


@pytest.mark.parametrize("term", ["xterm", "dumb", None])
def test_a_terminal_without_these_letters(project: Project, term: str | None) -> None:
    """Progress is live there, with bars that are none of ASCII where there is a choice."""
    (project.folder / "generated" / "cute_kernels" / "first.pyi").unlink()
    ours, theirs = pty.openpty()
    environment = {**project.environment, **STRICT}
    environment.pop("TERM", None)
    if term:
        environment["TERM"] = term
    running = subprocess.Popen(
        [sys.executable, "-m", "stubgen", "generate"],
        cwd=project.folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        said += part
        if not part:
            break
    os.close(ours)
    assert running.wait(60) == 0, said
    assert b"1 file changed" in said
    assert b"Traceback" not in said
    assert said.isascii()


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("$S list >&-", 0, ""),
        ("$S list --json >&-", 0, ""),
        ("$S generate >&-", 0, ""),
        ("$S list <&- >&- 2>&-", 0, ""),
        ("$S generate --arch sm_1 2>&-", 1, ""),
        ("$S list >/dev/full", 1, "error: CS135: the standard output cannot be written: No space left"),
        (
            "$S list --json >/dev/full",
            1,
            "error: CS135: the standard output cannot be written: No space left",
        ),
        ("$S explain --markdown >/dev/full", 1, "error: CS135: the standard output cannot be written: "),
        ("$S explain CS204 >/dev/full", 1, "error: CS135: the standard output cannot be written: "),
        ("$S generate 2>/dev/full >/dev/null", 0, ""),
        ("$S generate --arch sm_1 2>/dev/full", 1, ""),
        ("$S list >/dev/full 2>/dev/full", 1, ""),
        # The reader is gone before anything is written.
        ("{ $S explain --markdown; echo $? >&2; } | true", 0, "141\n"),
        ("{ $S list; echo $? >&2; } | true", 0, "141\n"),
        ("{ $S generate 2>&1; echo $? >&3; } 3>&2 | true", 0, "141\n"),
        ("$S explain --markdown | head -1", 0, ""),
    ],
)
def test_streams_that_take_nothing(project: Project, command: str, status: int, said: str) -> None:
    if "| true" in command:
        command = command.replace("{ $S", "{ sleep 0.2; $S")
    done = shell(project, command)
    assert done.returncode == status
    assert done.stderr.startswith(said)
    assert done.stderr == "" if not said else len(done.stderr.splitlines()) == 1


def test_files_do_not_get_the_numbers_of_closed_streams(project: Project, tmp_path: Path) -> None:
    """What programs that are run print to a closed stream would else end up in one of our files."""
    (project.folder / "generated" / "cute_kernels" / "first.pyi").unlink()
    before = project.output()
    done = shell(project, "$S generate <&- >&- 2>&-")
    assert done.returncode == 0
    assert {**before, **project.output()} == project.output()
    assert shell(project, "$S verify generated").returncode == 0

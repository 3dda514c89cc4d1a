"""Text that kernel modules print, and text with control characters in it that kernels are compiled for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import platformdirs
import pytest

from tests.conftest import run_stubgen

ODD = "a\x1b[31m\x00\n\t\x7f\u2028\u202e\"\\'é\U0001f600"

KERNELS = f"""
import os

import cutlass
from cutlass import cute

import stubgen as sg

ODD = {ODD!a}
v = sg.tensor(cutlass.Int32, sg.dim("n"), device="cpu")


@cute.jit
def spelled(a: cute.Tensor, text: cutlass.Constexpr[str] = "x\\x1by"):
    for i, character in enumerate(text):
        a[i] = ord(character)
"""

PRINTS = f"""{KERNELS}
print("while imported")


@cute.jit
def loud(a: cute.Tensor):
    print("while built")
    os.write(1, b"by native code\\n")


sg.export(loud, v)
"""

QUIET = f"""{KERNELS}
print("   ")
sg.export(spelled, v, ODD)
sg.export(name="by_default")(spelled, v)


@sg.family(text=["a\\x1bb", "plain", ODD])
def chosen(text):
    return sg.kernel(spelled, v, text)
"""

CALLS = """
import json
import sys

import torch
from odd_aot import odd

calls = {
    "exported": lambda a: odd.spelled(a),
    "default": lambda a: odd.by_default(a),
    **{repr(text): lambda a, text=text: odd.chosen(a, text) for text in json.loads(sys.argv[1])},
}
written = {}
for name, call in calls.items():
    a = torch.zeros(20, dtype=torch.int32)
    call(a)
    written[name] = "".join(map(chr, a.tolist()))
print(json.dumps([written, odd.chosen.__doc__, odd.spelled.__doc__]))
"""


class Run(NamedTuple):
    folder: Path
    warnings: list[dict[str, object]]
    stderr: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "prints.py").write_text(PRINTS)
    (folder / "kernels" / "odd.py").write_text(QUIET)
    (folder / "pyproject.toml").write_text('[tool.cute-stubgen]\npackage = "odd_aot"\n')
    own = folder / "cache" / "cute-stubgen"  # what is printed is not printed again for what is kept
    own.mkdir(parents=True)
    (own / "zig").symlink_to(Path(platformdirs.user_cache_dir("cute-stubgen")) / "zig")
    environment = {**os.environ, "XDG_CACHE_HOME": str(own.parent), "XDG_STATE_HOME": str(folder / "state")}
    done = run_stubgen("generate", "--json", cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(folder, json.loads(done.stdout)["warnings"], done.stderr)


def test_a_module_that_prints_is_named_with_its_log(run: Run) -> None:
    (warning,) = run.warnings
    assert (warning["code"], warning["file"], warning["line"]) == ("CS611", "kernels/prints.py", 1)
    assert warning["message"] == "kernels/prints.py prints while its kernels are built"
    log = Path(str(warning["remedy"]).removeprefix("read it in "))
    assert log.is_relative_to(run.folder / "state")
    lines = set(log.read_text().splitlines())
    assert {"while imported", "while built", "by native code"} <= lines


def test_what_is_printed_stays_off_the_terminal(run: Run) -> None:
    assert "while" not in run.stderr
    assert "native" not in run.stderr


def test_control_characters_are_compiled_in_as_they_are(run: Run) -> None:
    texts = ["a\x1bb", "plain", ODD]
    called = subprocess.run(
        [sys.executable, "-c", CALLS, json.dumps(texts)],
        cwd=run.folder / "generated",
        capture_output=True,
        text=True,
        check=True,
    )
    written, *docs = json.loads(called.stdout)
    expected = {"exported": ODD, "default": "x\x1by", **{repr(text): text for text in texts}}
    assert {name: text[: len(expected[name])] for name, text in written.items()} == expected
    assert all(text.strip("\0") == expected[name].strip("\0") for name, text in written.items())
    for doc in docs:
        assert all(character.isprintable() or character == "\n" for character in doc)
    assert f"""text: 'a\\x1bb', "plain" or {ODD!r}""" in docs[0]
    assert f"Compiled with text={ODD!r}." in docs[1]


def test_no_generated_text_holds_control_characters(run: Run) -> None:
    for file in (run.folder / "generated").rglob("*"):
        if file.suffix in (".py", ".pyi", ".h", ".hpp", ".toml", ".cmake"):
            text = file.read_text(encoding="utf-8")
            assert not set(text) & set("\x00\x1b\t\x7f\u2028\u202e"), file

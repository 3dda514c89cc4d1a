"""``cute-stubgen verify``, and the bill of materials."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from stubgen.native import elf
from stubgen.output import manifest
from tests.conftest import ROOT, run_stubgen

CHANGED_BYTES = 60


@pytest.fixture(scope="module")
def whole(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without what other tests leave in it."""
    copy = tmp_path_factory.mktemp("verify") / "generated"
    shutil.copytree(generated, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def problems(folder: Path) -> list[str]:
    done = run_stubgen("verify", folder, "--json")
    found = json.loads(done.stdout).get("problems", [])
    assert done.returncode == (1 if found else 0), done.stderr
    assert {problem["code"] for problem in found} <= {"CS506"}
    return [problem["message"] for problem in found]


def test_a_package_is_whole(whole: Path) -> None:
    assert problems(whole) == []
    assert problems(whole / "cute_kernels") == []


def test_a_changed_byte_is_found_and_named(whole: Path) -> None:
    """In any file, anywhere; all in one run, and mended afterwards for the other tests."""
    read = manifest.read(whole / "cute_kernels" / manifest.NAME)
    assert read is not None
    drawn = random.Random(20)
    paths = drawn.choices(sorted(read.files), k=CHANGED_BYTES)
    before = {path: (whole / path).read_bytes() for path in set(paths)}
    for path, data in before.items():
        position = drawn.randrange(len(data)) if data else 0
        changed = data[:position] + bytes([(data[position] if data else 0) ^ 1]) + data[position + 1 :]
        (whole / path).write_bytes(changed)
    found = problems(whole)
    for path, data in before.items():
        (whole / path).write_bytes(data)
    named = {message.removesuffix(" was changed") for message in found if message.endswith(" was changed")}
    assert named == set(paths)
    assert problems(whole) == []


def test_gpu_code_that_was_changed_is_named(whole: Path) -> None:
    library = whole / "cute_kernels" / "lib" / "libcute_kernels.so"
    data = library.read_bytes()
    cubin = elf.cubins(library)[7]
    middle = cubin.offset + cubin.size // 2
    library.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])
    found = problems(whole)
    library.write_bytes(data)
    assert found[0] == "cute_kernels/lib/libcute_kernels.so was changed"
    assert found[1] == f"libcute_kernels.so holds other GPU code for {cubin.arch}: {', '.join(cubin.kernels)}"


def test_missing_and_foreign_files_are_named(whole: Path) -> None:
    stub, foreign = whole / "cute_kernels" / "norm.pyi", whole / "cute_kernels" / "notes.txt"
    text = stub.read_bytes()
    stub.unlink()
    foreign.write_text("mine")
    found = problems(whole)
    stub.write_bytes(text)
    foreign.unlink()
    assert found == ["cute_kernels/norm.pyi is missing", "cute_kernels/notes.txt was not generated"]


def test_a_manifest_of_files_elsewhere_is_damaged(whole: Path) -> None:
    file = whole / "cute_kernels" / manifest.NAME
    text = file.read_bytes()
    said = json.loads(text)
    for path in ("../../outside", "/etc/hostname"):
        file.write_text(json.dumps({**said, "files": {**said["files"], path: "0" * 64}}))
        done = run_stubgen("verify", whole, "--json")
        (found,) = json.loads(done.stdout)["problems"]
        assert (done.returncode, found["code"]) == (1, "CS504")
        assert "its manifest.json is damaged" in found["message"]
    file.write_bytes(text)


def test_the_remedy_for_an_unknown_function_can_be_run(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    shutil.copytree(whole, folder)
    done = run_stubgen("describe", folder, "rmsnrm")
    assert done.returncode == 1
    assert "CS505: cute_kernels has no function 'rmsnrm' (did you mean rmsnorm?)" in done.stderr
    command = shlex.split(done.stderr.rpartition("; list its functions: ")[2])
    assert command[0] == "cute-stubgen"
    listed = run_stubgen(*command[1:])
    assert "norm.rmsnorm " in listed.stdout, listed.stderr


def test_the_manifest_lists_sources_and_gpu_code(whole: Path) -> None:
    read = manifest.read(whole / "cute_kernels" / manifest.NAME)
    assert read is not None
    kernels = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "kernels").glob("*.py")}
    assert read.sources.files == {name: manifest.sha256(p.read_bytes()) for name, p in kernels.items()}
    library = whole / "cute_kernels" / "lib" / "libcute_kernels.so"
    assert [code.sha256 for code in read.gpu_code] == [cubin.sha256 for cubin in elf.cubins(library)]


def test_the_bill_of_materials_is_valid_and_complete(whole: Path) -> None:
    text = (whole / "cute_kernels" / "sbom.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    components = {component["name"]: component for component in json.loads(text)["components"]}
    read = manifest.read(whole / "cute_kernels" / manifest.NAME)
    assert read is not None
    files = {
        name: part["hashes"][0]["content"] for name, part in components.items() if part["type"] == "file"
    }
    own = "cute_kernels/sbom.cdx.json"
    assert files == {path: digest for path, digest in read.files.items() if path != own}
    assert components["apache-tvm-ffi"]["version"] == read.library.versions.tvm_ffi
    assert {"nvidia-cutlass-dsl-libs-cu12", "nvidia-cuda-runtime-cu12"} <= components.keys()

"""Static archives: what is renamed in them, and that several fit into one program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stubgen.native import objects
from stubgen.native.archive import make_archive
from stubgen.native.toolchain import HostTarget, Source, SystemToolchain, Toolchain, ZigToolchain

# A linker keeps one group of each name, so groups need names of their own, too. The CUDA runtime has such.
SHARED = r"""
__asm__(".section .text.grouped,\"axG\",@progbits,group,comdat\n"
        ".weak grouped\n .hidden grouped\n .type grouped,@function\n"
        "grouped: mov $VALUE, %eax\n ret\n .text\n");
int grouped(void);
int shared(void) { return grouped(); }
__attribute__((weak)) int weak(void) { return 10 * VALUE; }
"""
ENTRY = """
int shared(void);
int weak(void);
char* getenv(const char*);
int ENTRY(const char* text) { return getenv(text) ? shared() : weak(); }
"""
PROGRAM = """
int first_entry(const char*);
int second_entry(const char*);
int shared(void) { return 3; }
int main(void) {
  return !(first_entry("PATH") == 1 && first_entry("") == 10 && second_entry("PATH") == 2 &&
           second_entry("") == 20 && shared() == 3);
}
"""


def compiled(name: str, text: str, folder: Path, toolchain: Toolchain) -> dict[str, bytes]:
    source = Source.of(folder / f"{name}.c", text.encode())
    return {f"{name}.o": toolchain.compile_c(source, HostTarget())}


def archived(package: str, value: int, folder: Path, toolchain: Toolchain) -> Path:
    """Make an archive of an object, and of the archive of another that it needs."""
    folder.mkdir()
    entry = ENTRY.replace("ENTRY", f"{package}_entry")
    runtime = folder / "libruntime.a"
    shared = compiled(
        "a-name-that-is-longer-than-fits", SHARED.replace("VALUE", str(value)), folder, toolchain
    )
    runtime.write_bytes(objects.archive(shared))
    data = make_archive(
        compiled("entry", entry, folder, toolchain), [runtime], package=package, keep=[f"{package}_entry"]
    )
    archive = folder / f"lib{package}.a"
    archive.write_bytes(data)
    return archive


def members(archive: Path) -> dict[str, list[objects.ObjectSymbol]]:
    return {name: objects.symbols(data) for name, data in objects.archive_members(archive.read_bytes())}


@pytest.fixture(params=[ZigToolchain, SystemToolchain], ids=["zig", "system"])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    return request.param()  # type: ignore[no-any-return]


def test_two_archives_and_a_program_keep_their_own_functions_of_one_name(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    archives = [
        archived(name, value, tmp_path / name, toolchain) for value, name in enumerate(["first", "second"], 1)
    ]
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    subprocess.run(["cc", source, *archives, "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0


def test_only_what_is_kept_has_a_name_of_its_own(tmp_path: Path, toolchain: Toolchain) -> None:
    found = members(archived("first", 1, tmp_path / "first", toolchain))
    assert list(found) == ["entry.o", "libruntime-0-a-name-that-is-longer-than-fits.o"]
    defined = {s.name for symbols in found.values() for s in symbols if s.is_defined}
    hidden = {f"first__hidden__{name}" for name in ("group", "grouped", "shared", "weak")}
    assert defined == {"first_entry", *hidden}
    used = {s.name for s in found["entry.o"] if not s.is_defined}
    assert {"first__hidden__shared", "first__hidden__weak", "getenv"} <= used


def test_what_is_renamed_is_not_shown_by_a_library_made_of_it(tmp_path: Path, toolchain: Toolchain) -> None:
    archive = archived("first", 1, tmp_path / "first", toolchain)
    library = tmp_path / "library.so"
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    subprocess.run(["cc", "-shared", *whole, "-o", library], check=True)
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in shown.splitlines() if "first" in line] == ["first_entry"]


def test_archive_has_the_same_bytes_in_any_folder(tmp_path: Path, toolchain: Toolchain) -> None:
    one, other = (archived("first", 1, tmp_path / folder, toolchain) for folder in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()


def test_programs_get_only_the_objects_that_they_use(tmp_path: Path, toolchain: Toolchain) -> None:
    """Which the linker looks up in the archive's index; binutils reads the same in it."""
    made = {
        **compiled("used", "int used(void) { return 7; }", tmp_path, toolchain),
        **compiled("needed_by_nobody_of_all", "int unused(void) { return 1; }", tmp_path, toolchain),
    }
    archive, program = tmp_path / "libtwo.a", tmp_path / "program"
    archive.write_bytes(objects.archive(made))
    (tmp_path / "main.c").write_text("int used(void);\nint main(void) { return used() - 7; }\n")
    subprocess.run(["cc", tmp_path / "main.c", archive, "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0
    assert b"unused" not in program.read_bytes()
    index = subprocess.run(["nm", "--print-armap", archive], capture_output=True, text=True).stdout
    assert {"used in used.o", "unused in needed_by_nobody_of_all.o"} <= set(index.splitlines())
    assert dict(objects.archive_members(archive.read_bytes())) == made


def test_what_is_no_archive_is_refused() -> None:
    with pytest.raises(ValueError, match="no static archive"):
        list(objects.archive_members(b"\x7fELF"))

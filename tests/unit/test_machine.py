"""How many worker processes a machine has room for."""

from __future__ import annotations

from pathlib import Path

from stubgen.compiler.local import machine

GIB = 2**30


def test_this_machine() -> None:
    assert 1 <= machine.workers() <= machine.cores()
    memory = machine.available_memory()
    assert memory is not None
    assert memory > 2**24


def write(folder: Path, files: dict[str, object]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return folder


def test_memory_of_the_machine(tmp_path: Path) -> None:
    info = write(tmp_path, {"info": "MemTotal: 9 kB\nMemAvailable:    2048 kB"}) / "info"
    assert machine.available_memory(info, tmp_path) == 2048 * 1024
    assert machine.available_memory(tmp_path / "none", tmp_path) is None


def test_groups_of_version_2_limit_it(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a/memory.max": 4 * GIB,
            "a/memory.current": 3 * GIB,
            "a/memory.stat": f"anon 1\ninactive_file {GIB}",
            "a/b/memory.max": "max",
            "a/b/memory.current": GIB,
            "a/b/cpu.max": "max 100000",
            "a/cpu.max": "150000 100000",
        },
    )
    own = write(tmp_path, {"own": "0::/a/b"}) / "own"
    assert machine.available_memory(tmp_path / "none", root, own) == 2 * GIB, "cached files can go"
    assert 1 <= machine.cores(root, own) <= 2
    (root / "a" / "cpu.max").write_text("20000 100000\n")
    assert machine.cores(root, own) == 1


def test_groups_of_version_1_limit_it(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "memory/a/memory.limit_in_bytes": 2 * GIB,
            "memory/a/memory.usage_in_bytes": 3 * GIB,
            "memory/a/memory.stat": "total_inactive_file 0",
        },
    )
    own = write(tmp_path, {"own": "4:memory:/a\n0::/"}) / "own"
    assert machine.available_memory(tmp_path / "none", root, own) == 0

"""Gives forgeries to the tool, in a process of its own: see ``test_forgeries.py``.

Whatever the process writes, runs or starts is seen by an audit hook, wherever it comes from.
"""

from __future__ import annotations

import ast
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import traceback
import types
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from stubgen.abi.signatures import Argument, AuthorParameter
from stubgen.build import binding, compilation, shards
from stubgen.build.reuse import Reuse
from stubgen.cli.printing import Terminal
from stubgen.cli.tables import show_difference, show_function, show_library
from stubgen.compiler.jobs import Compiled, CompileJob, Declared, Expansion, ModuleJob, WorkerSettings
from stubgen.config.devices import builtin_profile
from stubgen.inspection.differences import difference
from stubgen.inspection.inspected import Inspected, inspect
from stubgen.inspection.integrity import verify
from stubgen.inspection.packages import find_library
from stubgen.inspection.stubs import write_stubs
from stubgen.model import jsontext
from stubgen.model.library import Library, Place
from stubgen.model.section import SECTION as SECTION_NAME
from stubgen.native.elf_format import HEADER, SECTION
from stubgen.output import manifest, package
from stubgen.problems.problem import StubgenError
from stubgen.render.package_files import render
from stubgen.sources.inputs import BuildInputs
from stubgen.sources.modules import kernel_modules
from stubgen.store import cache
from stubgen.store.cache import NoCache
from tests.fuzz.forgeries import MARK, damaged, forged

_STARTED = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect")
_CHANGED = ("os.remove", "os.rmdir", "os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Watch:
    """Notes what the process does that it should not do while it is watched."""

    def __init__(self, allowed: Path) -> None:
        self._allowed = str(allowed)
        self.seen: list[str] = []
        self.is_on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event in _STARTED or (event == "exec" and _has_mark(arguments[0])):
            self.seen.append(f"{event} {str(arguments)[:200]}")
        elif event == "open" and isinstance(arguments[0], str) and arguments[2] & _WRITING:
            self._require_inside(event, arguments[0])
        elif event in _CHANGED:
            for path in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
                # Others are relative to a folder that shutil holds, and empties.
                if isinstance(path, str) and path.startswith("/"):
                    self._require_inside(event, path)

    def _require_inside(self, event: str, path: str) -> None:
        whole = os.path.realpath(path)
        if not whole.startswith((self._allowed + os.sep, "/dev/")) and whole != self._allowed:
            self.seen.append(f"{event} {path}")


def _has_mark(code: types.CodeType) -> bool:
    return MARK in code.co_names or any(MARK in text for text in code.co_consts if isinstance(text, str))


class Forger:
    """One folder with everything in it, and what is tried there.

    Parameters
    ----------
    root
        An empty folder. Only ``root/inside`` may be written to.
    library
        What all forgeries begin with.
    """

    def __init__(self, root: Path, library: Library) -> None:
        self.root = root
        self.inside = root / "inside"
        self.inside.mkdir()
        self._library = library
        self._packed = msgspec.msgpack.encode(library)
        self._packages = 0
        project = self.inside / "project"
        (project / "kernels").mkdir(parents=True)
        source = project / "kernels" / "k.py"
        source.write_text("import stubgen as sg\n\nsg.export(print, 1)\n")
        self._inputs = BuildInputs(project, kernel_modules([source], project))
        self._module = ModuleJob("k", str(source), "kernels/k.py", "k", str(source.parent))
        self._settings = WorkerSettings(str(project), "sm_90a", builtin_profile("sm_90a"), str(project))
        kernel = next(k for k in library.kernels if k.effects.mutates and not k.variant)
        self._declared = Declared(0, kernel.name, Place("kernels/k.py", 3))
        self._compiled = Compiled(
            kernel.name,
            self._declared.place,
            tuple(Argument(p.name, p.slot) for p in kernel.parameters),
            tuple(AuthorParameter(p.name, p.kind, p.default) for p in kernel.parameters),
            kernel.abi,
            has_device_code=False,
            doc="A kernel.",
            records=next(m for m in library.modules if kernel in m.kernels).records,
        )

    # -----------------------------------------------------------------------------------------------------
    # What is forged

    def model(self, chosen: random.Random) -> str:
        """Try a library with a forged model: describe it, compare it, make a package of it."""
        packed = msgspec.msgpack.encode(forged(self._packed, chosen, str(self.root)))
        whole = library_file(packed)
        file = self.inside / "libforged.so"
        file.write_bytes(damaged(whole, chosen) if chosen.random() < 0.1 else whole)
        read = inspect(str(file))
        self._show(read)
        self._compare(find_library(str(file)))
        output = self.inside / "out"
        made = write_stubs(file, output, chosen.choice((None, "other")))
        _require_texts(output)
        assert made.library.modules is not None
        shutil.rmtree(output)
        return "made"

    def manifest(self, chosen: random.Random) -> str:
        """Try a package with a forged manifest: describe, compare and verify it, and generate over it."""
        output = self.inside / f"package{self._packages}"
        self._packages += 1
        folder = output / "ops"
        folder.mkdir(parents=True)
        (folder / "module.py").write_text("# Generated by cute-stubgen\n")
        (folder / "mine.txt").write_text("mine")
        (output / "keep.txt").write_text("mine")
        files = {
            f"ops/{name}": manifest.sha256((folder / name).read_bytes()) for name in ("module.py", "mine.txt")
        }
        plain = {"library": self._library, "files": {**files, "ops/gone.py": "0" * 64}}
        data = msgspec.json.encode(forged(msgspec.msgpack.encode(plain), chosen, str(self.root)))
        (folder / manifest.NAME).write_bytes(damaged(data, chosen) if chosen.random() < 0.1 else data)
        answers = [
            _answer(lambda: self._show(inspect(str(output)))),
            _answer(lambda: self._compare(find_library(str(output)))),
            _answer(lambda: verify(str(output))),
            _answer(
                lambda: package.commit(output, "ops", {"ops/module.py": b"# Generated by cute-stubgen\nnew"})
            ),
        ]
        assert (output / "keep.txt").read_text() == "mine"
        shutil.rmtree(output)
        return " ".join(dict.fromkeys(answers))

    def entry(self, chosen: random.Random) -> str:
        """Try a cache with a forged entry: take it, and bind and render what is in it."""
        if chosen.random() < 0.3:
            return self._damaged_entry(chosen)
        if chosen.random() < 0.5:
            return self._expanded(_Forged(self._expansion(), chosen, self.root))
        return self._reused(_Forged(self._entry(), chosen, self.root))

    def shard(self, chosen: random.Random) -> str:
        """Try the file of a shard that is forged or damaged: open it, and use what is in it."""
        file = self.inside / "ops-shard-1-of-1.zip"
        record: Any = {"number": 1, "count": 1, "settings": {"package": "ops", "archs": ["sm_90a"]}}
        entry = self._entry()
        if chosen.random() < 0.5:
            record = forged(msgspec.msgpack.encode(record), chosen, str(self.root))
        key = _KEY
        with zipfile.ZipFile(file, "w", chosen.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            archive.writestr("shard.json", msgspec.json.encode(record))
            archive.writestr(chosen.choice(("../outside/a", f"{self.root}/outside/b", "c")), b"outside")
            archive.writestr(cache.entry_name(key), cache.sealed(entry, chosen.choice((key, key[::-1]))))
        if chosen.random() < 0.6:
            file.write_bytes(damaged(file.read_bytes(), chosen))
        merged = shards.ShardStore([file])
        merged.absent()
        return self._reused(_Forged(merged.get(key), None, self.root))

    # -----------------------------------------------------------------------------------------------------
    # What is done with it

    def _show(self, read: Inspected) -> None:
        text = io.StringIO()
        console = Terminal(file=text, soft_wrap=True)
        show_library(read, console)
        for function in read.description.functions:
            show_function(function, console)
        jsontext.encode(read)
        self._require_plain(text.getvalue())

    def _compare(self, library: Library) -> None:
        text = io.StringIO()
        for pair in ((self._library, library), (library, self._library)):
            show_difference(difference(*pair), Terminal(file=text, soft_wrap=True))

    @staticmethod
    def _require_plain(text: str) -> None:
        obeyed = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"}
        if obeyed - set("\u200b\u200c\u200d\u2060\ufeff\xad"):
            raise AssertionError(f"a terminal would obey {obeyed!r}")

    def _expansion(self) -> bytes:
        variants = [k for k in self._library.kernels if k.variant]
        declared = [Declared(i, k.name, k.place, k.variant) for i, k in enumerate(variants)]
        return msgspec.msgpack.encode(Expansion((self._declared, *declared)))

    def _entry(self) -> bytes:
        return msgspec.msgpack.encode(
            {"text": "", "compiled": self._compiled, "warnings": [], "ir": b"the IR"}
        )

    def _expanded(self, store: _Forged) -> str:
        reuse = Reuse(store, self._inputs, self._settings)
        expansion = reuse.expansion(self._module)
        if expansion is None:
            return "miss"
        compilation._name_problems(expansion.declared)
        return "taken"

    def _reused(self, store: _Forged) -> str:
        reuse = Reuse(store, self._inputs, self._settings)
        job = CompileJob(self._module, self._declared, "ops__k", str(self.inside / "k.ll"))
        found = reuse.compiled(job)
        if found is None:
            return "miss"
        compiled = found.outcome(job).compiled
        assert compiled is not None
        built = compilation.KernelBuild(compiled, {"": found.ir}, self._declared.effects)
        modules = binding.bound_modules(self._inputs.modules, {self._inputs.modules[0].name: [built]})
        texts = render(msgspec.structs.replace(self._library, modules=modules))
        output = self.inside / "rendered"
        package.commit(output, self._library.package, {path: text.encode() for path, text in texts.items()})
        _require_texts(output)
        shutil.rmtree(output)
        return "taken"

    def _damaged_entry(self, chosen: random.Random) -> str:
        """Damage the file of an entry, or put something else in its place."""
        folder = self.inside / "cache"
        shutil.rmtree(folder, ignore_errors=True)
        store = cache.FolderCache(folder)
        store.put(_KEY, b"data" * 100)
        store.put(_OTHER, b"others" * 100)
        file, other = folder / cache.entry_name(_KEY), folder / cache.entry_name(_OTHER)
        sealed = file.read_bytes()
        bomb = zlib.compress(bytes(1 << 20)) * 3
        file.unlink()
        replacements: dict[str, Callable[[], Any]] = {
            "damaged": lambda: file.write_bytes(damaged(sealed, chosen)),
            "empty": lambda: file.write_bytes(b""),
            "another": lambda: shutil.copy(other, file),
            "not compressed": lambda: file.write_bytes(cache._digest(_KEY, b"data") + b"data"),
            "two streams": lambda: file.write_bytes(cache._digest(_KEY, bomb) + bomb),
            "endless": lambda: file.symlink_to("/dev/zero"),
            "pipe": lambda: os.mkfifo(file),
            "folder": file.mkdir,
            "itself": lambda: file.symlink_to(file),
            "gone": lambda: file.symlink_to(folder / "nothing"),
            "huge": lambda: _sparse(file),
        }
        kind = chosen.choice(list(replacements))
        replacements[kind]()
        data = store.get(_KEY)
        if data not in (None, b"data" * 100) and kind != "two streams":
            raise AssertionError(f"{kind}: another entry's data")
        return "miss" if data is None else "taken"


class _Forged(NoCache):
    """A store that has the same for every key."""

    def __init__(self, data: bytes | None, chosen: random.Random | None, root: Path) -> None:
        self._data = data
        if data is not None and chosen is not None:
            self._data = msgspec.msgpack.encode(forged(data, chosen, str(root)))
            if chosen.random() < 0.1:
                self._data = damaged(self._data, chosen)

    def get(self, key: str) -> bytes | None:
        """Return what was forged."""
        del key
        return self._data


_MAGIC = b"cute-stubgen model 1\n"
_KEY, _OTHER = cache.key("one"), cache.key("other")


def _sparse(file: Path) -> None:
    with file.open("wb") as written:
        written.truncate(1 << 40)


def _answer(call: Callable[[], object]) -> str:
    try:
        call()
    except StubgenError as error:
        return "/".join(sorted({problem.code for problem in error.problems}))
    return "done"


def library_file(model: bytes) -> bytes:
    """Return a shared library that holds a packed model with the right checksum, and nothing else."""
    return _elf(_MAGIC + zlib.crc32(model).to_bytes(4, "little") + model)


def _elf(section: bytes) -> bytes:
    """Return a shared library of one section, for x86-64."""
    names = b"\0" + SECTION_NAME.encode() + b"\0.names\0"
    start = HEADER.size
    headers = start + len(section) + len(names)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = HEADER.pack(ident, 3, 62, 1, 0, 0, headers, 0, HEADER.size, 56, 0, SECTION.size, 3, 2)
    table = (
        bytes(SECTION.size),
        SECTION.pack(1, 1, 0, 0, start, len(section), 0, 0, 1, 0),
        SECTION.pack(1 + len(SECTION_NAME) + 1, 3, 0, 0, start + len(section), len(names), 0, 0, 1, 0),
    )
    return header + section + names + b"".join(table)


_COMMENTS_AND_TEXTS = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def _require_texts(output: Path) -> None:
    """Look for the mark in generated files, where it would be more than a text."""
    for file in output.rglob("*"):
        if not file.is_file() or file.suffix in (".so", ".a", ".json"):
            continue
        text = file.read_text()
        if MARK not in text:
            continue
        if file.suffix in (".py", ".pyi"):
            tree = ast.dump(_without_texts(ast.parse(text)))
            is_code = MARK in tree
        elif file.suffix in (".h", ".hpp"):
            is_code = MARK in _COMMENTS_AND_TEXTS.sub(" ", text)
        else:
            is_code = True
        if is_code:
            raise AssertionError(f"{MARK} is code in {file}")


class _Blank(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node


def _without_texts(tree: ast.Module) -> ast.AST:
    return _Blank().visit(tree)  # type: ignore[no-any-return]


def main() -> None:
    """Forge as many of each kind as the command line says, and report."""
    seed, model_file, *counts = sys.argv[1:]
    library = jsontext.decode(Path(model_file).read_bytes(), Library)
    outcomes: dict[str, Counter[str]] = {}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        os.environ["XDG_CACHE_HOME"] = str(root / "inside" / "home")
        forger = Forger(root, library)
        watch = Watch(forger.inside)
        for given in counts:
            kind, _, count = given.partition("=")
            outcomes[kind] = Counter()
            for number in range(int(count)):
                chosen = random.Random(f"{seed} {kind} {number}")
                watch.is_on = True
                try:
                    answer = getattr(forger, kind)(chosen)
                except StubgenError as error:
                    answer = "/".join(sorted({problem.code for problem in error.problems}))
                except BaseException:
                    answer = "failed"
                    failures.append(f"{kind} {number}: {traceback.format_exc()[-1500:]}")
                watch.is_on = False
                outcomes[kind][answer] += 1
                for left in ("out", "rendered"):
                    shutil.rmtree(forger.inside / left, ignore_errors=True)
        outside = sorted(path.name for path in root.iterdir() if path != forger.inside)
    report = {"outcomes": outcomes, "failures": failures, "seen": watch.seen, "outside": outside}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()

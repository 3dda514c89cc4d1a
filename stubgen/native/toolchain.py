"""Compiles host code and links it, with PyPI's ``ziglang`` or with the machine's own compilers.

Both toolchains take the same steps and give the same guarantees: the same input in any folder
becomes the same bytes, and several builds may run at once. They differ in where the result runs.
Zig links against the glibc that :class:`HostTarget` names; the machine's compiler against the
machine's own.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from stubgen.model.library import Machine
from stubgen.native.commands import ToolError, environment, first_error, link_failed, probe, run, unwritable
from stubgen.native.objects import archive
from stubgen.problems.problem import problem
from stubgen.store import cache
from stubgen.store.cache import Cache, NoCache
from stubgen.system import folders

CpuName: TypeAlias = Literal["x86-64-v2", "x86-64-v3", "native", "generic"]

# Tried with what DSL 4.8.1 exports: clang 19 does not know `captures(none)`; 20 and 21, for which
# `llvm.lifetime.start` has one argument more, refuse the calls of it. 22 is fine.
CLANG_FOR_IR = 22
"""The oldest clang that reads the DSL's LLVM IR."""

_NEWEST_CLANG_TO_LOOK_FOR = 29

# The IR names the machine that wrote it; we name the one it is for. No debug information: it has
# paths in it.
_COMPILE = ("-O3", "-fPIC", "-g0", "-c")
_COMPILE_IR = (*_COMPILE, "-Wno-override-module")
_COMPILE_C = (*_COMPILE, "-std=c11")

# `--as-needed` keeps a library that has no device code from needing anything but tvm-ffi and libc. `nodelete`
# is for tvm-ffi before 0.1.14: as Python ends, it closes libraries before it lets go of their functions.
_LINK = (
    "-shared",
    "-s",
    "-Wl,-z,defs",
    "-Wl,-z,nodelete",
    "-Wl,-Bsymbolic",  # calls its own functions, whoever else in the process has some of these names
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
    "-Wl,--as-needed",
)


@dataclass(frozen=True)
class HostTarget:
    """The machine that host code is compiled for.

    Attributes
    ----------
    cpu : str
        The least CPU that it runs on; ``generic`` is the plainest one. ``native`` is the CPU of the
        building machine; such a build is neither portable nor reproducible elsewhere.
    glibc : str
        The oldest glibc that it runs with, where the toolchain can choose.
    machine : str
        The instruction set, as in a target triple.
    """

    cpu: CpuName = "x86-64-v2"
    glibc: str = "2.17"
    machine: Machine = "x86_64"

    @property
    def runs_here(self) -> bool:
        """Whether this machine can run what is compiled."""
        return platform.machine() == self.machine

    def __str__(self) -> str:
        return self.machine if self.cpu == "generic" else self.cpu


@dataclass(frozen=True)
class Source:
    """A file for a compiler, written only if the object that it would become is not at hand.

    Attributes
    ----------
    path : Path
        Where it is written.
    digest : str
        Of the text.
    text : callable
        Return the text; the file may hold it already.
    """

    path: Path
    digest: str
    text: Callable[[], bytes]

    @classmethod
    def of(cls, path: Path, text: bytes | None = None) -> Source:
        """Return what is in a file, or what is to be written into it."""
        data = path.read_bytes() if text is None else text
        return cls(path, hashlib.sha256(data).hexdigest(), lambda: data)

    def write(self) -> None:
        """Write the file.

        Raises
        ------
        ToolError
            CS405; and what keeps the text from being had.
        """
        data = self.text()
        try:
            self.path.write_bytes(data)
        except OSError as error:
            raise ToolError(problem("CS405", path=self.path, reason=error.strerror)) from None


class Toolchain(ABC):
    """Makes objects out of LLVM IR and C, and a shared library out of objects."""

    @abstractmethod
    def describe(self) -> str:
        """Return name and version, such as ``zig 0.17.1 (clang 22.1.8)``, for the manifest.

        Raises
        ------
        ToolError
            CS401 if the toolchain is not installed; CS402 if it does not run.
        """

    def compile_ir(self, ir: Source, host: HostTarget) -> bytes:
        """Return the object that LLVM IR becomes.

        Parameters
        ----------
        ir
            A ``.ll`` file.
        host
            The machine to compile for.

        Raises
        ------
        ToolError
            CS401 and CS402 as for :meth:`describe`; CS403 if the file does not compile; CS405 if
            a file beside it cannot be written; CS409 if the compiler is too old for the IR.
        """
        return self._compile(self._ir_command(ir, host), ir, host)

    def expect(self, irs: Sequence[Source], host: HostTarget) -> None:
        """Let the store know which objects will be asked for soon."""
        if not isinstance(self.store, NoCache):
            self.store.expect([self._object_key(self._ir_command(ir, host), ir) for ir in irs])

    def compile_c(self, source: Source, host: HostTarget, include: Sequence[Path] = ()) -> bytes:
        """Return the object that C becomes.

        Parameters
        ----------
        source
            A ``.c`` file.
        host
            The machine to compile for.
        include
            Folders to find headers in.

        Raises
        ------
        ToolError
            As for :meth:`compile_ir`.
        """
        # Without the map, `__FILE__` in a header would put the folder's path into the object.
        folders = [
            flag
            for folder in include
            for flag in (f"-I{folder.absolute()}", f"-ffile-prefix-map={folder.absolute()}=include")
        ]
        command = [*self._c_compiler(host), *_COMPILE_C, *folders, source.path.name]
        return self._compile(command, source, host)

    def link(
        self,
        objects: Mapping[str, bytes],
        archives: Sequence[Path],
        output: Path,
        *,
        soname: str,
        exports: Sequence[str],
        library_dirs: Sequence[Path] = (),
        libraries: Sequence[str] = (),
        host: HostTarget,
    ) -> None:
        """Link a shared library.

        Parameters
        ----------
        objects
            What goes into it, by name. The order matters to the bytes, and to nothing else.
        archives
            What these need.
        output
            The library to write.
        soname
            Its name for those who link with it.
        exports
            The symbols that can be seen from outside; all others become local.
        library_dirs, libraries
            Shared libraries to link with, by name without ``lib`` and ``.so``, and where to look
            for them. Those that turn out unneeded are left out.
        host
            The machine to link for.

        Raises
        ------
        ToolError
            CS401 and CS402 as for :meth:`describe`; CS404 if a symbol is undefined or defined
            twice, or the linker fails for another reason; CS405 if the library cannot be written.
        """
        command: list[str | Path] = [
            *self._linker(host),
            *_LINK,
            f"-Wl,-soname,{soname}",
            "-o",
            output,
        ]
        needed = [*(f"-L{folder}" for folder in library_dirs), *(f"-l{library}" for library in libraries)]
        with _linked_files(objects, exports) as (members, script):
            whole: list[str | Path] = ["-Wl,--whole-archive", members, "-Wl,--no-whole-archive"]
            command += [f"-Wl,--version-script={script}", *whole, *archives, *needed]
            done = self._run_linker(command)
        if done.returncode:
            raise unwritable(done, output) or link_failed(done, output)

    _name: str
    """What users call it."""

    store: Cache = NoCache()
    """Has the objects that were compiled before."""

    @abstractmethod
    def _ir_compiler(self, host: HostTarget) -> list[str]: ...

    @abstractmethod
    def _c_compiler(self, host: HostTarget) -> list[str]: ...

    @abstractmethod
    def _linker(self, host: HostTarget) -> list[str]: ...

    @abstractmethod
    def _describe_clang(self) -> str:
        """Let the clang that compiles IR say what it is."""

    @functools.cached_property
    def _clang_version(self) -> str:
        said = self._describe_clang()
        found = re.search(r"clang version (\d[\d.]*)", said)
        if found is None:
            reason = f"it gives no version, but says {said.partition(chr(10))[0]!r}"
            raise ToolError(problem("CS402", tool="clang", reason=reason))
        return found[1]

    def _ir_command(self, ir: Source, host: HostTarget) -> list[str]:
        return [*self._ir_compiler(host), *_COMPILE_IR, ir.path.name]

    def _environment(self) -> dict[str, str]:
        return environment()

    def _run_linker(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        return run(command, tool=self._name, env=self._environment())

    def _compile(self, command: Sequence[str], source: Source, host: HostTarget) -> bytes:
        """Compile a file, or take the object from the store."""
        if isinstance(self.store, NoCache):
            return self._really_compile(command, source, host)
        key = self._object_key(command, source)
        stored = self.store.get(key)
        if stored is not None:
            return stored
        data = self._really_compile(command, source, host)
        self.store.put(key, data)
        return data

    def _object_key(self, command: Sequence[str], source: Source) -> str:
        """Find an object by compiler, source and options; headers count by the version of tvm-ffi."""
        options = [part for part in command[1:] if not part.startswith(("-I", "-ffile-prefix-map="))]
        return cache.key("object", self._description, options, self._headers, source.digest)

    @functools.cached_property
    def _headers(self) -> str:
        return importlib.metadata.version("apache-tvm-ffi")

    @functools.cached_property
    def _description(self) -> str:
        return self.describe()

    def _really_compile(self, command: Sequence[str], source: Source, host: HostTarget) -> bytes:
        source.write()
        obj = source.path.with_suffix(".o")
        # Run beside the source and name it without its folder: then no path can get into the
        # object.
        folder = source.path.parent.absolute()
        done = run([*command, "-o", obj.absolute()], tool=self._name, env=self._environment(), cwd=folder)
        if done.returncode:
            raise unwritable(done, obj) or self._compile_failed(done, source.path, host)
        return obj.read_bytes()

    def _compile_failed(
        self, done: subprocess.CompletedProcess[str], source: Path, host: HostTarget
    ) -> ToolError:
        reason = first_error(done)
        found = problem("CS403", what=source.name, host=host, reason=reason)
        if source.suffix == ".ll" and int(self._clang_version.partition(".")[0]) < CLANG_FOR_IR:
            found = problem("CS409", found=self._clang_version, needed=CLANG_FOR_IR)
        return ToolError(found, output=done.stderr)


class ZigToolchain(Toolchain):
    """PyPI's ``ziglang``: one pinned clang and linker everywhere, and an old glibc floor."""

    _name = "zig"

    def describe(self) -> str:  # noqa: D102
        version = probe([self._zig, "version"], tool=self._name, env=self._environment())
        return f"zig {version} (clang {self._clang_version})"

    def _ir_compiler(self, host: HostTarget) -> list[str]:
        cpu = host.cpu.replace("-", "_")
        triple = f"{host.machine}-linux-gnu.{host.glibc}"
        return [str(self._zig), "cc", "-target", triple, f"-mcpu={cpu}"]

    _c_compiler = _ir_compiler
    _linker = _ir_compiler

    def _environment(self) -> dict[str, str]:
        cache = str(self._cache)
        return environment(ZIG_GLOBAL_CACHE_DIR=cache, ZIG_LOCAL_CACHE_DIR=cache)

    def _run_linker(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        # Zig builds the run-time library of its compiler from source, which takes 10 s on a machine
        # that never did it, and hardly anything needs it: conversions of half floats do. So try
        # without first.
        done = super()._run_linker([*command, "-nostdlib", "-lc"])
        return super()._run_linker(command) if done.returncode else done

    def _describe_clang(self) -> str:
        return probe([self._zig, "cc", "--version"], tool=self._name, env=self._environment())

    @functools.cached_property
    def _zig(self) -> Path:
        package = importlib.util.find_spec("ziglang")
        for folder in (package and package.submodule_search_locations) or ():
            if Path(folder, "zig").is_file():
                return Path(folder, "zig")
        reason = "the Python package ziglang is not installed, or has no zig in it"
        raise ToolError(problem("CS401", tool=self._name, reason=reason))

    @functools.cached_property
    def _cache(self) -> Path:
        wanted = os.environ.get("ZIG_GLOBAL_CACHE_DIR")
        # With a cache that it cannot write, zig 0.17.1 spins for ever.
        if wanted and folders.is_writable(Path(wanted)):
            return Path(wanted)
        try:
            return folders.writable_or_temporary("zig")
        except OSError as error:
            path, reason = tempfile.gettempdir(), error.strerror
            raise ToolError(problem("CS405", path=path, reason=reason)) from None


class SystemToolchain(Toolchain):
    """The machine's own compilers: clang for LLVM IR, and the system's C compiler for the rest.

    ``CC`` names the C compiler, and clang too if it is one. The library needs the machine's glibc,
    or a newer one, whatever :attr:`HostTarget.glibc` says.
    """

    _name = "the system's compiler"

    def describe(self) -> str:  # noqa: D102
        clang = f"clang {self._clang_version}"
        cc = probe([*self._cc, "--version"], tool=self._cc[0]).partition("\n")[0]
        return clang if self._cc == self._clang else f"{clang}, {cc}"

    def _ir_compiler(self, host: HostTarget) -> list[str]:
        return [*self._clang, f"--target={host.machine}-linux-gnu", f"-march={host.cpu}"]

    def _c_compiler(self, host: HostTarget) -> list[str]:
        return [*self._cc, f"-march={host.cpu}"]

    _linker = _c_compiler

    @functools.cached_property
    def _cc(self) -> list[str]:
        command = shlex.split(os.environ.get("CC", "")) or ["cc"]
        if shutil.which(command[0]) is None:
            raise ToolError(problem("CS401", tool=command[0], reason="it is not on PATH"))
        return command

    @functools.cached_property
    def _clang(self) -> list[str]:
        if os.environ.get("CC") and _is_clang(self._cc):
            return self._cc
        # Debian's packages of newer clangs come without the plain name.
        versioned = (f"clang-{version}" for version in range(_NEWEST_CLANG_TO_LOOK_FOR, CLANG_FOR_IR - 1, -1))
        for name in (*versioned, "clang"):
            if shutil.which(name):
                return [name]
        reason = f"it is not on PATH; LLVM IR needs clang {CLANG_FOR_IR} or newer"
        raise ToolError(problem("CS401", tool="clang", reason=reason))

    def _describe_clang(self) -> str:
        return probe([*self._clang, "--version"], tool="clang")


def toolchain(name: Literal["zig", "system"]) -> Toolchain:
    """Return the toolchain of that name."""
    return ZigToolchain() if name == "zig" else SystemToolchain()


@contextlib.contextmanager
def _linked_files(objects: Mapping[str, bytes], exports: Sequence[str]) -> Generator[tuple[Path, Path]]:
    """Write an archive of objects and the linker's list of the symbols to show, for as long as it needs them.

    One file instead of a thousand: making a file costs more than linking what is in it.
    """
    shown = "".join(f"  {symbol};\n" for symbol in sorted(exports))
    # The grammar has no empty `global:`.
    text = f"{{\n{'global:' if shown else ''}\n{shown}local: *;\n}};\n"
    try:
        scratch = tempfile.TemporaryDirectory(prefix="cute-stubgen-")
        members, script = Path(scratch.name, "objects.a"), Path(scratch.name, "exports.map")
        members.write_bytes(archive(objects))
        script.write_text(text, encoding="utf-8")
    except OSError as error:
        path, reason = tempfile.gettempdir(), error.strerror
        raise ToolError(problem("CS405", path=path, reason=reason)) from None
    with scratch:
        yield members, script


def _is_clang(command: Sequence[str]) -> bool:
    return "clang" in probe([*command, "--version"], tool=command[0])

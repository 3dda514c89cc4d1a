"""What is said between the tool and its worker processes: plain data both ways."""

from __future__ import annotations

import msgspec

from stubgen.abi.signatures import Argument, AuthorParameter
from stubgen.model.effects import Effects
from stubgen.model.library import DeviceProfile, Place, Record, Variant
from stubgen.problems.problem import Problem


class WorkerSettings(msgspec.Struct, frozen=True):
    """What a worker process is set up for before it imports anything of the user's."""

    project: str
    """Absolute path of the project's folder."""
    arch: str | None
    """Architecture that the DSL is set to; ``None`` leaves only functions without device code."""
    profile: DeviceProfile | None
    """What kernels are told about the GPU while they are built."""
    log_dir: str
    """Folder for what the compiler prints and for full error texts."""
    named_archs: tuple[str, ...] = ()
    """All that the user names; the DSL has to know every one."""
    timeout: float = 600.0
    """Seconds that one kernel, or importing one module, may take."""
    data: str = ""
    """Hash of the data files that kernel modules read."""


class ModuleJob(msgspec.Struct, frozen=True):
    """A kernel module to import."""

    name: str
    """Public name of the generated module."""
    path: str
    file: str
    """The path relative to the project, for messages."""
    import_name: str
    import_root: str
    """Folder that has to be importable for ``import_name`` to be found."""
    imports: tuple[str, ...] = ()
    """What it imports of installed packages; modules that import the same are changed by the same."""
    changes: str | None = None
    """What importing it changes for other modules, in words, empty for nothing; ``None`` if not known."""


class Declared(msgspec.Struct, frozen=True):
    """One kernel that a module declares, not compiled yet."""

    index: int
    """Position among the declarations of its module."""
    name: str
    place: Place
    variant: Variant | None = None
    options: str = ""
    effects: Effects = Effects()


class CompileJob(msgspec.Struct, frozen=True):
    """One kernel to compile for one architecture."""

    module: ModuleJob
    declared: Declared
    build_name: str
    """What the function is called in its object if it has device code."""
    ir_path: str
    """Where its host code goes, as LLVM IR with the device code inside."""


class LeftOut(msgspec.Struct, frozen=True):
    """A kernel that is not for the architecture that is built for, but only for later ones."""

    name: str
    place: Place
    min_arch: str
    family: str | None = None


class Exported(msgspec.Struct, frozen=True):
    """A kernel or family that some module exports."""

    name: str
    place: Place


class Expansion(msgspec.Struct, frozen=True):
    """All that a module declares, or why it could not be found out."""

    declared: tuple[Declared, ...] = ()
    problems: tuple[Problem, ...] = ()
    empty: tuple[Problem, ...] = ()
    """Families that leave out every combination; another architecture may have some."""
    too_new: tuple[LeftOut, ...] = ()
    elsewhere: tuple[Exported, ...] = ()
    """What other modules exported while this one was imported."""
    warnings: tuple[Problem, ...] = ()
    changes: str = ""
    """What importing the module changes for others that are imported into the same process."""

    @property
    def is_idle(self) -> bool:
        """Whether the module declares nothing at all."""
        return not (self.declared or self.problems or self.empty or self.too_new)


class Compiled(msgspec.Struct, frozen=True):
    """What compiling one declaration gave; the host code lies in a file beside it."""

    name: str
    place: Place
    arguments: tuple[Argument, ...]
    """In the order of the ABI, environment streams included."""
    author: tuple[AuthorParameter, ...]
    """The parameters of the author's function."""
    abi: str
    """The signature as the compiled function will state it."""
    has_device_code: bool
    doc: str = ""
    source: Place | None = None
    options: str = ""
    records: tuple[Record, ...] = ()
    variant: Variant | None = None


class Facts(msgspec.Struct, frozen=True):
    """What a kernel's sources say about it, and what no compiled code depends on."""

    doc: str = ""
    source: Place | None = None
    records: dict[str, Record] = {}
    """By name, the classes that its arguments are made of."""


class Outcome(msgspec.Struct, frozen=True):
    """The result of compiling one declaration."""

    compiled: Compiled | None = None
    """``None`` if it failed, or if the family leaves the combination out."""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What the author should know of a kernel that was compiled."""
    seconds: float = 0.0
    """What compiling took."""

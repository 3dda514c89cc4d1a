"""What the compiler made of a set of kernels, as plain data.

A :class:`Library` holds everything that rendering, dispatch and linking need to know. Nothing here does
I/O, imports the DSL or computes anything: the classes are frozen, compare by value, and survive
:func:`to_json` and :func:`from_json` unchanged.

The unions :data:`Slot` and :data:`Extent` are the heart of it. A slot describes one argument of a compiled
function the way the compiler reported it, which is not always the way its author annotated it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from stubgen.declare.labels import ChoiceValue
from stubgen.model import jsontext
from stubgen.model.effects import Effects
from stubgen.model.spelling import (
    ArchName,
    BuildId,
    CName,
    Count,
    DistributionName,
    DTypeName,
    GlibcVersion,
    Label,
    LinkerSymbol,
    ModuleName,
    Name,
    PackageName,
    RelativePath,
    Requirement,
    VersionText,
)


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all model classes."""


class Symbol(_Data, frozen=True, tag="symbol"):
    """An extent or stride that is known only at run time."""

    name: Name
    """Shared by every place of one function that must have the same value."""
    bits: Literal[32, 64] = 32
    divisible_by: Count = 1


Extent: TypeAlias = "int | Symbol"
"""A size in elements, fixed at compile time or bound by name at run time."""


class TensorSlot(_Data, frozen=True, tag="tensor"):
    """A tensor, passed as anything that speaks DLPack."""

    dtype: DTypeName
    """tvm-ffi's name for the element type, such as ``bfloat16`` or ``float4_e2m1fnx2``."""
    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...] | None = None
    """In elements, one for each dimension; ``None`` where the compiler takes row-major only."""
    alignment: Count | None = None
    """Of the data pointer, in bytes."""
    device: Literal["cuda", "cpu"] | None = "cuda"
    """``None`` where no more than dtype and shape are known: neither device nor strides nor alignment."""


class ScalarSlot(_Data, frozen=True, tag="scalar"):
    """A number or a bool, passed by value."""

    dtype: DTypeName
    divisible_by: Count = 1


class ShapeSlot(_Data, frozen=True, tag="shape"):
    """A shape, stride, coordinate or tile: a flat tuple of integers."""

    extents: tuple[Extent, ...]


class NoneSlot(_Data, frozen=True, tag="none"):
    """An optional argument that was compiled as absent; only ``None`` fits."""


class ConstantSlot(_Data, frozen=True, tag="constant"):
    """A compile-time constant inside a dataclass; only this value fits."""

    value: bool | int | float


class PointerSlot(_Data, frozen=True, tag="pointer"):
    """A raw address."""

    dtype: DTypeName | None = None
    """Of what it points to, where the declaration says so."""
    alignment: Count | None = None
    """Of the address, in bytes."""
    device: Literal["cuda", "cpu"] | None = None


class StreamSlot(_Data, frozen=True, tag="stream"):
    """A CUDA stream that the caller passes."""


class TupleSlot(_Data, frozen=True, tag="tuple"):
    """A tuple, NamedTuple or dataclass."""

    items: tuple[Slot, ...]
    record: Name | None = None
    """Name of the :class:`Record` whose fields the items are, if it has one."""
    fields: tuple[Name, ...] = ()
    """Names of the items, if they are those of a record."""


class ChoiceSlot(_Data, frozen=True, tag="choice"):
    """A selector of a family: a constexpr of the author's that callers choose, among what was compiled."""

    axis: Name
    values: tuple[ChoiceValue, ...]

    def has(self, value: ChoiceValue) -> bool:
        """Return whether callers can choose a value; unlike a tuple, tells True from 1."""
        return any(type(v) is type(value) and v == value for v in self.values)

    def index(self, value: ChoiceValue) -> int:
        """Return the position of a value; unlike a tuple, tells True from 1."""
        return next(i for i, v in enumerate(self.values) if type(v) is type(value) and v == value)


class OneOfSlot(_Data, frozen=True, tag="one_of"):
    """An argument of a family that its variants take differently; each alternative stands once."""

    alternatives: tuple[Slot, ...]


Slot: TypeAlias = (
    TensorSlot
    | ScalarSlot
    | ShapeSlot
    | NoneSlot
    | ConstantSlot
    | PointerSlot
    | StreamSlot
    | TupleSlot
    | ChoiceSlot
    | OneOfSlot
)
"""The last two are only the slots of a family's parameters, never inside of a tuple or one another."""


class Default(_Data, frozen=True):
    """The default of a parameter; a class of its own because ``None`` is a value."""

    value: bool | int | float | str | tuple[bool | int | float | None, ...] | None


ParameterKind: TypeAlias = Literal["positional_only", "positional_or_keyword", "keyword_only"]


class Parameter(_Data, frozen=True):
    """One argument of a public function."""

    name: Name
    slot: Slot
    kind: ParameterKind = "positional_or_keyword"
    """How the author's signature takes it; compiled functions take everything by position."""
    default: Default | None = None
    """Kept only if the compiled slot admits it."""


class Frozen(_Data, frozen=True):
    """An author's parameter that the compiled function no longer has, and the value it was compiled with."""

    name: Name
    value: str
    """As Python source where it has one, and otherwise a description."""
    position: int = 0
    """Among the parameters that are left: how many of them come before it."""
    kind: ParameterKind = "positional_or_keyword"
    default: Default | None = None


class Field(_Data, frozen=True):
    """One field of a :class:`Record`."""

    name: Name
    default: Default | None = None
    kw_only: bool = False
    """Whether the class takes it by keyword only."""


class Record(_Data, frozen=True):
    """A NamedTuple or dataclass of the author's, which the package defines anew for its users."""

    name: Name
    kind: Literal["namedtuple", "dataclass"]
    fields: tuple[Field, ...]
    doc: str = ""


class Place(_Data, frozen=True):
    """Where something was written."""

    file: str
    """Relative to the project's folder, with forward slashes."""
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Variant(_Data, frozen=True):
    """What makes one member of a family: its place on each axis."""

    family: CName
    labels: dict[Name, Label]
    """By axis, the part of the variant's name."""
    values: dict[Name, ChoiceValue] = {}
    """By axis, what a caller passes to choose the variant, where the axis becomes a selector."""
    priority: int = 0
    """Among variants that accept the same call, the highest wins, unless one is more specific."""

    @property
    def key(self) -> str:
        """The labels in one word, such as ``float16_4096``; ``only`` if there are no axes."""
        return "_".join(self.labels.values()) or "only"


class Kernel(_Data, frozen=True):
    """One compiled function: for each architecture, one build of it."""

    name: CName
    """Public name, a C and Python identifier; the symbol is ``__tvm_ffi_<name>``."""
    module: ModuleName
    """Dotted path of the generated module, relative to the package."""
    parameters: tuple[Parameter, ...]
    """In the order of the ABI."""
    abi: str
    """The signature as the compiled function states it in its own error messages."""
    place: Place
    """Of the declaration."""
    doc: str = ""
    source: Place | None = None
    """Of the ``@cute.jit`` function, where it lies in the project."""
    frozen: tuple[Frozen, ...] = ()
    env_streams: tuple[Name, ...] = ()
    """Author's parameters that are filled from tvm-ffi's environment stream."""
    archs: tuple[ArchName, ...] = ()
    """What the device code was built for; none for a function that only runs on the host."""
    options: str = ""
    """Compile options of the declaration's own."""
    variant: Variant | None = None
    entry: LinkerSymbol = ""
    """The symbol that headers call, where it is not made of the package's name and this one."""
    effects: Effects = Effects()

    @property
    def has_device_code(self) -> bool:
        """Whether the function launches anything on a GPU."""
        return bool(self.archs)

    @property
    def symbol(self) -> str:
        """The symbol that tvm-ffi finds the function by in a library that it loads."""
        return tvm_ffi_symbol(self.name)

    def linker_symbol(self, package: str) -> str:
        """Name the same function as no other package's library does; C and C++ link against this one."""
        return self.entry or tvm_ffi_symbol(f"{package}__{self.name}")

    def build_name(self, package: str, arch: str) -> str:
        """Name the build for one architecture; it has a symbol too, so that it can be called on its own."""
        return build_name(package, self.name, arch)


class Axis(_Data, frozen=True):
    """One dimension that the variants of a family lie along."""

    name: Name
    labels: tuple[Label, ...]
    """Of all its values, in the author's order."""


class Family(_Data, frozen=True):
    """One public function for all variants of a kernel, which it chooses among when it is called."""

    name: CName
    module: ModuleName
    parameters: tuple[Parameter, ...]
    """Those of the variants; what differs is a :class:`OneOfSlot`, a selector a :class:`ChoiceSlot`."""
    variants: tuple[CName, ...]
    """Names of the kernels, in the order of the axes' values."""
    axes: tuple[Axis, ...]
    place: Place
    doc: str = ""
    source: Place | None = None
    frozen: tuple[Frozen, ...] = ()
    """What all variants were compiled with."""
    env_streams: tuple[Name, ...] = ()
    archs: tuple[ArchName, ...] = ()
    """All that any variant was built for."""
    entry: LinkerSymbol = ""
    """As for :class:`Kernel`."""
    effects: Effects = Effects()
    """Those of all variants."""

    @property
    def choices(self) -> tuple[Parameter, ...]:
        """The selectors among the parameters."""
        return tuple(p for p in self.parameters if isinstance(p.slot, ChoiceSlot))

    @property
    def symbol(self) -> str:
        """The symbol that tvm-ffi finds the function by in a library that it loads."""
        return tvm_ffi_symbol(self.name)

    def linker_symbol(self, package: str) -> str:
        """Name the same function as no other package's library does; C and C++ link against this one."""
        return self.entry or tvm_ffi_symbol(f"{package}__{self.name}")


def build_name(package: str, kernel: str, arch: str) -> str:
    """Name the build of a kernel for one architecture."""
    return f"{package}__{kernel}__{arch}"


def tvm_ffi_symbol(name: CName) -> str:
    """Return the symbol of a function that tvm-ffi knows by this name."""
    return f"__tvm_ffi_{name}"


class Module(_Data, frozen=True):
    """A generated module: the kernels that one kernel module declares."""

    name: ModuleName
    """Dotted, relative to the package."""
    source: str
    """The kernel module's file, relative to the project's folder."""
    kernels: tuple[Kernel, ...]
    """All that was compiled, the variants of families included."""
    families: tuple[Family, ...] = ()
    records: tuple[Record, ...] = ()
    doc: str = ""

    @property
    def functions(self) -> tuple[Kernel | Family, ...]:
        """The public functions in the order of their declarations: a family stands for its variants."""
        families = {family.name: family for family in self.families}
        shown = (families[k.variant.family] if k.variant else k for k in self.kernels)
        return tuple({function.name: function for function in shown}.values())

    def variants(self, family: Family) -> tuple[Kernel, ...]:
        """Return the variants of a family, in its order."""
        kernels = {kernel.name: kernel for kernel in self.kernels}
        return tuple(kernels[name] for name in family.variants)


class DeviceProfile(_Data, frozen=True):
    """What a kernel may ask of the GPU while it is built.

    Kernels read these while the compiler traces them, and the answers end up in the compiled code. They come
    from here rather than from a GPU, so that every machine builds the same library.
    """

    name: str
    sm_count: int
    """Number of streaming multiprocessors."""
    max_active_clusters: dict[int, int]
    """For each cluster size, how many clusters the GPU holds at once."""
    shared_memory_per_sm: int
    """In bytes."""
    shared_memory_per_block: int
    """In bytes, the opt-in maximum."""
    l2_cache: int
    """In bytes."""
    max_threads_per_sm: int
    registers_per_sm: int
    warp_size: int = 32


Machine: TypeAlias = Literal["x86_64", "aarch64"]
"""What host code is compiled for, as in a target triple."""


class SharedRuntime(_Data, frozen=True):
    """The DSL's runtime library, where it is not linked into the package's own."""

    distribution: DistributionName
    """What it is installed with."""
    version: VersionText
    """That the package was built with."""
    requirement: Requirement
    """What pip finds one by that fits."""
    file: RelativePath
    """Relative to the folder of ``nvidia_cutlass_dsl``."""


class Versions(_Data, frozen=True):
    """The tools that shaped the library."""

    cute_stubgen: str
    cutlass_dsl: str
    tvm_ffi: str
    toolchain: str


Framework: TypeAlias = Literal["torch", "jax"]
"""A framework that a package may have a module for."""


class Origin(_Data, frozen=True):
    """The library that a package was made for after it had been built."""

    file: str
    package: CName | None = None
    """The package that it was generated for; ``None`` if another tool made it."""
    is_partial: bool = False
    """Whether there was nothing to read but texts, which leave much unknown."""


class Library(_Data, frozen=True):
    """Everything that is generated from."""

    package: PackageName
    modules: tuple[Module, ...]
    versions: Versions
    device_profiles: dict[ArchName, DeviceProfile]
    """For each architecture, the profile that its kernels were built with."""
    version: VersionText = "0.1.0"
    """Of the package itself, as its author counts."""
    shared_runtime: SharedRuntime | None = None
    """What has to be loaded before the library; nothing if the runtimes are linked into it."""
    machine: Machine = "x86_64"
    """That the host code is for."""
    origin: Origin | None = None
    """Where the model does not come from the compiler."""
    frameworks: tuple[Framework, ...] = ()
    """What the package has modules for."""
    build_id: BuildId = ""
    """Of what callers rely on, as the binary states it; empty if that states none."""

    @property
    def registered_as(self) -> str | None:
        """The name before those of functions that the library registers; ``None`` if it registers none."""
        return self.origin.package if self.origin else self.package

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels of all modules, in order."""
        return tuple(kernel for module in self.modules for kernel in module.kernels)

    @property
    def families(self) -> tuple[Family, ...]:
        """All families of all modules, in order."""
        return tuple(family for module in self.modules for family in module.families)


class HostCode(_Data, frozen=True):
    """What a linked library asks of the machine that it runs on, as read back from its bytes."""

    machine: Machine
    needed: tuple[str, ...]
    """The shared libraries that the loader has to find."""
    glibc: GlibcVersion | None = None
    """The oldest that it runs with; ``None`` if it uses none."""
    libstdcxx: GlibcVersion | None = None
    """The highest ``GLIBCXX`` version that it uses; ``None`` if it uses none."""


def to_json(library: Library) -> bytes:
    """Encode a library; :func:`from_json` gives an equal one back."""
    return jsontext.encode(library)


def from_json(data: bytes) -> Library:
    """Decode what :func:`to_json` made.

    Raises
    ------
    msgspec.ValidationError
        The data is JSON, but does not describe a library.
    msgspec.DecodeError
        The data is not JSON.
    """
    return jsontext.decode(data, Library)

"""The C that finds the variant of a family and the build for a GPU; it is compiled into the library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stubgen.abi.signature_texts import stated
from stubgen.abi.symbols import NEAREST
from stubgen.declare.labels import ChoiceValue
from stubgen.families.families import Selection, selections
from stubgen.model import archs
from stubgen.model.library import ChoiceSlot, Family, Kernel, Library, Parameter, tvm_ffi_symbol
from stubgen.render import cpp_types, documentation
from stubgen.render.native import refusals
from stubgen.render.native.decision_tree import decision_tree, double, int64
from stubgen.render.templates import fill


def dispatcher(library: Library) -> str:
    """Return the C of all dispatchers of a library; empty if it needs none."""
    package = library.package
    with_code = [kernel for kernel in library.kernels if kernel.has_device_code]
    if not with_code and not library.families:
        return ""
    arch_sets = list(dict.fromkeys(kernel.archs for kernel in with_code))
    return fill(
        "native/dispatcher.c.j2",
        nearest=NEAREST,
        arch_sets=[[archs.parse(name) for name in names] for names in arch_sets],
        kernels=[_kernel(kernel, package, arch_sets.index(kernel.archs)) for kernel in with_code],
        host_functions=[
            kernel.linker_symbol(package)
            for kernel in library.kernels
            if kernel.variant and not kernel.has_device_code
        ],
        families=[
            _family(family, module.variants(family), package)
            for module in library.modules
            for family in module.families
        ],
    )


def exports(library: Library) -> tuple[str, ...]:
    """Return every symbol that the library shows: for each function the names that it can be called by.

    Functions have one for tvm-ffi's look-up and one that no other package has; so have families. Builds for
    one architecture and families with their selectors chosen have only the latter kind.
    """
    return tuple(symbol for _, symbol in symbols(library))


def symbols(library: Library) -> Iterator[tuple[Kernel | Family, str]]:
    """Yield what :func:`exports` gives, each with the function that it is a symbol of."""
    package = library.package
    for kernel in library.kernels:
        yield kernel, kernel.symbol
        yield kernel, kernel.linker_symbol(package)
        for arch in kernel.archs:
            yield kernel, tvm_ffi_symbol(kernel.build_name(package, arch))
    for module in library.modules:
        for family in module.families:
            yield family, family.symbol
            yield family, family.linker_symbol(package)
            if family.choices:
                for selection in selections(family, module.variants(family)):
                    yield family, choice_symbol(selection, family, package)


def choice_symbol(selection: Selection, family: Family, package: str) -> str:
    """Name the function of a family whose selectors are chosen."""
    return f"{family.linker_symbol(package)}___{'_'.join(selection.labels)}"


# ---------------------------------------------------------------------------------------------------------
# What the template shows


@dataclass(frozen=True)
class _DispatchedKernel:
    """A kernel with device code, of which there is a build for each architecture."""

    name: str
    public_name: str
    symbols: tuple[str, ...]
    arch_set: int
    builds: tuple[str, ...]
    archs: str


@dataclass(frozen=True)
class _Choices:
    """The values of a selector, as tests of the argument that chooses."""

    function: str
    tests: list[str]
    position: int
    expected: str
    """What a caller is told who passes another value."""


@dataclass(frozen=True)
class _Case:
    """What to call when the selectors have been chosen."""

    number: int
    """Of the combination, among all that there could be."""
    target: str


@dataclass(frozen=True)
class _Selection:
    """A function that finds a variant, its selectors being chosen."""

    symbols: tuple[str, ...]
    signature: str
    conditions: str
    count: int
    """Of the arguments."""
    parameters: str
    body: str
    has_builds: bool
    """Whether the body may end with no build for the GPU."""
    descriptions: list[str]
    """Of the variants, for what says why none of them was found."""


@dataclass(frozen=True)
class _DispatchedFamily:
    name: str
    symbols: tuple[str, ...]
    signature: str
    conditions: str
    count: int
    parameters: str
    choices: list[_Choices]
    kept: list[int]
    """Positions of the arguments that a variant takes."""
    combination: str
    """The expression for the number of the combination that is chosen."""
    cases: list[_Case]
    selections: list[_Selection]


def _kernel(kernel: Kernel, package: str, arch_set: int) -> _DispatchedKernel:
    return _DispatchedKernel(
        name=kernel.name,
        public_name=kernel.variant.family if kernel.variant else kernel.name,
        symbols=(kernel.symbol, kernel.linker_symbol(package)),
        arch_set=arch_set,
        builds=tuple(tvm_ffi_symbol(kernel.build_name(package, arch)) for arch in kernel.archs),
        archs=", ".join(kernel.archs),
    )


def _family(family: Family, variants: Sequence[Kernel], package: str) -> _DispatchedFamily:
    symbols = (family.symbol, family.linker_symbol(package))
    found = selections(family, variants)
    kept = [i for i, p in enumerate(family.parameters) if not isinstance(p.slot, ChoiceSlot)]
    own = [family.parameters[i].name for i in kept]
    slots = [p.slot for p in family.parameters if isinstance(p.slot, ChoiceSlot)]
    return _DispatchedFamily(
        name=family.name,
        symbols=symbols,
        signature=cpp_types.string(stated(family)),
        conditions=cpp_types.string(_conditions(family)),
        count=len(family.parameters),
        parameters=cpp_types.string(", ".join(p.name for p in family.parameters)),
        choices=[
            _choices(family, position, parameter, parameter.slot)
            for position, parameter in enumerate(family.parameters)
            if isinstance(parameter.slot, ChoiceSlot)
        ],
        kept=kept,
        combination=_combination([f"choice_{index}" for index in range(len(slots))], slots),
        cases=[
            _Case(_case_number(selection.values, slots), choice_symbol(selection, family, package))
            for selection in found
            if slots
        ],
        selections=[
            _Selection(
                symbols=(choice_symbol(selection, family, package),) if slots else symbols,
                signature=cpp_types.string(stated(family, selection.values)),
                conditions=cpp_types.string(_conditions(family)),
                count=len(own),
                parameters=cpp_types.string(", ".join(own)),
                body=decision_tree(selection.variants, package),
                has_builds=any(kernel.has_device_code for kernel in selection.variants),
                descriptions=[cpp_types.string(refusals.description(v)) for v in selection.variants],
            )
            for selection in found
        ],
    )


def _choices(family: Family, position: int, parameter: Parameter, slot: ChoiceSlot) -> _Choices:
    return _Choices(
        f"choose_{family.name}__{position}",
        [_is_value(value) for value in slot.values],
        position,
        cpp_types.string(f"; {parameter.name} is expected to be {documentation.describe(slot)}"),
    )


def _is_value(value: ChoiceValue) -> str:
    match value:
        case None:
            return "type_of(any) == kTVMFFINone"
        case bool():
            return f"is_bool(any, {int(value)})"
        case int():
            return f"is_int(any, {int64(value)})"
        case float():
            return f"is_float(any, {double(value)})"
        case str():
            return f"is_string(any, {cpp_types.string(value)}, {len(value.encode())})"


def _combination(choices: Sequence[str], slots: Sequence[ChoiceSlot]) -> str:
    """Return the expression for the number of a combination of choices, the last varying fastest."""
    found = "0"
    for choice, slot in zip(choices, slots, strict=True):
        found = choice if found == "0" else f"({found}) * {len(slot.values)} + {choice}"
    return found


def _case_number(values: Sequence[ChoiceValue], slots: Sequence[ChoiceSlot]) -> int:
    number = 0
    for value, slot in zip(values, slots, strict=True):
        number = number * len(slot.values) + slot.index(value)
    return number


def _conditions(family: Family) -> str:
    """Return what a refused call is told beside the signature."""
    told = documentation.conditions(family.parameters)
    return f", where {told}" if told else ""

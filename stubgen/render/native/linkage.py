"""C that lets programs find the functions of a library in other ways than by linking with it."""

from __future__ import annotations

from dataclasses import dataclass

from stubgen.model.library import Framework, Library, tvm_ffi_symbol
from stubgen.render.native import dispatcher, metadata
from stubgen.render.templates import fill


@dataclass(frozen=True)
class _RegisteredFunction:
    """A function of the library, ready to be put into a table."""

    name: str
    symbol: str


@dataclass(frozen=True)
class Build:
    """What ties texts and a library together, ready to be put into either."""

    id: str
    symbol: str
    """Only a library of this build has it, and headers refer to it. Linkers show it, so it is for people."""
    function: str
    """Symbol of the function that gives the id."""


def exports(library: Library) -> tuple[str, ...]:
    """Return every symbol that the shared library shows."""
    return (
        *dispatcher.exports(library),
        register_symbol(library.package),
        *python_symbols(library.package),
        *framework_symbols(library).values(),
        *((stated.symbol, stated.function) if (stated := build(library)) else ()),
        *metadata.exports(library),
    )


def entry_symbols(library: Library) -> tuple[str, ...]:
    """Return those of the exported symbols that no other package has: the headers call functions by them.

    The others are for tvm-ffi, which looks into one library at a time.
    """
    prefix = tvm_ffi_symbol(f"{library.package}__")
    return tuple(symbol for symbol in exports(library) if symbol.startswith(prefix))


def kept_in_archives(library: Library) -> tuple[str, ...]:
    """Return the symbols that programs use of a static archive."""
    stated = build(library)
    return (*entry_symbols(library), *([stated.symbol] if stated else ()))


def build(library: Library) -> Build | None:
    """Return what says which build a library is of; ``None`` for one that does not say it."""
    if not library.build_id or library.registered_as is None:
        return None
    package = library.registered_as
    symbol = f"{package}__headers_of_build_{library.build_id}"
    return Build(library.build_id, symbol, tvm_ffi_symbol(f"{package}___build_id"))


def identification(library: Library) -> str:
    """Return the C that says which build a library is of; empty if it does not say it."""
    stated = build(library)
    return fill("native/build.c.j2", build=stated) if stated else ""


def register_symbol(package: str) -> str:
    """Name the function that registers all others; it is called like them."""
    return tvm_ffi_symbol(f"{package}__register_functions")


def python_symbols(package: str) -> tuple[str, str]:
    """Name the function that Python calls all others by, and what it is told there."""
    return f"{package}__python_call", f"{package}__python"


MOST_LEVELS = 20
"""Of tuples in tuples that a call may have."""


def for_python(library: Library) -> str:
    """Return the C of the function that Python calls all others by."""
    call, state = python_symbols(library.package)
    return fill("native/python.c.j2", call=call, state=state, levels=MOST_LEVELS)


def framework_symbols(library: Library) -> dict[Framework, str]:
    """Name, for each framework, the function that makes those that its module calls."""
    names: dict[Framework, str] = {"torch": "_traceable", "jax": "_arranged"}  # as no kernel can be called
    return {name: tvm_ffi_symbol(f"{library.package}__{names[name]}") for name in library.frameworks}


def for_frameworks(library: Library) -> str:
    """Return the C of the functions that the modules of frameworks need; empty if there are none."""
    symbols = framework_symbols(library)
    if not symbols:
        return ""
    return fill("native/frameworks.c.j2", frameworks=library.frameworks, symbols=symbols)


def registration(library: Library) -> str:
    """Return the C that registers every function with tvm-ffi."""
    package = library.package
    functions = [
        _RegisteredFunction(kernel.name, kernel.linker_symbol(package)) for kernel in library.kernels
    ]
    functions += [
        _RegisteredFunction(family.name, family.linker_symbol(package)) for family in library.families
    ]
    return fill(
        "native/register.c.j2", package=package, functions=functions, register=register_symbol(package)
    )


def loader(library: Library) -> str:
    """Return the C that a program is linked with to load the library when it runs."""
    builds = {
        tvm_ffi_symbol(kernel.build_name(library.package, arch))
        for kernel in library.kernels
        for arch in kernel.archs
    }
    return fill(
        "native/loader.c.j2",
        package=library.package,
        # No header calls the build for one architecture, and a library for other ones does as well.
        symbols=[symbol for symbol in entry_symbols(library) if symbol not in builds],
        build=build(library),
    )

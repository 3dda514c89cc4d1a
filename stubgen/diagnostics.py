"""Every error that the tool reports: a code, what is wrong, and what to do.

Code that finds something wrong makes a :class:`Problem` with :func:`problem` and either raises it in a
:class:`StubgenError` or collects it with others, so that one run reports all there is. The texts live in
:data:`CATALOGUE`, one entry a code; ``cute-stubgen explain CODE`` and ``docs/errors.md`` show them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from stubgen.model import Place


class Entry(NamedTuple):
    """One kind of problem. ``{names}`` in the message are filled in where it is reported."""

    message: str
    remedy: str
    why: str = ""
    """Background for ``explain``, where the message and the remedy do not say it all."""


CATALOGUE: dict[str, Entry] = {
    # CS1xx: configuration, command line, environment.
    "CS101": Entry(
        "{file} is not valid: {reason}",
        "correct the file; docs/configuration.md lists every key of [tool.cute-stubgen]",
    ),
    "CS102": Entry(
        "no GPU architecture is given for {kernels}",
        'pass --arch sm_90a, or set archs = ["sm_90a"] under [tool.cute-stubgen]',
        "Without one the compiler would silently pick whatever it finds on the machine, or sm_100a where "
        "it finds nothing. Functions without a GPU kernel need no architecture.",
    ),
    "CS103": Entry(
        "unknown GPU architecture {arch!r}{hint}",
        "use one that the installed DSL knows: {known}",
    ),
    "CS104": Entry(
        "{package!r} cannot be the name of the generated package: {reason}",
        "choose a lower-case Python identifier that is also a C identifier",
    ),
    "CS105": Entry(
        "the installed {distribution} {version} is not one that this tool knows",
        "install {distribution}{wanted}",
        "The tool touches private corners of the DSL in one file, which is checked against the versions "
        "that it was tested with.",
    ),
    "CS106": Entry(
        "{distribution} is not installed, or cannot be imported: {reason}",
        "install it: pip install '{requirement}'",
    ),
    "CS107": Entry(
        "several architectures are given: {archs}",
        "give one, and generate a package for each",
    ),
    # CS2xx: discovery and declarations.
    "CS201": Entry(
        "no kernels found in {folder}",
        "write a kernel module there that calls stubgen.export or uses stubgen.family, or name another "
        "folder: cute-stubgen generate FOLDER",
    ),
    "CS202": Entry("{path} does not exist", "name a kernel module or a folder of them"),
    "CS203": Entry("{file} cannot be parsed: {reason}", "correct the syntax error"),
    "CS204": Entry(
        "{module} raised {error} while it was imported",
        "make the module importable on its own: python {file}",
    ),
    "CS205": Entry("{file} cannot be read: {reason}", "save it as UTF-8, in a place that can be read"),
    "CS206": Entry(
        "{file} and {first} leave no room for each other in the generated package: {reason}",
        "rename one of them, or declare the kernels of both in one file",
        "Each file that declares kernels becomes a module of the generated package, named like the file "
        "and the folders that it lies in.",
    ),
    "CS207": Entry(
        "{module!r} cannot be the name of a generated module: {reason}",
        "rename the file or its folder, or declare its kernels in another file",
    ),
    "CS208": Entry(
        "{module!r} cannot be the name of a generated module: the generated package keeps it for itself",
        "rename the file or its folder, or declare its kernels in another file",
        "A generated package has kwargs, config, include, lib, torch and jax of its own, and whatever "
        "begins with an underscore.",
    ),
    "CS210": Entry(
        "{reason}",
        "correct the declaration; docs/declarations.md shows what each helper takes",
    ),
    "CS211": Entry(
        "this export has no name, because an object has none of its own",
        'give it one: sg.export(..., name="my_kernel")',
    ),
    "CS212": Entry(
        "{kernel!r} cannot be the name of a kernel: {reason}",
        'choose an identifier that is valid in Python, C and C++, with name="..."',
    ),
    "CS213": Entry(
        "{kernel!r} is exported a second time; the first is at {first}",
        'give one of them another name: sg.export(..., name="...")',
    ),
    "CS214": Entry(
        "{kernel} takes a {record} that differs from another class of that name in the same module",
        "rename one of the two classes",
    ),
    "CS215": Entry(
        "{kernel} cannot be built: {reason}",
        "correct the function that makes it; the full text is in {log}",
        "The function under @stubgen.family runs once for each combination, and what it returns is given "
        "to the compiler. It, or something that it calls, raised an error.",
    ),
    "CS216": Entry(
        "the family {family} leaves out every combination",
        "return stubgen.kernel(...) for at least one, or do not declare it",
        "A function that returns nothing leaves its combination out. If that is meant, for one architecture "
        "say, put the whole family under an if.",
    ),
    # CS3xx: compilation.
    "CS301": Entry(
        "{kernel} does not compile: {reason}",
        "the full text is in {log}",
    ),
    "CS302": Entry(
        "{kernel} has {reason}, which this version of cute-stubgen does not know",
        "the full text is in {log}; look for a newer cute-stubgen",
    ),
    "CS303": Entry(
        "a worker process was killed while it compiled",
        "look for a lack of memory, or try again with fewer processes: --jobs 1",
    ),
    "CS304": Entry(
        "{kernel} is {found} in the linked library, but the compiler reported {expected}",
        "this is a defect of cute-stubgen or of the compiler; please report it",
    ),
    # CS4xx: building the library.
    "CS401": Entry(
        "{tool} was not found: {reason}",
        "install it, or choose the other toolchain: --toolchain zig (pip install ziglang) or "
        "--toolchain system (clang and a C compiler)",
    ),
    "CS402": Entry(
        "{tool} does not run: {reason}",
        "install it again, or choose the other toolchain: --toolchain zig or --toolchain system",
    ),
    "CS403": Entry(
        "the host code in {what} does not compile: {reason}",
        "this is a defect of cute-stubgen or of the toolchain; please report it with the full text",
        "What a kernel does on the host comes as LLVM IR from the DSL, and the dispatchers as C from "
        "this tool. Neither is the kernel author's own code, so neither should fail.",
    ),
    "CS404": Entry(
        "{library} cannot be linked: {reason}",
        "give each kernel a name of its own; if they have that, this is a defect of cute-stubgen, "
        "please report it",
    ),
    "CS405": Entry(
        "{path} cannot be written: {reason}",
        "make room or give the right to write there; TMPDIR chooses another folder for temporary files",
    ),
    "CS406": Entry(
        "{file} is missing, which belongs to {distribution}",
        "install it: pip install '{requirement}'",
        "Libraries hold the DSL's small runtime and the CUDA runtime, so that they need neither where "
        "they run. Both come as static archives in Python packages.",
    ),
    "CS407": Entry(
        "{file} is not a sound ELF file: {reason}",
        "build it again: cute-stubgen generate",
    ),
    "CS408": Entry(
        "{file} is not what was asked for: {reason}",
        "this is a defect of cute-stubgen or of the toolchain; please report it",
    ),
    "CS409": Entry(
        "clang {found} is too old to read the LLVM IR that the DSL writes",
        "use --toolchain zig with ziglang 0.17 or newer, or install clang {needed} or newer",
    ),
    # CS5xx: output.
    "CS501": Entry(
        "{path} cannot be written: {reason}",
        "make room or give the right to write there, or choose another folder with --output; the previous "
        "output is whole",
    ),
    "CS502": Entry(
        "{path} is in the way, and cute-stubgen did not write it",
        "move it, or choose another folder with --output",
    ),
    "CS503": Entry(
        "{output} already holds the generated package {other}, and a folder holds one",
        "choose another folder with --output, or remove {other} first",
        "The folder's pyproject.toml installs one package; a second one would take its place silently.",
    ),
    # CS9xx: the tool itself.
    "CS901": Entry(
        "cute-stubgen failed: {error}",
        "this is a defect of cute-stubgen; please report it with the full text in {log}",
    ),
}
"""Every code, in order."""


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong, in the user's own names."""

    code: str
    message: str
    remedy: str
    place: Place | None = None
    kernel: str | None = None
    parameter: str | None = None

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.code}: {self.message}; {self.remedy}"


class StubgenError(Exception):
    """A run cannot go on, or not to its end; carries everything that was found."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def problem(
    code: str,
    *,
    place: Place | None = None,
    kernel: str | None = None,
    parameter: str | None = None,
    **details: object,
) -> Problem:
    """Fill in a catalogue entry.

    Parameters
    ----------
    code
        A key of :data:`CATALOGUE`.
    place
        Where the user has to look.
    kernel, parameter
        What it is about, in the user's names.
    **details
        Values for the ``{names}`` of the entry; ``kernel`` and ``parameter`` are available there too.
    """
    entry = CATALOGUE[code]
    values = {"kernel": kernel, "parameter": parameter, **details}
    return Problem(
        code=code,
        message=entry.message.format(**values),
        remedy=entry.remedy.format(**values),
        place=place,
        kernel=kernel,
        parameter=parameter,
    )


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Give a remark that names what may have been meant, empty if nothing comes close."""
    close = difflib.get_close_matches(given, tuple(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise all problems at once, each only once, ordered by place.

    Raises
    ------
    StubgenError
        There is at least one.
    """
    found = sorted(
        dict.fromkeys(problems),
        key=lambda p: (p.place.file if p.place else "", p.place.line if p.place else 0, p.code),
    )
    if found:
        raise StubgenError(*found)

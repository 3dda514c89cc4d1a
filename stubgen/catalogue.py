"""The texts of every problem that the tool reports, by code.

:mod:`stubgen.diagnostics` fills them in; ``cute-stubgen explain`` and ``docs/errors.md`` show them as they
are.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Entry(NamedTuple):
    """One kind of problem. ``{names}`` in the message are filled in where it is reported."""

    message: str
    remedy: str
    why: str = ""
    """Cause and example for ``explain``, where the message and the remedy do not say it all; Markdown."""


CATALOGUE: dict[str, Entry] = {
    # CS1xx: configuration, command line, environment.
    "CS101": Entry(
        "{file} is not valid: {reason}",
        "correct the file; docs/configuration.md lists every key of [tool.cute-stubgen]",
        """\
All settings stand under `[tool.cute-stubgen]` in the project's `pyproject.toml`.

    archs = "sm_90a"       # wrong: a string
    archs = ["sm_90a"]     # right: a list""",
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
        "{arch} and {other} are the same architecture under two names",
        "give it once",
    ),
    # CS12x and CS13x: other machines.
    "CS120": Entry(
        "{what} needs {package}, which is not installed: {reason}",
        "install it: pip install '{requirement}'",
        "What only some need is not installed with the tool. The file systems of fsspec that are not S3 "
        "come in packages of their own, such as gcsfs and adlfs.",
    ),
    "CS121": Entry(
        "cache = {url!r} names no kind of store that is known",
        'use a folder, or a URL that fsspec knows, such as "s3://bucket/prefix"',
    ),
    "CS122": Entry(
        "there is no Dask scheduler at {address}: {reason}",
        "see whether it runs, and whether this machine reaches it; the address is what dask scheduler prints",
    ),
    "CS123": Entry(
        "no worker of the Dask cluster at {address} has taken a job in {seconds} s",
        "start workers: dask worker {address}",
        "The cluster may also be busy with the jobs of others.",
    ),
    "CS124": Entry(
        "the Dask worker {worker} has {differences}",
        "install there what is installed here: a kernel compiled with other versions may be another one",
        "Compared are Python's minor version, cute-stubgen, the DSL, tvm-ffi, and every package that kernel "
        "modules import.",
    ),
    "CS125": Entry(
        "{what} did not come back from the Dask cluster: {reason}",
        "look into the log of the worker; where workers are lost for lack of memory, give each fewer threads",
        "What a lost worker was working on is done again by others, some three times.",
    ),
    "CS130": Entry(
        "{given!r} is no shard",
        "give its number and how many there are, such as --shard 2/8; the first is 1/8, the last 8/8",
    ),
    "CS131": Entry(
        "{path} holds no shard: {reason}",
        "give what cute-stubgen generate --shard has written, or folders that hold it",
    ),
    "CS132": Entry(
        "the shards lack {what}; {why}",
        "generate every shard, all from the same sources, with the same versions and options, and merge them",
        "Merging compiles nothing. Each shard has the declarations of all modules, and its part of the "
        "kernels, found by the hash of all that shapes them.",
    ),
    "CS133": Entry(
        "{path} and {first} are not of the same run: {reason}",
        "merge only shards of one run; take the files of earlier runs out of the folder",
    ),
    # CS2xx: discovery and declarations.
    "CS201": Entry(
        "no kernels found in {folder}{remark}",
        "write a kernel module there that calls stubgen.export or uses stubgen.family, or name another "
        "folder: cute-stubgen generate FOLDER",
        """\
A `@cute.jit` function alone says not what it is to be compiled for. Declare that next to it:

    import stubgen as sg
    sg.export(add, a=sg.tensor(cutlass.Float32, sg.dim("n")), stream=sg.env_stream())""",
    ),
    "CS202": Entry(
        "{path} does not exist{where}",
        "name a kernel module or a folder of them",
        "Paths in the configuration are relative to the project's folder, those on the command line to the "
        "folder that the command runs in.",
    ),
    "CS203": Entry("{file} cannot be parsed: {reason}", "correct the syntax error"),
    "CS204": Entry(
        "{module} raised {error} while it was imported",
        "make the module importable on its own: python {file}",
        "Kernel modules are imported to find what they declare, with the project's folder on `sys.path`.",
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
        "Names that begin with an underscore are the generated package's own, and so are config, include, "
        "kwargs, lib and runtime; torch and jax are reserved for what it may have one day.",
    ),
    "CS210": Entry(
        "{subject}: {reason}",
        "correct the declaration; docs/declarations.md shows what each helper takes",
        """\
A declaration is wrong in itself, or does not fit the function's signature.

    sg.tensor("float32", n)          # wrong: no type
    sg.tensor(cutlass.Float32, n)    # right""",
    ),
    "CS211": Entry(
        "this export has no name, because an object has none of its own",
        'give it one: sg.export(..., name="my_kernel")',
        "A function is called what it is called; an object with a `@cute.jit` method `__call__` is not.",
    ),
    "CS212": Entry(
        "{kernel!r} cannot be the name of a kernel: {reason}",
        'choose an identifier that is valid in Python, C and C++: sg.export(..., name="..."), or '
        'sg.family("...", ...)',
        "The name becomes a Python function, a C++ function and part of a symbol, unchanged.",
    ),
    "CS213": Entry(
        "{kernel!r} is exported a second time; the first is at {first}",
        'give one of them another name: sg.export(..., name="..."), or sg.family("...", ...)',
        "All kernels of a package are functions of one library, so that a name is free once in all modules.",
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
        "A function that returns nothing leaves its combination out. It may do so for some architectures, "
        "but not for all that are built for.",
    ),
    "CS217": Entry(
        "{file} uses the compiler while it is imported: {reason}",
        "declare kernels without calling them: sg.export(add, a, b), not sg.export(add(a, b))",
        "A call of a `@cute.jit` function compiles and runs it at once, with real tensors. A "
        "declaration has the "
        "function and its arguments apart, and compiles later.",
    ),
    "CS218": Entry(
        "{kernel} has the name of a class that kernels of the same module take",
        'rename the class, or give the kernel another name: sg.export(..., name="...")',
        "The generated module defines both, and one would hide the other.",
    ),
    # What the DSL would answer with an internal error.
    "CS220": Entry(
        "{where} of {kernel} is an environment stream inside a {container}",
        "give the stream a parameter of its own, or let the caller pass it: sg.stream()",
        """\
The compiler finds environment streams among the parameters only.

    sg.export(f, (x, sg.env_stream()))    # wrong
    sg.export(f, (x,), sg.env_stream())   # right
    sg.export(f, (x, sg.stream()))        # right: the caller passes it""",
    ),
    "CS221": Entry(
        "{where} of {kernel} is an environment stream, but no argument is a GPU tensor",
        "let the caller pass the stream: sg.stream()",
        """\
The environment stream is the current stream of the device that the tensors lie on. A function that takes only
pointers, scalars or tensors in the host's memory has no such device.

    sg.export(f, sg.pointer(cutlass.Float32), sg.env_stream())   # wrong
    sg.export(f, sg.pointer(cutlass.Float32), sg.stream())       # right""",
    ),
    "CS222": Entry(
        "{where} of {kernel} is a stream, but annotated {annotation}",
        "annotate it CUstream alone; it may still have the default None",
        """\
The DSL does not recognise its own stand-in for a stream where an annotation offers several types.

    def f(x: cute.Tensor, stream: CUstream | None = None): ...   # wrong
    def f(x: cute.Tensor, stream: CUstream = None): ...          # right""",
    ),
    "CS223": Entry(
        "{kernel} launches a kernel on the stream None",
        "give a stream: {parameter}=sg.env_stream(), or {parameter}=sg.stream() to let the caller pass it",
        """\
`.launch(stream=None)` does not compile. Without `stream=` the default stream is taken.

    sg.export(f, x)                            # wrong, if f has stream=None
    sg.export(f, x, stream=sg.env_stream())    # right""",
    ),
    "CS224": Entry(
        "{where} of {kernel} is a {cls}, a NamedTuple with the Constexpr field {field}",
        "make {cls} a dataclass, or give {field} a Constexpr parameter of its own",
        """\
The DSL fixes the Constexpr fields of dataclasses, and fails over those of NamedTuples.

    class Config(NamedTuple):        # wrong
        x: cute.Tensor
        tile: cutlass.Constexpr[int]

    @dataclass(frozen=True)          # right
    class Config:
        x: cute.Tensor
        tile: cutlass.Constexpr[int]""",
    ),
    "CS225": Entry(
        "{where} of {kernel} is a dataclass, {cls}, inside the NamedTuple {outer}",
        "make {outer} a dataclass, or {cls} a NamedTuple",
        "A dataclass may hold NamedTuples and dataclasses; a NamedTuple may hold NamedTuples only, "
        "at any depth.",
    ),
    "CS226": Entry(
        "{where} of {kernel} is a {cls}, whose Constexpr field {field} is {value}",
        "give a Constexpr field None, a bool, an int of 64 bits or a float; other constants need a Constexpr "
        "parameter of their own",
        """\
The compiled function checks the constants of a dataclass when it is called, and knows how for these types
only.

    mode: cutlass.Constexpr[str] = "fast"        # wrong, in a dataclass

    @cute.jit
    def f(x: cute.Tensor, mode: cutlass.Constexpr[str]): ...   # right""",
    ),
    "CS227": Entry(
        "{where} of {kernel} {reason}",
        "{instead}",
        """\
A cute.Shape, Stride, Coord, Tile or IntTuple argument is a tuple of integers, fixed or passed at run time.

    sg.export(f, shape=(4, sg.dim("n")))     # wrong: sizes belong to tensors
    sg.export(f, shape=(4, cutlass.Int32))   # right

A nested one, and one inside a tuple, takes run-time integers only.""",
    ),
    "CS228": Entry(
        "{where} of {kernel} has {count} items, but its annotation is {annotation}",
        "annotate it tuple for any number of items, or with the type of each",
        """\
The DSL counts the types in the brackets, the dots of `Tuple[T, ...]` included.

    def f(xs: Tuple[cute.Tensor, ...]): ...   # wrong
    def f(xs: tuple): ...                     # right""",
    ),
    "CS229": Entry(
        "{where} of {kernel} is {value}, which no compiled function can be called with",
        "{instead}",
        """\
Tensors, pointers, numbers, streams and tuples of them are passed at run time. All else has to be known when
the
kernel is compiled.

    def f(x: cute.Tensor, mode: str = "fast"): ...                       # wrong
    def f(x: cute.Tensor, mode: cutlass.Constexpr[str] = "fast"): ...    # right""",
    ),
    "CS230": Entry(
        "{where} of {kernel} is {value}, but annotated {annotation}",
        "give the type {annotation} or a number of it, or change the annotation",
        """\
A scalar that the caller passes has one type, the annotated one.

    def f(x: cute.Tensor, n: cutlass.Int32): ...
    sg.export(f, x, cutlass.Int64)    # wrong
    sg.export(f, x, cutlass.Int32)    # right""",
    ),
    "CS231": Entry(
        "{where} of {kernel} is a {dtype}, which cannot be passed by value",
        "pass a wider type, such as cutlass.Int32 or cutlass.Float32, and convert it in the kernel",
        "Callers pass bool, integers of 8 to 64 bits, float16, bfloat16, float32 and float64. "
        "Narrower and wider "
        "types can be the elements of tensors.",
    ),
    "CS232": Entry(
        "{where} of {kernel} is a tensor of {dtype}, which tvm-ffi has no name for",
        "choose another element type, or pass the bytes as a tensor of cutlass.Uint8",
        "Frameworks exchange tensors by DLPack's types, which Int128, Float8E4M3 and "
        "Float8E4M3B11FNUZ are not.",
    ),
    "CS233": Entry(
        "{kernel} cannot be compiled: {what}",
        "{instead}",
        """\
What is exported is a `@cute.jit` function, a bound method, or an object whose `__call__` is one.

    sg.export(functools.partial(f, x), y)    # wrong
    sg.export(f, x, y)                       # right""",
    ),
    "CS234": Entry(
        "the first parameter of {kernel} is called {parameter}, but it is {what}",
        "call it {instead}",
        "The DSL takes a first parameter `self` for the object that a method belongs to, and any "
        "other for an "
        "argument.",
    ),
    "CS235": Entry(
        "{kernel} has a parameter called {parameter}, a name that tvm-ffi uses itself",
        "call it otherwise",
    ),
    "CS236": Entry(
        "{kernel} has *{parameter} after {before}, which has a default",
        "make {before} keyword-only, after *{parameter}, or take its default away",
        """\
The items of `*args` become parameters of their own, which have no defaults.

    def f(x, scale: cutlass.Float32 = 1.0, *more): ...   # wrong
    def f(x, *more, scale: cutlass.Float32 = 1.0): ...   # right""",
    ),
    "CS237": Entry(
        "{kernel} takes ({parameters}), and its family's {other} takes ({expected})",
        "give all variants of a family the same parameters; one that is absent is compiled with None",
        "A family is one function for its callers, whichever variant they get.",
    ),
    "CS238": Entry(
        "{kernel} and {other} accept the same call of {family}: {reason}",
        "narrow one of them, leave it out, or give it precedence: stubgen.kernel(..., priority=1)",
        """\
The variant for a call is found by its arguments. Where two accept the same, one has to be more specific, or
has to have the higher priority.

    x = sg.tensor(dtype, m, sg.dim("n", divisible_by=4))    # wrong together with the next: 12 fits both
    x = sg.tensor(dtype, m, sg.dim("n", divisible_by=6))
    x = sg.tensor(dtype, m, sg.dim("n", divisible_by=8))    # right together with the first: more specific""",
    ),
    "CS239": Entry(
        "{kernel} is another function when it is built for {arch} than for {other}: {found}, and {expected}",
        "declare the same arguments for all architectures, or give the two different names",
    ),
    # CS3xx: compilation.
    "CS301": Entry(
        "{kernel} does not compile: {reason}",
        "the full text is in {log}",
        "The compiler's own sentence, at the line of yours that it is about. If it says little, the "
        "log has the "
        "rest, with the compiler's suggestions.",
    ),
    "CS302": Entry(
        "{kernel} has {reason}, which this version of cute-stubgen does not know",
        "the full text is in {log}; look for a newer cute-stubgen",
    ),
    "CS303": Entry(
        "the process that worked on {what} {how}",
        "look at what the kernel does while it is built; for lack of memory, try fewer processes: --jobs 1",
        "It was tried twice, the second time with nothing beside it. Results of other kernels are kept. "
        "SIGSEGV and SIGABRT are crashes of the compiler, or of a library that the kernel module imports; "
        "SIGKILL usually comes from the system when memory runs out. A process takes up to 760 MB.",
    ),
    "CS304": Entry(
        "{kernel} is {found} in the linked library, but the compiler reported {expected}",
        "this is a defect of cute-stubgen or of the compiler; please report it",
    ),
    "CS305": Entry(
        "the process that worked on {what} {how}",
        "if it only needs longer, allow that: --timeout SECONDS, or timeout under [tool.cute-stubgen]",
        "The limit is for one kernel, or for importing one kernel module. Results of other kernels are kept.",
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
        'they run. Both come as static archives in Python packages. With runtime = "shared", they are linked '
        "with the DSL's runtime library instead.",
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
    "CS410": Entry(
        "{library} needs glibc {found}, and is to run with {limit}",
        'set toolchain = "zig", which builds for an old glibc on any machine, or glibc = "{found}"',
        "The machine's own compiler builds for the machine's own glibc, so that a floor below it can not "
        "always be kept.",
    ),
    "CS411": Entry(
        "the host code of {what} is for {host}, but uses {found}",
        "this is a defect of cute-stubgen or of the toolchain; please report it",
        "What was compiled is read back instruction by instruction: on a CPU without them the first call "
        "would end the process.",
    ),
    "CS412": Entry(
        "the wheel of {what} for {machine} cannot be had: {reason}",
        "check the network and pip's index; once fetched, it is kept",
        "Libraries for another machine are linked with that machine's runtimes, which come out of its "
        "wheels on PyPI, in the versions that are installed here.",
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
    "CS504": Entry(
        "{path} is no generated package: {reason}",
        "name the folder that cute-stubgen generated, or a package that is installed",
    ),
    "CS505": Entry(
        "{package} has no function {name!r}{hint}",
        "list its functions: cute-stubgen describe {package}",
    ),
    "CS506": Entry(
        "{path} {reason}",
        "install or generate the package again",
        "manifest.json holds the SHA-256 of every file that was generated.",
    ),
    "CS507": Entry(
        "{file} cannot be described: {reason}",
        "name a shared library that holds functions for tvm-ffi",
        "A library of this tool holds its whole description, unless that has been removed. Of others there "
        "are the signatures that compiled functions state in their error messages.",
    ),
    # CS6xx: warnings.
    "CS601": Entry(
        "{value} given for {parameter} of {kernel} is not compiled in: it stays a run-time parameter "
        "with the "
        "default {default}",
        "give its type to say so, or annotate it with cutlass.Constexpr to fix the value",
        """\
Like `cute.compile`, a declaration takes a number as an example of what the caller will pass.

    def add(a, b, offset: cutlass.Float32 = 1.0): ...
    sg.export(add, v, v, offset=2.5)               # warns
    sg.export(add, v, v)                           # right: the caller may pass it, 1.0 otherwise
    def add(a, b, offset: cutlass.Constexpr[float] = 1.0): ...
    sg.export(add, v, v, offset=2.5)               # right: it is 2.5 for ever""",
    ),
    "CS602": Entry(
        "{kernel} returns a value, which the compiled function drops",
        "write results into a tensor argument",
        """\
Compiled functions return nothing.

    def f(a: cute.Tensor): return a[0] + 1.0              # wrong
    def f(a: cute.Tensor, b: cute.Tensor): b[0] = a[0] + 1.0   # right""",
    ),
    "CS603": Entry(
        "{kernel} runs on the GPU but takes no GPU tensor as an argument of its own, so it runs on whichever "
        "device is current",
        "take one tensor outside of tuples, or have callers set the device where a machine has several GPUs",
        "A compiled function switches to the device that its tensors lie on, but looks at tensors "
        "inside tuples "
        "or behind pointers too late for that.",
    ),
    "CS604": Entry(
        "{kernel} of {file} is left out: {reason}",
        "call it through tvm_ffi.load_module, if you know what it takes",
        "A function whose signature cannot be found, or whose name Python, C or C++ keeps, gets no stub.",
    ),
    "CS605": Entry(
        "C and C++ programs that are linked with {file} look for {soname} when they run",
        "have that name in their search path too, or link the library anew with -Wl,-soname,{file}",
        "The name that the loader looks for lies in the library itself. Python loads it by its path.",
    ),
    "CS610": Entry(
        "the cache {url} is not used in this run: {reason}",
        "see whether the address is right, and whether this machine may {do} there",
        "The run does without it, and compiles what the folder of this machine does not have.",
    ),
    # CS9xx: the tool itself.
    "CS901": Entry(
        "cute-stubgen failed: {error}",
        "this is a defect of cute-stubgen; please report it with the full text in {log}",
    ),
}
"""Every code, in order."""


def explained(code: str) -> str:
    """Give all that there is to say about a code."""
    entry = CATALOGUE[code]
    parts = [f"{code}: {as_words(entry.message)}", f"What to do: {as_words(entry.remedy)}", entry.why]
    return "\n\n".join(filter(None, parts))


def as_markdown() -> str:
    """Give the whole catalogue as a document: ``docs/errors.md``."""
    sections = [
        "\n\n".join(
            filter(
                None,
                (
                    f"## {code}",
                    f"`{as_words(entry.message)}`",
                    f"**What to do:** {as_words(entry.remedy)}.",
                    entry.why,
                ),
            )
        )
        for code, entry in CATALOGUE.items()
    ]
    return "\n\n".join((_MARKDOWN_HEAD, *sections)) + "\n"


def as_words(template: str) -> str:
    """Show the placeholders of a text as words in capitals: ``KERNEL does not compile: REASON``.

    ``{hint}``, which is often empty and brings its own punctuation, is left out.
    """
    template = template.replace("{hint}", "")
    return re.sub(r"\{(\w+)(?:![rs])?\}", lambda match: match[1].upper(), template)


_MARKDOWN_HEAD = """\
# Error codes

<!-- Made from stubgen/catalogue.py: python -m stubgen explain --markdown > docs/errors.md -->

Each problem is one line: where it is, its code, what is wrong, and what to do. Words in capitals stand for
names and texts of yours. Codes from CS601 to CS699 are warnings, which leave the run successful."""

"""Compiling kernels and building the library: CS3xx and CS4xx."""

from __future__ import annotations

from stubgen.problems.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
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
    "CS310": Entry(
        "{module} is compiled by a DSL that others have changed: {changes}",
        "if what fails has to do with that, declare kernels that need one of them and kernels that need "
        "another in modules of their own",
        "Libraries replace parts of the DSL while they are imported. Kernel modules that change it "
        "differently never share a process, so this is the doing of the module, or of what it imports. What "
        "it changes in other modules, torch among them, is kept from other kernel modules too.",
    ),
    "CS311": Entry(
        "{where} of {kernel} is {value}, but annotated {annotation}",
        "give {helper}, or change the annotation",
        """\
Tensors and pointers are different arguments: a tensor brings its sizes along, a pointer is an address alone.

    def f(p: cute.Pointer): ...
    sg.export(f, sg.tensor(cutlass.Float32, 4))     # wrong
    sg.export(f, sg.pointer(cutlass.Float32))       # right""",
    ),
    "CS312": Entry(
        "{where} of {kernel} has {count}, but its annotation, {annotation}, has {expected}",
        "give {expected}, or change the annotation",
        "The types in the brackets are those of the items, one for each. `tuple` alone takes any number.",
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
        "{file} cannot be read as a shared library: {reason}",
        "name a shared library that is whole and that you may read; one that cute-stubgen generated can be "
        "generated again",
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
    "CS412": Entry(
        "the wheel of {what} for {machine} cannot be had: {reason}",
        "check the network and pip's index; once fetched, it is kept",
        "Libraries for another machine are linked with that machine's runtimes, which come out of its "
        "wheels on PyPI, in the versions that are installed here.",
    ),
    "CS413": Entry(
        "what was compiled of {what} is not in the cache any more",
        "run again; if it was not emptied meanwhile, look at the cache's disk",
        "It was there when the run began. Someone has emptied the cache since, or its disk fails.",
    ),
}

"""What is written and read, warnings, the tool itself: CS5xx to CS9xx."""

from __future__ import annotations

from stubgen.problems.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
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
        "list its functions: cute-stubgen describe {given}",
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
    "CS510": Entry(
        "{path} is no path of a file in {output}",
        "nothing was written; do not trust what these files were to be made of",
        "Every file that is generated lies in the output folder. One that does not was named by somebody who "
        "wants other files to be overwritten.",
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
    "CS606": Entry(
        "{kernel} is left out: it is for {min_arch} and later, and the package for {archs}",
        "build for a later architecture too, or lower its min_arch",
        "`min_arch` leaves a kernel out for the architectures that are older. Here that is all of them.",
    ),
    "CS607": Entry(
        "{distribution} {installed} is not between {oldest} and {newest}, which this tool was tested with",
        "if something is wrong, try the newest of these: pip install '{distribution}=={newest}'",
        "The tool touches private corners of the DSL, and looks for all of them before anything is compiled. "
        "What it cannot see is whether they still do the same.",
    ),
    "CS610": Entry(
        "the cache {url} is not used in this run: {reason}",
        "see whether the address is right, and whether this machine may {do} there",
        "The run does without it, and compiles what the folder of this machine does not have.",
    ),
    "CS611": Entry(
        "{module} prints while its kernels are built",
        "read it in {log}",
        "What kernel modules and the libraries that they import print, with `print` or from native code, is "
        "kept from the terminal. Nothing is printed again for kernels that come out of the cache.",
    ),
    "CS614": Entry(
        "{file} imports stubgen but exports nothing",
        "call stubgen.export or use stubgen.family in it, or move it out of the kernel folders",
        "Every module in the kernel folders that imports stubgen, itself or through others, is imported to "
        "see what it exports. Modules that others import as helpers are not named.",
    ),
    "CS615": Entry(
        "{kernel} is not built: {file}, which exports it, is no kernel module",
        "export it from a module in the kernel folders, or add that file to kernels",
        "An export belongs to the module whose import leads to it. A function that is called there may do "
        "the exporting, in whatever file it stands.",
    ),
    "CS618": Entry(
        "nothing is kept of this run in {folder}: {reason}",
        "set HOME, or XDG_CACHE_HOME, or cache in pyproject.toml, to a folder that can be written; "
        'cache = "off" says that nothing is to be kept',
        "The run is whole. The next one will compile again what this one has compiled.",
    ),
    "CS619": Entry(
        "the Dask worker {worker} was not used: {reason}",
        "make room on its disk, or stop it; the others have done its work",
    ),
    "CS620": Entry(
        "{entries} could not be put into the cache {url} in {seconds} s",
        "see whether the network is as fast as it should be; what is missing there is kept here",
    ),
    # CS9xx: the tool itself.
    "CS901": Entry(
        "cute-stubgen failed: {error}",
        "this is a defect of cute-stubgen; please report it with the full text in {log}",
    ),
}

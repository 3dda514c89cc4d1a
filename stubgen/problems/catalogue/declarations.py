"""Discovery and declarations: CS2xx."""

from __future__ import annotations

from stubgen.problems.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
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
        "{path} does not exist{remark}",
        "name a kernel module or a folder of them",
        "Paths in the configuration are relative to the project's folder, those on the command line to the "
        "folder that the command runs in.",
    ),
    "CS203": Entry("{file} cannot be parsed: {reason}", "correct the syntax error"),
    "CS204": Entry(
        "{module} raised {error} while it was imported{remark}",
        "correct that; the traceback is in {log}",
        "Kernel modules are imported to find what they declare, with the project's folder on `sys.path`, "
        "the architecture set, and the device profile in place of a GPU; `python FILE` alone has neither.",
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
        "kwargs, lib and runtime; torch and jax are for the modules of frameworks.",
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
        'give it one: sg.export(name="my_kernel")(...)',
        "A function is called what it is called; an object with a `@cute.jit` method `__call__` is not.",
    ),
    "CS212": Entry(
        "{kernel!r} cannot be the name of a kernel: {reason}",
        'choose an identifier that is valid in Python, C and C++: sg.export(name="...")(...), or '
        'sg.family("...", ...)',
        "The name becomes a Python function, a C++ function and part of a symbol, unchanged.",
    ),
    "CS213": Entry(
        "{kernel!r} is exported a second time; the first is at {first}",
        'give one of them another name: sg.export(name="...")(...), or sg.family("...", ...)',
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
        "the family {family} leaves out every combination{remark}",
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
        'rename the class, or give the kernel another name: sg.export(name="...")(...)',
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
        "{where} of {kernel} has {count}, but its annotation is {annotation}",
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
        "narrow one of them, leave it out, or give it precedence: stubgen.kernel(priority=1)(...)",
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
    # What declarations say of effects.
    "CS240": Entry(
        "{kernel} does not say which tensors it writes to, which its function for {framework} has to know",
        'declare it, as in mutates=("{example}",)',
        """\
Compiled code does not tell. A compiler that does not know would move calls, or leave them out.

    sg.export(mutates=("b",))(add_one, a=vector, b=vector)
    sg.export(returns=("b",))(add_one, a=vector, b=vector)   # written only: there is b = add_one(a) too""",
    ),
    "CS241": Entry(
        "{keyword} of {kernel} names {parameter!r}, which is {what}",
        "name parameters that are tensors: {tensors}",
        "Tensors inside of tuples and dataclasses have no names of their own.",
    ),
    "CS242": Entry(
        "the backward of {kernel} {reason}",
        "correct stubgen.backward(...); docs/frameworks.md shows what it maps",
        """\
The kernel that computes gradients takes inputs and outputs of the forward kernel by their names there, and
the gradients of its outputs as grads= says; what it returns are the gradients of inputs, as gives= says.

    sg.backward("softmax_backward", grads={"out": "grad"}, gives={"x": "grad_x"})""",
    ),
    "CS243": Entry(
        "{kernel} says something else of its effects than {other}, and both are variants of {family}",
        "give all variants of a family the same mutates, returns and backward",
        "A family is one function for its callers. A parameter that is None in some variants may be named.",
    ),
    "CS244": Entry(
        "{kernel} returns {output}, but {reason}",
        "let an input show it, or take {output} out of returns: callers then make it themselves",
        """\
What is returned is made before the kernel runs: row-major, with sizes and a dtype that inputs have.

    sg.export(returns=("out",))(f, x=sg.tensor(dtype, n), out=sg.tensor(dtype, m))   # wrong: what is m?
    sg.export(returns=("out",))(f, x=sg.tensor(dtype, n), out=sg.tensor(dtype, n))   # right""",
    ),
    # What the compiler takes, and callers could not rely on.
    "CS245": Entry(
        "{where} of {kernel} is a {cls}, {reason}",
        "{instead}",
        """\
The package defines NamedTuples and dataclasses anew, with their fields and defaults and nothing else. So an
object has to be its fields: callers do without what `__init__`, `__new__` or `__post_init__` would compute.

    @dataclass                       # wrong
    class Scale:
        value: cutlass.Float32
        inverse: cutlass.Float32 = field(init=False)

    @dataclass                       # right
    class Scale:
        value: cutlass.Float32""",
    ),
    "CS246": Entry(
        "{kernel} has options={options}: {reason}",
        "{instead}",
        "Options are text, as `cute.compile(..., options=...)` takes it. Architectures and the target of "
        "host code are chosen for the package as a whole.",
    ),
    "CS247": Entry(
        "{where} of {kernel} is annotated {cls}, a NamedTuple whose field {field} has no type",
        "write {cls} as a class that extends typing.NamedTuple, or leave the annotation out",
        """\
The DSL looks the types of fields up where an annotation names the class.

    Pair = collections.namedtuple("Pair", ["a", "b"])   # wrong, if a parameter is annotated Pair

    class Pair(NamedTuple):                             # right
        a: cute.Tensor
        b: cutlass.Float32""",
    ),
    "CS256": Entry(
        "the name of {path} is not UTF-8",
        "rename it, or the folder on its way whose name is not; if only the locale is not, set PYTHONUTF8=1",
        "Generated files, records of runs and messages name files, and all of these are UTF-8.",
    ),
    "CS257": Entry(
        "{module} ends Python with {call} while it is imported{remark}",
        'end it only where the file runs as a program, below `if __name__ == "__main__":`; '
        "the traceback is in {log}",
        "Kernel modules are imported to find what they declare. A library that ends Python where it finds no "
        "GPU can often be told one: see device profiles in docs/configuration.md.",
    ),
    "CS260": Entry(
        "nothing is left to build for {archs}: {kernels} {are} for later architectures",
        "build for a later one too: --arch {min_arch}; or lower min_arch in the declaration",
    ),
}

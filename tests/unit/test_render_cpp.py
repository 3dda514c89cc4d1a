"""C++ headers of libraries that no real kernels make: hostile names and texts, and every shape of argument.

What is rendered is also compiled. Kernels are stood in for by functions that print what they were given.
"""

from __future__ import annotations

import math
import re
import subprocess
from pathlib import Path

import pytest

from stubgen.model import names
from stubgen.model.library import (
    ConstantSlot,
    Default,
    Field,
    Frozen,
    Kernel,
    Library,
    Module,
    NoneSlot,
    Parameter,
    Place,
    PointerSlot,
    Record,
    ScalarSlot,
    ShapeSlot,
    Slot,
    StreamSlot,
    Symbol,
    TensorSlot,
    TupleSlot,
    Versions,
)
from stubgen.render import cpp_types
from stubgen.render.c.c_headers import shared_headers
from stubgen.render.cpp.cpp_headers import cpp_headers
from tests.cpp.compilers import GCC

VECTOR = TensorSlot("float32", (Symbol("n"),))
FLOAT = ScalarSlot("float32")
NONE = NoneSlot()
PLACE = Place("kernels/k.py", 1)

PRINTER = Path(__file__).with_name("print_arguments.hpp")


def kernel(name: str, /, doc: str = "", module: str = "k", **slots: Slot | tuple[Slot, object]) -> Kernel:
    """Make a kernel; a pair is a slot and its default."""
    parameters = tuple(
        Parameter(n, s[0], default=Default(s[1])) if isinstance(s, tuple) else Parameter(n, s)  # type: ignore[arg-type]
        for n, s in slots.items()
    )
    return Kernel(name, module, parameters, abi="", place=PLACE, doc=doc)


def module(*kernels: Kernel, name: str = "k", records: tuple[Record, ...] = (), doc: str = "") -> Module:
    return Module(name, "kernels/k.py", kernels, records=records, doc=doc)


def record(name: str, *fields: str | Field, doc: str = "") -> Record:
    return Record(name, "dataclass", tuple(Field(f) if isinstance(f, str) else f for f in fields), doc)


def written(folder: Path, *modules: Module) -> dict[str, str]:
    """Write the headers of a library called ``lib``, and give them by the names they are included by."""
    library = Library("lib", modules, Versions("", "", "", ""), {})
    root = "lib/include/"
    texts = {**shared_headers(library), **cpp_headers(library)}
    headers = {path.removeprefix(root): text for path, text in texts.items()}
    for path, text in headers.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return headers


def compiled(folder: Path, code: str = "") -> None:
    source = folder / "unit.cpp"
    source.write_text(f"#include <lib.hpp>\n{code}\n")
    GCC.compile(source, standard="c++17", include=folder)


def printed(folder: Path, calls: str, *symbols: str) -> list[str]:
    """Run calls, and give what the kernels of these symbols say that they got."""
    source = folder / "program.cpp"
    kernels = "\n".join(f"PRINTING_KERNEL(__tvm_ffi_lib__{symbol})" for symbol in symbols)
    source.write_text(f'#include <lib.hpp>\n#include "{PRINTER}"\n{kernels}\nint main() {{\n{calls}\n}}\n')
    GCC.build(folder / "program", [source], standard="c++17", include=folder)
    done = subprocess.run([folder / "program"], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.splitlines()


def signature(header: str, name: str) -> str:
    """Return the parameter list of a function, on one line."""
    found = re.search(rf"inline void {name}\((.*?)\) {{\n", header, re.DOTALL)
    assert found
    return " ".join(found[1].split())


def comments(header: str) -> list[str]:
    return [line.strip() for line in header.splitlines() if line.lstrip().startswith("///")]


class TestNames:
    def test_that_cpp_reserves_are_changed_and_stay_apart(self, tmp_path: Path) -> None:
        written_names = [
            *(
                "int",
                "new",
                "class",
                "class_",
                "class__",
                "template",
                "namespace",
                "delete",
                "operator",
                "this",
            ),
            *("long", "NULL", "EOF", "errno", "linux", "I", "BLOCK_SIZE", "E2BIG", "_Private", "__dunder"),
            *(
                "std",
                "tvm",
                "größe",
                "数",
                "_",
                "lib",
                "k",
                "TVMFFIAny",
                "nullptr",
                "assert",
                "time",
                "Number",
            ),
        ]
        headers = written(tmp_path, module(kernel("f", **dict.fromkeys(written_names, FLOAT))))
        compiled(tmp_path)
        header = headers["lib/k.hpp"]
        used = re.findall(r"Number<float> (\w+)", signature(header, "f"))
        assert len(set(used)) == len(written_names)
        assert used[:5] == ["int_", "new_", "class___", "class_", "class__"]
        assert "Called `new` in Python." in header
        assert "Called `std` in Python." not in header

    def test_of_macros_are_changed(self, tmp_path: Path) -> None:
        written(
            tmp_path, module(kernel("f", x=VECTOR, shape=ShapeSlot((2,)), pair=TupleSlot((VECTOR, NONE))))
        )
        source = tmp_path / "unit.cpp"
        source.write_text("#include <lib.hpp>\n#include <cmath>\n#include <complex.h>\n")
        for standard in ("c++17", "gnu++17"):
            defined = GCC.macros(source, standard=standard, include=tmp_path)
            # Macros with parameters change nothing where no parenthesis follows; nobody names a parameter
            # like an include guard.
            plain = {name for line in defined if (name := line.split()[1])[-1].isalnum()} - {"lib__self"}
            assert len(plain) > 500
            assert {name for name in plain if cpp_types.parameter_names([name]) == [name]} == set()

    def test_that_are_common_in_kernels_are_kept(self) -> None:
        common = [
            "M",
            "N",
            "K",
            "mA",
            "BM",
            "EPS",
            "Q",
            "K_cache",
            "x",
            "lens",
            "W",
            "WS",
            "eps",
            "_vararg_1",
        ]
        kept = [name for name in common if name != "EPS"]
        assert cpp_types.parameter_names(kept) == kept

    @pytest.mark.parametrize("name", ["std", "tvm", "class"])
    def test_of_packages_are_no_namespaces_of_others(self, name: str) -> None:
        assert names.package_name_error(name)

    def test_of_headers_do_not_shut_each_other_out(self, tmp_path: Path) -> None:
        modules = [
            module(kernel("one", module="a.b"), name="a.b"),
            module(kernel("two", module="a_b"), name="a_b"),
        ]
        written(tmp_path, *modules)
        compiled(tmp_path, "void use();\nvoid use() { lib::one(), lib::two(); }")


HOSTILE = (
    "ends with a backslash \\",
    "ends with a backslash and blanks \\   ",
    "trigraph ??/",
    "*/ int leaked = 1; /*",
    "quotes \" and '",
    "bidi \u202e and separators \u2028 \x0b \x0c \r and a NUL \0",
    "unicode ± 数",
    "{{ braces }} {% raw %}",
    "#include <nothing>",
)


def hostile_module(name: str, text: str) -> Module:
    """Make a module that has a text in every place that takes one."""
    doc = f"{text}\n\nParameters\n----------\npair\n    {text}\nabsent\n    {text}\n\nNotes\n-----\n{text}"
    pair = TupleSlot((VECTOR, FLOAT), f"Pair_{name}")
    first = Kernel(
        name,
        name,
        (Parameter("pair", pair), Parameter("absent", NONE)),
        abi="",
        place=PLACE,
        doc=doc,
        frozen=(Frozen("constant", text),),
    )
    pair_doc = f"{text}\n\nAttributes\n----------\nleft\n    {text}"
    records = (record(f"Pair_{name}", "left", "right", doc=pair_doc),)
    return module(first, kernel(f"{name}_last"), name=name, records=records, doc=text)


class TestComments:
    def test_cannot_be_left(self, tmp_path: Path) -> None:
        modules = [hostile_module(f"m{number}", text) for number, text in enumerate(HOSTILE)]
        written(tmp_path, *modules)
        calls = "".join(f"lib::{m.name}({{tvm::ffi::Tensor(), 1}}); lib::{m.name}_last();\n" for m in modules)
        compiled(tmp_path, f"int leaked();\nvoid use();\nvoid use() {{\n{calls}}}")

    def test_tell_each_parameter_what_its_author_and_the_compiler_say(self, tmp_path: Path) -> None:
        doc = """Do it.

        Parameters
        ----------
        x, y : whatever
            Inputs, such as
            :func:`f` makes.
        bias
            Not passed.
        stranger
            No parameter.

        Notes
        -----
        A note.
        """.replace("\n        ", "\n")
        f = kernel("f", doc, x=VECTOR, bias=NONE, y=FLOAT, pair=TupleSlot((FLOAT, TupleSlot((NONE, FLOAT)))))
        header = written(tmp_path, module(f))["lib/k.hpp"]
        start = comments(header).index("/// Do it.")
        assert comments(header)[start:] == [
            "/// Do it.",
            "///",
            "/// stranger",
            "///     No parameter.",
            "///",
            "/// @par Notes",
            "/// A note.",
            "///",
            "/// @param x    float32, shape (n,), CUDA. Inputs, such as `f` makes.",
            "/// @param y    float32. Inputs, such as `f` makes.",
            "/// @param pair (float32; (float32)).",
            "///",
            "/// Compiled with bias=None, pair[1][0]=None.",
        ]


class TestDefaults:
    def test_are_exact_and_trailing(self, tmp_path: Path) -> None:
        low, high = -(2**63), 2**63 - 1
        f = kernel(
            "f",
            early=(FLOAT, 1.0),
            needed=VECTOR,
            tenth=(FLOAT, 0.1),
            whole=(FLOAT, 3),
            wide=(ScalarSlot("float64"), 0.1),
            half=(ScalarSlot("float16"), 0.5),
            tiny=(FLOAT, 1e-45),
            huge=(FLOAT, 1e39),
            minus=(ScalarSlot("float64"), -math.inf),
            nan=(FLOAT, math.nan),
            absent=(NONE, None),
            flag=(ScalarSlot("bool"), True),
            low=(ScalarSlot("int64"), low),
            high=(ScalarSlot("uint64"), high),
            least=(ScalarSlot("int32"), -(2**31)),
            truth=(ScalarSlot("int8"), True),
            shape=(ShapeSlot((4, 8)), (4, 8)),
            stream=(StreamSlot(), None),
            pointer=(PointerSlot(), None),
        )
        header = written(tmp_path, module(f))["lib/k.hpp"]
        parameters = dict(re.findall(r"(\w+)(?: = ([^,{]+|\{.*?\}))?(?:,|$)", signature(header, "f")))
        assert parameters["early"] == parameters["needed"] == ""
        assert parameters["tenth"] == "0.1f"
        assert parameters["whole"] == "3.0f"
        assert parameters["shape"] == "{4, 8}"
        assert parameters["stream"] == parameters["pointer"] == "nullptr"
        assert "absent" not in parameters
        assert "#include <limits>" in header
        [line] = printed(tmp_path, "DLTensor x{}; lib::f(1.0f, &x);", "f")
        assert line.split() == [
            *("1.0", "view", "0.100000001490116", "3.0", "0.1", "0.5", "1.40129846432482e-45", "inf", "-inf"),
            *("nan", "None", "True", str(low), str(high), str(-(2**31)), "1", "[4,8]", "null", "null"),
        ]


class TestTuples:
    def test_of_one_package_may_share_the_names_of_their_records(self, tmp_path: Path) -> None:
        args = record("Args", "x", "scale", "shift")
        full = TupleSlot((VECTOR, FLOAT, VECTOR), "Args")
        bare = TupleSlot((VECTOR, FLOAT, NONE), "Args")
        first = module(kernel("one", a=full), kernel("two", a=bare), kernel("three", a=bare), records=(args,))
        second = module(
            kernel("four", module="m", a=bare),
            kernel("Other", module="m", a=TupleSlot((FLOAT,), "Other")),
            name="m",
            records=(args, record("Other", "x")),
        )
        headers = written(tmp_path, first, second)
        assert signature(headers["lib/k.hpp"], "one") == "const Args& a"
        assert signature(headers["lib/k.hpp"], "two") == "const Args_two& a"
        assert signature(headers["lib/k.hpp"], "three") == "const Args_two& a"
        assert signature(headers["lib/m.hpp"], "four") == "const Args_four& a"
        assert signature(headers["lib/m.hpp"], "Other") == "const Other_Other& a"
        compiled(tmp_path)

    def test_reach_the_kernel_with_everything_that_is_hidden(self, tmp_path: Path) -> None:
        big = ScalarSlot("uint64")
        inner = TupleSlot((FLOAT, ConstantSlot(7), NONE), "Inner")
        outer = TupleSlot(
            (ConstantSlot(False), inner, TupleSlot((NONE, big)), big, ConstantSlot(-(2**63))), "Outer"
        )
        plain = TupleSlot((NONE, FLOAT, inner, TupleSlot(()), ConstantSlot(math.inf)))
        constants = TupleSlot((ConstantSlot(1), TupleSlot((NONE,))), "Constants")
        records = (
            record("Inner", Field("class", Default(0.5)), "seven", "none"),
            record("Outer", "no", "inner", "pair", "big", "low"),
            record("Constants", "one", "nothing"),
        )
        f = kernel("f", x=VECTOR, gone=constants, outer=outer, plain=plain, empty=TupleSlot(()))
        header = written(tmp_path, module(f, records=records))["lib/k.hpp"]
        assert signature(header, "f") == (
            "const tvm::ffi::TensorView& x, const Outer& outer,"
            " const tvm::ffi::Tuple<float, tvm::ffi::Tuple<float>>& plain"
        )
        calls = """
          using tvm::ffi::Tuple;
          DLTensor x{};
          lib::Outer outer;
          outer.inner.class_ = 2.5f;
          outer.pair = Tuple<std::uint64_t>(std::uint64_t{5});
          outer.big = 18446744073709551615u;
          lib::f(&x, outer, Tuple<float, Tuple<float>>(3.5f, Tuple<float>(4.5f)));
          lib::f(&x, {{}, outer.pair, 1}, Tuple<float, Tuple<float>>());
        """
        assert printed(tmp_path, calls, "f") == [
            f"view (1,(None)) (False,(2.5,7,None),(None,5),-1,{-(2**63)}) (None,3.5,(4.5,7,None),(),inf) ()",
            f"view (1,(None)) (False,(0.5,7,None),(None,5),1,{-(2**63)}) (None,0.0,(0.0,7,None),(),inf) ()",
        ]


def test_long_lines_are_broken(tmp_path: Path) -> None:
    many = TupleSlot((VECTOR,) * 40)
    f = kernel("f" * 30, **{f"parameter_{i}": many for i in range(3)}, last=TupleSlot((*many.items, NONE)))
    headers = written(tmp_path, module(f, kernel("g")))
    assert max(map(len, headers["lib/k.hpp"].splitlines())) <= 100
    compiled(tmp_path)

"""Discovery: what is found in the text of kernel modules, on real files."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stubgen.problems.problem import StubgenError
from stubgen.sources import installed
from stubgen.sources.imports import ImportGraph, import_name, source_closure
from stubgen.sources.modules import (
    ModuleListing,
    kernel_modules,
    list_functions,
    name_problems,
    require_kernels,
)
from stubgen.sources.parsed import ParsedFiles

JIT = """
    import cutlass.cute as cute

    @cute.jit
    def add(a): ...
"""

DECLARING = """
    import stubgen as sg
    from cutlass import cute

    @cute.jit
    def add(a): ...

    sg.export(add)
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(textwrap.dedent(text).encode())
    return folder


def modules_of(folder: Path, files: dict[str, str]) -> dict[str, ModuleListing]:
    write(folder, files)
    return {module.name: module for module in list_functions([folder], folder)}


def the_module(folder: Path, text: str) -> ModuleListing:
    return modules_of(folder, {"m.py": text})["m"]


def exported(module: ModuleListing) -> dict[str, tuple[str, ...]]:
    return {function.qualname: function.exported_as for function in module.functions}


def codes(folder: Path, *paths: Path) -> list[tuple[str, str | None]]:
    """Find modules, and give codes and places of the problems."""
    with pytest.raises(StubgenError) as caught:
        list_functions(paths or [folder], folder)
    return [(p.code, str(p.place) if p.place else None) for p in caught.value.problems]


# ---------------------------------------------------------------------------------------------------------
# Which files


def test_public_names_follow_the_folders_and_come_sorted(tmp_path: Path) -> None:
    found = modules_of(tmp_path, {"b.py": JIT, "a/z.py": JIT, "a/b/c.py": JIT, "a/__init__.py": JIT})
    assert list(found) == ["a", "a.b.c", "a.z", "b"]
    assert found["a.b.c"].file == "a/b/c.py"
    assert found["a.b.c"].path == tmp_path / "a/b/c.py"


def test_foreign_folders_and_hidden_files_are_left_out(tmp_path: Path) -> None:
    found = modules_of(
        tmp_path,
        {
            "env/pyvenv.cfg": "",
            "env/lib/m.py": JIT,
            ".git/m.py": JIT,
            "__pycache__/m.py": JIT,
            ".#k.py": JIT,
            "notes.txt": JIT,
            "k.py": JIT,
        },
    )
    assert list(found) == ["k"]


def test_a_file_given_by_itself_is_named_by_its_stem_and_counts_once(tmp_path: Path) -> None:
    write(tmp_path, {"kernels/deep/k.py": JIT})
    file, folder = tmp_path / "kernels/deep/k.py", tmp_path / "kernels"
    assert [m.name for m in list_functions([file, folder], tmp_path)] == ["k"]
    assert [m.name for m in list_functions([folder, file], tmp_path)] == ["deep.k"]


def test_places_outside_the_project_are_absolute_and_dots_are_resolved(tmp_path: Path) -> None:
    write(tmp_path, {"kernels/k.py": JIT, "project/x.py": ""})
    (module,) = list_functions([tmp_path / "project/../kernels"], tmp_path / "project")
    assert module.file == (tmp_path / "kernels/k.py").as_posix()
    assert module.path == tmp_path / "kernels/k.py"


def test_relative_paths_are_taken_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"kernels/k.py": JIT})
    monkeypatch.chdir(tmp_path)
    (module,) = list_functions([Path("kernels")], Path())
    assert (module.file, module.path) == ("kernels/k.py", tmp_path / "kernels/k.py")


def test_a_folder_that_links_to_itself_does_not_hang_the_search(tmp_path: Path) -> None:
    write(tmp_path, {"k.py": JIT})
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [m.name for m in list_functions([tmp_path], tmp_path)] == ["k"]


def test_files_that_cannot_matter_are_not_parsed(tmp_path: Path) -> None:
    assert modules_of(tmp_path, {"python2.py": "print 'hello'", "k.py": JIT}).keys() == {"k"}


def test_modules_that_only_use_the_dsl_are_not_returned(tmp_path: Path) -> None:
    text = "from cutlass.cute import *\nimport cutlass.cute as cute\n@cute.kernel\ndef jit(): ...\n"
    assert not modules_of(tmp_path, {"helper.py": text})


# ---------------------------------------------------------------------------------------------------------
# @cute.jit functions


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("import cutlass.cute as cute", "@cute.jit"),
        ("from cutlass import cute as c", "@c.jit"),
        ("from cutlass.cute import jit as j", "@j"),
        ("import cutlass.cute", "@cutlass.cute.jit"),
        ("import cutlass as cl", "@cl.cute.jit"),
        ("import cutlass, cutlass.cute, cutlass.utils", "@cutlass.cute.jit"),
        ("import cutlass.cute as cute", "@cute.jit(preprocess=True)"),
        ("import cutlass.cute as cute", "@cute . \\\n  jit"),
        ("import cutlass.cute as cute", "@(cute.jit)"),
        ("import cutlass.cute as cute\njit = cute.jit", "@jit"),
        ("import cutlass.cute as cute\njit: object = cute.jit", "@jit"),
        ("import cutlass\nc = cutlass.cute\njit = also = c.jit", "@also()"),
        ("try:\n  from cutlass import cute as c\nexcept ImportError:\n  c = None", "@c.jit"),
        ("import functools\nimport cutlass.cute as cute", "@functools.cache\n@cute.jit\n@print"),
        ("from cutlass.cutlass_dsl import CuTeDSL", "@CuTeDSL.jit"),
    ],
)
def test_every_spelling_of_the_decorator_counts(tmp_path: Path, imports: str, decorator: str) -> None:
    text = f"{imports}\n{decorator}\ndef f(): ...\n"
    (function,) = the_module(tmp_path, text).functions
    assert (function.qualname, function.line) == ("f", text.count("\n"))


@pytest.mark.parametrize(
    "text",
    [
        "import numba as cute  # not cutlass\n@cute.jit\ndef f(): ...",
        "from cutlass.cute import *\n@jit\ndef f(): ...",
        "import cutlass.cute as cute\n@cute.jit.other\ndef f(): ...",
        "import cutlass.cute as cute\ndef g(cute):\n  @cute.jit\n  def f(): ...",
        "import cutlass.cute as cute\n@'cute.jit'.upper\n@cute['jit']\ndef f(): ...",
        "'''import cutlass.cute as cute\n@cute.jit\ndef f(): ...'''",
    ],
)
def test_what_only_looks_like_the_decorator_does_not_count(tmp_path: Path, text: str) -> None:
    assert not modules_of(tmp_path, {"m.py": text})


def test_names_and_lines_are_pythons_own_wherever_a_function_stands(tmp_path: Path) -> None:
    text = """
        import cutlass.cute as cute

        class Größe:
            class Inner:
                @cute.jit
                @staticmethod
                async def run(self): ...

            @cute.jit
            def __call__(self):
                @cute.jit
                def helper(): ...

        if cute:
            @cute.jit
            def f(): ...
        else:
            @cute.jit

            # A comment in between.
            def f(): ...

        def make():
            global made
            @cute.jit
            def made(): ...
            class Local:
                @cute.jit
                def m(self): ...
    """
    functions = the_module(tmp_path, text).functions
    assert [(f.qualname, f.line) for f in functions] == [
        ("Größe.Inner.run", 8),
        ("Größe.__call__", 11),
        ("Größe.__call__.<locals>.helper", 13),
        ("f", 17),
        ("f", 22),
        ("made", 27),
        ("make.<locals>.Local.m", 30),
    ]


def test_docstrings_come_without_indentation(tmp_path: Path) -> None:
    module = the_module(
        tmp_path,
        '''
        """About the module.

        For example:
            Indented.
        """
        from cutlass import cute
        @cute.jit
        def f():
            r"""Adds \\d.

            More.
            """
        @cute.jit
        def g(): b"no text"
        ''',
    )
    assert ParsedFiles().parsed(module.path).doc == "About the module.\n\nFor example:\n    Indented."
    assert [f.doc for f in module.functions] == ["Adds \\d.\n\nMore.", ""]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_do_not_move_lines(tmp_path: Path, newline: str, mark: str) -> None:
    lines = ["'''Doc", "", "more'''", "x = '''\x0c\u2028\x85'''", "\x0c", "from cutlass import cute"]
    lines += ["@cute.jit", "def f():", "  '''One", "", "  two'''"]
    (tmp_path / "m.py").write_bytes((mark + newline.join(lines)).encode())
    (module,) = list_functions([tmp_path], tmp_path)
    assert ParsedFiles().parsed(module.path).doc == "Doc\n\nmore"
    assert [(f.line, f.doc) for f in module.functions] == [(8, "One\n\ntwo")]


def test_lines_agree_with_pythons_parser_on_this_repositorys_kernels() -> None:
    repository = Path(__file__).parents[2]
    modules = list_functions([repository / "kernels"], repository)
    assert modules
    for module in modules:
        tree = ast.parse(module.path.read_text(encoding="utf-8"))
        defined = {
            (node.name, node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and any("jit" in ast.dump(d) for d in node.decorator_list)
        }
        assert {(f.qualname.rpartition(".")[2], f.line) for f in module.functions} == defined


def test_invalid_escapes_in_a_scanned_file_do_not_warn(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    the_module(tmp_path, '"""a \\d"""\n' + textwrap.dedent(JIT) + 'x = "\\d"\n')
    assert not recwarn.list


# ---------------------------------------------------------------------------------------------------------
# Declarations


@pytest.mark.parametrize(
    "text",
    [
        "import stubgen\nstubgen.export(f)",
        "from stubgen import *\nexport(f)",
        "import stubgen.declare.declarations as d\n[d.export(f) for f in ()]",
        "if 1:\n  def g():\n    import stubgen as s",
        "from helper import publish\npublish(f)",
        "from near import publish",
        "import package.inner",
        "from package import inner",
    ],
)
def test_whatever_leads_to_the_tool_is_a_kernel_module(tmp_path: Path, text: str) -> None:
    files = {
        "kernels/m.py": text,
        "kernels/near.py": "from helper import publish\n",
        "kernels/apart.py": "import os, json, cutlass\n",
        "helper.py": "import stubgen as sg\ndef publish(f): sg.export(f)\n",
        "package/__init__.py": "",
        "package/inner.py": "import helper\n",
    }
    write(tmp_path, files)
    found = [module.name for module in kernel_modules([tmp_path / "kernels"], tmp_path)]
    assert found == ["m", "near"]


@pytest.mark.parametrize("text", ["# stubgen.export\n", "import stubgens\n", "from .stubgen import export\n"])
def test_what_only_looks_like_the_tool_leads_to_no_kernels(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"m.py": text})
    assert not kernel_modules([tmp_path], tmp_path)


@pytest.mark.parametrize("required", [["numpy", "cute-stubgen>=0.1"], ["numpy"]])
def test_a_library_leads_to_the_tool_if_it_requires_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, required: list[str]
) -> None:
    site = tmp_path / "site"
    write(site, {"publishing/__init__.py": "", "publishing-1.0.dist-info/top_level.txt": "publishing\n"})
    head = "Metadata-Version: 2.1\nName: publishing\nVersion: 1.0\n"
    metadata = head + "".join(f"Requires-Dist: {name}\n" for name in required)
    write(site, {"publishing-1.0.dist-info/METADATA": metadata})
    monkeypatch.syspath_prepend(site)
    installed.forget()
    write(tmp_path, {"kernels/m.py": "from publishing import publish\n"})
    found = kernel_modules([tmp_path / "kernels"], tmp_path)
    installed.forget()
    assert bool(found) == (len(required) > 1)


def test_a_package_that_nothing_has_installed_leads_to_the_tool_if_it_imports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"elsewhere/on_the_path.py": "import stubgen\n", "elsewhere/off_it.py": "import json\n"})
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    installed.forget()
    write(tmp_path, {"kernels/m.py": "import on_the_path\n", "kernels/n.py": "import off_it\n"})
    assert [module.name for module in kernel_modules([tmp_path / "kernels"], tmp_path)] == ["m"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("import stubgen\ndef", "CS203"),
        ("from helper import publish\npublish(f, v", "CS203"),
        ("import json\nprint 'hello'", None),
    ],
)
def test_a_module_with_a_syntax_error_counts_if_it_seems_to_lead_to_the_tool(
    tmp_path: Path, text: str, code: str | None
) -> None:
    write(tmp_path, {"kernels/m.py": text, "helper.py": "import stubgen\n"})
    if code is None:
        assert not kernel_modules([tmp_path / "kernels"], tmp_path)
    else:
        with pytest.raises(StubgenError, match=code):
            kernel_modules([tmp_path / "kernels"], tmp_path)


def test_exported_functions_methods_and_objects_have_their_public_names(tmp_path: Path) -> None:
    module = the_module(
        tmp_path,
        """
        import stubgen as sg
        from cutlass import cute

        @cute.jit
        def plain(a): ...
        @cute.jit
        def twice(a): ...
        @cute.jit
        def never(a): ...

        class K:
            @cute.jit
            def __call__(self, a): ...
            @cute.jit
            def run(self, a): ...
            class Inner:
                @cute.jit
                def __call__(self, a): ...

        obj: K = K(1)
        alias = obj
        sg.export(plain, 1, other=never)
        sg.export(name="one")(twice)
        sg.export(name="t" "wo")(twice)
        sg.export(name="one")(twice)
        for bits in (16, 32):
            sg.export(name=f"twice_{bits}")(twice)
        sg.export(name="k")(alias)
        sg.export(K(2).run)
        sg.export(name="run_obj")(obj.run)
        sg.export(name="inner")(K.Inner())
        sg.export(*[never])
        sg.export()
        sg.export(lambda: never)
        """,
    )
    assert exported(module) == {
        "plain": ("plain",),
        "twice": ("one", "two", 'f"twice_{bits}"'),
        "never": (),
        "K.__call__": ("k",),
        "K.run": ("run", "run_obj"),
        "K.Inner.__call__": ("inner",),
    }


def test_members_of_families_are_named_by_the_family(tmp_path: Path) -> None:
    module = the_module(
        tmp_path,
        """
        import stubgen as sg
        from stubgen import family as fam, kernel
        from cutlass import cute

        class K:
            @cute.jit
            def __call__(self, a): ...
            @cute.jit
            def run(self, a): ...
        @cute.jit
        def f(a): ...
        @cute.jit
        def loose(a): ...

        @sg.family(dtype=[1])
        def norms(dtype):
            if dtype:
                return sg.kernel(K(dtype))
            k = K(0)
            return sg.kernel(k.run)

        @fam("sums", name=[1, 2])
        def build(name):
            def inner():
                return kernel(f)
            return inner()

        def helper():
            return sg.kernel(loose)
        """,
    )
    assert exported(module) == {
        "K.__call__": ("family norms",),
        "K.run": ("family norms",),
        "f": ("family sums",),
        "loose": (),
    }


KERNELS = """
    from cutlass import cute
    class Norm:
        @cute.jit
        def __call__(self, a): ...
    @cute.jit
    def add(a): ...
    default = Norm()
"""


@pytest.mark.parametrize(
    ("file", "imports", "prefix"),
    [
        ("declared.py", "import ops.norm as n", "n."),
        ("declared.py", "import ops.norm", "ops.norm."),
        ("declared.py", "from ops import norm", "norm."),
        ("declared.py", "from ops.norm import add, Norm, default", ""),
        ("declared.py", "from ops import add, Norm, default", ""),
        ("ops/declared.py", "from .norm import add, Norm, default", ""),
        ("ops/declared.py", "from . import norm", "norm."),
        ("ops/declared.py", "from . import add, Norm, default", ""),
        ("ops/sub/declared.py", "from .. import norm as n", "n."),
        ("ops/sub/declared.py", "from ..norm import *\nfrom ..norm import add, Norm, default", ""),
    ],
)
def test_declarations_in_another_file_mark_the_functions_there(
    tmp_path: Path, file: str, imports: str, prefix: str
) -> None:
    declarations = (
        f"import stubgen as sg\n{imports}\nsg.export({prefix}add)\n"
        f"sg.export(name='norm')({prefix}Norm())\nsg.export(name='default')({prefix}default)\n"
    )
    package = "from .norm import add, Norm, default  # a cutlass jit"
    found = modules_of(
        tmp_path,
        {
            "ops/norm.py": KERNELS,
            "ops/__init__.py": package,
            "ops/sub/__init__.py": "",
            file: declarations,
        },
    )
    assert exported(found["ops.norm"]) == {"add": ("add",), "Norm.__call__": ("norm", "default")}
    assert [module.name for module in kernel_modules([tmp_path], tmp_path)] == [
        file.removesuffix(".py").replace("/", ".")
    ]


def test_a_decorator_from_another_file_is_followed(tmp_path: Path) -> None:
    found = modules_of(
        tmp_path,
        {
            "common.py": "from cutlass import cute\njit = cute.jit\n",
            "m.py": "from common import jit  # for cutlass\n@jit\ndef f(): ...\n",
        },
    )
    assert [f.qualname for f in found["m"].functions] == ["f"]
    assert found.keys() == {"m"}


@pytest.mark.parametrize(
    "text",
    [
        "x = x.next\nx = x()\nsg.export(x)",
        "x = y\ny = x\nsg.export(x.run)",
        "\n".join(f"x{i + 1} = x{i}.a\nx{i + 1} = x{i}.b" for i in range(60)) + "\nsg.export(x60)",
        "\n".join(f"x{i + 1} = x{i}" for i in range(300)) + "\nsg.export(x300)",
        "from m import x\nfrom . import m\nsg.export(x)\nsg.export(m.m.m.x)",
    ],
)
def test_names_that_lead_in_circles_end_somewhere(tmp_path: Path, text: str) -> None:
    found = the_module(tmp_path, f"import stubgen as sg\n{text}\n" + textwrap.dedent(JIT))
    assert [function.qualname for function in found.functions] == ["add"]


def test_a_project_that_contains_stubgen_itself_is_read_like_any_other(tmp_path: Path) -> None:
    found = modules_of(
        tmp_path,
        {"stubgen/__init__.py": "from .declare import export\n", "k.py": DECLARING},
    )
    assert exported(found["k"]) == {"add": ("add",)}


# ---------------------------------------------------------------------------------------------------------
# Problems


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": JIT + "\n    def (:\n",
        },
    )
    (tmp_path / "latin.py").write_bytes(b"import stubgen  # gr\xfc\xdfe\n")
    assert codes(tmp_path, tmp_path / "missing", tmp_path) == [
        ("CS202", None),
        ("CS205", None),
        ("CS203", "a.py:7"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import stubgen\nx = (\n", 2),
        ("import stubgen\nif x:\n\ty\n        z\n", 4),
        ("import stubgen\n\x00", 1),
        ("import stubgen\nx = " + "(" * 5000 + ")" * 5000, 2),
        ("x = " + "-" * 100_000 + "1\nimport stubgen\n", 1),
        ("import stubgen\n\nx = " + "-" * 800 + "1", 3),
        ("x = a" + ".b" * 20_000 + "\nimport stubgen\n", 1),
        ("import stubgen\n\nx = a" + ".b" * 300, 3),
        ("import stubgen\nif x: pass\n" + "elif y: pass\n" * 500, 100),
        ("import stubgen\nx = " + "'a' " * 5000, 2),
    ],
)
def test_what_cannot_be_parsed_is_reported_with_its_line_and_never_crashes(
    tmp_path: Path, text: str, line: int
) -> None:
    write(tmp_path, {"m.py": ""})
    (tmp_path / "m.py").write_bytes(text.encode())
    assert codes(tmp_path) == [("CS203", f"m.py:{line}")]


@pytest.mark.parametrize(
    "expression", ["-" * 90 + "1", "+".join(["1"] * 90), "[" * 45 + "]" * 45, "a" + "()" * 90]
)
def test_what_is_nested_deeply_but_still_by_people_is_read(tmp_path: Path, expression: str) -> None:
    text = f"import stubgen\nx = {expression}\ny: {expression} = 1\nstubgen.export\n"
    assert the_module(tmp_path, text + textwrap.dedent(JIT)).functions
    (module,) = kernel_modules([tmp_path], tmp_path)
    assert len(ParsedFiles().outline(module.path).statements) == 6


def test_a_huge_file_is_read(tmp_path: Path) -> None:
    table = "table = [\n" + "    0x12345678,\n" * 5_000 + "]\n"
    (function,) = the_module(tmp_path, table + textwrap.dedent(JIT)).functions
    assert function.line == 5_000 + 2 + 5


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    assert codes(tmp_path) == [("CS205", None)]


def test_a_closed_folder_is_reported_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"closed/k.py": DECLARING})
    import os

    scandir = os.scandir

    def refusing(path: str) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert codes(tmp_path) == [("CS205", None)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a/k.py": DECLARING, "b/k.py": DECLARING}, ["CS206"]),
        ({"a/k.py": DECLARING, "b/k.py": JIT}, []),
        ({"a/k.py": DECLARING, "a/k/__init__.py": DECLARING}, ["CS206"]),
        ({"a/k.py": DECLARING, "a/k/x.py": DECLARING}, ["CS206"]),
        ({"a/k.py": DECLARING, "a/kx/x.py": DECLARING}, []),
        ({"a/my-kernel.py": JIT}, []),
        ({"a/my-folder/k.py": DECLARING}, ["CS207"]),
        ({"a/class.py": DECLARING}, ["CS207"]),
        ({"a/match.py": DECLARING}, []),
        ({"a/größe.py": DECLARING}, []),
        ({"a/kwargs.py": DECLARING}, ["CS208"]),
        ({"a/kwargs.py": JIT}, []),
        ({"a/kwargs/k.py": DECLARING}, ["CS208"]),
        ({"a/sub/config.py": DECLARING}, []),
        ({"a/_private.py": DECLARING}, ["CS208"]),
        ({"a/__init__.py": DECLARING}, ["CS208"]),
    ],
)
def test_names_that_the_generated_package_has_no_room_for_are_refused(
    tmp_path: Path, files: dict[str, str], expected: list[str]
) -> None:
    write(tmp_path, files)
    folders = [path for path in (tmp_path / "a", tmp_path / "b") if path.exists()]
    found = name_problems(kernel_modules(folders, tmp_path))
    assert [problem.code for problem in found] == expected


def test_no_kernel_modules_are_an_error_only_for_those_who_need_some(tmp_path: Path) -> None:
    write(tmp_path, {"k.py": JIT})
    modules = kernel_modules([tmp_path], tmp_path)
    with pytest.raises(StubgenError, match="CS201: no kernels found in somewhere"):
        require_kernels(modules, "somewhere")
    write(tmp_path, {"declared.py": DECLARING})
    modules = kernel_modules([tmp_path], tmp_path)
    assert [m.name for m in require_kernels(modules, "somewhere")] == ["declared"]


# ---------------------------------------------------------------------------------------------------------
# Imports


def closure(folder: Path, start: str, *roots: str) -> list[str]:
    files = source_closure(folder / start, [folder / root for root in roots or ("",)])
    return [path.relative_to(folder).as_posix() for path in files]


def test_the_closure_follows_every_kind_of_import(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "m.py": """
                import plain, pkg.sub.deep as d
                from pkg import module, name
                from namespace.inner import thing
                from typing import TYPE_CHECKING
                if TYPE_CHECKING:
                    import checked
                try:
                    import tried
                except ImportError:
                    pass
                def late():
                    async def later():
                        import in_function
            """,
            "plain.py": "import m  # a circle",
            "pkg/__init__.py": "from . import initial",
            "pkg/initial.py": "from .sub import *\nfrom ...beyond import x\n",
            "pkg/module.py": "",
            "pkg/other.py": "",
            "pkg/sub/__init__.py": "",
            "pkg/sub/deep.py": "from .. import up\nfrom ..side.by import side",
            "pkg/up.py": "",
            "pkg/side/by.py": "",
            "namespace/inner.py": "",
            "checked.py": "",
            "tried.py": "",
            "in_function.py": "",
            "unrelated.py": "",
        },
    )
    assert closure(tmp_path, "m.py") == [
        "m.py",
        "checked.py",
        "in_function.py",
        "namespace/inner.py",
        "pkg/__init__.py",
        "pkg/initial.py",
        "pkg/module.py",
        "pkg/side/by.py",
        "pkg/sub/__init__.py",
        "pkg/sub/deep.py",
        "pkg/up.py",
        "plain.py",
        "tried.py",
    ]


def test_the_closure_has_the_packages_that_a_module_lies_in(tmp_path: Path) -> None:
    write(tmp_path, {"a/__init__.py": "", "a/b/__init__.py": "from a import c", "a/b/m.py": "", "a/c.py": ""})
    assert closure(tmp_path, "a/b/m.py") == ["a/b/m.py", "a/__init__.py", "a/b/__init__.py", "a/c.py"]


def test_the_first_root_wins_and_a_package_wins_over_a_module(tmp_path: Path) -> None:
    write(tmp_path, {"m.py": "import x", "one/x.py": "", "two/x.py": "", "two/x/__init__.py": ""})
    assert closure(tmp_path, "m.py", "one", "two") == ["m.py", "one/x.py"]
    assert closure(tmp_path, "m.py", "two", "one") == ["m.py", "two/x/__init__.py"]


def test_external_imports_are_those_of_the_whole_closure(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "m.py": "from __future__ import division\nimport local, torch.nn, os.path, cutlass.cute as c",
            "local.py": f"def f():\n  import einops, {'x' * 300}\n  from .near import y\n  from . import z",
            "torch/notes.txt": "a folder without modules hides no package",
        },
    )
    assert ImportGraph(ParsedFiles()).closure(tmp_path / "m.py", [tmp_path]).packages == (
        "cutlass",
        "einops",
        "torch",
        "x" * 300,
    )


def test_all_unreadable_files_of_a_closure_are_reported(tmp_path: Path) -> None:
    write(tmp_path, {"m.py": "import a, b", "a.py": "def", "b.py": ""})
    (tmp_path / "b.py").write_bytes(b"\xff")
    with pytest.raises(StubgenError) as caught:
        source_closure(tmp_path / "m.py", [tmp_path])
    assert [p.code for p in caught.value.problems] == ["CS205", "CS203"]


@pytest.mark.parametrize(
    ("file", "name", "folder"),
    [
        ("k.py", "k", ""),
        ("plain/k.py", "k", "plain"),
        ("plain/pkg/sub/k.py", "pkg.sub.k", "plain"),
        ("plain/pkg/sub/__init__.py", "pkg.sub", "plain"),
    ],
)
def test_modules_are_imported_under_names_that_python_accepts(
    tmp_path: Path, file: str, name: str, folder: str
) -> None:
    package = {"plain/pkg/__init__.py": "", "plain/pkg/sub/__init__.py": ""}
    write(tmp_path, {"k.py": "", "plain/k.py": "", "plain/pkg/sub/k.py": "", **package})
    assert import_name(tmp_path / file) == (name, tmp_path / folder)
    subprocess.run([sys.executable, "-c", f"import {name}"], cwd=tmp_path / folder, check=True)

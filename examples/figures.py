"""Count what an example project takes and what it makes: ``python examples/figures.py examples/quack``.

Lines of code are those that are neither empty nor comments nor docstrings. ``glue.toml`` in the project says
which lines of the library its declarations replace. Objects and sizes are read from the generated package, if
there is one.
"""

from __future__ import annotations

import ast
import importlib.metadata
import io
import json
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines of a Python file that hold code."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    code = [token for token in tokens if token.type not in _NO_CODE and token.string]
    lines = {line for token in code for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def declarations(text: str) -> Iterator[tuple[str, int]]:
    """Yield what a kernel module declares with ``sg.family`` and ``sg.export``, and the lines of each."""
    code = code_lines(text)
    for node in ast.parse(text).body:
        calls = node.decorator_list if isinstance(node, ast.FunctionDef) else [getattr(node, "value", None)]
        for call in calls:
            name = _declared(call, node)
            if name is not None:
                first = min([node.lineno, *(call.lineno for call in calls if call is not None)])
                yield name, len(code & set(range(first, (node.end_lineno or 0) + 1)))


def _declared(call: ast.expr | None, node: ast.stmt) -> str | None:
    if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ("sg.family", "sg.export"):
        return None
    names = [keyword.value for keyword in call.keywords if keyword.arg == "name"]
    if ast.unparse(call.func) == "sg.family":
        names = [*call.args, *names]
    for name in names:
        return str(ast.literal_eval(name))
    return node.name if isinstance(node, ast.FunctionDef) else ast.unparse(call.args[0]).rpartition(".")[2]


def kernel_files(project: Path) -> list[Path]:
    """Return the kernel modules of a project."""
    return sorted((project / "kernels").rglob("*.py"))


def lines_per_declaration(project: Path) -> dict[str, int]:
    """Return the lines of each declaration, without those that its module has besides."""
    found = [pair for file in kernel_files(project) for pair in declarations(file.read_text())]
    return dict(found)


def all_lines(project: Path) -> int:
    """Count the lines of code of all kernel modules, imports and helpers included."""
    return sum(len(code_lines(file.read_text())) for file in kernel_files(project))


def glue(project: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Count the lines of the library that each declaration replaces, and those that they all do."""
    table = tomllib.loads((project / "glue.toml").read_text())
    distribution = importlib.metadata.distribution(table["distribution"])
    if distribution.version != table["version"]:
        raise SystemExit(f"{project}/glue.toml is about {table['distribution']} {table['version']}")

    def count(place: str) -> int:
        name, _, lines = place.partition(":")
        code = code_lines(Path(str(distribution.locate_file(name))).read_text())
        if not lines:
            return len(code)
        first, last = map(int, lines.split("-"))
        return len(code & set(range(first, last + 1)))

    per_kernel = {kernel: sum(map(count, places)) for kernel, places in table["lines"].items()}
    shared = {place: count(place) for places in table.get("shared", {}).values() for place in places}
    return per_kernel, shared


def main() -> None:
    """Print the figures of a project as a table of Markdown."""
    project = Path(sys.argv[1])
    own, (replaced, shared) = lines_per_declaration(project), glue(project)
    variants, total = _made(project)
    print("| function | variants | lines of its declaration | lines of glue in the library |")
    print("|---|---:|---:|---:|")
    for name, lines in own.items():
        print(f"| `{name}` | {variants.get(name, '')} | {lines} | {replaced.get(name) or ''} |")
    lines = all_lines(project)
    print(f"| all, with imports | {sum(variants.values()) or ''} | {lines} | {sum(replaced.values())} |")
    print(f"\n{lines / len(own):.1f} lines for each of {len(own)} functions.")
    print("".join(f"{place}: {count} lines more.\n" for place, count in shared.items()), end="")
    print(total)


def _made(project: Path) -> tuple[dict[str, int], str]:
    """Count the variants of each function, and say what the package is."""
    found = list((project / "generated").glob("*/manifest.json"))
    if not found:
        return {}, f"Nothing is generated yet: cute-stubgen generate -C {project}"
    manifest = json.loads(found[0].read_text())
    variants: dict[str, int] = {}
    for kernel in (kernel for module in manifest["library"]["modules"] for kernel in module["kernels"]):
        family = (kernel.get("variant") or {}).get("family") or kernel["name"]
        variants[family] = variants.get(family, 0) + 1
    objects = len(manifest["gpu_code"])
    library = next((found[0].parent / "lib").glob("lib*.so"))
    return variants, f"{objects} objects, {library.stat().st_size / 1e6:.1f} MB in {library.name}."


if __name__ == "__main__":
    main()

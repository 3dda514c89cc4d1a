"""Three readings of a signature: the stub's, the imported function's, the compiled function's own words."""

from __future__ import annotations

import ast
import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

READ_RUNTIME = """
import importlib, inspect, json, re, sys
package, manifest = sys.argv[1:]
modules = json.load(open(manifest))["library"]["modules"]
kernels = [k for m in modules for k in m["kernels"]]
families = [f for m in modules for f in m.get("families", [])]
found = {}


def native_of(kernel):
    module = importlib.import_module(f"{package}.{kernel['module']}")
    if not kernel.get("variant"):
        return getattr(module, kernel["name"])
    variants = getattr(module, kernel["variant"]["family"]).variants
    return variants["_".join(kernel["variant"]["labels"].values()) or "only"]


for kernel in [*kernels, *families]:
    entry = {}
    native = native_of(kernel)
    keyword = importlib.import_module(f"{package}.kwargs.{kernel['module']}")
    surfaces = {"positional": native}
    if not kernel.get("variant"):
        surfaces[".kwargs"] = getattr(keyword, kernel["name"])
    for surface, function in surfaces.items():
        signature = inspect.signature(function)
        entry[surface] = {
            "parameters": [
                [p.name, p.kind.name, p.annotation, None if p.default is p.empty else repr(p.default)]
                for p in signature.parameters.values()
            ],
            "name": function.__name__, "module": function.__module__, "doc": inspect.getdoc(function),
            "returns": signature.return_annotation,
            "annotations": dict(function.__annotations__),
        }
    try:
        native(*[None] * (len(kernel["parameters"]) + 1))
    except TypeError as error:
        entry["abi"] = re.search("`(.*)`", str(error), re.S)[1]
    found[native.__qualname__] = entry
print(json.dumps(found))
"""


def read_runtime(output: Path, package: str) -> dict[str, Any]:
    """Ask the functions of a package, in a process of its own, what they say of themselves."""
    done = subprocess.run(
        [sys.executable, "-c", READ_RUNTIME, package, output / package / "manifest.json"],
        env={**os.environ, "PYTHONPATH": str(output)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def stub_signatures(folder: Path, files: str = "*.pyi") -> dict[str, ast.FunctionDef]:
    """Return the functions of stubs by name; families too, and their variants as ``name.variants['key']``."""
    found: dict[str, ast.FunctionDef] = {}
    others = {"kwargs", "torch", "jax"}
    inside = (file for file in folder.rglob(files) if not others & {*file.relative_to(folder).parts})
    for file in sorted(file for file in inside if file.name != "__init__.pyi"):  # which has no kernels
        body = ast.parse(file.read_text()).body
        found |= _functions(body)
        classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        for node in body:
            match node:
                case ast.AnnAssign(target=ast.Name(name), annotation=ast.Name(kind)) if kind in classes:
                    found[name] = _call_of(classes[kind])
                    for key, variant in _variants(body, f"{kind}Variants").items():
                        found[f"{name}.variants[{key!r}]"] = _call_of(classes[variant])
    return found


def _functions(body: list[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """Return the functions in a module or class; of overloads one with what each parameter takes in any."""
    found: dict[str, ast.FunctionDef] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            first = found.setdefault(node.name, node)
            if first is not node:
                _widen(first.args, node.args)
    return found


def _widen(first: ast.arguments, other: ast.arguments) -> None:
    mine, theirs = ([*a.posonlyargs, *a.args, *a.kwonlyargs] for a in (first, other))
    for own, more in zip(mine, theirs, strict=True):
        assert own.arg == more.arg
        texts = [part for a in (own, more) if a.annotation for part in split(ast.unparse(a.annotation), "|")]
        literals = [text[len("Literal[") : -1] for text in texts if text.startswith("Literal[")]
        values = list(dict.fromkeys(value for inner in literals for value in split(inner)))
        if "bool" in texts:
            values = [value for value in values if value not in ("True", "False")]
        types = [f"Literal[{', '.join(values)}]"] if values else []
        types += [text for text in texts if not text.startswith("Literal[")]
        union = " | ".join(sorted(dict.fromkeys(types), key=lambda text: text == "None"))
        own.annotation = ast.parse(union, mode="eval").body if types else None
    first.defaults = max(first.defaults, other.defaults, key=len)
    first.kw_defaults = [d or o for d, o in zip(first.kw_defaults, other.kw_defaults, strict=True)]


def _call_of(kind: ast.ClassDef) -> ast.FunctionDef:
    """Return ``__call__`` without its ``self``."""
    call = copy.deepcopy(_functions(kind.body)["__call__"])  # variants share classes
    del (call.args.posonlyargs or call.args.args)[0]
    return call


def _variants(body: list[ast.stmt], name: str) -> dict[str, str]:
    """Read ``name = TypedDict("name", {"key": Class, ...})``."""
    for node in body:
        match node:
            case ast.Assign([ast.Name(target)], ast.Call(args=[_, ast.Dict(keys, values)])) if target == name:
                return {ast.literal_eval(k): ast.unparse(v) for k, v in zip(keys, values, strict=True) if k}
    raise AssertionError(name)


def parameters_of(node: ast.FunctionDef) -> list[list[str | None]]:
    arguments = node.args
    named = [(a, "POSITIONAL_ONLY") for a in arguments.posonlyargs]
    named += [(a, "POSITIONAL_OR_KEYWORD") for a in arguments.args]
    defaults = [None] * (len(named) - len(arguments.defaults)) + list(arguments.defaults)
    rows = [(a, kind, d) for (a, kind), d in zip(named, defaults, strict=True)]
    rows += [(a, "KEYWORD_ONLY", d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return [
        [a.arg, kind, ast.unparse(a.annotation or ast.Constant("")), ast.unparse(d) if d else None]
        for a, kind, d in rows
    ]


def abi_parameters(text: str) -> list[tuple[str, str]]:
    """Split ``name(a: Tensor([n], float32), b: int32)`` at the commas that separate parameters."""
    inside = text[text.index("(") + 1 : -1]
    parts, depth, start = [], 0, 0
    for index, char in enumerate(inside):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(inside[start:index])
            start = index + 1
    parts.append(inside[start:])
    split = [part.strip().partition(": ") for part in parts if part.strip()]
    return [(name, kind) for name, _, kind in split]


def python_type(kind: str) -> str:
    """The Python type for a type of the ABI; written anew here, to check the renderer against."""
    alternatives = split(kind, "|")
    if len(alternatives) > 1 or _is_value(kind):
        return _union(alternatives)
    if kind.startswith("Tensor("):
        return "Tensor"
    if kind == "bool":
        return "bool"
    if kind.startswith(("int", "uint")):
        return "int"
    if kind.startswith(("float", "bfloat")):
        return "float"
    if kind in ("None", "Stream"):
        return kind
    if kind == "DataPointer":
        return "Pointer"
    if kind.startswith(("Int(", "Bool(")):
        return f"Literal[{kind[kind.index('(') + 1 : -1]}]"
    if kind.startswith("Float("):
        return "float"
    if kind.startswith("Shape("):
        items = kind[len("Shape([") : -2].split(", ")
        return "tuple[" + ", ".join(f"Literal[{i}]" if i.isdigit() else "int" for i in items) + "]"
    assert kind.startswith("Tuple["), kind
    inner = [part for _, part in abi_parameters("(" + ", ".join(f"_: {p}" for p in split(kind[6:-1])) + ")")]
    return "tuple[" + ", ".join(map(python_type, inner)) + "]" if inner else "tuple[()]"


def _union(alternatives: list[str]) -> str:
    """The type of something for which the variants of a family take different things."""
    if set(alternatives) == {"True", "False"}:
        return "bool"
    chosen = [text for text in alternatives if _is_value(text)]
    values = [json.loads(text) if text[0] == '"' else ast.literal_eval(text) for text in chosen]
    literals = [repr(value) for value in values if not isinstance(value, float)]
    types = [f"Literal[{', '.join(literals)}]"] if literals else []
    types += ["float"] if any(isinstance(value, float) for value in values) else []
    types += [python_type(text) for text in alternatives if text not in chosen]
    return " | ".join(sorted(dict.fromkeys(types), key=lambda name: name == "None"))


def _is_value(text: str) -> bool:
    return text[0] in '"-0123456789' or text in ("True", "False")


def split(text: str, separator: str = ",") -> list[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == separator and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text else []


def compare(output: Path, package: str) -> int:
    """Assert that the three agree for every function of a package; give how many there are."""
    runtime = read_runtime(output, package)
    stubs = stub_signatures(output / package)
    assert set(stubs) == set(runtime)
    for name, node in stubs.items():
        stub = parameters_of(node)
        seen = runtime[name]["positional"]
        assert stub == seen["parameters"], name
        public = name.partition(".")[0]
        assert runtime[name]["abi"].startswith(f"{public}("), "the author's name is in run-time errors"
        abi = abi_parameters(runtime[name]["abi"])
        assert [[n, python_type(kind)] for n, kind in abi] == [[p[0], p[2]] for p in stub], name
        assert all(p[1] == "POSITIONAL_ONLY" and p[3] is None for p in stub), name
        assert seen["returns"] == "None"
        assert seen["annotations"] == {**{p[0]: p[2] for p in stub}, "return": "None"}
    keywords = stub_signatures(output / package / "kwargs")
    assert set(keywords) == {name for name, entry in runtime.items() if ".kwargs" in entry}
    assert set(keywords) == {name for name in stubs if ".variants[" not in name}
    for name, node in keywords.items():
        assert parameters_of(node) == runtime[name][".kwargs"]["parameters"], name
        positional = [p[0] for p in runtime[name]["positional"]["parameters"]]
        assert [p[0] for p in parameters_of(node)] == positional, name
    return len(stubs)

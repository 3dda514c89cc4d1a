"""The C++17 headers: one for each module, and one for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stubgen.model import Kernel, Library, NoneSlot, Parameter, TupleSlot
from stubgen.render import cpp_types, documentation
from stubgen.render.layout import WIDTH, call_like
from stubgen.render.templates import fill


@dataclass(frozen=True)
class _Function:
    """A function, ready to be put into a header."""

    symbol: str
    comment: list[str]
    head: str
    call: str


def cpp_headers(library: Library) -> dict[str, str]:
    """Give every C++ header, by path relative to the output folder."""
    root = f"{library.package}/include"
    files = {
        f"{root}/{library.package}/{module.name.replace('.', '/')}.hpp": fill(
            "module.hpp.j2",
            package=library.package,
            module=module,
            guard=_guard(f"{library.package}_{module.name}"),
            functions=[_function(kernel) for kernel in module.kernels],
            tuples=any(isinstance(p.slot, TupleSlot) for k in module.kernels for p in k.parameters),
        )
        for module in library.modules
    }
    files[f"{root}/{library.package}.hpp"] = fill(
        "umbrella.hpp.j2",
        package=library.package,
        guard=_guard(library.package),
        headers=[f"{m.name.replace('.', '/')}.hpp" for m in library.modules],
    )
    return files


def _guard(name: str) -> str:
    return name.replace(".", "_").upper() + "_HPP_"


def _function(kernel: Kernel) -> _Function:
    names = cpp_types.parameter_names([p.name for p in kernel.parameters])
    shown = [
        f"{kind} {name}"
        for name, parameter in zip(names, kernel.parameters, strict=True)
        if (kind := cpp_types.parameter_type(parameter.slot)) is not None
    ]
    passed = [
        "nullptr" if isinstance(p.slot, NoneSlot) else name
        for name, p in zip(names, kernel.parameters, strict=True)
    ]
    return _Function(
        symbol=kernel.symbol,
        comment=_comment(kernel, kernel.parameters, names),
        head=call_like(f"inline void {kernel.name}", shown, " {", trailing_comma=False),
        call=call_like(
            "  ::tvm::ffi::Function::InvokeExternC",
            ["nullptr", kernel.symbol, *passed],
            ";",
            indent="      ",
            trailing_comma=False,
        ),
    )


def _comment(kernel: Kernel, parameters: Sequence[Parameter], names: Sequence[str]) -> list[str]:
    """Document a function; ``///`` comments end with the line, whatever is on it."""
    renamed = {p.name: n for p, n in zip(parameters, names, strict=True) if p.name != n}
    lines = documentation.kernel_doc(kernel, width=WIDTH - 4, hidden=True)
    if renamed:
        spelled = ", ".join(f"{old} is called {new} here" for old, new in renamed.items())
        lines += ["", f"In C++, {spelled}."]
    return [_one_comment_line(line) for line in lines]


def _one_comment_line(line: str) -> str:
    """Keep a backslash at the end from joining the next line to the comment, and trigraphs from forming."""
    text = line.rstrip().replace("??/", "?? /")
    text = "".join(c if c.isprintable() else " " for c in text)
    return f"/// {text}." if text.endswith("\\") else f"/// {text}".rstrip()

"""Comments of the C++ headers, in the form that Doxygen, clangd and IDEs read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from stubgen.families.families import variant_of
from stubgen.model.library import Family, Frozen, Kernel, Slot, TupleSlot
from stubgen.render import documentation
from stubgen.render.cpp.cpp_structs import Struct
from stubgen.render.cpp_types import is_hidden
from stubgen.render.layout import WIDTH, wrapped

_WIDTH = WIDTH - len("/// ")
_WIDEST_NAME = 16
"""Longer parameter names do not push the column of descriptions further right."""

_TRUE_OF_ALL = (
    "Every function throws tvm::ffi::Error if an argument does not fit or CUDA reports an error.",
    "A DLTensor behind a tensor argument needs its strides set, as DLPack demands since version 1.2.",
)


def file_comment(text: str, facts: Sequence[str] = _TRUE_OF_ALL) -> list[str]:
    """Say what a header holds, and what is true of all functions in it."""
    lines, _ = _split(text.splitlines(), set())
    return _marked(["@file", *lines, "", *(line for fact in facts for line in wrapped(fact, width=_WIDTH))])


def struct_comment(struct: Struct) -> tuple[list[str], dict[str, list[str]]]:
    """Document a struct, and each member that its author says something of."""
    lines, told = _split(struct.doc.splitlines(), set(struct.fields))
    members = {
        member.name: _marked(wrapped(told[struct.fields[member.index]], width=_WIDTH - 2))
        for member in struct.members
        if struct.fields[member.index] in told
    }
    return _marked(lines or ["Arguments that belong together."]), members


def function_comment(
    kernel: Kernel | Family,
    names: Mapping[str, str],
    structs: Mapping[TupleSlot, Struct],
    variants: Sequence[Kernel] = (),
) -> list[str]:
    """Document a function.

    Parameters
    ----------
    kernel
        What to document.
    variants
        Those of a family, which are listed.
    names
        For each parameter, how C++ spells it.
    structs
        Of the records that it takes.
    """
    shown = {p.name: p.slot for p in kernel.parameters if not is_hidden(p.slot)}
    hidden = [item for p in kernel.parameters for item in _hidden(p.name, p.slot, structs)]
    silent = {*(item.name for item in (*hidden, *kernel.frozen)), *kernel.env_streams}
    lines, told = _split(kernel.doc.splitlines(), {*shown, *silent})
    sections = [
        lines or [f"{kernel.name}, compiled ahead of time."],
        _parameters(shown, told, names, structs),
        _verbatim(documentation.variant_table(variants)),
        documentation.notes(
            kernel,
            width=_WIDTH,
            hidden=hidden,
            stream="Runs on tvm-ffi's current stream of the device: see TVMFFIEnvSetStream.",
        ),
    ]
    return _marked(line for section in filter(None, sections) for line in ["", *section])[1:]


def variant_comment(family: Family, kernel: Kernel) -> list[str]:
    """Document one variant of a family."""
    labels = ", ".join(f"{axis}={label}" for axis, label in variant_of(kernel).labels.items())
    told = "; ".join(f"{p.name}: {documentation.describe(p.slot)}" for p in kernel.parameters)
    taking = f", taking {told}" if told else ""
    return _marked(wrapped(f"The variant of {family.name} with {labels}{taking}.", width=_WIDTH))


def _verbatim(lines: Sequence[str]) -> list[str]:
    return ["@verbatim", *lines, "@endverbatim"] if lines else []


def _parameters(
    shown: Mapping[str, Slot],
    told: Mapping[str, str],
    names: Mapping[str, str],
    structs: Mapping[TupleSlot, Struct],
) -> list[str]:
    """Describe each parameter, the descriptions under one another."""
    column = min(max((len(names[name]) for name in shown), default=0), _WIDEST_NAME)
    lines: list[str] = []
    for name, slot in shown.items():
        sentences = [_described(slot, structs), told.get(name, "")]
        if names[name] != name:
            sentences.append(f"Called `{name}` in Python.")
        text = " ".join(_sentence(s) for s in sentences if s)
        lines += wrapped(
            f"@param {names[name]:{column}} {text}", width=_WIDTH, hanging=len("@param ") + column + 1
        )
    return lines


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else text + "."


def _described(slot: Slot, structs: Mapping[TupleSlot, Struct]) -> str:
    """Describe what callers fill into a slot, fields by their names."""
    if not isinstance(slot, TupleSlot):
        return documentation.describe(slot)
    if slot in structs:
        members = structs[slot].members
        return "; ".join(f"{m.name}: {_described(slot.items[m.index], structs)}" for m in members)
    return f"({'; '.join(_described(item, {}) for item in slot.items if not is_hidden(item))})"


def _hidden(name: str, slot: Slot, structs: Mapping[TupleSlot, Struct]) -> Iterator[Frozen]:
    """List what the function fills in itself, with the path that Python would take to it."""
    if is_hidden(slot):
        yield Frozen(name, _value(slot))
    elif isinstance(slot, TupleSlot):
        struct = structs.get(slot)
        fields = struct.fields if struct else [f"[{index}]" for index in range(len(slot.items))]
        for field, item in zip(fields, slot.items, strict=True):
            yield from _hidden(f"{name}.{field}" if struct else name + field, item, structs if struct else {})


def _value(slot: Slot) -> str:
    match slot:
        case TupleSlot(items=items):
            inner = ", ".join(map(_value, items))
            return f"({inner},)" if len(items) == 1 else f"({inner})"
        case _:
            return repr(getattr(slot, "value", None))


# ---------------------------------------------------------------------------------------------------------
# The author's words


def _split(lines: Sequence[str], parameters: set[str]) -> tuple[list[str], dict[str, str]]:
    """Take what a NumPy docstring says of parameters out of it, and give it by their names."""
    rest: list[str] = []
    told: dict[str, str] = {}
    inside = False
    names: list[str] = []
    previous = ""
    for line, following in pairwise([*map(_reworded, lines), ""]):
        if _is_rule(following) and line.strip():
            inside, names = line.strip() in {"Parameters", "Attributes"}, []
            if not inside:
                rest.append(f"@par {line.strip()}")
        elif _is_rule(line) and (inside or rest[-1:] == [f"@par {previous}"]):
            pass
        elif inside and line[:1].strip():
            names = [name.strip(" *") for name in line.partition(" :")[0].split(",")]
            if not parameters.issuperset(names):
                names = []
                rest.append(line)
        elif inside and names:
            told.update({name: f"{told.get(name, '')} {line.strip()}".strip() for name in names})
        else:
            rest.append(line)
        previous = line.strip()
    return _trimmed(rest), told


def _is_rule(line: str) -> bool:
    return bool(line.strip()) and not line.strip().strip("-")


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Drop empty lines at the end, and all but one between paragraphs."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).rstrip().splitlines()


def _reworded(line: str) -> str:
    """Turn reStructuredText's marks into those of Markdown, which Doxygen reads."""
    return re.sub(r"(?::[a-z:]+:)?(`+)~?([^`]+)\1", r"`\2`", line)


def _marked(lines: Iterable[str]) -> list[str]:
    """Put ``///`` before each line; such a comment ends with the line, whatever is on it."""
    return [f"/// {_one_line(line)}".rstrip() for line in lines]


def _one_line(line: str) -> str:
    """Keep a backslash at the end from joining the next line to the comment, and trigraphs from forming."""
    text = "".join(c if c.isprintable() else " " for c in line.replace("??/", "?? /")).rstrip()
    return f"{text}." if text.endswith("\\") else text

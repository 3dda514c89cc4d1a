"""The texts of every problem that the tool reports, by code.

:mod:`stubgen.problems.problem` fills them in; ``cute-stubgen explain`` and ``docs/errors.md`` show them as
they are.
"""

from __future__ import annotations

import re
import textwrap

from stubgen.problems.catalogue import building, configuration, declarations, output
from stubgen.problems.catalogue.entry import Entry

CATALOGUE: dict[str, Entry] = {
    **configuration.ENTRIES,
    **declarations.ENTRIES,
    **building.ENTRIES,
    **output.ENTRIES,
}
"""Every code, in order."""


def explained(code: str) -> str:
    """Return all that there is to say about a code."""
    entry = CATALOGUE[code]
    message, remedy = as_words(entry.message), as_words(entry.remedy)
    return "\n\n".join(filter(None, (f"{code}: {message}", f"What to do: {remedy}", _filled(entry.why))))


def as_markdown() -> str:
    """Return the whole catalogue as a document: ``docs/errors.md``."""
    sections = [
        "\n\n".join(
            filter(
                None,
                (
                    f"## {code}",
                    f"`{as_words(entry.message)}`",
                    f"**What to do:** {as_words(entry.remedy)}.",
                    _filled(entry.why),
                ),
            )
        )
        for code, entry in CATALOGUE.items()
    ]
    return "\n\n".join((_MARKDOWN_HEAD, *sections)) + "\n"


def _filled(text: str) -> str:
    """Break the paragraphs of a text into lines anew; what is indented, such as code, stays as it is."""
    return "\n\n".join(
        paragraph if paragraph.startswith("    ") else textwrap.fill(paragraph, 110, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    )


def as_words(template: str) -> str:
    """Show the placeholders of a text as words in capitals: ``KERNEL does not compile: REASON``.

    ``{hint}`` and ``{remark}``, which are often empty and bring their own punctuation, are left out.
    """
    template = re.sub(r"\{(hint|remark)\}", "", template)
    return re.sub(r"\{(\w+)(?:![rs])?\}", lambda match: match[1].upper(), template)


_MARKDOWN_HEAD = """\
# Error codes

<!-- Made from stubgen/problems/catalogue: python -m stubgen explain --markdown > docs/errors.md -->

Each problem is one line: where it is, its code, what is wrong, and what to do. Words in capitals stand for
names and texts of yours. Codes from CS601 to CS699 are warnings, which leave the run successful."""

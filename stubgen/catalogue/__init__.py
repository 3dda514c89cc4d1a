"""The texts of every problem that the tool reports, by code.

:mod:`stubgen.diagnostics` fills them in; ``cute-stubgen explain`` and ``docs/errors.md`` show them as they
are.
"""

from __future__ import annotations

import re

from stubgen.catalogue import building, configuration, declarations, output
from stubgen.catalogue.entry import Entry

CATALOGUE: dict[str, Entry] = {
    **configuration.ENTRIES,
    **declarations.ENTRIES,
    **building.ENTRIES,
    **output.ENTRIES,
}
"""Every code, in order."""


def explained(code: str) -> str:
    """Give all that there is to say about a code."""
    entry = CATALOGUE[code]
    parts = [f"{code}: {as_words(entry.message)}", f"What to do: {as_words(entry.remedy)}", entry.why]
    return "\n\n".join(filter(None, parts))


def as_markdown() -> str:
    """Give the whole catalogue as a document: ``docs/errors.md``."""
    sections = [
        "\n\n".join(
            filter(
                None,
                (
                    f"## {code}",
                    f"`{as_words(entry.message)}`",
                    f"**What to do:** {as_words(entry.remedy)}.",
                    entry.why,
                ),
            )
        )
        for code, entry in CATALOGUE.items()
    ]
    return "\n\n".join((_MARKDOWN_HEAD, *sections)) + "\n"


def as_words(template: str) -> str:
    """Show the placeholders of a text as words in capitals: ``KERNEL does not compile: REASON``.

    ``{hint}``, which is often empty and brings its own punctuation, is left out.
    """
    template = template.replace("{hint}", "")
    return re.sub(r"\{(\w+)(?:![rs])?\}", lambda match: match[1].upper(), template)


_MARKDOWN_HEAD = """\
# Error codes

<!-- Made from stubgen/catalogue: python -m stubgen explain --markdown > docs/errors.md -->

Each problem is one line: where it is, its code, what is wrong, and what to do. Words in capitals stand for
names and texts of yours. Codes from CS601 to CS699 are warnings, which leave the run successful."""

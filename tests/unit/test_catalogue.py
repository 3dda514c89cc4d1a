from __future__ import annotations

import itertools
import re
import string

import pytest

from stubgen.problems import catalogue
from tests.conftest import ROOT

CODES = tuple(catalogue.CATALOGUE)


def test_the_documentation_is_made_from_the_catalogue() -> None:
    written = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert written == catalogue.as_markdown(), "python -m stubgen explain --markdown > docs/errors.md"


def test_codes_are_in_order() -> None:
    assert list(CODES) == sorted(CODES)
    assert all(re.fullmatch(r"CS\d{3}", code) for code in CODES)


@pytest.mark.parametrize("code", CODES)
def test_explanations_show_placeholders_as_words(code: str) -> None:
    entry = catalogue.CATALOGUE[code]
    text = catalogue.explained(code)
    assert text.startswith(f"{code}: ")
    assert not re.search(r"\{\w*(![rs])?\}", text)
    for template in (entry.message, entry.remedy):
        for _, name, _, _ in string.Formatter().parse(template):
            assert name in (None, "hint", "remark") or name.upper() in text


@pytest.mark.parametrize("code", CODES)
def test_texts_are_sentences_without_full_stops(code: str) -> None:
    entry = catalogue.CATALOGUE[code]
    assert not entry.message.endswith((".", ";"))
    assert not entry.remedy.endswith((".", ";"))
    assert not entry.why.endswith("\n")


def test_prose_is_filled_and_code_is_left_alone() -> None:
    for paragraph in catalogue.as_markdown().split("\n\n"):
        lines = paragraph.splitlines()
        for line, following in itertools.pairwise(lines):
            first = following.partition(" ")[0]
            if not line.startswith(("    ", "`", "**", "<!--")):
                assert len(line) <= 110 < len(f"{line} {first}"), paragraph
    assert '    def f(x: cute.Tensor, mode: str = "fast"): ...     ' in catalogue.explained("CS229")


def test_what_is_often_empty_is_no_word_in_capitals() -> None:
    assert catalogue.as_words("no kernels found in {folder}{remark}") == "no kernels found in FOLDER"
    assert catalogue.as_words("{path} does not exist{hint}") == "PATH does not exist"
    assert catalogue.as_words("{where} of {kernel} is {value!r}") == "WHERE of KERNEL is VALUE"


def test_paragraphs_of_the_documentation_are_filled() -> None:
    """A template that is wrapped before its words stand in it leaves lines of two words."""
    prose = r"(?m)^(?![#|`*-])(?!\s)\S.*$"
    lines = re.sub(r"(?s)```.*?```", "", catalogue.as_markdown()).splitlines()
    pairs = [
        (line, after)
        for line, after in itertools.pairwise(lines)
        if re.fullmatch(prose, line) and re.fullmatch(prose, after)
    ]
    assert len(pairs) > 30
    assert [line for line, after in pairs if len(f"{line} {after.split()[0]}") <= 110] == []

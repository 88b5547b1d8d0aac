"""How good a reading of a paper is: `grobid0:quality`.

Source: seed 000, which leaves the meaning to the writer.
"""

from __future__ import annotations

from enum import StrEnum

from fonds.bibliography.paper import Paper

TITLE_MIN_LETTERS, TEXT_MIN_WORDS = 4, 100


class Quality(StrEnum):
    """Good: title, authors, text and references were found. Bad: no title, or nothing beside one.
    Marginal: what lies between."""

    GOOD = "good"
    MARGINAL = "marginal"
    BAD = "bad"


def quality(paper: Paper) -> Quality:
    """By four signs: a title of 4 letters, an author with a family name, 100 words of abstract and body, and
    a reference with a title or as printed. All four are good; no title, or none of the others, is bad."""
    has_title = sum(map(str.isalpha, paper.title or "")) >= TITLE_MIN_LETTERS
    others = (
        any(one.surname or " " in one.name for one in paper.authors),
        _words(paper.abstract) + _words(paper.body) >= TEXT_MIN_WORDS,
        any(one.title or one.unstructured for one in paper.citations),
    )
    if not has_title or not any(others):
        return Quality.BAD
    return Quality.GOOD if all(others) else Quality.MARGINAL


def _words(text: str | None) -> int:
    return len((text or "").split())

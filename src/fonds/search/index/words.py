"""Compute the words and stems of a document as every index stores them."""

from __future__ import annotations

from collections.abc import Callable

from fonds.model.document import IndexDocument
from fonds.search.fields import FORMS_FIELDS, STEM_FIELDS, WORD_FIELDS, WORDS_FIELDS
from fonds.search.query.parser import WORDS_BETWEEN_MAX
from fonds.text.stems import stem_text
from fonds.text.words import fold_text

CUT_VERSIONS_FIELD = "earlier_left_out"
"""Name of the index field that marks stories with an earlier version, or part of one, left out."""
EARLIER_WEIGHT = 0.5
"""Weight of a match in an earlier version, relative to the current version."""
_TEXT_SEPARATOR = f" {'| ' * (WORDS_BETWEEN_MAX + 1)}"
"""Text between two texts of one field, so that no phrase or near match spans both texts."""


def build_words(document: IndexDocument) -> dict[str, str]:
    """Return the words and stems of the current version of a document.

    The keys are names of index fields; the values are words or stems separated by spaces.
    """
    texts = {field.name: " ".join(field.read(document)) for field in WORDS_FIELDS}
    words = {WORD_FIELDS[name]: fold_text(text) for name, text in texts.items()}
    stems = {
        STEM_FIELDS[field.name]: stem_text(texts[field.name], document.language)
        for field in FORMS_FIELDS
    }
    return words | stems


def build_earlier_words(document: IndexDocument) -> dict[str, str]:
    """Return the words and stems of titles and texts of earlier versions, by index field name.

    Stems use the language of the current document, because a search uses that language.
    """
    if not document.earlier:
        return {}
    titles = [version.title for version in document.earlier if version.title]
    texts = [version.text for version in document.earlier if version.text]

    def stems(text: str) -> str:
        return stem_text(text, document.language)

    return {
        "earlier_title_words": _join_texts(titles, fold_text),
        "earlier_text_words": _join_texts(texts, fold_text),
        "earlier_title_stems": _join_texts(titles, stems),
        "earlier_text_stems": _join_texts(texts, stems),
    }


def _join_texts(texts: list[str], build: Callable[[str], str]) -> str:
    return _TEXT_SEPARATOR.join(map(build, texts))

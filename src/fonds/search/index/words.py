"""Compute the words and stems of a document as every index stores them."""

from __future__ import annotations

from fonds.model.document import IndexDocument
from fonds.search.fields import STEM_FIELDS, WORD_FIELDS, WORDS_FIELDS, FieldType
from fonds.search.query.parser import WORDS_BETWEEN_MAX
from fonds.text.stems import join_stems
from fonds.text.words import fold_and_normalize_text, fold_text

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
    values = {}
    for field in WORDS_FIELDS:
        text = " ".join(field.read(document))
        if field.type is FieldType.FORMS:
            folded_text, normalized_text = fold_and_normalize_text(text)
            values[WORD_FIELDS[field.name]] = folded_text
            values[STEM_FIELDS[field.name]] = join_stems(
                folded_text, normalized_text, document.language
            )
        else:
            values[WORD_FIELDS[field.name]] = fold_text(text)
    return values


def build_earlier_words(document: IndexDocument) -> dict[str, str]:
    """Return the words and stems of titles and texts of earlier versions, by index field name.

    Stems use the language of the current document, because a search uses that language.
    """
    if not document.earlier:
        return {}
    texts = {
        "earlier_title": [version.title for version in document.earlier if version.title],
        "earlier_text": [version.text for version in document.earlier if version.text],
    }
    values = {}
    for name, field_texts in texts.items():
        pairs = list(map(fold_and_normalize_text, field_texts))
        stems = [join_stems(folded, normalized, document.language) for folded, normalized in pairs]
        values[f"{name}_words"] = _TEXT_SEPARATOR.join(folded for folded, _ in pairs)
        values[f"{name}_stems"] = _TEXT_SEPARATOR.join(stems)
    return values

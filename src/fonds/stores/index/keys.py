"""What both kinds of index make of a document beside its words: its sites, and the words of its versions."""

from __future__ import annotations

from collections.abc import Callable

from fonds.address import split_address
from fonds.model.document import IndexDocument
from fonds.stores.index.query.parsing import BETWEEN_MAX
from fonds.word_forms import stemmed
from fonds.words import fold

LABELS_MAX = 12
EARLIER = {"article_title": "earlier_title", "text_content": "earlier_text"}
"""The fields of earlier versions, by those of the current one."""
EARLIER_WEIGHT = 0.5
"""A match in an earlier version weighs so much of one in the current version."""
_APART = f" {'| ' * (BETWEEN_MAX + 1)}"
"""Stands between two texts, so that no phrase and no nearness reaches from one into the other. No word is
written so."""


def earlier_words(document: IndexDocument) -> dict[str, str]:
    """Words and stems of the titles and texts of earlier versions, by field; empty for documents without.

    Stems are those of the document's language, because a search goes by it.
    """
    if not document.earlier:
        return {}
    titles = [one.title for one in document.earlier if one.title]
    texts = [one.text for one in document.earlier if one.text]

    def stems(text: str) -> str:
        return stemmed(text, document.language)

    return {
        "earlier_title_words": _joined(titles, fold),
        "earlier_text_words": _joined(texts, fold),
        "earlier_title_stems": _joined(titles, stems),
        "earlier_text_stems": _joined(texts, stems),
    }


def _joined(texts: list[str], made: Callable[[str], str]) -> str:
    return _APART.join(map(made, texts))


def sites(url: str) -> list[str]:
    """The host of a URL and all it lies under, the shortest first; [''] where there is no host.

    Of a name with more than 12 labels the last 12 count. A host in brackets or of digits alone is one.
    """
    host = split_address(url).host.lower().strip(".")
    if not host or host.startswith("[") or host.replace(".", "").isdigit():
        return [host]
    labels = [label for label in host.split(".") if label][-LABELS_MAX:]
    return [".".join(labels[n:]) for n in range(len(labels) - 1, -1, -1)]

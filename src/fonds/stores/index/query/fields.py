"""The fields of the query syntax, by the names people use, and the fields of a document they ask."""

from __future__ import annotations

TEXT_FIELDS = {
    "title": "article_title",
    "article_title": "article_title",
    "text": "text_content",
    "text_content": "text_content",
    "url": "url",
    "author": "authors",
}
EXACT_FIELDS = {
    "domain": "canonical_domain",
    "canonical_domain": "canonical_domain",
    "site": "sites",
    "language": "language",
    "kind": "kind",
    "collection": "collection",
    "doi": "doi",
    "status": "status",
}
RANGE_FIELDS = {
    "date": "publication_date",
    "year": "publication_date",
    "words": "word_count",
    "pages": "page_count",
}
THEME = "theme"
"""The field that names a theme of a collection, whose documents are known elsewhere."""

FIELDS = (*TEXT_FIELDS, *EXACT_FIELDS, *RANGE_FIELDS, THEME)
SHOWN = (
    "title", "author", "text", "url", "doi", "domain", "site", "date", "year", "language", "kind",
    "collection", "theme", "status", "words", "pages",
)  # fmt: skip
"""The fields that are told to people: each once, under its short name."""

"""The fields of the query syntax, by the names people use, and the fields of a document they ask."""

from __future__ import annotations

from fonds.model.file import SEARCHED_KINDS
from fonds.model.suggestions import alternatives

TEXT_FIELDS = {
    "title": "article_title",
    "article_title": "article_title",
    "text": "text_content",
    "text_content": "text_content",
    "url": "url",
    "author": "authors",
    "holder": "holders",
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
    "license": "licenses",
    "prefers": "prefers",
}
PREFIX_FIELDS = ("license", "prefers")
"""The exact fields that a star may end a value of."""
RANGE_FIELDS = {
    "date": "publication_date",
    "year": "publication_date",
    "captured": "captured",
    "added": "indexed_date",
    "words": "word_count",
    "pages": "page_count",
}
THEME = "theme"
"""The field that names a theme of a collection, whose documents are known elsewhere."""
VERSION, VERSION_VALUES = "version", ("all", "current")
"""The field that says in which versions of a story the words of the whole query may be, and its values."""

FIELDS = (*TEXT_FIELDS, *EXACT_FIELDS, *RANGE_FIELDS, THEME, VERSION)
LISTED_FIELDS = (
    "title", "author", "text", "url", "doi", "domain", "site", "date", "year", "captured", "added",
    "language", "kind", "collection", "theme", "status", "words", "pages", "license", "holder", "prefers",
    "version",
)  # fmt: skip
"""The fields that are told to people: each once, under its short name."""

_LONG = {"article_title": "title", "text_content": "text", "canonical_domain": "domain"}
_FORMS = {
    "title": ("words of the title; several in quotes or parentheses", 'title:"high water"'),
    "author": ("a name or a part of it", 'author:"Ana Müller"'),
    "text": ("words of the text; several in quotes or parentheses; or none", "text:flood"),
    "url": ("words of the address", "url:report"),
    "doi": ("a DOI, also as an address of doi.org, or none", "doi:10.1234/abc"),
    "domain": ("a domain, or none", "domain:example.org"),
    "site": ("a host, with all hosts under it, or none", "site:news.example.org"),
    "date": ("a day, month or year, or from one to another, or none", "date:2024-05..2024-06-15"),
    "year": ("a year, or from one to another, or none", "year:2020..2024"),
    "captured": (
        "a day, month or year of its capture, or from one to another, or none",
        "captured:2024-05",
    ),
    "added": (
        "a day, month or year it came to be found, or from one to another",
        "added:>=2024-05-17",
    ),
    "language": ("a code of two letters, or none", "language:en"),
    "kind": (alternatives(SEARCHED_KINDS), "kind:pdf"),
    "collection": ("a collection; its name in quotes where it has spaces", "collection:news"),
    "theme": ("a theme of a collection, in quotes", 'theme:"flood, river"'),
    "status": ("how reading the file ended, or none", "status:success"),
    "words": ("a number, or from one to another, or none", "words:>500"),
    "license": (
        "a licence stated, in the names of SPDX; a star for its beginning; or none",
        "license:cc-by*",
    ),
    "holder": ("a holder of the rights, or a part of the name", 'holder:"Example Press"'),
    "prefers": ("a preference stated, as noai or train-ai=n; or none", "prefers:noai"),
    "pages": ("a number, or from one to another, or none", "pages:10..20"),
    "version": ("all, for words of earlier versions of a story too; or current", "version:all"),
}


def get_short_name(field: str) -> str:
    """The name a field is told by."""
    return _LONG.get(field, field)


def describe_form(field: str) -> tuple[str, str]:
    """How a value of a field is written, in words, and an example."""
    return _FORMS[get_short_name(field)]

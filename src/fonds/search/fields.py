"""Table of all search fields.

The table defines the schemas of tantivy, Elasticsearch and OpenSearch, the field names of the query
language, completion, facets, and the table of fields in docs/query.md.
docs/howto/add-a-search-field.md explains how to add a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from fonds.model.document import IndexDocument
from fonds.model.file import SEARCHED_KINDS
from fonds.model.search import SearchQuery
from fonds.model.suggestions import format_alternatives
from fonds.search.exact_values import (
    normalize_case,
    normalize_doi,
    normalize_kind,
    normalize_language,
    normalize_license,
    normalize_site,
)
from fonds.search.sites import list_sites


class FieldType(StrEnum):
    """Type of a search field: how its values are indexed and searched."""

    WORDS = "words"  # folded words with their positions
    FORMS = "forms"  # folded words and stems, also those of earlier versions of a story
    EXACT = "exact"  # whole values
    DAY = "day"
    NUMBER = "number"
    QUERY = "query"  # part of the query language, but not indexed


class ValueSource(StrEnum):
    """Source of the values that completion suggests for a search field."""

    NONE = "none"  # free values, of which completion shows only the form
    FACET = "facet"
    DOMAINS = "domains"
    SITES = "sites"
    YEARS = "years"
    STATUSES = "statuses"
    THEMES = "themes"
    VERSIONS = "versions"
    NAMES = "names"  # names in the first documents that match the typed words
    DOCUMENTS = "documents"  # values of the first documents with a value that begins as typed


@dataclass(frozen=True, slots=True)
class SearchField:
    """Search field: one property of documents that queries can search or filter by.

    - `name`: attribute of a document that has the values.
    - `type`: how values are indexed and searched.
    - `query_name`: name in queries, on pages and in documentation.
    - `meaning`, `example`: help for users: how to write a value.
    - `aliases`: further names in queries.
    - `normalize`: function that converts a value of an exact field to its stored form.
    - `facet`: URL parameter that filters by the field, if documents are counted by its values;
      otherwise "".
    - `accepts_prefix`: whether a value of an exact field may end with a star.
    - `is_optional`: whether documents without a value omit the field in Elasticsearch.
    - `label`: name shown with the values in search results; "" if results do not show them.
    - `values`: source of suggestions for completion.
    - `get_values`: function that returns the values of a document; None: use the attribute `name`.
    """

    name: str
    type: FieldType
    query_name: str
    meaning: str
    example: str
    aliases: tuple[str, ...] = ()
    normalize: Callable[[str], str] = str
    facet: str = ""
    accepts_prefix: bool = False
    is_optional: bool = False
    label: str = ""
    values: ValueSource = ValueSource.NONE
    get_values: Callable[[IndexDocument], Any] | None = None

    def read(self, document: IndexDocument) -> tuple[str, ...]:
        """Return the values of this field in a document as texts; an empty tuple if it has none."""
        value = self.get_values(document) if self.get_values else getattr(document, self.name)
        if isinstance(value, list | tuple):
            return tuple(map(str, value))
        return () if value is None else (str(value),)


SEARCH_FIELDS: Sequence[SearchField] = (
    SearchField(
        "article_title", FieldType.FORMS, "title",
        "words of the title; several in quotes or parentheses", 'title:"high water"',
        aliases=("article_title",),
    ),
    SearchField(
        "text_content", FieldType.FORMS, "text",
        "words of the text; several in quotes or parentheses; or none", "text:flood",
        aliases=("text_content",),
    ),
    SearchField("url", FieldType.WORDS, "url", "words of the URL", "url:report"),
    SearchField(
        "authors", FieldType.WORDS, "author", "an author's name, or part of it", 'author:"Ana Müller"',
        values=ValueSource.NAMES,
    ),
    SearchField(
        "doi", FieldType.EXACT, "doi", "a DOI, also as a doi.org URL, or none",
        "doi:10.1234/abc", normalize=normalize_doi, is_optional=True, label="DOI",
    ),
    SearchField(
        "kind", FieldType.EXACT, "kind", format_alternatives(SEARCHED_KINDS), "kind:pdf",
        normalize=normalize_kind, facet="kind", values=ValueSource.FACET,
    ),
    SearchField(
        "language", FieldType.EXACT, "language", "a two-letter code, or none", "language:en",
        normalize=normalize_language, facet="language", is_optional=True, values=ValueSource.FACET,
    ),
    SearchField(
        "canonical_domain", FieldType.EXACT, "domain", "a domain, or none", "domain:example.org",
        aliases=("canonical_domain",), normalize=normalize_case, facet="domain",
        values=ValueSource.DOMAINS,
    ),
    SearchField(
        "collection", FieldType.EXACT, "collection",
        "a collection; a name with spaces in quotes", "collection:news",
        facet="collection", values=ValueSource.FACET,
    ),
    SearchField(
        "status", FieldType.EXACT, "status", "status of the extraction, or none",
        "status:success", normalize=normalize_case, is_optional=True, values=ValueSource.STATUSES,
    ),
    SearchField(
        "sites", FieldType.EXACT, "site", "a host, including its subdomains, or none",
        "site:news.example.org", normalize=normalize_site, values=ValueSource.SITES,
        get_values=lambda document: list_sites(document.url),
    ),
    SearchField(
        "publication_date", FieldType.DAY, "date",
        "a day, month, year or range, or none", "date:2024-05..2024-06-15",
    ),
    SearchField(
        "publication_date", FieldType.DAY, "year", "a year or range, or none",
        "year:2020..2024", values=ValueSource.YEARS,
    ),
    SearchField(
        "captured", FieldType.DAY, "captured",
        "day, month, year or range of the capture, or none", "captured:2024-05",
    ),
    SearchField(
        "indexed_date", FieldType.DAY, "added",
        "day, month, year or range in which a document was added", "added:>=2024-05-17",
    ),
    SearchField(
        "theme", FieldType.QUERY, "theme", "a theme of a collection, in quotes",
        'theme:"flood, river"', values=ValueSource.THEMES,
    ),
    SearchField(
        "word_count", FieldType.NUMBER, "words", "a number or range, or none",
        "words:>500",
    ),
    SearchField(
        "page_count", FieldType.NUMBER, "pages", "a number or range, or none",
        "pages:10..20",
    ),
    SearchField(
        "licenses", FieldType.EXACT, "license",
        "an SPDX licence name, or its beginning with a star, or none",
        "license:cc-by*", normalize=normalize_license, accepts_prefix=True, is_optional=True,
        label="licence", values=ValueSource.DOCUMENTS,
    ),
    SearchField(
        "holders", FieldType.WORDS, "holder", "a rights holder's name, or part of it",
        'holder:"Example Press"', values=ValueSource.NAMES,
    ),
    SearchField(
        "prefers", FieldType.EXACT, "prefers",
        "a stated usage preference, such as noai or train-ai=n, or none",
        "prefers:noai", normalize=normalize_case, accepts_prefix=True, is_optional=True,
        values=ValueSource.DOCUMENTS,
    ),
    SearchField(
        "version", FieldType.QUERY, "version",
        "all, to search earlier versions of stories too; or current", "version:all",
        values=ValueSource.VERSIONS,
    ),
)  # fmt: skip
"""All search fields, in the order of the documentation and the index.

After a change of this table, run `fonds reindex`.
"""

THEME = "theme"
"""Query name of the field for themes. The documents of a theme are looked up outside the index."""
VERSION, VERSION_VALUES = "version", ("all", "current")
"""Query name of the field that selects which versions of a story are searched, and its values."""
LISTED_FIELDS = tuple(field.query_name for field in SEARCH_FIELDS)
_BY_QUERY_NAME = {
    name: field for field in SEARCH_FIELDS for name in (field.query_name, *field.aliases)
}
FIELDS = tuple(_BY_QUERY_NAME)
"""All field names that queries may use, including aliases."""


def _map_names(*types: FieldType) -> dict[str, str]:
    return {name: field.name for name, field in _BY_QUERY_NAME.items() if field.type in types}


TEXT_FIELDS = _map_names(FieldType.WORDS, FieldType.FORMS)
EXACT_FIELDS = _map_names(FieldType.EXACT)
RANGE_FIELDS = _map_names(FieldType.DAY, FieldType.NUMBER)
"""Attributes of documents with dates or numbers, by field name in queries."""
DAY_FIELDS = tuple(_map_names(FieldType.DAY))
"""Names of date fields in queries, including aliases."""
PREFIX_FIELDS = tuple(name for name, field in _BY_QUERY_NAME.items() if field.accepts_prefix)
"""Names of exact fields whose values may end with a star, including aliases."""


def get_field(name: str) -> SearchField:
    """Return the search field with a name or alias of the query language.

    Raises KeyError if there is none.
    """
    return _BY_QUERY_NAME[name]


_EXACT = {field.name: field for field in SEARCH_FIELDS if field.type is FieldType.EXACT}


def normalize_exact_value(field: str, value: str) -> str:
    """Return a value of an exact search field in the form that the index stores.

    `field` is the attribute of documents, such as `language`. Raises ValueError with a message for
    users if the value is invalid for the field, and KeyError if the field is not an exact field.
    """
    return _EXACT[field].normalize(value.strip())


LABELS: Mapping[str, str] = MappingProxyType(
    {field.query_name: field.label for field in SEARCH_FIELDS if field.label}
)
"""Labels of the search fields that results show, by field name in queries."""


def read_labelled_values(document: IndexDocument) -> dict[str, Sequence[str]]:
    """Return those values of a document that results show with a label, by field name in queries.

    Fields without a value are omitted.
    """
    labelled_fields = (field for field in SEARCH_FIELDS if field.label)
    return {
        field.query_name: values for field in labelled_fields if (values := field.read(document))
    }


# Index fields.

WORDS_FIELDS = tuple(
    field for field in SEARCH_FIELDS if field.type in (FieldType.WORDS, FieldType.FORMS)
)
FORMS_FIELDS = tuple(field for field in SEARCH_FIELDS if field.type is FieldType.FORMS)
EARLIER_FIELDS: Mapping[str, str] = MappingProxyType(
    {field.name: f"earlier_{field.query_name}" for field in FORMS_FIELDS}
)
"""Names of the index fields for earlier versions of a story, by field of the current version."""
WORD_FIELDS: Mapping[str, str] = MappingProxyType(
    {field.name: f"{field.query_name}_words" for field in WORDS_FIELDS}
    | {name: f"{name}_words" for name in EARLIER_FIELDS.values()}
)
"""Names of index fields with folded words (no case, no accents), by attribute of a document."""
STEM_FIELDS: Mapping[str, str] = MappingProxyType(
    {field.name: f"{field.query_name}_stems" for field in FORMS_FIELDS}
    | {name: f"{name}_stems" for name in EARLIER_FIELDS.values()}
)
"""Names of index fields with stems, by attribute of a document."""
FACET_FIELDS: Mapping[str, str] = MappingProxyType(
    {field.name: field.facet for field in _EXACT.values() if field.facet}
)
"""URL parameters of the fields whose values are counted, by attribute of a document."""


def list_filter_values(query: SearchQuery) -> dict[str, Sequence[str]]:
    """Return the values that a query filters by, for each search field whose values are counted."""
    return {name: getattr(query, f"{facet}s") for name, facet in FACET_FIELDS.items()}


VALUE_FIELDS = tuple(field for field in _EXACT.values() if not field.facet)
"""Search fields with exact values that are not counted as facets."""
INDEXED_EXACT_FIELDS = tuple(_EXACT.values())
OPTIONAL_FIELDS = frozenset(field.name for field in _EXACT.values() if field.is_optional)
NUMBER_FIELDS = tuple(field.name for field in SEARCH_FIELDS if field.type is FieldType.NUMBER)

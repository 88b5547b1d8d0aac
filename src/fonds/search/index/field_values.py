"""Find the values of a search field for completion, with the number of documents for each value.

Values come from searches of the index, so only values that a search can find are returned.

Limits: 1,000 values per field, 2,000 themes, and the first 100 documents for authors, rights
holders and stated rights. Cost: up to a dozen searches without hits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from fonds.model.completion import NamedTheme
from fonds.model.file import SEARCHED_KINDS
from fonds.model.pdf import PdfStatus
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index
from fonds.search.fields import EXACT_FIELDS, ValueSource, get_field
from fonds.search.query.completion import format_value
from fonds.search.query.parser import (
    PREFIX_MIN_CHARS,
    VALUE_PREFIX_MIN_CHARS,
)
from fonds.text.language_codes import ISO_639_1
from fonds.text.words import split_words

VALUES_MAX = 1_000
THEMES_MAX = 2_000
DOCUMENTS_SEARCHED_MAX = 100
DOMAIN = EXACT_FIELDS["domain"]
_BARE = re.compile(r"[\w.=-]+")
_WORDS = re.compile(r"[\w\s]*")
_VERSIONS = {
    "all": "earlier versions too",
    "current": "the newest version",
}
Names = Callable[[str, str], str]
"""Function that returns the display name of a field value, from the field and the value."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """Value of a search field.

    - `value`: value as the index stores it; '' for documents without a value.
    - `name`: display name.
    - `count`: number of documents with the value; None if they were not counted.
    """

    value: str
    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class ValueLibrary:
    """Sources of the field values that completion suggests.

    - `index`: index whose documents have the values.
    - `themes`: function that yields all themes (clusters of documents).
    - `names`: function that returns display names of values.
    """

    index: Index
    themes: Callable[[], Iterator[NamedTheme]]
    names: Names


def find_values(library: ValueLibrary, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """Return the values of a field that may begin with `prefix`, and whether there may be more
    values.

    The values are unordered. A field that accepts any text has no values.
    """
    index = library.index
    name = get_field(field).query_name
    match get_field(field).values:
        case ValueSource.FACET:
            return _list_facet_values(library, name, prefix)
        case ValueSource.DOMAINS:
            return _list_domains(index, prefix)
        case ValueSource.SITES:
            domains, is_cut = _list_domains(index, prefix)
            return [*domains, *_find_host_value(index, prefix, domains)], is_cut
        case ValueSource.YEARS:
            return _list_years(index), False
        case ValueSource.STATUSES:
            return _list_statuses(index), False
        case ValueSource.THEMES:
            return _list_themes(library)
        case ValueSource.VERSIONS:
            return [KnownValue(value, name, None) for value, name in _VERSIONS.items()], False
        case ValueSource.NAMES:
            return _find_names(index, name, prefix)
        case ValueSource.DOCUMENTS:
            return _find_stated_values(index, name, prefix)
    return [], False


def filter_matching(values: Iterable[KnownValue], prefix: str) -> list[KnownValue]:
    """Return those field values that match the typed text, ignoring case and accents.

    Values that begin with the text, or whose names do, come first. Values with a word that begins
    with the text follow. Within each group, the value with the most documents comes first.
    """
    ranked_values = [(_rank_value(value, prefix.strip()), value) for value in values]
    matches = [(rank, match) for rank, match in ranked_values if rank is not None]
    matches.sort(
        key=lambda each: (each[0], -(each[1].count or 0), not each[1].value, each[1].value)
    )
    return [match for _, match in matches]


def _rank_value(value: KnownValue, prefix: str) -> int | None:
    """Return how well a field value or its display name matches typed text: 0 is better than 1.

    Returns 0 if the value or name begins with the text, 1 if a later word does, otherwise None.
    Accents are ignored, but only if the text consists of words.
    """
    texts = [value.value or "none", value.name]
    if any(text.casefold().startswith(prefix.casefold()) for text in texts):
        return 0
    if not _WORDS.fullmatch(prefix):
        return None
    folded_prefix, parts = " ".join(split_words(prefix)), [split_words(text) for text in texts]
    if any(" ".join(words).startswith(folded_prefix) for words in parts):
        return 0
    return 1 if any(part.startswith(folded_prefix) for words in parts for part in words) else None


def _search_all(index: Index, text: str = "") -> SearchResults:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=VALUES_MAX))


def _count_total(index: Index, text: str) -> int:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=0)).total


def _list_facet_values(
    library: ValueLibrary, name: str, prefix: str
) -> tuple[list[KnownValue], bool]:
    """Return the values of a facet with their counts, and whether there may be more.

    File kinds without documents are included, and so are languages if something was typed.
    """
    results = _search_all(library.index)
    counts = dict(results.facets.get(EXACT_FIELDS[name], ()))
    if name == "kind":
        counts = {**dict.fromkeys(map(str, SEARCHED_KINDS), 0), **counts}
    if name == "language" and prefix.strip():
        codes = [code for code in sorted(ISO_639_1) if library.names(name, code) != code]
        counts = {**dict.fromkeys(codes, 0), **counts}
    values = [
        KnownValue(value, library.names(name, value), count) for value, count in counts.items()
    ]
    return values, results.beyond.get(EXACT_FIELDS[name], 0) > 0


def _list_domains(index: Index, prefix: str) -> tuple[list[KnownValue], bool]:
    """Return the domains of documents with their counts, and whether there may be more.

    If there are too many domains to count at once, domains that begin with the typed text are
    counted separately and added.
    """
    results = _search_all(index)
    counts, is_cut = dict(results.facets.get(DOMAIN, ())), results.beyond.get(DOMAIN, 0) > 0
    folded_prefix, url_query = prefix.strip().casefold(), _build_url_query(prefix)
    if is_cut and url_query:
        matches = _search_all(index, url_query)
        added_counts = {
            domain: count
            for domain, count in matches.facets.get(DOMAIN, ())
            if domain.startswith(folded_prefix)
        }
        counts, is_cut = {**added_counts, **counts}, matches.beyond.get(DOMAIN, 0) > 0
    return [KnownValue(value, value or "none", count) for value, count in counts.items()], is_cut


def _build_url_query(prefix: str) -> str:
    """Return a query for documents whose URL contains the first word of the typed text.

    Returns '' if the text is too short."""
    parts = split_words(prefix)
    if len(parts) > 1:
        return f'url:"{parts[0]}"'
    is_long_enough = parts and len(parts[0]) >= PREFIX_MIN_CHARS
    return f"url:{parts[0]}*" if is_long_enough else ""


def _find_host_value(index: Index, prefix: str, values: Iterable[KnownValue]) -> list[KnownValue]:
    """Return the typed host as a list with one value if it has documents; otherwise an empty list.

    Hosts within a domain are not counted as facets, so they are looked up one by one.
    """
    host = prefix.strip().casefold()
    query_value = format_value("site", host) if host else None
    if query_value is None or any(value.value == host for value in values):
        return []
    count = _count_total(index, f"site:{query_value}")
    return [KnownValue(host, host, count)] if count else []


def _list_years(index: Index) -> list[KnownValue]:
    results = _search_all(index)
    counts: Counter[str] = Counter()
    for month, count in results.dates:
        counts[month[:4]] += count
    counts[""] = results.undated
    return [KnownValue(year, year or "none", count) for year, count in counts.items() if count]


def _list_statuses(index: Index) -> list[KnownValue]:
    """Return the statuses that indexed PDFs can have, each with its number of documents.

    Files with other statuses are not in the index.
    """
    statuses = [status for status in PdfStatus if status.reason is None]
    return [
        KnownValue(status, status.explanation, _count_total(index, f"status:{status}"))
        for status in statuses
    ]


def _list_themes(library: ValueLibrary) -> tuple[list[KnownValue], bool]:
    """Return all themes as values, and whether there may be more.

    A theme is written as its label. If another theme may have the same label, the name of its
    collection precedes the label.
    """
    first_themes = list(islice(library.themes(), THEMES_MAX + 1))
    is_cut = len(first_themes) > THEMES_MAX
    themes: dict[tuple[str, str], NamedTheme] = {}
    for theme in first_themes[:THEMES_MAX]:
        themes.setdefault((theme.collection, theme.label.casefold()), theme)
    labels = Counter(label for _, label in themes)
    values = []
    for (collection, label), theme in themes.items():
        is_alone = labels[label] == 1 and not is_cut
        value = theme.label if is_alone else f"{collection}/{theme.label}"
        values.append(KnownValue(value, f"{theme.label} in {collection}", theme.size))
    return values, is_cut


def _find_names(index: Index, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """Return matching names of authors or rights holders, and whether there may be more.

    The names are those in the first documents with a name that contains the typed words. The last
    typed word may be the beginning of a word.
    """
    *first, last = split_words(prefix) or [""]
    if len(last) < PREFIX_MIN_CHARS:
        return [], False
    return _count_first_values(index, f"{field}:({' '.join([*first, f'{last}*'])})", field)


def _find_stated_values(index: Index, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """Return values of a field that begin with the typed text, and whether there may be more.

    The values, such as stated licences, are those of the first matching documents. The value ''
    (`none`) is always included.
    """
    start = "".join(prefix.split()).strip('"*').lower()
    is_plain = len(start) >= VALUE_PREFIX_MIN_CHARS and _BARE.fullmatch(start)
    text = f"{field}:{start}*" if is_plain else f"-{field}:none"
    values, is_cut = _count_first_values(index, text, field)
    return [*values, KnownValue("", "none", None)], is_cut


def _count_first_values(index: Index, text: str, name: str) -> tuple[list[KnownValue], bool]:
    """Return the values of a field in the first documents that a query finds, with their counts.

    The second result is whether there are more documents.
    """
    query = SearchQuery(
        text, count_max=DOCUMENTS_SEARCHED_MAX, facet_values_max=0, with_snippets=False
    )
    results = index.search(query)
    counts: Counter[str] = Counter()
    for hit in results.hits:
        counts.update(set(get_field(name).read(hit.document)))
    is_cut = results.total > len(results.hits)
    return [KnownValue(value, value, count) for value, count in counts.items()], is_cut


def count_value(index: Index, field: str, value: KnownValue, query_value: str) -> KnownValue:
    """Return a copy of a field value with the number of documents in the whole index that have it.

    `query_value` is the same value in the syntax of the query language.
    """
    return replace(value, count=_count_total(index, f"{field}:{query_value}"))

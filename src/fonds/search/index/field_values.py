"""The values of a field of searches that documents here have, with how many have each.

Asked of the index as a search is, so that no value is told which no search finds. Limit: 1,000 values of each
field, 2,000 themes, a hundred documents for authors and what is stated of rights; a dozen searches that ask
for no hits.
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
"""How people call a value of a field: itself where they have no other name for it."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value of a field, '' for documents without one; `count` documents have it, None where that was not
    counted."""

    value: str
    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class ValueLibrary:
    """What values are asked of: the index, and all themes; `names` are those people have for values."""

    index: Index
    themes: Callable[[], Iterator[NamedTheme]]
    names: Names


def find_values(library: ValueLibrary, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """The values of a field of which one may begin with what was `prefix`, in no order; and whether there may
    be others. None of a field whose values are free."""
    index = library.index
    name = get_field(field).query_name
    match get_field(field).values:
        case ValueSource.FACET:
            return _list_facet_values(library, name, prefix)
        case ValueSource.DOMAINS:
            return _list_domains(index, prefix)
        case ValueSource.SITES:
            known, is_cut = _list_domains(index, prefix)
            return [*known, *_find_host_value(index, prefix, known)], is_cut
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
    """The values that begin with what was typed, or whose name does, then those with a word in them that
    does, case and accents aside; of each the values most documents have come first."""
    ranked = [(_rank_value(value, prefix.strip()), value) for value in values]
    found = [(rank, one) for rank, one in ranked if rank is not None]
    found.sort(key=lambda each: (each[0], -(each[1].count or 0), not each[1].value, each[1].value))
    return [one for _, one in found]


def _rank_value(value: KnownValue, prefix: str) -> int | None:
    """0, 1, or None for one that is not meant; accents and words count where nothing but words is said."""
    texts = [value.value or "none", value.name]
    if any(text.casefold().startswith(prefix.casefold()) for text in texts):
        return 0
    if not _WORDS.fullmatch(prefix):
        return None
    folded, parts = " ".join(split_words(prefix)), [split_words(text) for text in texts]
    if any(" ".join(some).startswith(folded) for some in parts):
        return 0
    return 1 if any(part.startswith(folded) for some in parts for part in some) else None


def _search_all(index: Index, text: str = "") -> SearchResults:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=VALUES_MAX))


def _count_total(index: Index, text: str) -> int:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=0)).total


def _list_facet_values(
    library: ValueLibrary, name: str, prefix: str
) -> tuple[list[KnownValue], bool]:
    """Those documents have; of kinds the others too, of languages those that begin with what was typed."""
    found = _search_all(library.index)
    counts = dict(found.facets.get(EXACT_FIELDS[name], ()))
    if name == "kind":
        counts = {**dict.fromkeys(map(str, SEARCHED_KINDS), 0), **counts}
    if name == "language" and prefix.strip():
        named = [code for code in sorted(ISO_639_1) if library.names(name, code) != code]
        counts = {**dict.fromkeys(named, 0), **counts}
    known = [
        KnownValue(value, library.names(name, value), count) for value, count in counts.items()
    ]
    return known, found.beyond.get(EXACT_FIELDS[name], 0) > 0


def _list_domains(index: Index, prefix: str) -> tuple[list[KnownValue], bool]:
    """Where there are more than can be counted at once, those in whose addresses stands what was typed."""
    every = _search_all(index)
    counts, is_cut = dict(every.facets.get(DOMAIN, ())), every.beyond.get(DOMAIN, 0) > 0
    begins, narrowed = prefix.strip().casefold(), _build_url_query(prefix)
    if is_cut and narrowed:
        found = _search_all(index, narrowed)
        some = {
            domain: count
            for domain, count in found.facets.get(DOMAIN, ())
            if domain.startswith(begins)
        }
        counts, is_cut = {**some, **counts}, found.beyond.get(DOMAIN, 0) > 0
    return [KnownValue(value, value or "none", count) for value, count in counts.items()], is_cut


def _build_url_query(prefix: str) -> str:
    """A search for the addresses with what was typed in them; '' where it is too short for one."""
    parts = split_words(prefix)
    if len(parts) > 1:
        return f'url:"{parts[0]}"'
    long = parts and len(parts[0]) >= PREFIX_MIN_CHARS
    return f"url:{parts[0]}*" if long else ""


def _find_host_value(index: Index, prefix: str, values: Iterable[KnownValue]) -> list[KnownValue]:
    """What was typed, where it is a host documents lie under: hosts within a domain are not counted."""
    host = prefix.strip().casefold()
    put = format_value("site", host) if host else None
    if put is None or any(value.value == host for value in values):
        return []
    count = _count_total(index, f"site:{put}")
    return [KnownValue(host, host, count)] if count else []


def _list_years(index: Index) -> list[KnownValue]:
    found = _search_all(index)
    counts: Counter[str] = Counter()
    for month, count in found.dates:
        counts[month[:4]] += count
    counts[""] = found.undated
    return [KnownValue(year, year or "none", count) for year, count in counts.items() if count]


def _list_statuses(index: Index) -> list[KnownValue]:
    """Those of files of which something was kept: nothing else is in the index."""
    kept = [one for one in PdfStatus if one.reason is None]
    return [KnownValue(one, one.explanation, _count_total(index, f"status:{one}")) for one in kept]


def _list_themes(library: ValueLibrary) -> tuple[list[KnownValue], bool]:
    """Themes by their labels; with the collection before it where another theme may have the same."""
    read = list(islice(library.themes(), THEMES_MAX + 1))
    is_cut = len(read) > THEMES_MAX
    themes: dict[tuple[str, str], NamedTheme] = {}
    for one in read[:THEMES_MAX]:
        themes.setdefault((one.collection, one.label.casefold()), one)
    labels = Counter(label for _, label in themes)
    found = []
    for (collection, label), one in themes.items():
        is_alone = labels[label] == 1 and not is_cut
        value = one.label if is_alone else f"{collection}/{one.label}"
        found.append(KnownValue(value, f"{one.label} in {collection}", one.size))
    return found, is_cut


def _find_names(index: Index, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """Authors or holders of the documents that are found first by what was typed of a name."""
    *first, last = split_words(prefix) or [""]
    if len(last) < PREFIX_MIN_CHARS:
        return [], False
    return _count_first_values(index, f"{field}:({' '.join([*first, f'{last}*'])})", field)


def _find_stated_values(index: Index, field: str, prefix: str) -> tuple[list[KnownValue], bool]:
    """Values that begin with what was typed, of the documents that are found first by it; and that there
    are documents without."""
    start = "".join(prefix.split()).strip('"*').lower()
    is_plain = len(start) >= VALUE_PREFIX_MIN_CHARS and _BARE.fullmatch(start)
    text = f"{field}:{start}*" if is_plain else f"-{field}:none"
    known, is_cut = _count_first_values(index, text, field)
    return [*known, KnownValue("", "none", None)], is_cut


def _count_first_values(index: Index, text: str, name: str) -> tuple[list[KnownValue], bool]:
    """The values in this field of the documents found first, with how many of these have each; and whether
    there are more documents."""
    query = SearchQuery(
        text, count_max=DOCUMENTS_SEARCHED_MAX, facet_values_max=0, with_snippets=False
    )
    found = index.search(query)
    counts: Counter[str] = Counter()
    for hit in found.hits:
        counts.update(set(get_field(name).read(hit.document)))
    is_cut = found.total > len(found.hits)
    return [KnownValue(value, value, count) for value, count in counts.items()], is_cut


def count_value(index: Index, field: str, value: KnownValue, put: str) -> KnownValue:
    """The same with how many of all documents have this value."""
    return replace(value, count=_count_total(index, f"{field}:{put}"))

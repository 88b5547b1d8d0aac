"""The values of a field of searches that documents here have, with how many have each.

Asked of the index as a search is, so that no value is told which no search finds. Bound: 1,000 values of each
field, 2,000 themes, a hundred documents for authors and what is stated of rights; a dozen searches that ask
for no hits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from fonds.extract.language.codes import ISO_639_1
from fonds.model.completing import NamedTheme
from fonds.model.document import SearchQuery, SearchResults
from fonds.model.file import SEARCHED_KINDS
from fonds.model.pdf import PdfStatus
from fonds.ports import Index
from fonds.stores.index.query.completing import written
from fonds.stores.index.query.fields import EXACT_FIELDS, TEXT_FIELDS, short_name
from fonds.stores.index.query.parsing import PREFIX_CHARACTERS_MIN, VALUE_PREFIX_CHARACTERS_MIN
from fonds.words import words

VALUES_MAX = 1_000
THEMES_MAX = 2_000
DOCUMENTS_LOOKED_MAX = 100
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
class Known:
    """A value of a field, '' for documents without one; `count` documents have it, None where that was not
    counted."""

    value: str
    name: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Library:
    """What values are asked of: the index, and all themes; `names` are those people have for values."""

    index: Index
    themes: Callable[[], Iterator[NamedTheme]]
    names: Names


def values(library: Library, field: str, said: str) -> tuple[list[Known], bool]:
    """The values of a field of which one may begin with what was `said`, in no order; and whether there may
    be others. None of a field whose values are free."""
    index = library.index
    match short_name(field):
        case "kind" | "language" | "collection" as name:
            return _faceted(library, name, said)
        case "domain":
            return _domains(index, said)
        case "site":
            known, is_cut = _domains(index, said)
            return [*known, *_host(index, said, known)], is_cut
        case "year":
            return _years(index), False
        case "status":
            return _statuses(index), False
        case "theme":
            return _themes(library)
        case "version":
            return [Known(value, name, None) for value, name in _VERSIONS.items()], False
        case "author" | "holder" as name:
            return _named(index, name, said)
        case "license" | "prefers" as name:
            return _stated(index, name, said)
    return [], False


def matching(known: Iterable[Known], said: str) -> list[Known]:
    """The values that begin with what was typed, or whose name does, then those with a word in them that
    does, case and accents aside; of each the values most documents have come first."""
    ranked = [(_rank(one, said.strip()), one) for one in known]
    found = [(rank, one) for rank, one in ranked if rank is not None]
    found.sort(key=lambda each: (each[0], -(each[1].count or 0), not each[1].value, each[1].value))
    return [one for _, one in found]


def _rank(one: Known, said: str) -> int | None:
    """0, 1, or None for one that is not meant; accents and words count where nothing but words is said."""
    texts = [one.value or "none", one.name]
    if any(text.casefold().startswith(said.casefold()) for text in texts):
        return 0
    if not _WORDS.fullmatch(said):
        return None
    folded, parts = " ".join(words(said)), [words(text) for text in texts]
    if any(" ".join(some).startswith(folded) for some in parts):
        return 0
    return 1 if any(part.startswith(folded) for some in parts for part in some) else None


def _every(index: Index, text: str = "") -> SearchResults:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=VALUES_MAX))


def _total(index: Index, text: str) -> int:
    return index.search(SearchQuery(text, count_max=0, facet_values_max=0)).total


def _faceted(library: Library, name: str, said: str) -> tuple[list[Known], bool]:
    """Those documents have; of kinds the others too, of languages those that begin with what was typed."""
    found = _every(library.index)
    counts = dict(found.facets.get(EXACT_FIELDS[name], ()))
    if name == "kind":
        counts = {**dict.fromkeys(map(str, SEARCHED_KINDS), 0), **counts}
    if name == "language" and said.strip():
        named = [code for code in sorted(ISO_639_1) if library.names(name, code) != code]
        counts = {**dict.fromkeys(named, 0), **counts}
    known = [Known(value, library.names(name, value), count) for value, count in counts.items()]
    return known, found.beyond.get(EXACT_FIELDS[name], 0) > 0


def _domains(index: Index, said: str) -> tuple[list[Known], bool]:
    """Where there are more than can be counted at once, those in whose addresses stands what was typed."""
    every = _every(index)
    counts, is_cut = dict(every.facets.get(DOMAIN, ())), every.beyond.get(DOMAIN, 0) > 0
    begins, narrowed = said.strip().casefold(), _in_address(said)
    if is_cut and narrowed:
        found = _every(index, narrowed)
        some = {
            domain: count
            for domain, count in found.facets.get(DOMAIN, ())
            if domain.startswith(begins)
        }
        counts, is_cut = {**some, **counts}, found.beyond.get(DOMAIN, 0) > 0
    return [Known(value, value or "none", count) for value, count in counts.items()], is_cut


def _in_address(said: str) -> str:
    """A search for the addresses with what was typed in them; '' where it is too short for one."""
    parts = words(said)
    if len(parts) > 1:
        return f'url:"{parts[0]}"'
    long = parts and len(parts[0]) >= PREFIX_CHARACTERS_MIN
    return f"url:{parts[0]}*" if long else ""


def _host(index: Index, said: str, known: Iterable[Known]) -> list[Known]:
    """What was typed, where it is a host documents lie under: hosts within a domain are not counted."""
    host = said.strip().casefold()
    put = written("site", host) if host else None
    if put is None or any(one.value == host for one in known):
        return []
    count = _total(index, f"site:{put}")
    return [Known(host, host, count)] if count else []


def _years(index: Index) -> list[Known]:
    found = _every(index)
    counts: Counter[str] = Counter()
    for month, count in found.dates:
        counts[month[:4]] += count
    counts[""] = found.undated
    return [Known(year, year or "none", count) for year, count in counts.items() if count]


def _statuses(index: Index) -> list[Known]:
    """Those of files of which something was kept: nothing else is in the index."""
    kept = [one for one in PdfStatus if one.reason is None]
    return [Known(one, one.explanation, _total(index, f"status:{one}")) for one in kept]


def _themes(library: Library) -> tuple[list[Known], bool]:
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
        found.append(Known(value, f"{one.label} in {collection}", one.size))
    return found, is_cut


def _named(index: Index, field: str, said: str) -> tuple[list[Known], bool]:
    """Authors or holders of the documents that are found first by what was typed of a name."""
    *first, last = words(said) or [""]
    if len(last) < PREFIX_CHARACTERS_MIN:
        return [], False
    return _of_first(index, f"{field}:({' '.join([*first, f'{last}*'])})", TEXT_FIELDS[field])


def _stated(index: Index, field: str, said: str) -> tuple[list[Known], bool]:
    """Values that begin with what was typed, of the documents that are found first by it; and that there
    are documents without."""
    start = "".join(said.split()).strip('"*').lower()
    is_plain = len(start) >= VALUE_PREFIX_CHARACTERS_MIN and _BARE.fullmatch(start)
    text = f"{field}:{start}*" if is_plain else f"-{field}:none"
    known, is_cut = _of_first(index, text, EXACT_FIELDS[field])
    return [*known, Known("", "none", None)], is_cut


def _of_first(index: Index, text: str, name: str) -> tuple[list[Known], bool]:
    """The values in this field of the documents found first, with how many of these have each; and whether
    there are more documents."""
    query = SearchQuery(
        text, count_max=DOCUMENTS_LOOKED_MAX, facet_values_max=0, with_snippets=False
    )
    found = index.search(query)
    counts: Counter[str] = Counter()
    for hit in found.hits:
        counts.update(set(getattr(hit.document, name)))
    is_cut = found.total > len(found.hits)
    return [Known(value, value, count) for value, count in counts.items()], is_cut


def counted(index: Index, field: str, one: Known, put: str) -> Known:
    """The same with how many of all documents have this value."""
    return replace(one, count=_total(index, f"{field}:{put}"))

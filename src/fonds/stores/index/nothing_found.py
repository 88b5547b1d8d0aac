"""What is told of a search that found nothing: which value or word of it no document has, what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from fonds.model.document import Match, SearchQuery, SearchResults
from fonds.model.file import Kind
from fonds.model.names import nearest
from fonds.ports import Index
from fonds.stores.index.asked import FACET_VALUES_MAX
from fonds.stores.index.query.fields import TEXT_FIELDS
from fonds.stores.index.query.parsing import parse_query, with_all_versions
from fonds.stores.index.query.tree import (
    And,
    Node,
    Term,
    exact_values,
    is_in_versions,
    without_stop_words,
)
from fonds.words import letters, words

LOOKED_MAX = 20
"""So many values, and so many words, are looked up for one search."""

_FILTERS = {
    "kind": "kinds",
    "language": "languages",
    "canonical_domain": "domains",
    "collection": "collections",
}
_WORDS = {
    "kind": "kind",
    "language": "language",
    "canonical_domain": "domain",
    "collection": "collection",
}
_NAMES = {document_field: name for name, document_field in reversed(TEXT_FIELDS.items())}


def with_notes(
    results: SearchResults, index: Index, query: SearchQuery, tree: Node
) -> SearchResults:
    """The results; when nothing was found, with a sentence for each value and each word asked for that no
    document has, and the nearest there is; `meant` is then the query with these words in it. How many stories
    match in an earlier version is counted. Searches that ask for no hits, or no notes, are left as they are.
    """
    if results.total or not (query.count_max and query.with_notes):
        return results
    if query.match is Match.BEST:
        tree = parse_query(replace(query, match=Match.EXACT))
    results = _with_earlier(results, index, query, tree)
    notes = [*_missing_values(index, query, tree)]
    meant = _note_words(index, query.text, tree, notes, in_earlier=results.earlier_count > 0)
    if not notes and _is_filtered(query):
        notes += _without_filters(index, query)
    elif not (notes or results.earlier_count) and isinstance(tree, And) and tree.nodes:
        notes.append("Each part of this is found by itself, but no document has all of it.")
    return replace(results, notes=notes, meant=meant if meant != query.text else None)


def _note_words(index: Index, text: str, tree: Node, notes: list[str], *, in_earlier: bool) -> str:
    """Add a note for each word no document has, and return the query with the nearest ones in their places.
    `in_earlier`: all words are in earlier versions, which is told elsewhere."""
    meant = text
    required = _required(tree)
    telling = list(without_stop_words(required))
    for term in [*telling, *(one for one in required if one not in telling)][:LOOKED_MAX]:
        if notes and term not in telling:
            break
        if _count(index, written(term), in_versions=term.in_versions):
            continue
        if not term.in_versions and (count := _count(index, written(term), in_versions=True)):
            if not in_earlier:
                notes.append(f"Only earlier versions of {_stories(count)} have {_shown(term)}.")
            continue
        near = _alike(index, term)
        told = f"; did you mean “{near}”?" if near else "."
        notes.append(f"No document here has {_shown(term)}{told}")
        if near:
            meant = _exchanged(meant, term.text, near)
    return meant


def _with_earlier(
    results: SearchResults, index: Index, query: SearchQuery, tree: Node
) -> SearchResults:
    """The results with how many stories match in an earlier version."""
    if not query.text.strip() or is_in_versions(tree):
        return results
    asked = replace(
        query, in_versions=True, offset=0, after=None, count_max=0, facet_values_max=0, sort="score"
    )
    count = index.search(asked).total
    text = with_all_versions(query.text) if count else None
    return replace(results, earlier_count=count, earlier_text=text)


def _stories(count: int) -> str:
    return "1 story" if count == 1 else f"{count:,} stories"


def written(term: Term) -> str:
    """A term as a query of its own."""
    name = f"{_NAMES[term.field]}:" if term.field else ""
    plain = " ".join(letters(term.text).split())
    if term.prefix:
        return f"{name}{plain}*"
    if term.exact or len(words(term.text)) > 1:
        return f'{name}"{plain}"'
    return f"{name}{plain}"


def _shown(term: Term) -> str:
    """A term as a note names it: as it was typed, without the punctuation behind it."""
    asked, typed = written(term), term.text.rstrip(".,;:!?…")
    return f"“{typed}”" if asked == typed.lower() else asked


def _required(tree: Node) -> list[Term]:
    """The terms every found document must have."""
    if isinstance(tree, Term):
        return [tree]
    if isinstance(tree, And):
        return [term for node in tree.nodes for term in _required(node)]
    return []


def _count(index: Index, text: str, *, in_versions: bool | None = None) -> int:
    query = SearchQuery(text, count_max=0, facet_values_max=0, in_versions=in_versions)
    return index.search(query).total


def _alike(index: Index, term: Term) -> str | None:
    """The likeliest of the index's own words that is written almost like this one, if it finds anything."""
    parts = words(term.text)
    if len(parts) != 1 or term.prefix or term.field not in (None, "article_title", "text_content"):
        return None
    for near in index.alike(parts[0]):
        if _count(index, written(replace(term, text=near)), in_versions=term.in_versions):
            return near
    return None


def _exchanged(text: str, bad: str, good: str) -> str:
    """The query with a word put right where it stands first by itself."""
    return re.sub(rf"(?<!\w){re.escape(bad)}(?!\w)", lambda _: good, text, count=1)


def _is_filtered(query: SearchQuery) -> bool:
    limited = query.kinds, query.languages, query.domains, query.collections, query.ids
    return any(limited) or bool(query.date_from or query.date_to or query.undated)


def _without_filters(index: Index, query: SearchQuery) -> Iterator[str]:
    alone = SearchQuery(
        query.text, count_max=0, facet_values_max=0, match=query.match, themes=query.themes
    )
    count = index.search(alone).total
    if count:
        yield f"Without the filters {count:,} would be found."


def _missing_values(index: Index, query: SearchQuery, tree: Node) -> Iterator[str]:
    """A sentence for each kind, language, domain and collection in a query that no document has."""
    asked = list(dict.fromkeys(_asked(query, tree)))[:LOOKED_MAX]
    missing = [(field, value) for field, value in asked if not _has(index, field, value)]
    if not missing:
        return
    known = index.search(SearchQuery(count_max=0, facet_values_max=FACET_VALUES_MAX)).facets
    for field, value in missing:
        yield _sentence(_WORDS[field], value, [name for name, _ in known.get(field, ())])


def _asked(query: SearchQuery, tree: Node) -> Iterator[tuple[str, str]]:
    for field, name in _FILTERS.items():
        yield from ((field, value) for value in getattr(query, name))
    for exact in exact_values(tree):
        if exact.field in _FILTERS:
            yield exact.field, exact.value


def _has(index: Index, field: str, value: str) -> bool:
    count_only = SearchQuery(count_max=0, facet_values_max=0)
    alone = {
        "kind": lambda: replace(count_only, kinds=[Kind(value)]),
        "language": lambda: replace(count_only, languages=[value]),
        "canonical_domain": lambda: replace(count_only, domains=[value]),
        "collection": lambda: replace(count_only, collections=[value]),
    }[field]()
    return index.search(alone).total > 0


def _sentence(word: str, value: str, known: list[str]) -> str:
    if not value:
        return f"No document here is without a {word}."
    near = nearest(value, known)
    meant = f"; did you mean “{near}”?" if near else "."
    return f"No document here has the {word} “{value}”{meant}"

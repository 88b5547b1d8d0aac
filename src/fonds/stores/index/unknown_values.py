"""Values a search asked for that no document has: what is told of a search that found nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fonds.model.document import SearchQuery, SearchResults
from fonds.model.names import nearest
from fonds.ports import Index
from fonds.stores.index.asked import FACET_VALUES_MAX
from fonds.stores.index.query.tree import Node, exact_values

LOOKED_MAX = 20
"""So many values are looked up for one search."""

_FILTERS = {"language": "languages", "canonical_domain": "domains", "collection": "collections"}
_WORDS = {"language": "language", "canonical_domain": "domain", "collection": "collection"}


def with_notes(
    results: SearchResults, index: Index, query: SearchQuery, tree: Node
) -> SearchResults:
    """The results; when nothing was found, with a sentence for each language, domain and collection asked
    for that no document has, and the nearest there is. Searches that ask for no hits are left as they are.
    """
    if results.total or not query.count_max:
        return results
    asked = list(dict.fromkeys(_asked(query, tree)))[:LOOKED_MAX]
    missing = [(field, value) for field, value in asked if not _has(index, field, value)]
    if not missing:
        return results
    known = index.search(SearchQuery(count_max=0, facet_values_max=FACET_VALUES_MAX)).facets
    notes = [
        _sentence(_WORDS[field], value, [name for name, _ in known.get(field, ())])
        for field, value in missing
    ]
    return replace(results, notes=notes)


def _asked(query: SearchQuery, tree: Node) -> Iterator[tuple[str, str]]:
    for field, name in _FILTERS.items():
        yield from ((field, value) for value in getattr(query, name))
    for exact in exact_values(tree):
        if exact.field in _FILTERS:
            yield exact.field, exact.value


def _has(index: Index, field: str, value: str) -> bool:
    one = [value]
    alone = {
        "language": SearchQuery(languages=one, count_max=0),
        "canonical_domain": SearchQuery(domains=one, count_max=0),
        "collection": SearchQuery(collections=one, count_max=0),
    }[field]
    return index.search(alone).total > 0


def _sentence(word: str, value: str, known: list[str]) -> str:
    if not value:
        return f"No document here is without a {word}."
    near = nearest(value, known)
    meant = f"; did you mean “{near}”?" if near else "."
    return f"No document here has the {word} “{value}”{meant}"

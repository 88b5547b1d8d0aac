"""Results of a search in which one document stands for all that say nearly the same, on whatever page.

Which stands for which follows from the order of the result and what is kept of each text: the first of those
that are alike stands, and every page works it out from the first result on. Nothing is told but of documents
the search found.

Bound: the first 1,000 documents of a result are compared with each other; each of those behind stands for
itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fonds.kinds.similarity.near_duplicates import near_duplicates
from fonds.model.document import (
    IDS_MAX,
    RESULTS_MAX,
    Hit,
    IndexDocument,
    SearchQuery,
    SearchResults,
)
from fonds.ports import Index, Records

COMPARED_MAX = IDS_MAX
"""As many as a query may name by id."""


@dataclass(frozen=True, slots=True)
class Collapsed:
    """`found` counts all documents; its hits are those that stand on the page asked for. `alike` says how
    many others each document stands for, by id. `listed` results there are in all, of which `reachable` can
    be paged through; the first `compared` documents were compared.
    """

    found: SearchResults
    alike: Mapping[str, int]
    listed: int
    reachable: int
    compared: int


def separate(index: Index, query: SearchQuery) -> Collapsed:
    """One page of a search in which each document stands for itself. Raises ValueError with a sentence for
    people."""
    found = index.search(query)
    return Collapsed(found, {}, found.total, min(found.total, RESULTS_MAX), 0)


def collapsed(index: Index, records: Records, query: SearchQuery) -> Collapsed:
    """One page of a search; `offset` and `count_max` of the query count results, not documents. Raises
    ValueError with a sentence for people."""
    first, query, documents = _compared(index, query)
    copies = near_duplicates(records, documents)
    standing = [one.id for one in documents if one.id not in copies]
    page = standing[query.offset : query.offset + query.count_max]
    begin = len(documents) + max(0, query.offset - len(standing))
    rest = replace(
        query,
        offset=begin,
        count_max=max(0, min(query.count_max - len(page), RESULTS_MAX - begin)),
        facet_values_max=0,
    )
    hits = _named(index, query, page)
    if rest.count_max and begin < first.total:
        hits += tuple(index.search(rest).hits)
    return Collapsed(
        replace(first, hits=hits),
        Counter(copies.values()),
        listed=first.total - len(copies),
        reachable=min(first.total, RESULTS_MAX) - len(copies),
        compared=len(documents),
    )


def alike(index: Index, records: Records, query: SearchQuery, id_: str) -> list[str]:
    """The ids of the documents of a search that stand together with this one; where it is not among the first
    1,000 itself, those of them that are nearly the same. In the order of the search; it alone where nothing
    is. Raises ValueError with a sentence for people."""
    _, _, documents = _compared(index, replace(query, facet_values_max=0))
    beside = [] if any(one.id == id_ for one in documents) else list(index.get([id_]).values())
    copies = near_duplicates(records, [*beside, *documents])
    stands = copies.get(id_, id_)
    return [one.id for one in documents if copies.get(one.id, one.id) == stands] or [id_]


def _compared(
    index: Index, query: SearchQuery
) -> tuple[SearchResults, SearchQuery, Sequence[IndexDocument]]:
    """The documents that are compared, with the counts over all, and the query as it was answered."""
    asked = replace(query, offset=0, after=None, count_max=COMPARED_MAX, with_snippets=False)
    results = index.search(asked)
    held = replace(query, themes=results.themes or query.themes)
    return results, held, [hit.document for hit in results.hits]


def _named(index: Index, query: SearchQuery, ids: Sequence[str]) -> tuple[Hit, ...]:
    """The hits of these documents, in this order, but for those gone meanwhile."""
    if not ids:
        return ()
    asked = replace(query, ids=ids, offset=0, count_max=len(ids), facet_values_max=0)
    found = {hit.document.id: hit for hit in index.search(asked).hits}
    return tuple(found[id_] for id_ in ids if id_ in found)

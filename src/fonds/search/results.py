"""Collapse near-duplicates in search results, such as copies of a news agency's report.

The first of a group of near-duplicates in the order of the result represents the group. Groups are
computed from the stored sketches (MinHash values) of texts, for every page from the first result
on. Only documents that the search found are grouped.

Limits: the first 1,000 documents of a result are compared. Each later document is a result of its
own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from fonds.model.document import IndexDocument
from fonds.model.search import IDS_MAX, RESULTS_MAX, Hit, SearchQuery, SearchResults
from fonds.ports import Index, Records
from fonds.text.similarity import RUNS_RESEMBLANCE_MIN, compute_bands, estimate_resemblance

if TYPE_CHECKING:
    from fonds.model.rows import TextSketchRow

NO_TEXT = sha256(b"").hexdigest()
_Key = int | str


def find_near_duplicates(records: Records, documents: Sequence[IndexDocument]) -> Mapping[str, str]:
    """Return the ids of the near-duplicates among documents, each with the id of the document that
    represents its group.

    The representative is the first document in the given order with nearly the same text; it is not
    a key of the result. A document without a sketch (MinHash values of its
    text) is never a near-duplicate.
    """
    # Imported here because the row types are slow to import, and `fonds search` collapses nothing.
    from fonds.model.rows import TextSketchRow

    sketches = {row.sha1hex: row for row in records.get(TextSketchRow, _list_files(documents))}
    first_by_id: dict[str, str] = {}
    firsts: dict[_Key, list[tuple[str, TextSketchRow]]] = defaultdict(list)
    for document in documents:
        row = sketches.get(document.sha1hex)
        if row is None:
            continue
        keys = list(_iter_keys(row))
        candidates = (pair for key in keys for pair in firsts[key])
        first = next((id_ for id_, other_row in candidates if _are_similar(row, other_row)), None)
        if first is not None:
            first_by_id[document.id] = first
            continue
        for key in keys:
            firsts[key].append((document.id, row))
    return first_by_id


def _list_files(documents: Sequence[IndexDocument]) -> list[str]:
    return list(dict.fromkeys(document.sha1hex for document in documents))


def _iter_keys(row: TextSketchRow) -> Iterator[_Key]:
    """Yield the keys that a text shares with its near-duplicates: its hash and its MinHash bands.

    A story too short for a comparison has the hash of its whole text as its only key. A PDF with
    such a short text has no key, because the only text of a scanned PDF may be its owner's stamp.
    """
    if row.signature or (row.story_id != row.sha1hex and row.text_sha256hex != NO_TEXT):
        yield row.text_sha256hex
    if row.signature:
        yield from compute_bands(bytes.fromhex(row.signature))


def _are_similar(sketch: TextSketchRow, other_sketch: TextSketchRow) -> bool:
    if sketch.text_sha256hex == other_sketch.text_sha256hex:
        return True
    if not (sketch.signature and other_sketch.signature):
        return False
    signatures = (bytes.fromhex(row.signature) for row in (sketch, other_sketch))
    return estimate_resemblance(*signatures) >= RUNS_RESEMBLANCE_MIN


COMPARED_MAX = IDS_MAX
"""Maximum number of documents that one search compares to find near-duplicates.

A query may have at most as many ids.
"""


@dataclass(frozen=True, slots=True)
class CollapsedResults:
    """One page of search results in which near-duplicates are collapsed into one result.

    - `results`: counts of all documents that match, and the hits of the requested page only.
    - `collapsed_counts`: number of near-duplicates that are collapsed into a document, by its id.
    - `listed`: number of results after collapsing, on all pages.
    - `reachable`: number of results after collapsing that can be reached by page number.
    - `compared`: number of documents compared with each other, from the first result on.
    """

    results: SearchResults
    collapsed_counts: Mapping[str, int]
    listed: int
    reachable: int
    compared: int


def search_uncollapsed(index: Index, query: SearchQuery) -> CollapsedResults:
    """Return one page of a search in which near-duplicates are separate results.

    Raises ValueError with a message for users if the query is invalid.
    """
    results = index.search(query)
    return CollapsedResults(results, {}, results.total, min(results.total, RESULTS_MAX), 0)


def search_collapsed(index: Index, records: Records, query: SearchQuery) -> CollapsedResults:
    """Return one page of a search in which near-duplicates are collapsed into one result.

    `offset` and `count_max` of the query count collapsed results, not documents. Raises ValueError
    with a message for users if the query is invalid.
    """
    first, query, documents = _search_for_comparison(index, query)
    copies = find_near_duplicates(records, documents)
    shown_ids = [document.id for document in documents if document.id not in copies]
    page = shown_ids[query.offset : query.offset + query.count_max]
    begin = len(documents) + max(0, query.offset - len(shown_ids))
    later_query = replace(
        query,
        offset=begin,
        count_max=max(0, min(query.count_max - len(page), RESULTS_MAX - begin)),
        facet_values_max=0,
    )
    hits = _load_hits(index, query, page)
    if later_query.count_max and begin < first.total:
        hits += tuple(index.search(later_query).hits)
    return CollapsedResults(
        replace(first, hits=hits),
        Counter(copies.values()),
        listed=first.total - len(copies),
        reachable=min(first.total, RESULTS_MAX) - len(copies),
        compared=len(documents),
    )


def list_collapsed_ids(index: Index, records: Records, query: SearchQuery, id_: str) -> list[str]:
    """Return the ids of all results of a search that are in one near-duplicate group with document
    `id_`.

    The ids are in search order and among the first 1,000 results. If `id_` is not among these
    results, return those of them that are its near-duplicates. If there are none, return [`id_`].
    Raises ValueError with a message for users if the query is invalid.
    """
    _, _, documents = _search_for_comparison(index, replace(query, facet_values_max=0))
    other_documents = (
        [] if any(document.id == id_ for document in documents) else list(index.get([id_]).values())
    )
    copies = find_near_duplicates(records, [*other_documents, *documents])
    first_id = copies.get(id_, id_)
    return [
        document.id for document in documents if copies.get(document.id, document.id) == first_id
    ] or [id_]


def _search_for_comparison(
    index: Index, query: SearchQuery
) -> tuple[SearchResults, SearchQuery, Sequence[IndexDocument]]:
    """Search the documents to compare with each other: at most `COMPARED_MAX`, from the first
    result on.

    Return the results, the query with its themes resolved to documents, and the documents found.
    """
    comparison_query = replace(
        query, offset=0, after=None, count_max=COMPARED_MAX, with_snippets=False
    )
    results = index.search(comparison_query)
    themed_query = replace(query, themes=results.themes or query.themes)
    return results, themed_query, [hit.document for hit in results.hits]


def _load_hits(index: Index, query: SearchQuery, ids: Sequence[str]) -> tuple[Hit, ...]:
    """Return the hits of a query for the documents `ids`, in this order.

    Documents deleted meanwhile are omitted.
    """
    if not ids:
        return ()
    page_query = replace(query, ids=ids, offset=0, count_max=len(ids), facet_values_max=0)
    hits = {hit.document.id: hit for hit in index.search(page_query).hits}
    return tuple(hits[id_] for id_ in ids if id_ in hits)

"""Results of a search in which one document stands for all that say nearly the same, on whatever page.

Which stands for which follows from the order of the result and what is kept of each text: the first of those
that are alike stands, and every page works it out from the first result on. Nothing is told but of documents
the search found.

Limits: the first 1,000 documents of a result are compared with each other; each of those behind stands for
itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from fonds.derivatives.sketch import RESEMBLANCE_MIN
from fonds.model.document import IndexDocument
from fonds.model.rows import TextSketchRow
from fonds.model.search import IDS_MAX, RESULTS_MAX, Hit, SearchQuery, SearchResults
from fonds.ports import Index, Records
from fonds.text.similarity import compute_bands, estimate_resemblance

# Results of a search that say nearly the same as one before them, as copies of an agency's report do.
#
# Limits: linear in the results, of which one page is looked at.


NO_TEXT = sha256(b"").hexdigest()
_Key = int | str


def find_near_duplicates(records: Records, documents: Sequence[IndexDocument]) -> Mapping[str, str]:
    """The ids of those that are near-duplicates of an earlier one, and the id of the first such; that one is
    a near-duplicate of none before it. What has no sketch stands alone."""
    sketches = {row.sha1hex: row for row in records.get(TextSketchRow, _list_files(documents))}
    found: dict[str, str] = {}
    firsts: dict[_Key, list[tuple[str, TextSketchRow]]] = defaultdict(list)
    for document in documents:
        row = sketches.get(document.sha1hex)
        if row is None:
            continue
        keys = list(_iter_keys(row))
        candidates = (pair for key in keys for pair in firsts[key])
        first = next((id_ for id_, other in candidates if _are_alike(row, other)), None)
        if first is not None:
            found[document.id] = first
            continue
        for key in keys:
            firsts[key].append((document.id, row))
    return found


def _list_files(documents: Sequence[IndexDocument]) -> list[str]:
    return list(dict.fromkeys(document.sha1hex for document in documents))


def _iter_keys(row: TextSketchRow) -> Iterator[_Key]:
    """What texts that are alike have in common; of stories too short to be compared the whole text. Of a scan
    all that is read may be the stamp of who keeps it, which says nothing of what it is."""
    if row.signature or (row.story_id != row.sha1hex and row.text_sha256hex != NO_TEXT):
        yield row.text_sha256hex
    if row.signature:
        yield from compute_bands(bytes.fromhex(row.signature))


def _are_alike(sketch: TextSketchRow, other: TextSketchRow) -> bool:
    if sketch.text_sha256hex == other.text_sha256hex:
        return True
    if not (sketch.signature and other.signature):
        return False
    signed = (bytes.fromhex(row.signature) for row in (sketch, other))
    return estimate_resemblance(*signed) >= RESEMBLANCE_MIN


COMPARED_MAX = IDS_MAX
"""As many as a query may name by id."""


@dataclass(frozen=True, slots=True)
class CollapsedResults:
    """`results` counts all documents; its hits are those that stand on the page asked for.
    `collapsed_counts` says how many others each document stands for, by id. `listed` results there are in
    all, of which `reachable` can be paged through; the first `compared` documents were compared."""

    results: SearchResults
    collapsed_counts: Mapping[str, int]
    listed: int
    reachable: int
    compared: int


def search_uncollapsed(index: Index, query: SearchQuery) -> CollapsedResults:
    """One page of a search in which each document stands for itself. Raises ValueError with a sentence for
    people."""
    found = index.search(query)
    return CollapsedResults(found, {}, found.total, min(found.total, RESULTS_MAX), 0)


def search_collapsed(index: Index, records: Records, query: SearchQuery) -> CollapsedResults:
    """One page of a search; `offset` and `count_max` of the query count results, not documents. Raises
    ValueError with a sentence for people."""
    first, query, documents = _search_for_comparison(index, query)
    copies = find_near_duplicates(records, documents)
    standing = [document.id for document in documents if document.id not in copies]
    page = standing[query.offset : query.offset + query.count_max]
    begin = len(documents) + max(0, query.offset - len(standing))
    rest = replace(
        query,
        offset=begin,
        count_max=max(0, min(query.count_max - len(page), RESULTS_MAX - begin)),
        facet_values_max=0,
    )
    hits = _load_hits(index, query, page)
    if rest.count_max and begin < first.total:
        hits += tuple(index.search(rest).hits)
    return CollapsedResults(
        replace(first, hits=hits),
        Counter(copies.values()),
        listed=first.total - len(copies),
        reachable=min(first.total, RESULTS_MAX) - len(copies),
        compared=len(documents),
    )


def list_collapsed_ids(index: Index, records: Records, query: SearchQuery, id_: str) -> list[str]:
    """The ids of the documents of a search that stand together with this one; where it is not among the first
    1,000 itself, those of them that are nearly the same. In the order of the search; it alone where nothing
    is. Raises ValueError with a sentence for people."""
    _, _, documents = _search_for_comparison(index, replace(query, facet_values_max=0))
    beside = (
        [] if any(document.id == id_ for document in documents) else list(index.get([id_]).values())
    )
    copies = find_near_duplicates(records, [*beside, *documents])
    stands = copies.get(id_, id_)
    return [
        document.id for document in documents if copies.get(document.id, document.id) == stands
    ] or [id_]


def _search_for_comparison(
    index: Index, query: SearchQuery
) -> tuple[SearchResults, SearchQuery, Sequence[IndexDocument]]:
    """The documents that are compared, with the counts over all, and the query as it was answered."""
    asked = replace(query, offset=0, after=None, count_max=COMPARED_MAX, with_snippets=False)
    results = index.search(asked)
    held = replace(query, themes=results.themes or query.themes)
    return results, held, [hit.document for hit in results.hits]


def _load_hits(index: Index, query: SearchQuery, ids: Sequence[str]) -> tuple[Hit, ...]:
    """The hits of these documents, in this order, but for those gone meanwhile."""
    if not ids:
        return ()
    asked = replace(query, ids=ids, offset=0, count_max=len(ids), facet_values_max=0)
    found = {hit.document.id: hit for hit in index.search(asked).hits}
    return tuple(found[id_] for id_ in ids if id_ in found)

"""Read all documents that a search finds, count them, and compute a hash of the result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index

PAGE_DOCUMENTS = 500


def iter_documents(index: Index, query: SearchQuery, count_max: int) -> Iterator[IndexDocument]:
    """Yield up to `count_max` documents that a query finds, by a hash of their ids, without texts.

    Each document is yielded once. A document indexed meanwhile may be missing. Themes in the query
    are resolved to documents once, by the first request. Raises ValueError with a message for users
    if the query is invalid.
    """
    remaining, after = count_max, None
    while remaining > 0:
        page_query = replace(
            query, sort="id", offset=0, after=after, count_max=min(PAGE_DOCUMENTS, remaining),
            facet_values_max=0, with_snippets=False,
        )  # fmt: skip
        results = index.search(page_query)
        hits, query = results.hits, _pin_themes(query, results)
        yield from (hit.document for hit in hits)
        if len(hits) < page_query.count_max:
            return
        remaining, after = remaining - len(hits), hits[-1].document.id


@dataclass(frozen=True, slots=True)
class MatchCount:
    """Number of documents that a query finds.

    - `query`: the query with its themes resolved to documents, so that later searches use the same
      documents of each theme.
    - `total`: number of documents.
    - `generation`: id of the index state during the search; None if unknown.
    """

    query: SearchQuery
    total: int
    generation: str | None = None


def count_matches(index: Index, query: SearchQuery) -> MatchCount:
    """Count the documents that a query finds.

    Raises ValueError with a message for users if the query is invalid.
    """
    results = index.search(replace(query, count_max=0, facet_values_max=0))
    return MatchCount(_pin_themes(query, results), results.total, results.generation)


def get_generation(index: Index) -> str | None:
    """Return the current generation of the index, an id of its state; None if unknown."""
    return index.search(SearchQuery(count_max=0, facet_values_max=0)).generation


def confirm_generation(index: Index, generation: str | None) -> str | None:
    """Return `generation` if the index still has this generation; None if it changed.

    The generation is an id of the index state.
    """
    return generation if generation == get_generation(index) else None


def _pin_themes(query: SearchQuery, results: SearchResults) -> SearchQuery:
    """Return a query in which each theme is replaced by the documents that it had in `results`.

    Later searches then use the same documents.
    """
    return replace(query, themes=results.themes or query.themes)


@dataclass(slots=True)
class ResultContents:
    """Number of documents in a search result, and a hash of their ids and the SHA-1s of their
    files.

    The documents must be collected in order of id.
    """

    count: int = 0
    _hash: hashlib._Hash | None = None

    def collect(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """Yield the given documents unchanged, and count and hash them."""
        self._hash = hashlib.sha256()
        for document in documents:
            self._hash.update(f"{document.id} {document.sha1hex}\n".encode("utf-8", "replace"))
            self.count += 1
            yield document

    @property
    def sha256hex(self) -> str:
        """SHA-256 of the ids and SHA-1s of the documents collected so far, in hexadecimal."""
        return (self._hash or hashlib.sha256()).hexdigest()

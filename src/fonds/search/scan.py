"""Read the whole result of a search, of any size, and compute what identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index

PAGE_DOCUMENTS = 500


def iter_documents(index: Index, query: SearchQuery, count_max: int) -> Iterator[IndexDocument]:
    """Yield the documents of a result in the order by id, without texts, each once, at most
    `count_max`.

    A document added meanwhile may be missing. Themes stay as they were at the first request. Raises
    ValueError with a sentence for people.
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
    """Number of documents that a search finds.

    `query` finds the same documents later, because its themes are fixed. `generation` is that of
    the index.
    """

    query: SearchQuery
    total: int
    generation: str | None = None


def count_matches(index: Index, query: SearchQuery) -> MatchCount:
    """Count the documents of a search. Raises ValueError with a sentence for people."""
    results = index.search(replace(query, count_max=0, facet_values_max=0))
    return MatchCount(_pin_themes(query, results), results.total, results.generation)


def get_generation(index: Index) -> str | None:
    """Return the current generation of the index; None if unknown. No document is read."""
    return index.search(SearchQuery(count_max=0, facet_values_max=0)).generation


def confirm_generation(index: Index, generation: str | None) -> str | None:
    """Return the generation that a result began with; None if it changed meanwhile."""
    return generation if generation == get_generation(index) else None


def _pin_themes(query: SearchQuery, results: SearchResults) -> SearchQuery:
    """Return the query with the themes that were used for the results."""
    return replace(query, themes=results.themes or query.themes)


@dataclass(slots=True)
class ResultContents:
    """Contents of a result: the number of documents, and one hash of their ids and their files'
    SHA-1s.

    The documents must come in the order by id.
    """

    count: int = 0
    _hash: hashlib._Hash | None = None

    def collect(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """Yield the same documents, and count and hash them."""
        self._hash = hashlib.sha256()
        for document in documents:
            self._hash.update(f"{document.id} {document.sha1hex}\n".encode("utf-8", "replace"))
            self.count += 1
            yield document

    @property
    def sha256hex(self) -> str:
        """Hash of the documents so far."""
        return (self._hash or hashlib.sha256()).hexdigest()

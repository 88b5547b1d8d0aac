"""The whole result of a search, however large, and what identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index

PAGE = 500


def iter_documents(index: Index, query: SearchQuery, count_max: int) -> Iterator[IndexDocument]:
    """The documents of a result without their texts, each once, in the order by id, at most `count_max`.

    Raises ValueError with a sentence for people. A document that comes while it is read may be in it or not;
    themes are as they were when the first was asked for.
    """
    left, after = count_max, None
    while left > 0:
        asked = replace(
            query, sort="id", offset=0, after=after, count_max=min(PAGE, left),
            facet_values_max=0, with_snippets=False,
        )  # fmt: skip
        results = index.search(asked)
        hits, query = results.hits, _pin_themes(query, results)
        yield from (hit.document for hit in hits)
        if len(hits) < asked.count_max:
            return
        left, after = left - len(hits), hits[-1].document.id


@dataclass(frozen=True, slots=True)
class MatchCount:
    """How many documents a search finds, and the query that finds the same ones later: its themes are as they
    were then, whatever is built or changed meanwhile. `generation` is that of the index."""

    query: SearchQuery
    total: int
    generation: str | None = None


def count_matches(index: Index, query: SearchQuery) -> MatchCount:
    """What the search finds. Raises ValueError with a sentence for people."""
    results = index.search(replace(query, count_max=0, facet_values_max=0))
    return MatchCount(_pin_themes(query, results), results.total, results.generation)


def get_generation(index: Index) -> str | None:
    """That of the index at this moment, None where it is not known; no document is read."""
    return index.search(SearchQuery(count_max=0, facet_values_max=0)).generation


def confirm_generation(index: Index, generation: str | None) -> str | None:
    """The generation a result was read from: the one it began with, None where another came meanwhile."""
    return generation if generation == get_generation(index) else None


def _pin_themes(query: SearchQuery, results: SearchResults) -> SearchQuery:
    """The query with the themes it was answered by."""
    return replace(query, themes=results.themes or query.themes)


@dataclass(slots=True)
class ResultContents:
    """Which documents a result has: how many, and one hash over their ids and the SHA-1s of their files, in
    the order by id.
    """

    count: int = 0
    _hash: hashlib._Hash | None = None

    def collect(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
        """The same documents, counted and hashed as they go by."""
        self._hash = hashlib.sha256()
        for document in documents:
            self._hash.update(f"{document.id} {document.sha1hex}\n".encode("utf-8", "replace"))
            self.count += 1
            yield document

    @property
    def sha256hex(self) -> str:
        """The hash of what went by so far."""
        return (self._hash or hashlib.sha256()).hexdigest()

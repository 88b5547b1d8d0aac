"""The whole result of a search, however large, and what identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument, SearchQuery
from fonds.ports import Index

PAGE = 500


def whole(index: Index, query: SearchQuery, count_max: int) -> Iterator[IndexDocument]:
    """The documents of a result without their texts, each once, in the order by id, at most `count_max`.

    Raises ValueError with a sentence for people. A document that comes while it is read may be in it or not.
    """
    left, after = count_max, None
    while left > 0:
        asked = replace(
            query, sort="id", offset=0, after=after, count_max=min(PAGE, left),
            facet_values_max=0, with_snippets=False,
        )  # fmt: skip
        hits = index.search(asked).hits
        yield from (hit.document for hit in hits)
        if len(hits) < asked.count_max:
            return
        left, after = left - len(hits), hits[-1].document.id


def found_now(index: Index, query: SearchQuery) -> int:
    """How many documents the search finds. Raises ValueError with a sentence for people."""
    return index.search(replace(query, count_max=0, facet_values_max=0)).total


@dataclass(slots=True)
class Contents:
    """Which documents a result has: how many, and one hash over their ids and the SHA-1s of their files, in
    the order by id.
    """

    count: int = 0
    _hash: hashlib._Hash | None = None

    def noted(self, documents: Iterator[IndexDocument]) -> Iterator[IndexDocument]:
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

"""An index that takes no document of a hidden file, whoever brings it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.closing import close


@dataclass(frozen=True, slots=True)
class KeepingOut:
    """The port Index over another one; `hidden` says which of these files (SHA-1s) are hidden now."""

    index: Index
    hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """As the index does, but for documents of hidden files.

        It is asked again behind the write: whoever hides a file says so before it removes its document, so
        that of the two one sees the other.
        """
        before = self.hidden([one.sha1hex for one in documents])
        put = [one for one in documents if one.sha1hex not in before]
        if not put:
            return
        self.index.put(put)
        since = self.hidden([one.sha1hex for one in put])
        if since:
            self.index.delete([one.id for one in put if one.sha1hex in since])

    def delete(self, ids: Sequence[str]) -> None:
        """As the index does."""
        self.index.delete(ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """As the index does."""
        return self.index.get(ids)

    def search(self, query: SearchQuery) -> SearchResults:
        """As the index does."""
        return self.index.search(query)

    def alike(self, word: str) -> Sequence[str]:
        """As the index does."""
        return self.index.alike(word)

    def count(self) -> int:
        """As the index does."""
        return self.index.count()

    def close(self) -> None:
        """Close the index."""
        close(self.index)

"""An index that takes no document and no version of a hidden file, whoever brings it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.closing import close


@dataclass(frozen=True, slots=True)
class KeepingOut:
    """The port Index over another one; `hidden` says which of these files (SHA-1s) are hidden now."""

    index: Index
    hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """As the index does, but for documents of hidden files, and without hidden versions.

        It is asked again behind the write: whoever hides a file says so before it removes its document, so
        that of the two one sees the other.
        """
        put = _shown(documents, self.hidden(_files(documents)))
        if not put:
            return
        self.index.put(put)
        since = self.hidden(_files(put))
        if since:
            shown = _shown(put, since)
            self.index.put([one for one in shown if one not in put])
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


def _files(documents: Sequence[IndexDocument]) -> list[str]:
    """The files of these documents and of the versions they are found by."""
    return [
        sha1hex for one in documents for sha1hex in (one.sha1hex, *(v.sha1hex for v in one.earlier))
    ]


def _shown(documents: Sequence[IndexDocument], hidden: Collection[str]) -> list[IndexDocument]:
    """The documents of files that are not hidden, each without hidden versions."""
    shown = []
    for one in documents:
        if one.sha1hex in hidden:
            continue
        earlier = tuple(version for version in one.earlier if version.sha1hex not in hidden)
        shown.append(one if earlier == one.earlier else replace(one, earlier=earlier))
    return shown

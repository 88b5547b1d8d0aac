"""Wrapper of an index that keeps documents and versions under embargo out of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.stores import close, purge


@dataclass(frozen=True, slots=True)
class EmbargoFilterIndex:
    """Wrapper of an index that keeps files under embargo out of it. Implements the Index port.

    - `index`: the wrapped index.
    - `find_hidden`: function that returns those of the given SHA-1s that are under embargo now.
    """

    index: Index
    find_hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Put documents, without those of files under embargo and without versions under embargo.

        `find_hidden` is called again after the write, in case another process puts a file under
        embargo meanwhile. That process records the embargo before it deletes the document, so that
        at least one of the two processes removes the document.
        """
        visible = _filter_visible(documents, self.find_hidden(_list_files(documents)))
        if not visible:
            return
        self.index.put(visible)
        newly_hidden = self.find_hidden(_list_files(visible))
        if newly_hidden:
            still_visible = _filter_visible(visible, newly_hidden)
            self.index.put([document for document in still_visible if document not in visible])
            self.index.delete(
                [document.id for document in visible if document.sha1hex in newly_hidden]
            )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents from the wrapped index by id."""
        self.index.delete(ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return documents of the wrapped index by id."""
        return self.index.get(ids)

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the wrapped index. Raises ValueError if the query is invalid."""
        return self.index.search(query)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return indexed words with a similar spelling from the wrapped index."""
        return self.index.find_similar_words(word)

    def count(self) -> int:
        """Return the number of documents in the wrapped index."""
        return self.index.count()

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted documents from the wrapped index. Return what can remain."""
        return purge(self.index)

    def close(self) -> None:
        """Close the wrapped index."""
        close(self.index)


def _list_files(documents: Sequence[IndexDocument]) -> list[str]:
    """Return the SHA-1s of the files of documents and of their earlier versions."""
    return [
        sha1hex
        for document in documents
        for sha1hex in (document.sha1hex, *(v.sha1hex for v in document.earlier))
    ]


def _filter_visible(
    documents: Sequence[IndexDocument], hidden_sha1hexes: Collection[str]
) -> list[IndexDocument]:
    """Return the documents whose files are not in `hidden_sha1hexes`, each without its versions in
    `hidden_sha1hexes`.

    `hidden_sha1hexes` has SHA-1s of files under embargo.
    """
    visible = []
    for document in documents:
        if document.sha1hex in hidden_sha1hexes:
            continue
        earlier = tuple(
            version for version in document.earlier if version.sha1hex not in hidden_sha1hexes
        )
        visible.append(
            document if earlier == document.earlier else replace(document, earlier=earlier)
        )
    return visible

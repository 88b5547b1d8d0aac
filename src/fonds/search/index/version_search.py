"""Find the earlier version of a story that contains the search words, for queries with
`version:all`.

The versions are searched in their stored texts (blobs). Limits: 5,000,000 characters in 200
versions per page of results. Hits beyond these limits are marked as matching in an earlier version
without naming the version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from fonds.model.document import EarlierVersion, IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.model.search import IDS_MAX, Hit, SearchQuery, SearchResults, VersionHit
from fonds.ports import Blobs, Index
from fonds.ports.stores import close, purge
from fonds.search.index.passages import count_terms, find_passages, find_title_marks
from fonds.search.query.parser import parse_query
from fonds.search.query.tree import Node, is_in_versions, list_highlighted_terms

VERSIONS_MAX, MAX_CHARS = 200, 5_000_000


@dataclass(frozen=True, slots=True)
class VersionedIndex:
    """Wrapper of an index that names the matching earlier version of each hit.

    Implements the Index port.

    - `index`: the wrapped index.
    - `blobs`: store with the texts of all versions.
    - `find_hidden`: function that returns those of the given SHA-1s that are under embargo now.
    """

    index: Index
    blobs: Blobs
    find_hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Put documents into the wrapped index."""
        self.index.put(documents)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents from the wrapped index."""
        self.index.delete(ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return documents of the wrapped index by id."""
        return self.index.get(ids)

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the index. Hits that match only in an earlier version name that version.

        A note states how many stories have versions that cannot be searched. Raises ValueError with
        a message for users if the query is invalid.
        """
        results = self.index.search(query)
        if not query.count_max:
            return results
        themed_query = replace(query, themes=results.themes or query.themes)
        tree = parse_query(themed_query)
        if not is_in_versions(tree):
            return results
        results = replace(results, notes=[*results.notes, *self._iter_limit_notes(query)])
        if not query.with_snippets:
            return results
        current = self._find_current(
            themed_query, [hit for hit in results.hits if hit.document.earlier]
        )
        version_search = _VersionSearch(self.blobs, self.find_hidden, tree)
        hits = [
            hit
            if not hit.document.earlier or hit.document.id in current
            else replace(hit, version=version_search.find_version(hit.document))
            for hit in results.hits
        ]
        return replace(results, hits=hits)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """Return similar words from the wrapped index."""
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

    def _find_current(self, query: SearchQuery, hits: Sequence[Hit]) -> set[str]:
        """Return the ids of those hits whose current version matches the query."""
        ids = [hit.document.id for hit in hits]
        current_ids: set[str] = set()
        for start in range(0, len(ids), IDS_MAX):
            chunk = ids[start : start + IDS_MAX]
            chunk_query = replace(
                query, ids=chunk, offset=0, after=None, count_max=len(chunk), facet_values_max=0,
                with_snippets=False, with_notes=False, in_versions=False,
            )  # fmt: skip
            current_ids.update(hit.document.id for hit in self.index.search(chunk_query).hits)
        return current_ids

    def _iter_limit_notes(self, query: SearchQuery) -> Iterator[str]:
        if not query.with_notes:
            return
        cut_versions_query = SearchQuery(cut_versions=True, count_max=0, facet_values_max=0)
        count = self.index.search(cut_versions_query).total
        if count:
            stories = "1 story has" if count == 1 else f"{count:,} stories have"
            yield f"{stories} more earlier versions, or longer ones, than can be searched."


class _VersionSearch:
    """Search for the earlier version of a story in which a hit matches.

    One object serves one page of results: the limits on versions and characters apply to all its
    hits together. `tree` is the syntax tree of the query.
    """

    def __init__(
        self, blobs: Blobs, find_hidden: Callable[[Sequence[str]], Collection[str]], tree: Node
    ) -> None:
        self._blobs, self._hidden = blobs, find_hidden
        self._terms = list_highlighted_terms(tree)
        self._title_terms = list_highlighted_terms(tree, "article_title")
        self._versions_remaining, self._characters_remaining = VERSIONS_MAX, MAX_CHARS

    def find_version(self, document: IndexDocument) -> VersionHit:
        """Return the earlier version of a document that contains the most search words.

        If several contain equally many, the newest is returned. The result names no version if none
        that could be searched contains a search word.
        """
        best: tuple[EarlierVersion, str] | None = None
        most_terms = 0
        terms = [*dict.fromkeys((*self._terms, *self._title_terms))]
        hidden_sha1hexes = self._hidden([version.sha1hex for version in document.earlier])
        for version, text in self._iter_texts(
            [v for v in document.earlier if v.sha1hex not in hidden_sha1hexes]
        ):
            count = count_terms(terms, version.title or "", text, document.language)
            if count > most_terms:
                best, most_terms = (version, text), count
            if count == len(terms):
                break
        if best is None:
            return VersionHit()
        version, text = best
        marks = find_title_marks(version.title or "", self._title_terms, document.language)
        passages = find_passages(text, self._terms, document.language)
        return VersionHit(version.sha1hex, version.captured, version.title, marks, passages)

    def _iter_texts(
        self, versions: Sequence[EarlierVersion]
    ) -> Iterator[tuple[EarlierVersion, str]]:
        for version in versions:
            if self._versions_remaining <= 0 or self._characters_remaining <= 0:
                return
            blob = self._blobs.get(build_text_blob_key(version.sha1hex)) or b""
            text = blob.decode("utf-8", "replace")
            self._versions_remaining -= 1
            self._characters_remaining -= len(text)
            yield version, text

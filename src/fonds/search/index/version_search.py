"""An index that says of each hit in which earlier version its words are, where `version:all` was asked for.

Which version that is follows from the texts in the blobs. Limits: of one page of results 5,000,000 characters
in 200 versions are looked at; of the hits behind them it is only said that they match in an earlier version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from fonds.model.document import EarlierVersion, IndexDocument
from fonds.model.keys import build_text_blob_key
from fonds.model.search import IDS_MAX, Hit, SearchQuery, SearchResults, VersionHit
from fonds.ports import Blobs, Index
from fonds.ports.stores import close
from fonds.search.index.passages import count_terms, find_passages, find_title_marks
from fonds.search.query.parser import parse_query
from fonds.search.query.tree import Node, is_in_versions, list_wanted_terms

VERSIONS_MAX, MAX_CHARS = 200, 5_000_000


@dataclass(frozen=True, slots=True)
class VersionedIndex:
    """The port Index over another one; `blobs` have the texts of versions, and `hidden` says which of these
    files (SHA-1s) are hidden now."""

    index: Index
    blobs: Blobs
    hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """As the index does."""
        self.index.put(documents)

    def delete(self, ids: Sequence[str]) -> None:
        """As the index does."""
        self.index.delete(ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """As the index does."""
        return self.index.get(ids)

    def search(self, query: SearchQuery) -> SearchResults:
        """As the index does; hits that match in an earlier version alone have that version, and a note says
        of how many stories not all versions can be searched. Raises ValueError with a sentence for people."""
        results = self.index.search(query)
        if not query.count_max:
            return results
        asked = replace(query, themes=results.themes or query.themes)
        tree = parse_query(asked)
        if not is_in_versions(tree):
            return results
        results = replace(results, notes=[*results.notes, *self._iter_left_out(query)])
        if not query.with_snippets:
            return results
        current = self._find_current(asked, [hit for hit in results.hits if hit.document.earlier])
        looking = _VersionSearch(self.blobs, self.hidden, tree)
        hits = [
            hit
            if not hit.document.earlier or hit.document.id in current
            else replace(hit, version=looking.find_version(hit.document))
            for hit in results.hits
        ]
        return replace(results, hits=hits)

    def find_similar_words(self, word: str) -> Sequence[str]:
        """As the index does."""
        return self.index.find_similar_words(word)

    def count(self) -> int:
        """As the index does."""
        return self.index.count()

    def close(self) -> None:
        """Close the index."""
        close(self.index)

    def _find_current(self, query: SearchQuery, hits: Sequence[Hit]) -> set[str]:
        """The ids of those hits whose current version matches."""
        ids = [hit.document.id for hit in hits]
        found: set[str] = set()
        for start in range(0, len(ids), IDS_MAX):
            some = ids[start : start + IDS_MAX]
            among = replace(
                query, ids=some, offset=0, after=None, count_max=len(some), facet_values_max=0,
                with_snippets=False, with_notes=False, in_versions=False,
            )  # fmt: skip
            found.update(hit.document.id for hit in self.index.search(among).hits)
        return found

    def _iter_left_out(self, query: SearchQuery) -> Iterator[str]:
        if not query.with_notes:
            return
        cut = SearchQuery(cut_versions=True, count_max=0, facet_values_max=0)
        count = self.index.search(cut).total
        if count:
            stories = "1 story has" if count == 1 else f"{count:,} stories have"
            yield f"{stories} more earlier versions, or longer ones, than can be searched."


class _VersionSearch:
    """Looks for the version a hit matches in, as long as there is room for one page of results."""

    def __init__(
        self, blobs: Blobs, hidden: Callable[[Sequence[str]], Collection[str]], tree: Node
    ) -> None:
        self._blobs, self._hidden = blobs, hidden
        self._terms = list_wanted_terms(tree)
        self._title_terms = list_wanted_terms(tree, "article_title")
        self._versions_remaining, self._characters_remaining = VERSIONS_MAX, MAX_CHARS

    def find_version(self, document: IndexDocument) -> VersionHit:
        """The newest of the earlier versions that have the most of the words."""
        best: tuple[EarlierVersion, str] | None = None
        most = 0
        wanted = [*dict.fromkeys((*self._terms, *self._title_terms))]
        hidden = self._hidden([one.sha1hex for one in document.earlier])
        for one, text in self._iter_texts([v for v in document.earlier if v.sha1hex not in hidden]):
            count = count_terms(wanted, one.title or "", text, document.language)
            if count > most:
                best, most = (one, text), count
            if count == len(wanted):
                break
        if best is None:
            return VersionHit()
        one, text = best
        marks = find_title_marks(one.title or "", self._title_terms, document.language)
        passages = find_passages(text, self._terms, document.language)
        return VersionHit(one.sha1hex, one.captured, one.title, marks, passages)

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

"""Wrapper of an index that looks up the documents of themes in a query before it searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.stores import close, purge
from fonds.search.fields import THEME
from fonds.search.query.parser import Themes, parse


@dataclass(frozen=True, slots=True)
class ThemedIndex:
    """Wrapper of an index that resolves themes in queries. Implements the Index port.

    - `index`: the wrapped index.
    - `themes`: function that returns the ids of the documents of a theme, by the theme's name.
    """

    index: Index
    themes: Themes

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """Put documents into the wrapped index."""
        self.index.put(documents)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents from the wrapped index by id."""
        self.index.delete(ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Return documents of the wrapped index by id."""
        return self.index.get(ids)

    def search(self, query: SearchQuery) -> SearchResults:
        """Search the index. Each theme in the query is resolved to the documents that it has now.

        Themes that the query already resolves keep their documents. Raises ValueError with a
        message for users if the query is invalid.
        """
        if f"{THEME}:" not in query.text.lower():
            return self.index.search(query)
        documents_by_theme = dict(query.themes)

        def find_ids(theme_name: str) -> Sequence[str]:
            if theme_name not in documents_by_theme:
                documents_by_theme[theme_name] = self.themes(theme_name)
            return documents_by_theme[theme_name]

        parse(query.text.encode("utf-8", "ignore").decode(), find_ids)
        return replace(
            self.index.search(replace(query, themes=documents_by_theme)), themes=documents_by_theme
        )

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

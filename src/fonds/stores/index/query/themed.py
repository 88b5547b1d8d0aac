"""An index that is asked for themes as well: what a query names by `theme:` is looked up where themes are
known before the index is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.closing import close
from fonds.stores.index.query.fields import THEME
from fonds.stores.index.query.parsing import Themes, parse


@dataclass(frozen=True, slots=True)
class ThemedIndex:
    """The port Index over another one; `themes` gives the ids of the documents of a theme."""

    index: Index
    themes: Themes

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
        """As the index does, with the documents themes have at this moment, but for those the query has
        already. Raises ValueError with a sentence for people."""
        if f"{THEME}:" not in query.text.lower():
            return self.index.search(query)
        found = dict(query.themes)

        def ids(asked: str) -> Sequence[str]:
            if asked not in found:
                found[asked] = self.themes(asked)
            return found[asked]

        parse(query.text.encode("utf-8", "ignore").decode(), ids)
        return replace(self.index.search(replace(query, themes=found)), themes=found)

    def alike(self, word: str) -> Sequence[str]:
        """As the index does."""
        return self.index.alike(word)

    def count(self) -> int:
        """As the index does."""
        return self.index.count()

    def close(self) -> None:
        """Close the index."""
        close(self.index)

"""Open the full-text index without the other stores. Match texts and documents without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fonds.config import Settings
from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery
from fonds.ports import Index, QueryCompleter, Table
from fonds.ports.stores import close
from fonds.wiring.backends import open_backend

if TYPE_CHECKING:
    from fonds.model.completion import NamedTheme


def open_index(home: Path, settings: Settings, table: Table | None = None) -> Index:
    """Open the full-text index without the other stores, for searching.

    `table` is the table store in which themes of collections are looked up. With None, it is opened
    for each lookup.
    """
    from fonds.search.index.themed_index import ThemedIndex

    def list_documents(theme_name: str) -> list[str]:
        from fonds.grouping.tables import Tables
        from fonds.grouping.views.themes import list_theme_documents

        opened_table = table or open_backend("table", settings.table, home)
        try:
            return list_theme_documents(
                Tables(opened_table, settings.collections.prefix), theme_name
            )
        finally:
            if table is None:
                close(opened_table)

    return ThemedIndex(open_backend("index", settings.index, home), list_documents)


def build_marker(query: str, language: str | None) -> Callable[[str], list[tuple[int, int]]]:
    """Return a function that finds the matches of a query in a text, as (start, end) character
    offsets.

    `language`: language of the text, for inflected forms of words; None if unknown.

    Raises QueryError if the query cannot be parsed. The function is that of
    `fonds.search.index.passages`.
    """
    from fonds.search.index.passages import build_marker

    return build_marker(query, language)


def match_documents(documents: Sequence[IndexDocument], query: SearchQuery) -> set[str]:
    """Return the ids of those documents that match a query, without using any store."""
    from fonds.search.index.tantivy_results import match_documents

    return match_documents(documents, query)


def create_completer(
    index: Index,
    themes: Callable[[], Iterator[NamedTheme]],
    names: Callable[[str, str], str],
    max_chars: int,
) -> QueryCompleter:
    """Create the completer, which suggests how to continue a search that a user is typing.

    `themes`: returns the themes of collections that can be suggested.
    `names`: returns the display name of a value of a search field, given field and value. It is the
        value itself if there is no other name.
    `max_chars`: maximum length of a search.
    """
    from fonds.search.index.field_values import ValueLibrary
    from fonds.search.index.query_completer import IndexQueryCompleter

    return IndexQueryCompleter(ValueLibrary(index, themes, names), max_chars)

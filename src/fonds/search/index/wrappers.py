"""Wrappers of an index: query completion, embargoes, and themes.

- IndexQueryCompleter completes fields and their values, with counts.
- EmbargoFilterIndex keeps documents and versions under embargo out of any index.
- ThemedIndex looks up the documents of themes in a query before it searches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from fonds.model.completion import Completion, CompletionList, TypedText, TypingKind
from fonds.model.document import IndexDocument
from fonds.model.search import SearchQuery, SearchResults
from fonds.ports import Index
from fonds.ports.stores import close
from fonds.search.fields import THEME, ValueSource, get_field
from fonds.search.index.field_values import (
    KnownValue,
    ValueLibrary,
    count_value,
    filter_matching,
    find_values,
)
from fonds.search.query.completion import (
    find_typed_text,
    format_value,
    insert_completion,
    list_fields,
)
from fonds.search.query.parser import Themes, parse

COMPLETIONS_MAX = 10
SAMPLED_SOURCES = frozenset({ValueSource.NAMES, ValueSource.DOCUMENTS})
"""Sources of completions that are found in some documents and then counted in all documents."""


@dataclass(frozen=True, slots=True)
class IndexQueryCompleter:
    """Query completion from an index and the existing themes. Implements the QueryCompleter port.

    - `library`: sources of field values.
    - `max_chars`: maximum length of a search in characters.
    """

    library: ValueLibrary
    max_chars: int

    def complete(self, text: str, cursor: int | None = None) -> CompletionList:
        """Return completions for what a user is typing at the cursor of a query.

        `cursor` is a number of characters from the start; None means the end of the text. Raises
        ValueError if the cursor is outside the text.
        """
        typed_text = find_typed_text(text, cursor)
        if typed_text.kind is TypingKind.NOTHING:
            return CompletionList(typed_text, (), False, None, None)
        if typed_text.kind is TypingKind.VALUE:
            return self._complete_value(text, typed_text)
        names = list_fields(typed_text.prefix)
        fields = [(KnownValue(name, get_field(name).meaning, None), f"{name}:") for name in names]
        return CompletionList(
            typed_text, self._build_completions(text, typed_text, fields), False, None, None
        )

    def suggest_replacement(self, text: str, cursor: int) -> CompletionList | None:
        """Return existing values to replace the field value at the cursor.

        Every suggested value has documents. Returns None if no field value is at the cursor, if the
        value exists, or if there is no suggestion.
        """
        completion_list = self.complete(text, cursor)
        typed_text = completion_list.typed
        value = typed_text.prefix.strip().casefold()
        if typed_text.kind is not TypingKind.VALUE:
            return None
        if any(value == completion.value.casefold() for completion in completion_list.completions):
            return None
        if value and not completion_list.completions:
            completion_list = self._complete_value(text, replace(typed_text, prefix=""))
        with_documents = [
            completion for completion in completion_list.completions if completion.count
        ]
        return replace(completion_list, completions=with_documents) if with_documents else None

    def _complete_value(self, text: str, typed_text: TypedText) -> CompletionList:
        values, is_cut = find_values(self.library, typed_text.field, typed_text.prefix)
        candidates = [
            (value, query_value)
            for value in filter_matching(values, typed_text.prefix)
            if (query_value := format_value(typed_text.field, value.value)) is not None
        ]
        selected_values = candidates[:COMPLETIONS_MAX]
        field = get_field(typed_text.field)
        if field.values in SAMPLED_SOURCES:
            index = self.library.index
            selected_values = [
                (count_value(index, typed_text.field, value, query_value), query_value)
                for value, query_value in selected_values
            ]
        has_more = is_cut or len(candidates) > len(selected_values)
        return CompletionList(
            typed_text,
            self._build_completions(text, typed_text, selected_values),
            has_more,
            field.meaning,
            field.example,
        )

    def _build_completions(
        self, text: str, typed_text: TypedText, values: Sequence[tuple[KnownValue, str]]
    ) -> list[Completion]:
        """Build completions, each with the text of the search after inserting the completion.

        `values` are pairs of a value and its form in a query. Completions that make the search too
        long are omitted.
        """
        completions = []
        for value, query_value in values:
            new_text, new_cursor = insert_completion(text, typed_text, query_value)
            if len(new_text) <= self.max_chars:
                completions.append(
                    Completion(value.value or "none", value.name, value.count, new_text, new_cursor)
                )
        return completions


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

    def close(self) -> None:
        """Close the wrapped index."""
        close(self.index)

"""What may come next in a search: fields, and values of a field out of what can be found, with counts."""

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
from fonds.search.query.completion import find_typed, format_value, insert_completion, list_fields
from fonds.search.query.parser import Themes, parse

COMPLETIONS_MAX = 10
COUNTED_LATE = frozenset({ValueSource.NAMES, ValueSource.DOCUMENTS})
"""Sources whose values are found in some documents first, and then counted in all."""


@dataclass(frozen=True, slots=True)
class IndexQueryCompleter:
    """The port Completes, over an index and the themes there are; searches have `max_chars` at most."""

    library: ValueLibrary
    max_chars: int

    def complete(self, text: str, cursor: int | None = None) -> CompletionList:
        """Raises ValueError for a place outside of the text."""
        one = find_typed(text, cursor)
        if one.kind is TypingKind.NOTHING:
            return CompletionList(one, (), False, None, None)
        if one.kind is TypingKind.VALUE:
            return self._complete_value(text, one)
        named = list_fields(one.prefix)
        fields = [(KnownValue(name, get_field(name).meaning, None), f"{name}:") for name in named]
        return CompletionList(one, self._build_completions(text, one, fields), False, None, None)

    def suggest_replacement(self, text: str, cursor: int) -> CompletionList | None:
        """Each of them finds documents by itself."""
        found = self.complete(text, cursor)
        one = found.typed
        said = one.prefix.strip().casefold()
        if one.kind is not TypingKind.VALUE:
            return None
        if any(said == of.value.casefold() for of in found.completions):
            return None
        if said and not found.completions:
            found = self._complete_value(text, replace(one, prefix=""))
        there = [of for of in found.completions if of.count]
        return replace(found, completions=there) if there else None

    def _complete_value(self, text: str, typed: TypedText) -> CompletionList:
        known, is_cut = find_values(self.library, typed.field, typed.prefix)
        able = [
            (value, put)
            for value in filter_matching(known, typed.prefix)
            if (put := format_value(typed.field, value.value)) is not None
        ]
        shown = able[:COMPLETIONS_MAX]
        field = get_field(typed.field)
        if field.values in COUNTED_LATE:
            index = self.library.index
            shown = [(count_value(index, typed.field, value, put), put) for value, put in shown]
        more = is_cut or len(able) > len(shown)
        return CompletionList(
            typed, self._build_completions(text, typed, shown), more, field.meaning, field.example
        )

    def _build_completions(
        self, text: str, typed: TypedText, values: Sequence[tuple[KnownValue, str]]
    ) -> list[Completion]:
        """Each in its place, but where the search would get too long."""
        made = []
        for value, put in values:
            whole, at = insert_completion(text, typed, put)
            if len(whole) <= self.max_chars:
                made.append(Completion(value.value or "none", value.name, value.count, whole, at))
        return made


# An index that takes no document and no version of a hidden file, whoever brings it.


@dataclass(frozen=True, slots=True)
class EmbargoFilterIndex:
    """The port Index over another one; `hidden` says which of these files (SHA-1s) are hidden now."""

    index: Index
    hidden: Callable[[Sequence[str]], Collection[str]]

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """As the index does, but for documents of hidden files, and without hidden versions.

        It is asked again behind the write: whoever hides a file says so before it removes its document, so
        that of the two one sees the other.
        """
        put = _filter_visible(documents, self.hidden(_list_files(documents)))
        if not put:
            return
        self.index.put(put)
        since = self.hidden(_list_files(put))
        if since:
            shown = _filter_visible(put, since)
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

    def find_similar_words(self, word: str) -> Sequence[str]:
        """As the index does."""
        return self.index.find_similar_words(word)

    def count(self) -> int:
        """As the index does."""
        return self.index.count()

    def close(self) -> None:
        """Close the index."""
        close(self.index)


def _list_files(documents: Sequence[IndexDocument]) -> list[str]:
    """The files of these documents and of the versions they are found by."""
    return [
        sha1hex
        for document in documents
        for sha1hex in (document.sha1hex, *(v.sha1hex for v in document.earlier))
    ]


def _filter_visible(
    documents: Sequence[IndexDocument], hidden: Collection[str]
) -> list[IndexDocument]:
    """The documents of files that are not hidden, each without hidden versions."""
    shown = []
    for document in documents:
        if document.sha1hex in hidden:
            continue
        earlier = tuple(version for version in document.earlier if version.sha1hex not in hidden)
        shown.append(
            document if earlier == document.earlier else replace(document, earlier=earlier)
        )
    return shown


# An index that is asked for themes as well: what a query names by `theme:` is looked up where themes are
# known before the index is asked.


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

    def find_similar_words(self, word: str) -> Sequence[str]:
        """As the index does."""
        return self.index.find_similar_words(word)

    def count(self) -> int:
        """As the index does."""
        return self.index.count()

    def close(self) -> None:
        """Close the index."""
        close(self.index)

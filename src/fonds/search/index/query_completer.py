"""Complete search queries from an index: fields and their values, with counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fonds.model.completion import Completion, CompletionList, TypedText, TypingKind
from fonds.search.fields import ValueSource, get_field
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

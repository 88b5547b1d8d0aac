"""Completions for the search box: JSON for the script of the search box, and links on the search
page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from fonds.grouping.views.themes import MEMBERS_MAX, iter_themes
from fonds.model.completion import Completion, CompletionList, NamedTheme, TypingKind
from fonds.model.encoding import pluralize
from fonds.model.search import QUERY_MAX_CHARS, QueryError
from fonds.ports import QueryCompleter, Stores
from fonds.search.request import SearchRequest, format_value_name
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_url
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService
from fonds.wiring.index import create_completer

router = APIRouter(tags=["search"], dependencies=[READS])


@dataclass(frozen=True, slots=True)
class CompletionsOut:
    """Completions of a search at the cursor. All positions are in characters (Unicode code points)
    from 0.

    `kind`: what is being typed: `field` (a field name), `value` (of `field`) or `nothing`.
    `said`: the part of the field name or value before the cursor.
    `start`, `end`: range of the search that a completion replaces.
    `completions`: at most ten, best first. `text` is the whole search with the completion, `at` the
        position of the cursor in the whole search, `count` the number of documents with the value,
        or in the theme.
    `more`: whether there are other completions, or may be.
    `form`, `example`: how a value of the field is written, in general and as an example.
    """

    kind: TypingKind
    field: str | None
    said: str
    start: int
    end: int
    completions: Sequence[Completion]
    more: bool
    form: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class OfferedValues:
    """Suggested values for a field of a search that fails or finds nothing.

    `field`: name of the field.
    `values`: each value with a link to the search that uses it.
    `more`: whether there are other values, or may be.
    `example`: an example of a value of the field.
    """

    field: str
    values: Sequence[tuple[Completion, str]]
    more: bool
    example: str | None


@router.get(
    "/api/complete",
    summary="Completions of a search: fields, and values with counts",
    operation_id="list_completions",
)
def completions(
    stores: OpenStores,
    collections: TheService,
    q: Annotated[str, Query(max_length=QUERY_MAX_CHARS, description="Text of the search")] = "",
    at: Annotated[
        int | None,
        Query(ge=0, description="Position of the cursor, in characters from 0; default: the end"),
    ] = None,
) -> CompletionsOut:
    """Return up to ten completions at the cursor, best first."""
    if at is not None and at > len(q):
        message = f"The position {at:,} is beyond the end of the search ({pluralize(len(q), 'character')})."
        raise RefusedError(400, message, parameter="at")
    completion_list = _create_completer(stores, collections).complete(q, at)
    typed_text = completion_list.typed
    return CompletionsOut(
        typed_text.kind, typed_text.field or None, typed_text.prefix, typed_text.start, typed_text.end,
        completion_list.completions, completion_list.has_more, completion_list.form, completion_list.example,
    )  # fmt: skip


def find_offered_values(
    stores: Stores,
    collections: CollectionService,
    form: SearchRequest,
    error: ValueError | None = None,
) -> OfferedValues | None:
    """Suggest values for the last field of a search, or for the field at which the query error
    `error` occurred.

    Return None unless that field has no value or an unknown one.
    """
    cursor = error.end if isinstance(error, QueryError) and error.end else len(form.q.rstrip())
    completion_list = _create_completer(stores, collections).suggest_replacement(
        form.q, min(cursor, len(form.q))
    )
    return None if completion_list is None else _build_offered(form, completion_list)


def _build_offered(form: SearchRequest, completions: CompletionList) -> OfferedValues:
    values = [
        (completion, build_url("/search", **form.build_params({"q": completion.text})))
        for completion in completions.completions
    ]
    return OfferedValues(completions.typed.field, values, completions.has_more, completions.example)


def _create_completer(stores: Stores, service: CollectionService) -> QueryCompleter:
    def themes() -> Iterator[NamedTheme]:
        """Yield the themes that a search supports, once by label and once by the name that a
        curator gave.

        A search does not support themes with more than 50,000 documents.
        """
        all_themes = iter_themes(service.tables)
        return (
            NamedTheme(str(theme.name), name, theme.size)
            for theme in all_themes
            if theme.size <= MEMBERS_MAX
            for name in dict.fromkeys((theme.given_name, theme.label))
            if name
        )

    return create_completer(stores.index, themes, format_value_name, QUERY_MAX_CHARS)

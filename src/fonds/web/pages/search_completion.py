"""What may come next in the search box: for its script as JSON, without it as links of the search page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from fonds.grouping.views.themes import MEMBERS_MAX, iter_themes
from fonds.model.completion import Completion, CompletionList, NamedTheme, TypingKind
from fonds.model.encoding import pluralize
from fonds.model.search import QueryError
from fonds.ports import QueryCompleter, Stores
from fonds.search.query.parser import QUERY_MAX_CHARS
from fonds.search.request import SearchRequest, format_value_name
from fonds.web.access.roles import READS
from fonds.web.html.rendering import OpenStores, build_url
from fonds.web.serving.json_requests import TheService
from fonds.web.serving.problems import RefusedError
from fonds.wiring.collections import CollectionService
from fonds.wiring.stores import create_completer

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class CompletionsOut:
    """What is being typed at the cursor: `kind` is `field` (the name of one), `value` (of `field`) or
    `nothing`; `said` is what stands of it before the cursor.

    A completion takes the place of the text from `start` to `end`; its `text` is the whole search with it,
    and `at` where the cursor stands then: all in characters (Unicode code points) from 0. `count` documents
    have the value; a theme has so many in its collection. There are at most ten, the best first; `more`:
    there are others, or may be. `form` and `example` say how a value is written.
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
    """Values for a field of a search that fails or finds nothing, each with the search for it."""

    field: str
    values: Sequence[tuple[Completion, str]]
    more: bool
    example: str | None


@router.get(
    "/api/complete", summary="What may come next in the search box: fields, and values with counts"
)
def completions(
    stores: OpenStores,
    collections: TheService,
    q: Annotated[str, Query(max_length=QUERY_MAX_CHARS, description="The search so far")] = "",
    at: Annotated[
        int | None,
        Query(
            ge=0, description="Where the cursor stands, in characters from 0; by default at the end"
        ),
    ] = None,
) -> CompletionsOut:
    """Up to ten completions of what is being typed at the cursor, the best first."""
    if at is not None and at > len(q):
        told = f"The search has {pluralize(len(q), 'character')}; there is no place {at:,} in it."
        raise RefusedError(400, told, parameter="at")
    found = _create_completer(stores, collections).complete(q, at)
    one = found.typed
    return CompletionsOut(
        one.kind, one.field or None, one.prefix, one.start, one.end,
        found.completions, found.has_more, found.form, found.example,
    )  # fmt: skip


def find_offered_values(
    stores: Stores,
    collections: CollectionService,
    form: SearchRequest,
    error: ValueError | None = None,
) -> OfferedValues | None:
    """Values for the last field of a search, or that which an error is about, where it has none or one there
    is not; None for any other search."""
    at = error.end if isinstance(error, QueryError) and error.end else len(form.q.rstrip())
    found = _create_completer(stores, collections).suggest_replacement(form.q, min(at, len(form.q)))
    return None if found is None else _build_offered(form, found)


def _build_offered(form: SearchRequest, completions: CompletionList) -> OfferedValues:
    values = [
        (completion, build_url("/search", **form.build_params({"q": completion.text})))
        for completion in completions.completions
    ]
    return OfferedValues(completions.typed.field, values, completions.has_more, completions.example)


def _create_completer(stores: Stores, service: CollectionService) -> QueryCompleter:
    def themes() -> Iterator[NamedTheme]:
        """Those a search takes."""
        every = iter_themes(service.tables)
        return (
            NamedTheme(str(one.name), said, one.size)
            for one in every
            if one.size <= MEMBERS_MAX
            for said in dict.fromkeys((one.called, one.label))
            if said
        )

    return create_completer(stores.index, themes, format_value_name, QUERY_MAX_CHARS)

"""What may come next in the search box: for its script as JSON, without it as links of the search page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query

from fonds.collections.reading.themes import MEMBERS_MAX, every_theme
from fonds.model.completing import Completing, Completion, NamedTheme, Typing
from fonds.model.numbers import how_many
from fonds.model.query_error import QueryError
from fonds.ports import Completes, Stores
from fonds.web.access.declared import READS
from fonds.web.pages.searching.form import QUERY_MAX_CHARS, SearchForm, shown_name
from fonds.web.problems import RefusedError
from fonds.web.rendering import OpenStores, link
from fonds.web.rest.service import TheService
from fonds.wiring.backends import completing
from fonds.wiring.recurring.collections import CollectionService

router = APIRouter(dependencies=[READS])


@dataclass(frozen=True, slots=True)
class Completions:
    """What is being typed at the cursor: `kind` is `field` (the name of one), `value` (of `field`) or
    `nothing`; `said` is what stands of it before the cursor.

    A completion takes the place of the text from `start` to `end`; its `text` is the whole search with it,
    and `at` where the cursor stands then: all in characters (Unicode code points) from 0. `count` documents
    have the value; a theme has so many in its collection. There are at most ten, the best first; `more`:
    there are others, or may be. `form` and `example` say how a value is written.
    """

    kind: Typing
    field: str | None
    said: str
    start: int
    end: int
    completions: Sequence[Completion]
    more: bool
    form: str | None
    example: str | None


@dataclass(frozen=True, slots=True)
class Offered:
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
    themes: TheService,
    q: Annotated[str, Query(max_length=QUERY_MAX_CHARS, description="The search so far")] = "",
    at: Annotated[
        int | None,
        Query(
            ge=0, description="Where the cursor stands, in characters from 0; by default at the end"
        ),
    ] = None,
) -> Completions:
    """Up to ten completions of what is being typed at the cursor, the best first."""
    if at is not None and at > len(q):
        told = f"The search has {how_many(len(q), 'character')}; there is no place {at:,} in it."
        raise RefusedError(400, told, parameter="at")
    found = _completes(stores, themes).complete(q, at)
    one = found.typed
    return Completions(
        one.kind, one.field or None, one.said, one.start, one.end,
        found.completions, found.more, found.form, found.example,
    )  # fmt: skip


def offered_values(
    stores: Stores, themes: CollectionService, form: SearchForm, error: ValueError | None = None
) -> Offered | None:
    """Values for the last field of a search, or that which an error is about, where it has none or one there
    is not; None for any other search."""
    at = error.end if isinstance(error, QueryError) and error.end else len(form.q.rstrip())
    found = _completes(stores, themes).instead(form.q, min(at, len(form.q)))
    return None if found is None else _offered(form, found)


def _offered(form: SearchForm, found: Completing) -> Offered:
    values = [(one, link("/search", **form.params({"q": one.text}))) for one in found.completions]
    return Offered(found.typed.field, values, found.more, found.example)


def _completes(stores: Stores, service: CollectionService) -> Completes:
    def themes() -> Iterator[NamedTheme]:
        """Those a search takes."""
        every = every_theme(service.tables)
        return (
            NamedTheme(str(one.name), said, one.size)
            for one in every
            if one.size <= MEMBERS_MAX
            for said in dict.fromkeys((one.called, one.label))
            if said
        )

    return completing(stores.index, themes, shown_name, QUERY_MAX_CHARS)

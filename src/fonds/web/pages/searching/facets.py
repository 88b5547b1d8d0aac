"""The facets beside a search: values people can choose several of, leave out, find, and read the names of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fonds.model.document import SearchResults
from fonds.ports import Index
from fonds.web.pages.searching.form import (
    FACET_VALUES_MAX,
    QUERY_MAX_CHARS,
    SearchForm,
    shown_name,
)
from fonds.web.rendering import link

FACETS = {
    "kind": "kind",
    "language": "language",
    "canonical_domain": "domain",
    "collection": "collection",
}
"""The parameter of each field that is counted."""


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a facet. `count` documents have it, whatever is chosen of this facet; `href` chooses it
    beside what is chosen, or no more; `without_href` is the search without documents that have it, None where
    the query would get too long.
    """

    value: str
    name: str
    count: int
    href: str
    without_href: str | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet by its parameter; `beyond` counts documents with values not listed, `more_href` lists more."""

    name: str
    values: Sequence[FacetValue]
    beyond: int
    more_href: str | None


def counted(
    index: Index, form: SearchForm, results: SearchResults, ids: Sequence[str] = ()
) -> tuple[dict[str, Sequence[tuple[str, int]]], dict[str, int]]:
    """Values and the rest of each facet, counted without what is chosen of that facet itself: its siblings
    keep their counts. With `find`, only values whose value or name has that in it; with `ids` among these
    documents only.
    """
    facets, beyond = dict(results.facets), dict(results.beyond)
    for field, parameter in FACETS.items():
        if getattr(form, parameter):
            rest = form.model_copy(update={parameter: [], "after": None, "page": 1})
            others = index.search(replace(rest.query(ids), count_max=0))
            facets[field], beyond[field] = others.facets.get(field, ()), others.beyond.get(field, 0)
    wanted = form.find.strip().casefold()
    if wanted:
        for field, parameter in FACETS.items():
            facets[field] = [
                (value, count)
                for value, count in facets.get(field, ())
                if wanted in value.casefold() or wanted in shown_name(parameter, value).casefold()
            ]
    return facets, beyond


def made_facets(
    form: SearchForm, facets: Mapping[str, Sequence[tuple[str, int]]], beyond: Mapping[str, int]
) -> list[Facet]:
    """Every facet that says something."""
    made = []
    for field, parameter in FACETS.items():
        chosen = [str(one) for one in getattr(form, parameter)]
        pairs = facets.get(field, ())
        if not (pairs or beyond.get(field, 0) or form.find):
            continue
        values = [_value(form, parameter, value, count, chosen) for value, count in pairs]
        is_cut = form.facets < FACET_VALUES_MAX and not form.find
        more = link("/search", **form.params({"facets": FACET_VALUES_MAX})) if is_cut else None
        made.append(Facet(parameter, values, beyond.get(field, 0), more))
    return made


def _value(
    form: SearchForm, parameter: str, value: str, count: int, chosen: Sequence[str]
) -> FacetValue:
    is_chosen = value in chosen
    left = [one for one in chosen if one != value] if is_chosen else [*chosen, value]
    return FacetValue(
        value,
        shown_name(parameter, value),
        count,
        link("/search", **form.params({parameter: left or None})),
        None if is_chosen else _without(form, parameter, value),
        is_chosen,
    )


def _without(form: SearchForm, parameter: str, value: str) -> str | None:
    """The search with an exclusion at the end of its words; an OR among them is held together first."""
    if '"' in value or "*" in value:
        return None
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f'{held} -{parameter}:"{value or "none"}"'.strip()
    if len(query) > QUERY_MAX_CHARS:
        return None
    return link("/search", **form.params({"q": query}))

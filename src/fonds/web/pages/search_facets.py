"""The facets beside a search: values people can choose several of, leave out, find, and read the names of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.grouping.names import DEFAULT
from fonds.search.facets import ThemeCounts
from fonds.search.fields import FACET_FIELDS
from fonds.search.query.parser import QUERY_MAX_CHARS
from fonds.search.request import FACET_VALUES_MAX, SearchRequest, format_value_name
from fonds.web.html.rendering import build_url
from fonds.wiring.collections import CollectionService


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


def build_facets(
    form: SearchRequest,
    facets: Mapping[str, Sequence[tuple[str, int]]],
    hidden_counts: Mapping[str, int],
) -> list[Facet]:
    """Every facet that says something."""
    made = []
    for field, parameter in FACET_FIELDS.items():
        chosen = [str(one) for one in getattr(form, parameter)]
        pairs = facets.get(field, ())
        if not (pairs or hidden_counts.get(field, 0) or form.find):
            continue
        values = [_build_value(form, parameter, value, count, chosen) for value, count in pairs]
        is_cut = form.facets < FACET_VALUES_MAX and not form.find
        more = (
            build_url("/search", **form.build_params({"facets": FACET_VALUES_MAX}))
            if is_cut
            else None
        )
        made.append(Facet(parameter, values, hidden_counts.get(field, 0), more))
    return made


def _build_value(
    form: SearchRequest, parameter: str, value: str, count: int, selected: Sequence[str]
) -> FacetValue:
    is_chosen = value in selected
    left = [one for one in selected if one != value] if is_chosen else [*selected, value]
    return FacetValue(
        value,
        format_value_name(parameter, value),
        count,
        build_url("/search", **form.build_params({parameter: left or None})),
        None if is_chosen else _exclude_value(form, parameter, value),
        is_chosen,
    )


def _exclude_value(form: SearchRequest, parameter: str, value: str) -> str | None:
    """The search with an exclusion at the end of its words; an OR among them is held together first."""
    if '"' in value or "*" in value:
        return None
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f'{held} -{parameter}:"{value or "none"}"'.strip()
    if len(query) > QUERY_MAX_CHARS:
        return None
    return build_url("/search", **form.build_params({"q": query}))


# The themes beside a search: those of a collection people choose, each with the link that narrows the search
# to it.


OFFERED_MAX = 10
COLLECTIONS_MAX = 100


@dataclass(frozen=True, slots=True)
class ThemeValue:
    """A theme by its name, or else its label, with how many documents of the search it has; `href` is None
    where the query would get too long or cannot name it."""

    called: str
    count: int
    href: str | None


@dataclass(frozen=True, slots=True)
class ThemeFacet:
    """The themes of a collection, the first of them; `beyond` documents are in further ones."""

    counts: ThemeCounts
    values: Sequence[ThemeValue]
    beyond: int
    less_href: str


@dataclass(frozen=True, slots=True)
class OfferedCollection:
    """A collection by whose themes the search can be counted."""

    name: str
    href: str


def build_theme_facet(form: SearchRequest, counts: ThemeCounts | None) -> ThemeFacet | None:
    """As many of the themes as values of each facet are listed."""
    if counts is None:
        return None
    shown = counts.themes[: form.facets]
    values = [
        ThemeValue(counts.names.get(label, label), count, _narrow_to_theme(form, label))
        for label, count in shown
    ]
    beyond = sum(count for _, count in counts.themes[len(shown) :])
    return ThemeFacet(
        counts, values, beyond, build_url("/search", **form.build_params({"themes": None}))
    )


def list_offered(collections: CollectionService, form: SearchRequest) -> list[OfferedCollection]:
    """The first ten of a hundred collections, by name, that have themes."""
    if form.themes:
        return []
    some = islice(collections.every(), COLLECTIONS_MAX)
    served = (str(one.name) for one in some if any(by.conf == DEFAULT for by in one.served))
    return [
        OfferedCollection(name, build_url("/search", **form.build_params({"themes": name})))
        for name in islice(served, OFFERED_MAX)
    ]


def _narrow_to_theme(form: SearchRequest, label: str) -> str | None:
    """The search within a theme; an OR among its words is held together first."""
    if '"' in label or "*" in label:
        return None
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f'{held} theme:"{form.themes}/{label}"'.strip()
    return (
        None
        if len(query) > QUERY_MAX_CHARS
        else build_url("/search", **form.build_params({"q": query}))
    )

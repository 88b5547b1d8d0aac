"""Facets of a search, whose values can be selected or excluded, and numbers of matches by theme of
a collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.grouping.names import DEFAULT
from fonds.model.search import QUERY_MAX_CHARS, ThemeCounts
from fonds.search.fields import FACET_FIELDS
from fonds.search.request import FACET_VALUES_MAX, SearchRequest, format_value_name
from fonds.web.html.rendering import build_url
from fonds.wiring.collections import CollectionService


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a facet of a search.

    `count`: number of documents with the value, ignoring the selected values of the same facet.
    `chosen`: whether the search selects the value.
    `href`: URL of the search with the value selected, or deselected if it is `chosen`.
    `without_href`: URL of the search that excludes the value; None if the value is `chosen` or no
        query can exclude it.
    """

    value: str
    name: str
    count: int
    href: str
    without_href: str | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet: the values of one property of the documents that a search finds.

    `name`: query parameter that selects the values.
    `beyond`: number of documents with values that are not listed.
    `more_href`: URL of the search with more values listed per facet, None if no more can be listed.
    """

    name: str
    values: Sequence[FacetValue]
    beyond: int
    more_href: str | None


def build_facets(
    form: SearchRequest,
    facets: Mapping[str, Sequence[tuple[str, int]]],
    hidden_counts: Mapping[str, int],
) -> list[Facet]:
    """Build the facets of a search.

    Facets without any values are left out, unless the request lists only values that contain a text
    (`find`).
    """
    built_facets = []
    for field, parameter in FACET_FIELDS.items():
        chosen_values = [str(chosen_value) for chosen_value in getattr(form, parameter)]
        pairs = facets.get(field, ())
        if not (pairs or hidden_counts.get(field, 0) or form.find):
            continue
        values = [
            _build_value(form, parameter, value, count, chosen_values) for value, count in pairs
        ]
        is_cut = form.facets < FACET_VALUES_MAX and not form.find
        more_href = (
            build_url("/search", **form.build_params({"facets": FACET_VALUES_MAX}))
            if is_cut
            else None
        )
        built_facets.append(Facet(parameter, values, hidden_counts.get(field, 0), more_href))
    return built_facets


def _build_value(
    form: SearchRequest, parameter: str, value: str, count: int, selected_values: Sequence[str]
) -> FacetValue:
    is_chosen = value in selected_values
    remaining = (
        [other_value for other_value in selected_values if other_value != value]
        if is_chosen
        else [*selected_values, value]
    )
    return FacetValue(
        value,
        format_value_name(parameter, value),
        count,
        build_url("/search", **form.build_params({parameter: remaining or None})),
        None if is_chosen else _exclude_value(form, parameter, value),
        is_chosen,
    )


def _exclude_value(form: SearchRequest, parameter: str, value: str) -> str | None:
    """Return the URL of the search with the value excluded. A query with an OR is put in
    parentheses.

    Return None if the query would get too long or cannot name the value.
    """
    if '"' in value or "*" in value:
        return None
    words = form.q.strip()
    group = f"({words})" if " OR " in words else words
    query = f'{group} -{parameter}:"{value or "none"}"'.strip()
    if len(query) > QUERY_MAX_CHARS:
        return None
    return build_url("/search", **form.build_params({"q": query}))


# Themes of a collection, each with the link that narrows the search to it.


OFFERED_THEMES_MAX = 10
COLLECTIONS_MAX = 100


@dataclass(frozen=True, slots=True)
class ThemeValue:
    """A theme that contains documents of a search.

    `name`: name that a curator gave the theme, or else its label.
    `count`: number of documents of the search that are in the theme.
    `href`: URL of the search within the theme. None if the query would get too long or cannot name
        the theme.
    """

    name: str
    count: int
    href: str | None


@dataclass(frozen=True, slots=True)
class ThemeFacet:
    """The themes of a collection with the most documents of a search, with the numbers of these
    documents.

    `beyond`: sum of these numbers over the themes that are not listed.
    `less_href`: URL of the search without the list of themes.
    """

    counts: ThemeCounts
    values: Sequence[ThemeValue]
    beyond: int
    less_href: str


@dataclass(frozen=True, slots=True)
class OfferedCollection:
    """A collection for whose themes the documents of a search can be counted.

    `href`: URL of the search with its documents counted by the themes of the collection.
    """

    name: str
    href: str


def build_theme_facet(form: SearchRequest, counts: ThemeCounts | None) -> ThemeFacet | None:
    """Build the list of themes that contain documents of a search, with at most as many themes as a
    facet lists values.

    Return None if the documents were not counted by theme.
    """
    if counts is None:
        return None
    listed_themes = counts.themes[: form.facets]
    values = [
        ThemeValue(counts.names.get(label, label), count, _narrow_to_theme(form, label))
        for label, count in listed_themes
    ]
    unlisted_count = sum(count for _, count in counts.themes[len(listed_themes) :])
    return ThemeFacet(
        counts, values, unlisted_count, build_url("/search", **form.build_params({"themes": None}))
    )


def list_offered_collections(
    collections: CollectionService, form: SearchRequest
) -> list[OfferedCollection]:
    """Return the first ten collections that have themes, in order of name, out of the first hundred
    collections.

    Return an empty list if the search already counts its documents by the themes of a collection.
    """
    if form.themes:
        return []
    collection_views = islice(collections.iter_collections(), COLLECTIONS_MAX)
    collection_names = (
        str(view.name)
        for view in collection_views
        if any(clustering.conf == DEFAULT for clustering in view.served)
    )
    return [
        OfferedCollection(name, build_url("/search", **form.build_params({"themes": name})))
        for name in islice(collection_names, OFFERED_THEMES_MAX)
    ]


def _narrow_to_theme(form: SearchRequest, label: str) -> str | None:
    """Return the URL of the search within a theme. A query with an OR is put in parentheses.

    Return None if the query would get too long or cannot name the theme.
    """
    if '"' in label or "*" in label:
        return None
    words = form.q.strip()
    group = f"({words})" if " OR " in words else words
    query = f'{group} theme:"{form.themes}/{label}"'.strip()
    return (
        None
        if len(query) > QUERY_MAX_CHARS
        else build_url("/search", **form.build_params({"q": query}))
    )

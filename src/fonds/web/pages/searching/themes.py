"""The themes beside a search: those of a collection people choose, each with the link that narrows the search
to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from fonds.collections.names import DEFAULT
from fonds.library.searching.themes import ThemeCounts, theme_counts
from fonds.model.document import SearchQuery
from fonds.ports import Stores
from fonds.web.pages.searching.form import QUERY_MAX_CHARS, SearchForm
from fonds.web.problems import RefusedError
from fonds.web.rendering import link
from fonds.wiring.recurring.collections import CollectionService

OFFERED_MAX = 10
LOOKED_MAX = 100
UNCOUNTED = (
    "Here nothing is counted by themes: leave this out. To narrow to a theme, name it in q:"
    ' theme:"NAMESPACE/KEY/LABEL".'
)
EACH = "Here each document stands for itself: leave this out."


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
class Offered:
    """A collection by whose themes the search can be counted."""

    name: str
    href: str


def counted_themes(
    stores: Stores, themes: CollectionService, form: SearchForm, ids: Sequence[str] = ()
) -> ThemeCounts | None:
    """How the documents of a search, with `ids` these of them, lie in the themes of the collection asked
    for; None without one. Raises ValueError with a sentence for people."""
    if not form.themes:
        return None
    return theme_counts(stores.index, themes.tables, form.themes, form.query(ids))


def uncounted(form: SearchForm) -> SearchQuery:
    """The query of an answer that holds documents and no counts. Raises RefusedError where counts or groups
    are asked for: left out in silence, they would look like a filter that narrows nothing."""
    if form.themes:
        raise RefusedError(400, UNCOUNTED, parameter="themes")
    for name in ("collapse", "alike"):
        if getattr(form, name):
            raise RefusedError(400, EACH, parameter=name)
    return form.query()


def theme_facet(form: SearchForm, counts: ThemeCounts | None) -> ThemeFacet | None:
    """As many of the themes as values of each facet are listed."""
    if counts is None:
        return None
    shown = counts.themes[: form.facets]
    values = [
        ThemeValue(counts.names.get(label, label), count, _narrowed(form, label))
        for label, count in shown
    ]
    beyond = sum(count for _, count in counts.themes[len(shown) :])
    return ThemeFacet(counts, values, beyond, link("/search", **form.params({"themes": None})))


def offered(themes: CollectionService, form: SearchForm) -> list[Offered]:
    """The first ten of a hundred collections, by name, that have themes."""
    if form.themes:
        return []
    some = islice(themes.every(), LOOKED_MAX)
    served = (str(one.name) for one in some if any(by.conf == DEFAULT for by in one.served))
    return [
        Offered(name, link("/search", **form.params({"themes": name})))
        for name in islice(served, OFFERED_MAX)
    ]


def _narrowed(form: SearchForm, label: str) -> str | None:
    """The search within a theme; an OR among its words is held together first."""
    if '"' in label or "*" in label:
        return None
    words = form.q.strip()
    held = f"({words})" if " OR " in words else words
    query = f'{held} theme:"{form.themes}/{label}"'.strip()
    return None if len(query) > QUERY_MAX_CHARS else link("/search", **form.params({"q": query}))

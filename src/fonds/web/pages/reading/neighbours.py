"""The neighbours of a document as its page and the API show them: near-duplicates, its domain, its themes.

Bound: five documents of each sort, two themes; three questions to the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from fonds.collections.names import DEFAULT, parse
from fonds.collections.reading.clusters import Cluster, Member, cluster
from fonds.kinds.kind import Related, Relatives
from fonds.library.reading.neighbours import NEIGHBOURS_MAX, AroundDay, around_day
from fonds.model.document import DateKind, DateOf, IndexDocument, SearchQuery
from fonds.ports import Index
from fonds.web.parameters import shorten
from fonds.web.rendering import instant, link
from fonds.web.themes.addresses import placed_href
from fonds.web.themes.tagged import ThemeLink
from fonds.wiring.recurring.collections import CollectionService

THEMES_MAX = 2

Known = Mapping[str, IndexDocument]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document beside another: `day` is the day its group goes by, else that of its publication.
    `nearness` is the resemblance of a near-duplicate, the cosine of a theme's document to its middle, None
    else."""

    id: str
    title: str
    domain: str | None
    day: date | None
    nearness: float | None
    href: str


@dataclass(frozen=True, slots=True)
class NeighbourGroup:
    """Neighbours of one sort. `total` counts the others, `shown` are the nearest of them, and `href` lists
    all of them, the document among them; None where that is on the page itself.

    `name` is the domain or the theme's label, None for near-duplicates; `collection` the theme's.
    Of the domain `dates` says which days are compared, `date_kind` of what, and `first` and `last` which.
    """

    sort: Literal["near-duplicates", "domain", "theme"]
    name: str | None
    total: int
    shown: Sequence[Neighbour]
    href: str | None
    collection: str | None = None
    dates: DateOf | None = None
    date_kind: DateKind | None = None
    first: date | None = None
    last: date | None = None


def neighbours(
    index: Index,
    themes: CollectionService,
    document: IndexDocument | None,
    relatives: Relatives,
    links: Sequence[ThemeLink],
) -> list[NeighbourGroup]:
    """The groups that have somebody in them. `document` None: it is not in the index, so nobody knows its
    domain and themes; near-duplicates are told all the same."""
    near = relatives.near_duplicates[:NEIGHBOURS_MAX]
    there = [(one, _theme(themes, one)) for one in links[:THEMES_MAX]] if document else []
    members = [one for _, theme in there if theme for one in theme.top]
    known = _known(index, [*(one.story_id for one in near), *(one.id for one in members)])
    groups = [_near(relatives, near, known)]
    if document is not None:
        found = around_day(index, document)
        groups += [_domain(found)] if found else []
        groups += [_themed(one, theme, document.id, known) for one, theme in there if theme]
    return [one for one in groups if one.total and one.shown]


def _known(index: Index, ids: Sequence[str]) -> Known:
    """What the index has of these, without their texts."""
    if not ids:
        return {}
    distinct = list(dict.fromkeys(ids))
    query = SearchQuery(
        ids=distinct, sort="id", count_max=len(distinct), facet_values_max=0, with_snippets=False
    )
    return {hit.document.id: hit.document for hit in index.search(query).hits}


def _theme(themes: CollectionService, one: ThemeLink) -> Cluster | None:
    """The theme with one document more than is shown: its own may be among them."""
    name = parse(one.collection)
    return cluster(themes.tables, name, one.label, DEFAULT, top=NEIGHBOURS_MAX + 1)


def _near(relatives: Relatives, near: Sequence[Related], known: Known) -> NeighbourGroup:
    shown = [_related(one, known.get(one.story_id)) for one in near]
    return NeighbourGroup("near-duplicates", None, relatives.near_duplicates_total, shown, None)


def _related(one: Related, known: IndexDocument | None) -> Neighbour:
    return Neighbour(
        id=one.story_id,
        title=_title(known, one.url),
        domain=known.canonical_domain if known else None,
        day=known.publication_date if known else None,
        nearness=one.resemblance,
        href=f"/file/{one.sha1hex}",
    )


def _domain(found: AroundDay) -> NeighbourGroup:
    shown = [
        Neighbour(
            one.id, _title(one, one.url), one.canonical_domain, one.day(found.dates), None,
            f"/file/{one.sha1hex}",
        )
        for one in found.shown
    ]  # fmt: skip
    within = {"domain": found.domain, "from": found.first.isoformat(), "to": found.last.isoformat()}
    dates = None if found.dates is DateOf.PUBLISHED else str(found.dates)
    return NeighbourGroup(
        "domain", found.domain, found.total, shown,
        link("/search", **within, dates=dates, collapse="no"),
        dates=found.dates, date_kind=found.date_kind, first=found.first, last=found.last,
    )  # fmt: skip


def _themed(there: ThemeLink, theme: Cluster, own_id: str, known: Known) -> NeighbourGroup:
    others = [one for one in theme.top if one.id != own_id][:NEIGHBOURS_MAX]
    shown = [_member(there, one, known.get(one.id)) for one in others]
    return NeighbourGroup(
        "theme",
        there.name or there.label,
        theme.size - 1,
        shown,
        there.href,
        collection=there.collection,
    )


def _member(there: ThemeLink, one: Member, known: IndexDocument | None) -> Neighbour:
    """A document others put into the collection is not in the index: its place in the theme is shown."""
    at = instant(one.time)
    return Neighbour(
        id=one.id,
        title=_title(known, one.title or one.url or one.id),
        domain=known.canonical_domain if known else None,
        day=known.publication_date if known else at.date() if at else None,
        nearness=one.score,
        href=f"/file/{known.sha1hex}" if known else placed_href(parse(there.collection), one.id),
    )


def _title(known: IndexDocument | None, otherwise: str) -> str:
    title = " ".join(((known.article_title if known else None) or otherwise).split())
    return shorten(title) or otherwise

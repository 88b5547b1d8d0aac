"""The neighbours of a document as its page and the API show them: near-duplicates, its domain, its themes.

Limits: five documents of each sort, two themes; three questions to the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from fonds.derivatives.kind import FileRelations, RelatedFile
from fonds.grouping.names import DEFAULT, parse
from fonds.grouping.views.clusters import ClusterMember, ClusterView, find_cluster
from fonds.model.document import DateKind, DateOf, IndexDocument
from fonds.model.search import SearchQuery
from fonds.ports import Index
from fonds.viewer.neighbours import NEIGHBOURS_MAX, AroundDay, find_around_day
from fonds.web.html.rendering import build_url, to_datetime
from fonds.web.pages.theme_links import ThemeLink, link_to_assignment
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

THEMES_MAX = 2

DocumentsById = Mapping[str, IndexDocument]


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


def build_neighbour_groups(
    index: Index,
    collections: CollectionService,
    document: IndexDocument | None,
    relatives: FileRelations,
    links: Sequence[ThemeLink],
) -> list[NeighbourGroup]:
    """The groups that have somebody in them. `document` None: it is not in the index, so nobody knows its
    domain and themes; near-duplicates are told all the same."""
    near = relatives.near_duplicates[:NEIGHBOURS_MAX]
    there = (
        [(link, _find_theme(collections, link)) for link in links[:THEMES_MAX]] if document else []
    )
    members = [one for _, theme in there if theme for one in theme.top]
    documents = _load_documents(
        index, [*(one.story_id for one in near), *(member.id for member in members)]
    )
    groups = [_build_near_duplicates(relatives, near, documents)]
    if document is not None:
        around_day = find_around_day(index, document)
        groups += [_build_domain_group(around_day)] if around_day else []
        groups += [
            _build_theme_group(one, theme, document.id, documents) for one, theme in there if theme
        ]
    return [group for group in groups if group.total and group.shown]


def _load_documents(index: Index, ids: Sequence[str]) -> DocumentsById:
    """What the index has of these, without their texts."""
    if not ids:
        return {}
    distinct = list(dict.fromkeys(ids))
    query = SearchQuery(
        ids=distinct, sort="id", count_max=len(distinct), facet_values_max=0, with_snippets=False
    )
    return {hit.document.id: hit.document for hit in index.search(query).hits}


def _find_theme(collections: CollectionService, theme: ThemeLink) -> ClusterView | None:
    """The theme with one document more than is shown: its own may be among them."""
    name = parse(theme.collection)
    return find_cluster(collections.tables, name, theme.label, DEFAULT, top=NEIGHBOURS_MAX + 1)


def _build_near_duplicates(
    relatives: FileRelations, near: Sequence[RelatedFile], documents: DocumentsById
) -> NeighbourGroup:
    shown = [_build_related(one, documents.get(one.story_id)) for one in near]
    return NeighbourGroup("near-duplicates", None, relatives.near_duplicates_total, shown, None)


def _build_related(related: RelatedFile, document: IndexDocument | None) -> Neighbour:
    return Neighbour(
        id=related.story_id,
        title=_choose_title(document, related.url),
        domain=document.canonical_domain if document else None,
        day=document.publication_date if document else None,
        nearness=related.resemblance,
        href=f"/file/{related.sha1hex}",
    )


def _build_domain_group(around_day: AroundDay) -> NeighbourGroup:
    shown = [
        Neighbour(
            document.id,
            _choose_title(document, document.url),
            document.canonical_domain,
            document.get_day(around_day.dates),
            None,
            f"/file/{document.sha1hex}",
        )
        for document in around_day.documents
    ]
    within = {
        "domain": around_day.domain,
        "from": around_day.first.isoformat(),
        "to": around_day.last.isoformat(),
    }
    dates = None if around_day.dates is DateOf.PUBLISHED else str(around_day.dates)
    return NeighbourGroup(
        "domain", around_day.domain, around_day.total, shown,
        build_url("/search", **within, dates=dates, collapse="no"),
        dates=around_day.dates, date_kind=around_day.date_kind, first=around_day.first, last=around_day.last,
    )  # fmt: skip


def _build_theme_group(
    theme_link: ThemeLink, theme: ClusterView, own_id: str, documents: DocumentsById
) -> NeighbourGroup:
    others = [one for one in theme.top if one.id != own_id][:NEIGHBOURS_MAX]
    shown = [_build_member(theme_link, one, documents.get(one.id)) for one in others]
    return NeighbourGroup(
        "theme",
        theme_link.name or theme_link.label,
        theme.size - 1,
        shown,
        theme_link.href,
        collection=theme_link.collection,
    )


def _build_member(
    theme: ThemeLink, member: ClusterMember, document: IndexDocument | None
) -> Neighbour:
    """A document others put into the collection is not in the index: its place in the theme is shown."""
    at = to_datetime(member.time)
    return Neighbour(
        id=member.id,
        title=_choose_title(document, member.title or member.url or member.id),
        domain=document.canonical_domain if document else None,
        day=document.publication_date if document else at.date() if at else None,
        nearness=member.score,
        href=f"/file/{document.sha1hex}"
        if document
        else link_to_assignment(parse(theme.collection), member.id),
    )


def _choose_title(document: IndexDocument | None, default: str) -> str:
    title = " ".join(((document.article_title if document else None) or default).split())
    return shorten(title) or default

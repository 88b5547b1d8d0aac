"""Neighbours of a document: near-duplicates, documents of the same domain, documents of the same
themes.

Limits: five documents of each sort and theme, two themes, three queries to the search index.
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
from fonds.search.hits import ThemeLink
from fonds.viewer.neighbours import NEIGHBOURS_MAX, AroundDay, find_around_day
from fonds.web.html.rendering import build_url, to_datetime
from fonds.web.pages.theme_links import link_to_assignment
from fonds.web.serving.parameters import shorten
from fonds.wiring.collections import CollectionService

THEMES_MAX = 2

DocumentsById = Mapping[str, IndexDocument]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One neighbour of a document.

    `day`: the date of the neighbour: in a domain's group, the kind of date that is compared;
        otherwise its publication date or, without one, its date in the collection. None if unknown.
    `nearness`: resemblance for a near-duplicate; cosine similarity to the centroid for a document
        of the same theme; otherwise None.
    """

    id: str
    title: str
    domain: str | None
    day: date | None
    nearness: float | None
    href: str


@dataclass(frozen=True, slots=True)
class NeighbourGroup:
    """Neighbours of a document of one sort: near-duplicates, same domain, or same theme.

    `total`: number of neighbours, without the document itself.
    `shown`: the nearest neighbours.
    `href`: address that lists all neighbours of this sort and the document itself; None if `shown`
        is complete or no such list exists.
    `name`: the domain, or the label of the theme; None for near-duplicates.
    `collection`: collection of the theme, None for other sorts.
    `dates`, `date_kind`: for a domain, the kind of date that is compared.
    `first`, `last`: for a domain, the range of dates of the neighbours.
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
    """Build the groups of neighbours of a document; groups without neighbours are left out.

    `document`: None if the document is not in the index; then only near-duplicates are known.
    """
    near = relatives.near_duplicates[:NEIGHBOURS_MAX]
    themes = (
        [(link, _find_theme(collections, link)) for link in links[:THEMES_MAX]] if document else []
    )
    members = [item for _, theme in themes if theme for item in theme.top]
    documents = _load_documents(
        index, [*(item.story_id for item in near), *(member.id for member in members)]
    )
    groups = [_build_near_duplicates(relatives, near, documents)]
    if document is not None:
        around_day = find_around_day(index, document)
        groups += [_build_domain_group(around_day)] if around_day else []
        groups += [
            _build_theme_group(item, theme, document.id, documents)
            for item, theme in themes
            if theme
        ]
    return [group for group in groups if group.total and group.shown]


def _load_documents(index: Index, ids: Sequence[str]) -> DocumentsById:
    """Load the documents with these ids from the index, without their texts."""
    if not ids:
        return {}
    distinct = list(dict.fromkeys(ids))
    query = SearchQuery(
        ids=distinct, sort="id", count_max=len(distinct), facet_values_max=0, with_snippets=False
    )
    return {hit.document.id: hit.document for hit in index.search(query).hits}


def _find_theme(collections: CollectionService, theme: ThemeLink) -> ClusterView | None:
    """Load a theme with its most typical documents: one more than the page shows, because the
    file's own document may be among them.
    """
    name = parse(theme.collection)
    return find_cluster(collections.tables, name, theme.label, DEFAULT, top=NEIGHBOURS_MAX + 1)


def _build_near_duplicates(
    relatives: FileRelations, near: Sequence[RelatedFile], documents: DocumentsById
) -> NeighbourGroup:
    neighbours = [
        _build_related(related_file, documents.get(related_file.story_id)) for related_file in near
    ]
    return NeighbourGroup(
        "near-duplicates", None, relatives.near_duplicates_total, neighbours, None
    )


def _build_related(related_file: RelatedFile, document: IndexDocument | None) -> Neighbour:
    return Neighbour(
        id=related_file.story_id,
        title=_choose_title(document, related_file.url),
        domain=document.canonical_domain if document else None,
        day=document.publication_date if document else None,
        nearness=related_file.resemblance,
        href=f"/file/{related_file.sha1hex}",
    )


def _build_domain_group(around_day: AroundDay) -> NeighbourGroup:
    neighbours = [
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
    filters = {
        "domain": around_day.domain,
        "from": around_day.first.isoformat(),
        "to": around_day.last.isoformat(),
    }
    dates = None if around_day.dates is DateOf.PUBLISHED else str(around_day.dates)
    return NeighbourGroup(
        "domain", around_day.domain, around_day.total, neighbours,
        build_url("/search", **filters, dates=dates, collapse="no"),
        dates=around_day.dates, date_kind=around_day.date_kind, first=around_day.first, last=around_day.last,
    )  # fmt: skip


def _build_theme_group(
    theme_link: ThemeLink, theme: ClusterView, own_id: str, documents: DocumentsById
) -> NeighbourGroup:
    other_members = [member for member in theme.top if member.id != own_id][:NEIGHBOURS_MAX]
    neighbours = [
        _build_member(theme_link, member, documents.get(member.id)) for member in other_members
    ]
    return NeighbourGroup(
        "theme",
        theme_link.name or theme_link.label,
        theme.size - 1,
        neighbours,
        theme_link.href,
        collection=theme_link.collection,
    )


def _build_member(
    theme: ThemeLink, member: ClusterMember, document: IndexDocument | None
) -> Neighbour:
    """Build the neighbour for another document of the same theme.

    A document that another program added to the collection is not in the index. The link of such a
    document opens the page that explains the document's theme.
    """
    member_time = to_datetime(member.time)
    return Neighbour(
        id=member.id,
        title=_choose_title(document, member.title or member.url or member.id),
        domain=document.canonical_domain if document else None,
        day=document.publication_date if document else member_time.date() if member_time else None,
        nearness=member.score,
        href=f"/file/{document.sha1hex}"
        if document
        else link_to_assignment(parse(theme.collection), member.id),
    )


def _choose_title(document: IndexDocument | None, default: str) -> str:
    title = " ".join(((document.article_title if document else None) or default).split())
    return shorten(title) or default

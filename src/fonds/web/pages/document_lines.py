"""Documents of a theme as lines: titles, pictures and links, from the index where it knows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.grouping.views.clusters import ClusterMember
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.ports import Index
from fonds.urls.parts import split_address
from fonds.web.html.rendering import filter_web_url, to_datetime
from fonds.web.pages.theme_links import link_to_assignment
from fonds.web.pages.theme_selection import Selection
from fonds.web.serving.parameters import shorten


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document: its `score` is the cosine to the theme's middle. `file_href` opens its file and `url` its
    address, None where there is none; `why_href` says why it is here."""

    id: str
    title: str
    score: float
    date: dt.date | None
    kind: Kind | None
    domain: str | None
    language: str | None
    url: str | None
    file_href: str | None
    thumbnail_href: str | None
    why_href: str


def build_document_lines(
    index: Index, selection: Selection, members: Sequence[ClusterMember]
) -> list[DocumentLine]:
    """The documents with what the index knows of those that came in here."""
    known = index.get([one.id for one in members]) if members else {}
    return [_build_line(selection, one, known.get(one.id)) for one in members]


def _build_line(
    selection: Selection, member: ClusterMember, document: IndexDocument | None
) -> DocumentLine:
    at, address = to_datetime(member.time), (document.url if document else member.url)
    title = (document.article_title if document else None) or member.title or address or member.id
    conf = selection.build_params()["conf"]
    return DocumentLine(
        id=member.id,
        title=shorten(" ".join(title.split())) or member.id,
        score=member.score,
        date=at.date() if at else None,
        kind=document.kind if document else None,
        domain=document.canonical_domain if document else _get_host(address),
        language=document.language if document else None,
        url=filter_web_url(address),
        file_href=f"/file/{document.sha1hex}" if document else None,
        thumbnail_href=f"/file/{document.sha1hex}/thumbnail"
        if document and document.has_thumbnail
        else None,
        why_href=link_to_assignment(selection.name, member.id, conf=conf),
    )


def _get_host(address: str) -> str | None:
    return split_address(address).host or None if filter_web_url(address) else None

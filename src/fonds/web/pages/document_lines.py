"""Lines that list the documents of a theme: title, thumbnail and links of each document.

Titles and other fields come from the search index if it has the document.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.grouping.views.clusters import ClusterMember
from fonds.model.document import IndexDocument
from fonds.model.extension import extend
from fonds.model.file import Kind
from fonds.ports import Index
from fonds.urls.parts import split_address
from fonds.web.html.rendering import filter_web_url, to_datetime
from fonds.web.pages.theme_links import link_to_assignment
from fonds.web.pages.theme_selection import Selection
from fonds.web.serving.parameters import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLine(ClusterMember):
    """One document in a list of a theme's documents.

    `title`, `url`: title and URL with which the document was added to the collection.
    `heading`: title of the document in the search index, else its title, URL or id in the
        collection, in one line.
    `file_href`: address of the page of the document's file, None if the library has no file.
    `original_href`: original URL of the document, None if unknown.
    `why_href`: address of the page that explains why the document is in its theme.
    """

    heading: str
    date: dt.date | None
    kind: Kind | None
    domain: str | None
    language: str | None
    original_href: str | None
    file_href: str | None
    thumbnail_href: str | None
    why_href: str


def build_document_lines(
    index: Index, selection: Selection, members: Sequence[ClusterMember]
) -> list[DocumentLine]:
    """Build one line per document of a theme, with fields from the search index for documents in
    it.
    """
    indexed_documents = index.get([member.id for member in members]) if members else {}
    return [_build_line(selection, member, indexed_documents.get(member.id)) for member in members]


def _build_line(
    selection: Selection, member: ClusterMember, document: IndexDocument | None
) -> DocumentLine:
    time, address = to_datetime(member.time), (document.url if document else member.url)
    title = (document.article_title if document else None) or member.title or address or member.id
    conf = selection.build_params()["conf"]
    return extend(
        DocumentLine,
        member,
        heading=shorten(" ".join(title.split())) or member.id,
        date=time.date() if time else None,
        kind=document.kind if document else None,
        domain=document.canonical_domain if document else _get_host(address),
        language=document.language if document else None,
        original_href=filter_web_url(address),
        file_href=f"/file/{document.sha1hex}" if document else None,
        thumbnail_href=f"/file/{document.sha1hex}/thumbnail"
        if document and document.has_thumbnail
        else None,
        why_href=link_to_assignment(selection.name, member.id, conf=conf),
    )


def _get_host(address: str) -> str | None:
    return split_address(address).host or None if filter_web_url(address) else None

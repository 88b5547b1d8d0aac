"""Documents of a theme as lines: titles, pictures and links, from the index where it knows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from fonds.address import split_address
from fonds.collections.reading.clusters import Member
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.ports import Index
from fonds.web.parameters import shorten
from fonds.web.rendering import instant, web_url
from fonds.web.themes.addresses import placed_href
from fonds.web.themes.asking import Asked


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


def document_lines(index: Index, there: Asked, members: Sequence[Member]) -> list[DocumentLine]:
    """The documents with what the index knows of those that came in here."""
    known = index.get([one.id for one in members]) if members else {}
    return [_line(there, one, known.get(one.id)) for one in members]


def _line(there: Asked, one: Member, known: IndexDocument | None) -> DocumentLine:
    at, address = instant(one.time), (known.url if known else one.url)
    title = (known.article_title if known else None) or one.title or address or one.id
    conf = there.params()["conf"]
    return DocumentLine(
        id=one.id,
        title=shorten(" ".join(title.split())) or one.id,
        score=one.score,
        date=at.date() if at else None,
        kind=known.kind if known else None,
        domain=known.canonical_domain if known else _host(address),
        language=known.language if known else None,
        url=web_url(address),
        file_href=f"/file/{known.sha1hex}" if known else None,
        thumbnail_href=f"/file/{known.sha1hex}/thumbnail"
        if known and known.has_thumbnail
        else None,
        why_href=placed_href(there.name, one.id, conf=conf),
    )


def _host(address: str) -> str | None:
    return split_address(address).host or None if web_url(address) else None

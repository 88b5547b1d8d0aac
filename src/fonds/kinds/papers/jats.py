"""The kind `jats`: text and bibliography of an article in JATS or NLM XML. Its document is the file's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from fonds.kinds.documents import Origin, authors_of, cleaned, doi_of, text_of
from fonds.kinds.embargoes import embargoed
from fonds.kinds.indexed import Indexed, without_versions
from fonds.kinds.kind import DerivativeKind, Fact, Reading, digits
from fonds.kinds.papers.grobid import biblio_facts, said
from fonds.kinds.rights import file_rights, statements_from
from fonds.model.capture import Capture
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import FileMeta, Kind
from fonds.model.keys import text_blob_key
from fonds.model.paper import JATS_VERSION, UnreadArticle
from fonds.model.partial_date import first_day
from fonds.model.rows import JatsRow, Row
from fonds.ports import Records

SUCCESS, UNREADABLE = "success", "unreadable"
MIMETYPES = ("application/jats+xml",)
RIGHTS = "rights"
"""The statements about its use in `metadata`."""


def indexed_rows(records: Records, sha1hexes: Sequence[str]) -> Mapping[str, JatsRow]:
    """The rows documents are made of, by the document's id, which is the file's SHA-1."""
    rows, hidden = records.get(JatsRow, sha1hexes), embargoed(records, sha1hexes)
    return {row.sha1hex: row for row in rows if row.status == SUCCESS and row.sha1hex not in hidden}


def document(row: JatsRow, blob: bytes | None, origin: Origin) -> IndexDocument:
    """The document of an article."""
    return IndexDocument(
        id=row.sha1hex,
        sha1hex=row.sha1hex,
        kind=Kind.JATS,
        url=cleaned(origin.url),
        canonical_domain=cleaned(origin.domain),
        publication_date=first_day(row.published),
        language=row.language,
        article_title=None if row.title is None else cleaned(row.title),
        text_content=text_of(blob),
        indexed_date=row.updated,
        collection=cleaned(origin.collection),
        word_count=row.word_count,
        authors=authors(row),
        doi=doi_of(row.doi),
        status=row.status,
        date_kind=DateKind.PUBLISHED if first_day(row.published) else None,
        captured=origin.captured,
    )


def authors(row: JatsRow) -> tuple[str, ...]:
    """The names of an article's authors, cleaned, at most 100."""
    return authors_of(said(row.metadata).get("authors"))


def promised_rights(row: JatsRow) -> list[Row]:
    """The row of what the article states about its use, if anything."""
    return file_rights(row, statements_from((row.metadata or {}).get(RIGHTS)))


def _facts(row: JatsRow) -> list[Fact]:
    return [
        Fact("reading", row.status),
        Fact("what went wrong", row.error_msg, "nothing"),
        Fact("words", digits(row.word_count)),
        Fact("language", row.language),
        Fact("quality", row.quality),
        Fact("extractor", row.extractor),
        *biblio_facts(row.metadata),
    ]


def _values(row: JatsRow, found: IndexDocument | None) -> dict[str, object]:
    return {
        "status": row.status,
        "title": row.title,
        "authors": list(authors(row)) or None,
        "publication_date": row.published,
        "language": row.language,
        "canonical_domain": found.canonical_domain if found else None,
        "word_count": row.word_count,
        "doi": row.doi,
        "bibliography_quality": row.quality,
        "reference_count": row.reference_count,
        "extractor": row.extractor,
        "metadata": msgspec.json.encode(row.metadata, order="deterministic").decode()
        if row.metadata
        else None,
    }


def _work(capture: Capture, file: FileMeta, after: datetime | None) -> UnreadArticle:
    return UnreadArticle(capture, file)


KIND = DerivativeKind(
    name="jats",
    title="JATS article",
    mimetypes=MIMETYPES,
    row=JatsRow,
    step="import_jats",
    rows=promised_rights,
    blobs=lambda row: [text_blob_key(row.sha1hex)] if row.word_count else [],
    indexed=Indexed(
        where={"status": SUCCESS},
        id_of=lambda row: row.sha1hex,
        current=without_versions(indexed_rows),
        has_text=lambda row: bool(row.word_count),
        document=document,
    ),
    columns={
        "status": "text",
        "title": "text",
        "authors": "texts",
        "publication_date": "date",
        "language": "text",
        "canonical_domain": "text",
        "word_count": "integer",
        "doi": "text",
        "bibliography_quality": "text",
        "reference_count": "integer",
        "extractor": "text",
        "metadata": "text",
    },
    values=_values,
    facts=_facts,
    awaited="reading",
    reading=Reading(
        step="import_jats",
        payload=UnreadArticle,
        work=_work,
        extractor=lambda names: JATS_VERSION,
        statuses=(SUCCESS, UNREADABLE),
    ),
)

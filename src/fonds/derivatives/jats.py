"""Derivative kind `jats`: text and bibliography of an article in JATS or NLM XML.

The id of the index document is the SHA-1 of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from fonds.derivatives.document_rows import IndexedKind, build_row_loader
from fonds.derivatives.documents import (
    DocumentOrigin,
    decode_blob_text,
    parse_authors,
    parse_doi,
)
from fonds.derivatives.grobid import build_biblio_facts
from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, format_count
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.capture import Capture
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import FileMeta, Kind
from fonds.model.keys import build_text_blob_key
from fonds.model.paper import JATS_VERSION, UnreadArticle
from fonds.model.partial_date import parse_first_day
from fonds.model.rows import JatsRow, Row
from fonds.model.stored_json import clean_text, encode_stored
from fonds.ports import Records
from fonds.rights.file_rights import build_file_rights

SUCCESS, UNREADABLE = "success", "unreadable"
MIMETYPES = ("application/jats+xml",)


def find_rows(records: Records, sha1hexes: Sequence[str]) -> Mapping[str, JatsRow]:
    """Return the rows of JATS articles that have an index document, by document id (SHA-1).

    Files under embargo and articles that could not be read are omitted.
    """
    rows, embargoes = records.get(JatsRow, sha1hexes), find_active_embargoes(records, sha1hexes)
    return {
        row.sha1hex: row for row in rows if row.status == SUCCESS and row.sha1hex not in embargoes
    }


def build_document(row: JatsRow, blob: bytes | None, origin: DocumentOrigin) -> IndexDocument:
    """Build the index document of a JATS article. `blob` is the text, None if it has none."""
    return IndexDocument(
        id=row.sha1hex,
        sha1hex=row.sha1hex,
        kind=Kind.JATS,
        url=clean_text(origin.url),
        canonical_domain=clean_text(origin.domain),
        publication_date=parse_first_day(row.published),
        language=row.language,
        article_title=None if row.title is None else clean_text(row.title),
        text_content=decode_blob_text(blob),
        indexed_date=row.updated,
        collection=clean_text(origin.collection),
        word_count=row.word_count,
        authors=list_authors(row),
        doi=parse_doi(row.doi),
        status=row.status,
        date_kind=DateKind.PUBLISHED if parse_first_day(row.published) else None,
        captured=origin.captured,
    )


def list_authors(row: JatsRow) -> tuple[str, ...]:
    """Return the names of an article's authors, cleaned, at most 100."""
    return parse_authors(
        [author.name for author in row.metadata.head.authors] if row.metadata else ()
    )


def build_rights_rows(row: JatsRow) -> list[Row]:
    """Return a list with the row of the rights that an article states; [] if it states none."""
    return build_file_rights(row, row.metadata.rights if row.metadata else ())


def _build_facts(row: JatsRow) -> list[Fact]:
    return [
        Fact("reading", row.status),
        Fact("error", row.error_msg, "nothing"),
        Fact("words", format_count(row.word_count)),
        Fact("language", row.language),
        Fact("quality", row.quality),
        Fact("extractor", row.extractor),
        *build_biblio_facts(row.metadata),
    ]


def _build_values(row: JatsRow, document: IndexDocument | None) -> dict[str, object]:
    return {
        "status": row.status,
        "title": row.title,
        "authors": list(list_authors(row)) or None,
        "publication_date": row.published,
        "language": row.language,
        "canonical_domain": document.canonical_domain if document else None,
        "word_count": row.word_count,
        "doi": row.doi,
        "bibliography_quality": row.quality,
        "reference_count": row.reference_count,
        "extractor": row.extractor,
        "metadata": msgspec.json.encode(encode_stored(row.metadata), order="deterministic").decode()
        if row.metadata
        else None,
    }


def _build_work(capture: Capture, file: FileMeta, after: datetime | None) -> UnreadArticle:
    return UnreadArticle(capture, file)


KIND = DerivativeKind(
    name="jats",
    title="JATS article",
    mimetypes=MIMETYPES,
    row=JatsRow,
    step="import_jats",
    build_rows=build_rights_rows,
    list_blobs=lambda row: [build_text_blob_key(row.sha1hex)] if row.word_count else [],
    indexed=IndexedKind(
        row_filter={"status": SUCCESS},
        id_column="sha1hex",
        load_current=build_row_loader(find_rows),
        has_text=lambda row: bool(row.word_count),
        build_document=build_document,
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
    build_values=_build_values,
    build_facts=_build_facts,
    awaited="reading",
    reading=RereadPlan(
        step="import_jats",
        payload=UnreadArticle,
        work=_build_work,
        extractor=lambda names: JATS_VERSION,
        statuses=(SUCCESS, UNREADABLE),
    ),
)

"""The kind `pdf`: text and metadata of a PDF. Its document is the file's.

Source: seed 003, `pdf_meta`; seed 004, "Elasticsearch" mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

import msgspec

from fonds.address import file_name
from fonds.kinds.documents import Origin, authors_of, cleaned, doi_of, text_of
from fonds.kinds.embargoes import embargoed
from fonds.kinds.indexed import Indexed, without_versions
from fonds.kinds.kind import DerivativeKind, Fact, Reading, digits, flat
from fonds.kinds.rights import file_rights, statements_from
from fonds.model.capture import Capture
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import FileMeta, Kind, Unextracted
from fonds.model.keys import text_blob_key
from fonds.model.partial_date import first_day
from fonds.model.pdf import PdfStatus, StatusClass
from fonds.model.rows import PdfMetaRow, Row
from fonds.ports import Records

TITLE_MAX_CHARS = 300
RIGHTS = "rights"
"""The statements about its use in `metadata`."""
XFA = "XFA"
INDEXED = frozenset(str(status) for status in PdfStatus if status.reason is None)
"""The statuses of the PDFs that are in the index."""
AGAIN = frozenset({StatusClass.LIMIT, StatusClass.TRANSIENT, StatusClass.INTERNAL})
MEASURED_KEYS = frozenset(
    {
        "encrypted",
        "fonts_embedded",
        "form",
        "javascript",
        "language",
        "origin",
        "page0_rotation",
        "tagged",
        "text_truncated",
        "update_id",
        "word_count_whitespace",
    }
)
"""What the extractor found out and keeps in `metadata`, beside what the document says of itself."""
COLUMNS = {
    "status": "text",
    "title": "text",
    "authors": "texts",
    "publication_date": "date",
    "language": "text",
    "canonical_domain": "text",
    "page_count": "integer",
    "word_count": "integer",
    "extractor": "text",
    "metadata": "text",
}


def is_placeholder(row: PdfMetaRow) -> bool:
    """Whether what was read may be the sentence that forms in XFA show to readers that do not know XFA."""
    return (row.metadata or {}).get("form") == XFA


def indexed_rows(records: Records, sha1hexes: Sequence[str]) -> dict[str, PdfMetaRow]:
    """The rows documents are made of, by the document's id, which is the file's SHA-1."""
    rows = records.get(PdfMetaRow, sha1hexes)
    hidden = embargoed(records, sha1hexes)
    return {row.sha1hex: row for row in rows if row.status in INDEXED and row.sha1hex not in hidden}


def document(row: PdfMetaRow, blob: bytes | None, origin: Origin) -> IndexDocument:
    """The document of a PDF; `blob` None means it has no text.

    The language is the one chosen when the PDF was read, kept under `language` in `metadata`.
    """
    text = text_of(blob)
    said = row.metadata or {}
    day, date_kind = _dated(row.pdf_created, said)
    language = said.get("language")
    return IndexDocument(
        id=row.sha1hex,
        sha1hex=row.sha1hex,
        kind=Kind.PDF,
        url=cleaned(origin.url),
        canonical_domain=cleaned(origin.domain),
        publication_date=day,
        language=language if isinstance(language, str) else None,
        article_title=_title(said.get("title"), text, origin.url),
        text_content=text,
        indexed_date=row.updated,
        collection=cleaned(origin.collection),
        page_count=row.page_count,
        word_count=row.word_count,
        has_thumbnail=row.has_page0_thumbnail,
        authors=authors(row),
        doi=doi_of(said.get("doi")),
        status=row.status,
        date_kind=date_kind,
        captured=origin.captured,
    )


def authors(row: PdfMetaRow) -> tuple[str, ...]:
    """The names of a PDF's authors, cleaned, at most 100."""
    said = row.metadata or {}
    return authors_of(said.get("authors") or said.get("author"))


def promised_rights(row: PdfMetaRow) -> list[Row]:
    """The row of what the PDF states about its use, if anything."""
    return file_rights(row, statements_from((row.metadata or {}).get(RIGHTS)))


def _dated(
    created: datetime | None, said: Mapping[str, object]
) -> tuple[date | None, DateKind | None]:
    """The day the file was made, else the day the paper says it appeared on; and which of them it is."""
    if created:
        return created.astimezone(UTC).date(), DateKind.CREATED
    day = first_day(said.get("published"))
    return day, DateKind.PUBLISHED if day else None


def _title(stated: object, text: str, url: str) -> str:
    """The Info title, else the first line of text, else the file's name."""
    title = cleaned(stated).strip() if isinstance(stated, str) else ""
    if not title:
        lines = (cleaned(line).strip() for line in text.splitlines())
        title = next((line for line in lines if line), "")
    if not title:
        title = cleaned(file_name(url))
    return title[:TITLE_MAX_CHARS]


def _values(row: PdfMetaRow, found: IndexDocument | None) -> dict[str, object]:
    said: dict[str, object] = {
        "status": row.status,
        "authors": list(authors(row)) or None,
        "page_count": row.page_count,
        "word_count": row.word_count,
        "extractor": row.extractor,
        # With its names in order: PostgreSQL keeps none, and exports are to be compared.
        "metadata": _json(row.metadata) if row.metadata else None,
    }
    if found is not None:
        day = found.publication_date
        said |= {
            "title": found.article_title,
            "publication_date": day.isoformat() if day else None,
            "language": found.language,
            "canonical_domain": found.canonical_domain,
        }
    return said


def _json(value: Mapping[str, object]) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _facts(row: PdfMetaRow) -> list[Fact]:
    width, height = row.page0_width, row.page0_height
    paper = None if width is None or height is None else f"{width:g} × {height:g} points"
    said = row.metadata or {}
    return [
        Fact("extraction", row.status),
        Fact("what went wrong", row.error_msg, "nothing"),
        Fact("pages", digits(row.page_count)),
        Fact("words", digits(row.word_count)),
        Fact("first page", paper),
        Fact("PDF version", row.pdf_version),
        Fact("permanent id", row.permanent_id, "none in the file"),
        Fact("created", row.pdf_created.isoformat() if row.pdf_created else None),
        *flat({name: value for name, value in said.items() if name in MEASURED_KEYS}),
        Fact("extractor", row.extractor),
        *flat(
            {name: value for name, value in said.items() if name not in {*MEASURED_KEYS, RIGHTS}},
            claimed=True,
        ),
    ]


def _work(capture: Capture, file: FileMeta, after: datetime | None) -> Unextracted:
    return Unextracted(capture, file, after)


READING = Reading(
    step="extract_pdf",
    payload=Unextracted,
    work=_work,
    extractor=lambda names: names.pdf,
    statuses=tuple(str(one) for one in PdfStatus),
    again=frozenset(str(one) for one in PdfStatus if one.status_class in AGAIN),
    kept=INDEXED,
)
"""How PDFs are read again; kinds that are made of what `extract_pdf` writes come with it."""
KIND = DerivativeKind(
    name="pdf",
    title="PDF",
    mimetypes=("application/pdf",),
    row=PdfMetaRow,
    step="persist_pdf_text",
    rows=promised_rights,
    blobs=lambda row: [text_blob_key(row.sha1hex)] if row.word_count else [],
    indexed=Indexed(
        where={"status": sorted(INDEXED)},
        id_of=lambda row: row.sha1hex,
        current=without_versions(indexed_rows),
        has_text=lambda row: bool(row.word_count),
        document=document,
    ),
    columns=COLUMNS,
    values=_values,
    facts=_facts,
    awaited="extraction",
    reading=READING,
)

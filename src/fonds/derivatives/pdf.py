"""Derivative kind `pdf`: text and metadata of a PDF.

The id of the index document is the SHA-1 of the file. Source: seed document 003, table
`pdf_meta`; seed document 004, "Elasticsearch" mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import msgspec

from fonds.derivatives.document_rows import IndexedKind, build_row_loader
from fonds.derivatives.documents import (
    DocumentOrigin,
    decode_blob_text,
    parse_authors,
    parse_doi,
)
from fonds.derivatives.kind import DerivativeKind, Fact, RereadPlan, format_count, iter_flat_facts
from fonds.derivatives.stored_result import is_result_complete
from fonds.derivatives.visibility import find_active_embargoes
from fonds.model.capture import Capture
from fonds.model.disposition import Disposition
from fonds.model.document import DateKind, IndexDocument
from fonds.model.file import FileMeta, Kind, UnextractedPdf
from fonds.model.keys import build_text_blob_key
from fonds.model.partial_date import parse_first_day
from fonds.model.pdf import FILELESS_STATUSES, PdfStatus, StatusClass, build_ending
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import CrashedPdfRow, GrobidRow, PdfMetaRow, Row
from fonds.model.stored_json import clean_text, encode_stored
from fonds.ports import Records
from fonds.rights.file_rights import build_file_rights
from fonds.urls.parts import file_name

TITLE_MAX_CHARS = 300
INDEXED = frozenset(str(status) for status in PdfStatus if status.reason is None)
"""Statuses of PDF rows that have an index document."""
RETRY_CLASSES = frozenset({StatusClass.LIMIT, StatusClass.TRANSIENT, StatusClass.INTERNAL})
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
"""Fields of a row's `metadata` that the extractor measured. The PDF itself states all others."""
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
    """Return whether the text of a PDF may be only a notice that the PDF viewer cannot show the
    form.

    XFA forms contain such a text for viewers that do not support XFA.
    """
    return row.metadata is not None and row.metadata.is_xfa_form


def find_rows(records: Records, sha1hexes: Sequence[str]) -> dict[str, PdfMetaRow]:
    """Return the rows of PDFs that have an index document, by document id (SHA-1).

    Files under embargo are omitted.
    """
    rows = records.get(PdfMetaRow, sha1hexes)
    embargoes = find_active_embargoes(records, sha1hexes)
    return {
        row.sha1hex: row for row in rows if row.status in INDEXED and row.sha1hex not in embargoes
    }


def build_document(row: PdfMetaRow, blob: bytes | None, origin: DocumentOrigin) -> IndexDocument:
    """Build the index document of a PDF. `blob` is the text, None if the PDF has none.

    The language was detected during extraction and is stored as `language` in `metadata`.
    """
    text = decode_blob_text(blob)
    metadata = row.metadata or PdfMetadata()
    day, date_kind = _choose_date(row.pdf_created, metadata.published)
    return IndexDocument(
        id=row.sha1hex,
        sha1hex=row.sha1hex,
        kind=Kind.PDF,
        url=clean_text(origin.url),
        canonical_domain=clean_text(origin.domain),
        publication_date=day,
        language=metadata.language,
        article_title=_choose_title(metadata.title, text, origin.url),
        text_content=text,
        indexed_date=row.updated,
        collection=clean_text(origin.collection),
        page_count=row.page_count,
        word_count=row.word_count,
        has_thumbnail=row.has_page0_thumbnail,
        authors=list_authors(row),
        doi=parse_doi(metadata.doi),
        status=row.status,
        date_kind=date_kind,
        captured=origin.captured,
    )


def list_authors(row: PdfMetaRow) -> tuple[str, ...]:
    """Return the names of a PDF's authors, cleaned, at most 100."""
    metadata = row.metadata or PdfMetadata()
    return parse_authors(metadata.authors or metadata.author)


def build_rights_rows(row: PdfMetaRow) -> list[Row]:
    """Return a list with the row of the rights that a PDF states; [] if it states none."""
    return build_file_rights(row, row.metadata.rights if row.metadata else ())


def _choose_date(
    created_at: datetime | None, published_date: str | None
) -> tuple[date | None, DateKind | None]:
    """Return the date of a PDF, and which date it is: created or published.

    It is the creation date in the PDF, or else the publication date of the paper. Both values are
    None if neither date is known.
    """
    if created_at:
        return created_at.astimezone(UTC).date(), DateKind.CREATED
    day = parse_first_day(published_date)
    return day, DateKind.PUBLISHED if day else None


def _choose_title(info_title: str | None, text: str, url: str) -> str:
    """Return the title in the PDF's Info dictionary, or else the first line of the text, or else
    the file name in the URL.

    The result has at most 300 characters.
    """
    title = clean_text(info_title).strip() if info_title else ""
    if not title:
        lines = (clean_text(line).strip() for line in text.splitlines())
        title = next((line for line in lines if line), "")
    if not title:
        title = clean_text(file_name(url))
    return title[:TITLE_MAX_CHARS]


def _build_values(row: PdfMetaRow, document: IndexDocument | None) -> dict[str, object]:
    metadata = encode_stored(row.metadata)
    values: dict[str, object] = {
        "status": row.status,
        "authors": list(list_authors(row)) or None,
        "page_count": row.page_count,
        "word_count": row.word_count,
        "extractor": row.extractor,
        # Sorted keys: PostgreSQL does not preserve their order, and exports must be comparable.
        "metadata": _encode_json(metadata) if metadata else None,
    }
    if document is not None:
        day = document.publication_date
        values |= {
            "title": document.article_title,
            "publication_date": day.isoformat() if day else None,
            "language": document.language,
            "canonical_domain": document.canonical_domain,
        }
    return values


def _encode_json(value: Mapping[str, object]) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _build_facts(row: PdfMetaRow) -> list[Fact]:
    width, height = row.page0_width, row.page0_height
    paper = None if width is None or height is None else f"{width:g} × {height:g} points"
    metadata = encode_stored(row.metadata) or {}
    return [
        Fact("extraction", row.status),
        Fact("error", row.error_msg, "nothing"),
        Fact("pages", format_count(row.page_count)),
        Fact("words", format_count(row.word_count)),
        Fact("first page", paper),
        Fact("PDF version", row.pdf_version),
        Fact("permanent id", row.permanent_id, "none in the file"),
        Fact("created", row.pdf_created.isoformat() if row.pdf_created else None),
        *iter_flat_facts(
            {name: value for name, value in metadata.items() if name in MEASURED_KEYS}
        ),
        Fact("extractor", row.extractor),
        *iter_flat_facts(
            {
                name: value
                for name, value in metadata.items()
                if name not in {*MEASURED_KEYS, "rights"}
            },
            is_claim=True,
        ),
    ]


def _build_work(capture: Capture, file: FileMeta, after: datetime | None) -> UnextractedPdf:
    return UnextractedPdf(capture, file, after)


READING = RereadPlan(
    step="extract_pdf",
    payload=UnextractedPdf,
    work=_build_work,
    extractor=lambda names: names.pdf,
    statuses=tuple(str(status) for status in PdfStatus),
    retry_statuses=frozenset(
        str(status) for status in PdfStatus if status.status_class in RETRY_CLASSES
    ),
    kept_statuses=INDEXED,
)
"""How PDFs are extracted again. Other derivatives that the same step computes are renewed too."""
KIND = DerivativeKind(
    name="pdf",
    title="PDF",
    mimetypes=("application/pdf",),
    row=PdfMetaRow,
    step="persist_pdf_text",
    build_rows=build_rights_rows,
    list_blobs=lambda row: [build_text_blob_key(row.sha1hex)] if row.word_count else [],
    indexed=IndexedKind(
        row_filter={"status": sorted(INDEXED)},
        id_column="sha1hex",
        load_current=build_row_loader(find_rows),
        has_text=lambda row: bool(row.word_count),
        build_document=build_document,
    ),
    columns=COLUMNS,
    build_values=_build_values,
    build_facts=_build_facts,
    awaited="extraction",
    reading=READING,
)


@dataclass(frozen=True, slots=True)
class KnownPdfs:
    """Lookup of stored results of PDF extraction, used before the bytes of a PDF are read.

    - `extractor`: name of the current PDF extractor.
    - `clock`: returns the current time in UTC.
    """

    records: Records
    extractor: str
    clock: Callable[[], datetime]

    def __call__(self, item: UnextractedPdf) -> Disposition | None:
        """Return the disposition of a PDF that needs no extraction; None if the PDF must be
        extracted.

        A PDF that this extractor has read or found unreadable is not extracted again. A PDF that
        crashed the extractor or exceeded a limit is not retried before its retry is due. A result
        that was stored incompletely, because a process was killed, does not count.
        """
        sha1hex = item.file.sha1
        for row in self.records.get(PdfMetaRow, [sha1hex]):
            status = _parse_status(row.status)
            if status is PdfStatus.EMPTY_BLOB and item.file.size:
                # The file of an earlier task was empty; this one has bytes.
                return None
            if (
                row.extractor == self.extractor
                and status
                and not _is_worth_trying(status)
                and self._counts(row.updated, item)
            ):
                return build_ending(status, row.error_msg)
        for stop in self.records.get(CrashedPdfRow, [(sha1hex, self.extractor)]):
            status = _parse_status(stop.status)
            if status and self.clock() < stop.expires and self._counts(stop.stopped, item):
                return build_ending(
                    status, f"{stop.detail}; next attempt after {stop.expires:%Y-%m-%d}"
                )
        return None

    def _counts(self, stored_at: datetime, item: UnextractedPdf) -> bool:
        """Return whether a result stored at this time is new enough for the item, and complete."""
        is_new = item.after is None or stored_at >= item.after
        return is_new and is_result_complete(self.records, item.file.sha1, KIND.step, stored_at)


def find_unavailable_pdfs(records: Records, sha1hexes: Sequence[str]) -> set[str]:
    """Return those SHA-1s whose derivative rows say that the location in a task led to no PDF.

    Such tasks came from other programs. For these SHA-1s there may be no file.
    """
    if not sha1hexes:
        return set()
    pdf_rows = records.get(PdfMetaRow, sha1hexes)
    grobid_rows = records.get(GrobidRow, sha1hexes)
    missing = {row.sha1hex for row in pdf_rows if row.status in FILELESS_STATUSES}
    return missing | {row.sha1hex for row in grobid_rows if row.status in FILELESS_STATUSES}


def find_no_ending(item: UnextractedPdf) -> Disposition | None:
    """Return None, so that every PDF is extracted.

    Used instead of `KnownPdfs` (the lookup of stored results) by callers without records.
    """
    return None


def _parse_status(status: str) -> PdfStatus | None:
    return PdfStatus(status) if status in set(PdfStatus) else None


def _is_worth_trying(status: PdfStatus) -> bool:
    return status.status_class not in (StatusClass.OK, StatusClass.CONTENT)

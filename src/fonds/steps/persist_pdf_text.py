"""persist_pdf_text: the text of a PDF into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fonds.extract.language import choose_language
from fonds.extract.url import canonical_domain
from fonds.formats.documents import INDEXED, Origin, pdf_document, text_bytes
from fonds.model.document import IndexDocument
from fonds.model.keys import text_blob_key
from fonds.model.pdf import PdfText
from fonds.model.rows import PdfMetaRow
from fonds.model.step import Result
from fonds.ports import Blobs, Index, Records

METADATA_KEYS = (
    "title",
    "subject",
    "author",
    "creator",
    "producer",
    "CrossMarkDomains",
    "doi",
    "keywords",
)
EXTRA_KEYS = ("form", "encrypted", "update_id")


@dataclass(frozen=True, slots=True)
class PersistPdfText:
    """Blobs first, then the row, then the index, so that what the row promises is there."""

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[PdfText]) -> list[Result]:
        """Idempotent by SHA-1; a failure never replaces an earlier success."""
        now = self.clock()
        keys = [item.sha1hex for item in items]
        before = {row.sha1hex: row for row in self.records.get(PdfMetaRow, keys)}
        kept = [item for item in _best(items) if _better(item, before.get(item.sha1hex))]
        for item in kept:
            if item.text:
                self.blobs.put(text_blob_key(item.sha1hex), text_bytes(item.text), "text/plain")
        rows = [_row(item, now) for item in kept]
        self.records.put(rows)
        documents = [
            _document(item, row)
            for item, row in zip(kept, rows, strict=True)
            if row.status in INDEXED
        ]
        if documents:
            self.index.put(documents)
        return [Result() for _ in items]


def _best(items: Sequence[PdfText]) -> list[PdfText]:
    """One outcome for each file: the last success, else the last."""
    best: dict[str, PdfText] = {}
    for item in items:
        there = best.get(item.sha1hex)
        if there is None or there.status.reason is not None or item.status.reason is None:
            best[item.sha1hex] = item
    return list(best.values())


def _better(item: PdfText, before: PdfMetaRow | None) -> bool:
    """Whether this outcome may stand in the row: a success over anything, a failure over failures."""
    return before is None or item.status.reason is None or before.status not in INDEXED


def _row(item: PdfText, now: datetime) -> PdfMetaRow:
    extra = item.pdf_extra or {}
    return PdfMetaRow(
        sha1hex=item.sha1hex,
        updated=now,
        status=str(item.status),
        has_page0_thumbnail=item.page0_thumbnail,
        page_count=extra.get("page_count"),
        word_count=extra.get("word_count"),
        page0_height=extra.get("page0_height"),
        page0_width=extra.get("page0_width"),
        permanent_id=extra.get("permanent_id") or None,
        pdf_created=_created(item.pdf_info or {}),
        pdf_version=extra.get("pdf_version") or None,
        metadata=_metadata(item, extra),
        extractor=item.extractor,
        error_msg=item.error_msg,
    )


def _metadata(item: PdfText, extra: Mapping[str, Any]) -> dict[str, Any] | None:
    """The subset of seed 003, under its spelling, whatever the case in the file; and the language."""
    by_name: dict[str, str] = {}
    for name, value in (item.pdf_info or {}).items():
        if value.strip():
            by_name.setdefault(name.lower(), value.strip())
    small: dict[str, Any] = {
        key: by_name[key.lower()] for key in METADATA_KEYS if key.lower() in by_name
    }
    small |= {key: extra[key] for key in EXTRA_KEYS if extra.get(key) is not None}
    language, _ = choose_language(item.text or "", extra.get("language"))
    if language:
        small["language"] = language
    return small or None


def _created(info: Mapping[str, str]) -> datetime | None:
    """The creation date; None when it is absent or was not a date."""
    try:
        moment = datetime.fromisoformat(info.get("CreationDate", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _document(item: PdfText, row: PdfMetaRow) -> IndexDocument:
    url = item.source.url
    origin = Origin(url, canonical_domain(url) or "", item.source.collection)
    return pdf_document(row, text_bytes(item.text) if item.text else None, origin)

"""persist_pdf_text: the text of a PDF into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from fonds.extract.language import choose_language
from fonds.extract.url import canonical_domain
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
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
TITLE_MAX_CHARS = 300


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
                self.blobs.put(text_blob_key(item.sha1hex), _bytes(item.text), "text/plain")
        self.records.put([_row(item, now) for item in kept])
        documents = [_document(item, now) for item in kept if item.status.reason is None]
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
    """Whether this outcome may stand in the row: any over none, a success over anything."""
    if before is None or item.status.reason is None:
        return True
    return before.error_msg is not None and before.word_count is None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


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
        metadata=_metadata(item.pdf_info or {}, extra),
        extractor=item.extractor,
        error_msg=item.error_msg,
    )


def _metadata(info: Mapping[str, str], extra: Mapping[str, Any]) -> dict[str, Any] | None:
    """The subset of seed 003, under its spelling, whatever the case in the file."""
    by_name = {name.lower(): value for name, value in info.items()}
    found = {key: by_name.get(key.lower(), "").strip() for key in METADATA_KEYS}
    small: dict[str, Any] = {key: value for key, value in found.items() if value}
    small |= {key: extra[key] for key in EXTRA_KEYS if extra.get(key) is not None}
    return small or None


def _created(info: Mapping[str, str]) -> datetime | None:
    """The creation date; None when it is absent or was not a date."""
    try:
        moment = datetime.fromisoformat(info.get("CreationDate", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _document(item: PdfText, now: datetime) -> IndexDocument:
    extra, info = item.pdf_extra or {}, item.pdf_info or {}
    created = _created(info)
    language, _ = choose_language(item.text or "", extra.get("language"))
    return IndexDocument(
        sha1hex=item.sha1hex,
        kind=Kind.PDF,
        url=item.source.url,
        canonical_domain=canonical_domain(item.source.url) or "",
        publication_date=created.date() if created else None,
        language=language,
        article_title=_title(item, info),
        text_content=item.text or "",
        indexed_date=now,
        collection=item.source.collection,
        page_count=extra.get("page_count"),
        word_count=extra.get("word_count"),
        has_thumbnail=item.page0_thumbnail,
    )


def _title(item: PdfText, info: Mapping[str, str]) -> str:
    """The Info title, else the first line of text, else the file's name."""
    titled = next((v for k, v in info.items() if k.lower() == "title" and v.strip()), "")
    first_line = next((line for line in (item.text or "").splitlines() if line.strip()), "")
    name = PurePosixPath(unquote(urlsplit(item.source.url).path)).name
    return (titled.strip() or first_line.strip() or name)[:TITLE_MAX_CHARS]

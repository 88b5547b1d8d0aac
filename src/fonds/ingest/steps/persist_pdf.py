"""persist_pdf_text: the text of a PDF into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fonds.derivatives.documents import (
    DocumentOrigin,
    build_text_blob,
    encode_text,
    index_until_stable,
)
from fonds.derivatives.fixity import TEXT, build_fixity, build_row_fixity, name_thumbnail_part
from fonds.derivatives.pdf import build_document, build_rights_rows, find_rows
from fonds.derivatives.sketch import build_file_sketch, write_sketches
from fonds.model.archive import Blob
from fonds.model.capture import format_datetime14
from fonds.model.disposition import DONE, Disposition, Reason, keep_without_text
from fonds.model.document import IndexDocument
from fonds.model.keys import build_text_blob_key, build_thumbnail_blob_key
from fonds.model.pdf import (
    PAGE0_FORM,
    SCANNED_ORIGIN,
    STOPPED,
    PdfStatus,
    PdfText,
    StatusClass,
    Thumbnail,
)
from fonds.model.rows import CrashedPdfRow, PdfMetaRow, TextSketchRow
from fonds.model.step import Result
from fonds.ports import Blobs, Index, Records
from fonds.rights.file_rights import remove_stale_rights
from fonds.urls.normalization import find_canonical_domain

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
BIBLIOGRAPHIC_KEYS = ("title", "authors", "doi", "arxiv_id")
"""What is looked for in several places; `…_from` says where it was found."""
EXTRA_KEYS = (
    "form",
    "encrypted",
    "update_id",
    "language",
    "origin",
    "fonts_embedded",
    "tagged",
    "javascript",
    "page0_rotation",
    "pages_garbled",
    "rights",
)
_WEIGHTS = {StatusClass.OK: 2, StatusClass.CONTENT: 1, StatusClass.LIMIT: 1}


EMITS = ()


@dataclass(frozen=True, slots=True)
class PersistPdfTextStep:
    """Blobs first, then the row, then the index, so that what the row promises is there.

    What cost a reader its life is remembered for `stopped_days`.
    """

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]
    stopped_days: float

    def __call__(self, items: Sequence[PdfText]) -> list[Result]:
        """Idempotent by SHA-1; a failure never replaces an earlier success."""
        now = self.clock()
        keys = [item.sha1hex for item in items]
        before = {row.sha1hex: row for row in self.records.get(PdfMetaRow, keys)}
        kept = [
            item for item in _choose_best(items) if _replaces_row(item, before.get(item.sha1hex))
        ]
        self.blobs.put(
            [
                build_text_blob(one.sha1hex, text)
                for one in kept
                if (text := _encode_text(one)) is not None
            ]
        )
        expires = now + timedelta(days=self.stopped_days)
        self.records.put(
            [_build_crash_row(item, now, expires) for item in items if item.status in STOPPED]
        )
        self._write_rows(kept, now)
        known = {item.sha1hex: item for item in kept}
        index_until_stable(
            self.records,
            self.index,
            (),
            lambda: find_rows(self.records, list(known)),
            lambda rows: [self._build_document(known[row.sha1hex], row, now) for row in rows],
        )
        return [Result(_build_disposition(item)) for item in items]

    def _build_document(self, item: PdfText, row: PdfMetaRow, now: datetime) -> IndexDocument:
        """The document of a row; one that another wrote meanwhile has another text than `item`."""
        url = item.source.url
        day = item.source.captured_at.astimezone(UTC).date()
        origin = DocumentOrigin(url, find_canonical_domain(url) or "", item.source.collection, day)
        shown = replace(row, has_page0_thumbnail=row.has_page0_thumbnail or item.page0_thumbnail)
        if row.updated != now:
            stored = self.blobs.get(build_text_blob_key(row.sha1hex)) if row.word_count else None
            return build_document(shown, stored, origin)
        return build_document(shown, _encode_text(item), origin)

    def _write_rows(self, items: Sequence[PdfText], now: datetime) -> None:
        """Write the rows. A thumbnail that is stored meanwhile finds no row yet: it is looked for again."""
        pictured = self._find_pictured([item.sha1hex for item in items])
        rows = [_build_row(item, now, item.sha1hex in pictured) for item in items]
        texts = [
            build_fixity(one.sha1hex, TEXT, text)
            for one in items
            if (text := _encode_text(one)) is not None
        ]
        sketches = [_build_sketch(row, one) for row, one in zip(rows, items, strict=True)]
        rights = [one for row in rows for one in build_rights_rows(row)]
        write_sketches(
            self.records, sketches, [*rows, *map(build_row_fixity, rows), *texts, *rights]
        )
        remove_stale_rights(self.records, rows, rights)
        late = self._find_pictured([item.sha1hex for item in items if item.sha1hex not in pictured])
        self.records.change(PdfMetaRow, sorted(late), {"has_page0_thumbnail": True})

    def _find_pictured(self, sha1hexes: Sequence[str]) -> set[str]:
        """Those whose page-0 thumbnail lies in the blobs."""
        keys = {build_thumbnail_blob_key(sha1hex): sha1hex for sha1hex in sha1hexes}
        return {keys[key] for key in self.blobs.filter_existing(list(keys))} if keys else set()


def _encode_text(item: PdfText) -> bytes | None:
    """The text as it is stored; None for a text without words."""
    return encode_text(item.text) if item.text and item.text.strip() else None


def _build_disposition(item: PdfText) -> Disposition:
    """How the message ends: done, with the reason when a PDF that was read has no text."""
    if item.status.status_class is not StatusClass.OK or _encode_text(item) is not None:
        return DONE
    origin = (item.pdf_extra or {}).get("origin")
    return keep_without_text(
        Reason.SCANNED if origin == SCANNED_ORIGIN else Reason.NO_TEXT_ON_PAGES
    )


def _choose_best(items: Sequence[PdfText]) -> list[PdfText]:
    """One outcome for each file: the last of those that weigh most."""
    best: dict[str, PdfText] = {}
    for item in items:
        there = best.get(item.sha1hex)
        if there is None or _weigh_status(item.status) >= _weigh_status(there.status):
            best[item.sha1hex] = item
    return list(best.values())


def _replaces_row(item: PdfText, stored: PdfMetaRow | None) -> bool:
    """Whether this outcome may stand in the row: no failure over a success, nor what says nothing of the
    file over what does."""
    return stored is None or _weigh_status(item.status) >= _weigh_row(stored)


def _weigh_status(status: PdfStatus) -> int:
    return _WEIGHTS.get(status.status_class, 0)


def _weigh_row(row: PdfMetaRow) -> int:
    """The weight of a stored status; 0 for a status of another program."""
    return _weigh_status(PdfStatus(row.status)) if row.status in set(PdfStatus) else 0


def _build_crash_row(item: PdfText, now: datetime, expires: datetime) -> CrashedPdfRow:
    detail = item.error_msg or item.status.explanation
    return CrashedPdfRow(item.sha1hex, item.extractor, str(item.status), detail, now, expires)


def _build_sketch(row: PdfMetaRow, item: PdfText) -> TextSketchRow:
    captured = format_datetime14(item.source.captured_at)
    return build_file_sketch(row, captured, item.source.url, item.text or "")


def _build_row(item: PdfText, now: datetime, pictured: bool) -> PdfMetaRow:
    extra = item.pdf_extra or {}
    return PdfMetaRow(
        sha1hex=item.sha1hex,
        updated=now,
        status=str(item.status),
        has_page0_thumbnail=pictured,
        page_count=extra.get("page_count"),
        word_count=extra.get("word_count"),
        page0_height=extra.get("page0_height"),
        page0_width=extra.get("page0_width"),
        permanent_id=extra.get("permanent_id") or None,
        pdf_created=_find_creation_date(item.pdf_info or {}),
        pdf_version=extra.get("pdf_version") or None,
        metadata=_build_metadata(item, extra),
        extractor=item.extractor,
        error_msg=item.error_msg,
    )


def _build_metadata(item: PdfText, extra: Mapping[str, Any]) -> dict[str, Any] | None:
    """The subset of seed 003, under its spelling, whatever the case in the file, and what else is small.

    Title and DOI are those that were judged the document's, wherever they were found.
    """
    by_name: dict[str, str] = {}
    for name, value in (item.pdf_info or {}).items():
        if value.strip():
            by_name.setdefault(name.lower(), value.strip())
    small: dict[str, Any] = {
        key: by_name[key.lower()] for key in METADATA_KEYS if key.lower() in by_name
    }
    small |= _find_publication_date(extra.get("bibliography"))
    small |= {key: extra[key] for key in EXTRA_KEYS if extra.get(key) is not None}
    for key in BIBLIOGRAPHIC_KEYS:
        if extra.get(key):
            small |= {key: extra[key], f"{key}_from": extra.get(f"{key}_from")}
        elif key in extra:
            small.pop(key, None)
    if extra.get("unseen"):
        small["unseen_chars"] = sum(len(one["text"]) for one in extra["unseen"])
    if extra.get("written_on"):
        small["written_on"] = extra["written_on"]
    if extra.get("text_truncated"):
        small["text_truncated"] = True
    counts = extra.get("word_count"), extra.get("word_count_whitespace")
    if counts[0] != counts[1]:
        small["word_count_whitespace"] = counts[1]
    return small or None


def _find_publication_date(bibliography: Any) -> dict[str, str]:
    """When the paper says it appeared, in years, months or days."""
    said = bibliography.get("date") if isinstance(bibliography, dict) else None
    return {"published": said} if isinstance(said, str) and said else {}


def _find_creation_date(info: Mapping[str, str]) -> datetime | None:
    """The creation date; None when it is absent or was not a date."""
    try:
        moment = datetime.fromisoformat(info.get("CreationDate", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


# persist_thumbnail: a picture of page 0 into the blobs, and that it is there into the records.


_CONTENT_TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class PersistThumbnailStep:
    """Idempotent: the same picture is written over itself.

    The blob comes first. Whoever writes the row looks for the blob afterwards, so that whichever of the
    two is later notes it.
    """

    blobs: Blobs
    records: Records

    def __call__(self, items: Sequence[Thumbnail]) -> list[Result]:
        """One blob each, `thumbnail/pdf/….180px.jpg`."""
        self.blobs.put([_build_blob(item) for item in items])
        self.records.put(
            [
                build_fixity(item.sha1hex, name_thumbnail_part(item.form), item.image)
                for item in items
            ]
        )
        noted = [item.sha1hex for item in items if item.form == PAGE0_FORM]
        self.records.change(PdfMetaRow, noted, {"has_page0_thumbnail": True})
        return [Result() for _ in items]


def _build_blob(item: Thumbnail) -> Blob:
    content_type = _CONTENT_TYPES[item.form.rpartition("-")[2]]
    return Blob(build_thumbnail_blob_key(item.sha1hex, item.form), item.image, content_type)

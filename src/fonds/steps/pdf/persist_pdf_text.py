"""persist_pdf_text: the text of a PDF into the blobs, its metadata into records, both into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fonds.extract.url import canonical_domain
from fonds.kinds.documents import Origin, put_current, text_blob, text_bytes
from fonds.kinds.fixity import TEXT, fixity_of, fixity_of_row
from fonds.kinds.pdf import document, indexed_rows, promised_rights
from fonds.kinds.rights import remove_stale_rights
from fonds.kinds.similarity.sketch import file_sketch, put_sketches
from fonds.model.capture import to_datetime14
from fonds.model.disposition import DONE, Disposition, Reason, kept_without_text
from fonds.model.document import IndexDocument
from fonds.model.keys import text_blob_key, thumbnail_blob_key
from fonds.model.pdf import SCANNED_ORIGIN, STOPPED, PdfStatus, PdfText, StatusClass
from fonds.model.rows import PdfMetaRow, StoppedRow, TextSketchRow
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
FOUND_KEYS = ("title", "authors", "doi", "arxiv_id")
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
class PersistPdfText:
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
        kept = [item for item in _best(items) if _better(item, before.get(item.sha1hex))]
        self.blobs.put(
            [
                text_blob(one.sha1hex, text)
                for one in kept
                if (text := _stored_text(one)) is not None
            ]
        )
        expires = now + timedelta(days=self.stopped_days)
        self.records.put([_stop(item, now, expires) for item in items if item.status in STOPPED])
        self._put(kept, now)
        known = {item.sha1hex: item for item in kept}
        put_current(
            self.records,
            self.index,
            (),
            lambda: indexed_rows(self.records, list(known)),
            lambda rows: [self._document(known[row.sha1hex], row, now) for row in rows],
        )
        return [Result(_ended(item)) for item in items]

    def _document(self, item: PdfText, row: PdfMetaRow, now: datetime) -> IndexDocument:
        """The document of a row; one that another wrote meanwhile has another text than `item`."""
        url = item.source.url
        day = item.source.captured_at.astimezone(UTC).date()
        origin = Origin(url, canonical_domain(url) or "", item.source.collection, day)
        shown = replace(row, has_page0_thumbnail=row.has_page0_thumbnail or item.page0_thumbnail)
        if row.updated != now:
            stored = self.blobs.get(text_blob_key(row.sha1hex)) if row.word_count else None
            return document(shown, stored, origin)
        return document(shown, _stored_text(item), origin)

    def _put(self, items: Sequence[PdfText], now: datetime) -> None:
        """Write the rows. A thumbnail that is stored meanwhile finds no row yet: it is looked for again."""
        pictured = self._pictured([item.sha1hex for item in items])
        rows = [_row(item, now, item.sha1hex in pictured) for item in items]
        texts = [
            fixity_of(one.sha1hex, TEXT, text)
            for one in items
            if (text := _stored_text(one)) is not None
        ]
        sketches = [_sketch(row, one) for row, one in zip(rows, items, strict=True)]
        rights = [one for row in rows for one in promised_rights(row)]
        put_sketches(self.records, sketches, [*rows, *map(fixity_of_row, rows), *texts, *rights])
        remove_stale_rights(self.records, rows, rights)
        late = self._pictured([item.sha1hex for item in items if item.sha1hex not in pictured])
        self.records.change(PdfMetaRow, sorted(late), {"has_page0_thumbnail": True})

    def _pictured(self, sha1hexes: Sequence[str]) -> set[str]:
        """Those whose page-0 thumbnail lies in the blobs."""
        keys = {thumbnail_blob_key(sha1hex): sha1hex for sha1hex in sha1hexes}
        return {keys[key] for key in self.blobs.exists(list(keys))} if keys else set()


def _stored_text(item: PdfText) -> bytes | None:
    """The text as it is stored; None for a text without words."""
    return text_bytes(item.text) if item.text and item.text.strip() else None


def _ended(item: PdfText) -> Disposition:
    """How the message ends: done, with the reason when a PDF that was read has no text."""
    if item.status.status_class is not StatusClass.OK or _stored_text(item) is not None:
        return DONE
    origin = (item.pdf_extra or {}).get("origin")
    return kept_without_text(
        Reason.SCANNED if origin == SCANNED_ORIGIN else Reason.NO_TEXT_ON_PAGES
    )


def _best(items: Sequence[PdfText]) -> list[PdfText]:
    """One outcome for each file: the last of those that weigh most."""
    best: dict[str, PdfText] = {}
    for item in items:
        there = best.get(item.sha1hex)
        if there is None or _weight(item.status) >= _weight(there.status):
            best[item.sha1hex] = item
    return list(best.values())


def _better(item: PdfText, before: PdfMetaRow | None) -> bool:
    """Whether this outcome may stand in the row: no failure over a success, nor what says nothing of the
    file over what does."""
    return before is None or _weight(item.status) >= _weight_of_row(before)


def _weight(status: PdfStatus) -> int:
    return _WEIGHTS.get(status.status_class, 0)


def _weight_of_row(row: PdfMetaRow) -> int:
    """The weight of a stored status; 0 for a status of another program."""
    return _weight(PdfStatus(row.status)) if row.status in set(PdfStatus) else 0


def _stop(item: PdfText, now: datetime, expires: datetime) -> StoppedRow:
    detail = item.error_msg or item.status.explanation
    return StoppedRow(item.sha1hex, item.extractor, str(item.status), detail, now, expires)


def _sketch(row: PdfMetaRow, item: PdfText) -> TextSketchRow:
    captured = to_datetime14(item.source.captured_at)
    return file_sketch(row, captured, item.source.url, item.text or "")


def _row(item: PdfText, now: datetime, pictured: bool) -> PdfMetaRow:
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
        pdf_created=_created(item.pdf_info or {}),
        pdf_version=extra.get("pdf_version") or None,
        metadata=_metadata(item, extra),
        extractor=item.extractor,
        error_msg=item.error_msg,
    )


def _metadata(item: PdfText, extra: Mapping[str, Any]) -> dict[str, Any] | None:
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
    small |= _published(extra.get("bibliography"))
    small |= {key: extra[key] for key in EXTRA_KEYS if extra.get(key) is not None}
    for key in FOUND_KEYS:
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


def _published(bibliography: Any) -> dict[str, str]:
    """When the paper says it appeared, in years, months or days."""
    said = bibliography.get("date") if isinstance(bibliography, dict) else None
    return {"published": said} if isinstance(said, str) and said else {}


def _created(info: Mapping[str, str]) -> datetime | None:
    """The creation date; None when it is absent or was not a date."""
    try:
        moment = datetime.fromisoformat(info.get("CreationDate", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None

"""persist_pdf_text and persist_thumbnail: write the results of extracting a PDF to the blobs,
records and search index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import msgspec

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
    STOPPED_STATUSES,
    PdfStatus,
    PdfText,
    StatusClass,
    Thumbnail,
)
from fonds.model.pdf_extra import PdfExtra
from fonds.model.pdf_metadata import PdfMetadata
from fonds.model.rows import CrashedPdfRow, PdfMetaRow, TextSketchRow
from fonds.model.step import Result
from fonds.ports import Blobs, Index, Records
from fonds.rights.file_rights import remove_stale_rights
from fonds.urls.normalization import find_canonical_domain

_WEIGHTS = {StatusClass.OK: 2, StatusClass.CONTENT: 1, StatusClass.LIMIT: 1}


EMITS = ()


@dataclass(frozen=True, slots=True)
class PersistPdfTextStep:
    """Step that stores the results of PDF extractions: first blobs, then rows, then the search
    index.

    This order ensures that everything a row refers to exists. `stopped_days` is the number of days
    for which a crash of the extractor on a PDF is remembered. During this time the PDF is not
    extracted again.
    """

    records: Records
    blobs: Blobs
    index: Index
    clock: Callable[[], datetime]
    stopped_days: float

    def __call__(self, items: Sequence[PdfText]) -> list[Result]:
        """Store the results of PDF extractions. A failure never replaces an earlier success of the
        same PDF.

        A repeated call has the same result.
        """
        now = self.clock()
        keys = [item.sha1hex for item in items]
        old_rows = {row.sha1hex: row for row in self.records.get(PdfMetaRow, keys)}
        stored_items = [
            item for item in _choose_best(items) if _replaces_row(item, old_rows.get(item.sha1hex))
        ]
        self.blobs.put(
            [
                build_text_blob(stored_item.sha1hex, text)
                for stored_item in stored_items
                if (text := _encode_text(stored_item)) is not None
            ]
        )
        expires = now + timedelta(days=self.stopped_days)
        self.records.put(
            [
                _build_crash_row(item, now, expires)
                for item in items
                if item.status in STOPPED_STATUSES
            ]
        )
        self._write_rows(stored_items, now)
        items_by_sha1 = {item.sha1hex: item for item in stored_items}
        index_until_stable(
            self.records,
            self.index,
            (),
            lambda: find_rows(self.records, list(items_by_sha1)),
            lambda rows: [
                self._build_document(items_by_sha1[row.sha1hex], row, now) for row in rows
            ],
        )
        return [Result(_build_disposition(item)) for item in items]

    def _build_document(self, item: PdfText, row: PdfMetaRow, now: datetime) -> IndexDocument:
        """Build the index document of a PDF from its stored row.

        If another process wrote the row, the text is read from the blobs, otherwise it is taken
        from `item`.
        """
        url = item.source.url
        captured_date = item.source.captured_at.astimezone(UTC).date()
        origin = DocumentOrigin(
            url, find_canonical_domain(url) or "", item.source.collection, captured_date
        )
        row_with_thumbnail = replace(
            row, has_page0_thumbnail=row.has_page0_thumbnail or item.page0_thumbnail
        )
        if row.updated != now:
            stored_text = (
                self.blobs.get(build_text_blob_key(row.sha1hex)) if row.word_count else None
            )
            return build_document(row_with_thumbnail, stored_text, origin)
        return build_document(row_with_thumbnail, _encode_text(item), origin)

    def _write_rows(self, items: Sequence[PdfText], now: datetime) -> None:
        """Write the rows of the PDFs, then mark those rows whose thumbnail was stored in the
        meantime.

        A thumbnail that was stored before its row existed could not be recorded in the row.
        """
        with_thumbnail = self._find_with_thumbnail([item.sha1hex for item in items])
        rows = [_build_row(item, now, item.sha1hex in with_thumbnail) for item in items]
        texts = [
            build_fixity(rights_row.sha1hex, TEXT, text)
            for rights_row in items
            if (text := _encode_text(rights_row)) is not None
        ]
        sketches = [
            _build_sketch(row, rights_row) for row, rights_row in zip(rows, items, strict=True)
        ]
        rights = [rights_row for row in rows for rights_row in build_rights_rows(row)]
        write_sketches(
            self.records, sketches, [*rows, *map(build_row_fixity, rows), *texts, *rights]
        )
        remove_stale_rights(self.records, rows, rights)
        keys_added_later = self._find_with_thumbnail(
            [item.sha1hex for item in items if item.sha1hex not in with_thumbnail]
        )
        self.records.change(PdfMetaRow, sorted(keys_added_later), {"has_page0_thumbnail": True})

    def _find_with_thumbnail(self, sha1hexes: Sequence[str]) -> set[str]:
        """Return the SHA-1s of files that have a thumbnail of the first page in the blobs."""
        keys = {build_thumbnail_blob_key(sha1hex): sha1hex for sha1hex in sha1hexes}
        return {keys[key] for key in self.blobs.filter_existing(list(keys))} if keys else set()


def _encode_text(item: PdfText) -> bytes | None:
    """Return the text of a PDF as bytes for the blobs; None for a text of only white space."""
    return encode_text(item.text) if item.text and item.text.strip() else None


def _build_disposition(item: PdfText) -> Disposition:
    """Return the verdict `done` for an extracted PDF. It has a reason if the PDF was read but has
    no text.
    """
    if item.status.status_class is not StatusClass.OK or _encode_text(item) is not None:
        return DONE
    is_scanned = item.pdf_extra is not None and item.pdf_extra.origin == SCANNED_ORIGIN
    return keep_without_text(Reason.SCANNED if is_scanned else Reason.NO_TEXT_ON_PAGES)


def _choose_best(items: Sequence[PdfText]) -> list[PdfText]:
    """Return one extraction result for each file. Of several, a success is preferred, then a
    permanent failure.

    Of equally good results, the last is returned.
    """
    best_items: dict[str, PdfText] = {}
    for item in items:
        previous = best_items.get(item.sha1hex)
        if previous is None or _weigh_status(item.status) >= _weigh_status(previous.status):
            best_items[item.sha1hex] = item
    return list(best_items.values())


def _replaces_row(item: PdfText, stored_row: PdfMetaRow | None) -> bool:
    """Return whether a result may replace the stored row of the same PDF.

    A failure does not replace a success. A temporary failure does not replace a permanent failure.
    Anything replaces a missing row.
    """
    return stored_row is None or _weigh_status(item.status) >= _weigh_row(stored_row)


def _weigh_status(status: PdfStatus) -> int:
    return _WEIGHTS.get(status.status_class, 0)


def _weigh_row(row: PdfMetaRow) -> int:
    """Return the rank of the status in a stored row, for comparing results. A status that Fonds
    does not use has rank 0.
    """
    return _weigh_status(PdfStatus(row.status)) if row.status in set(PdfStatus) else 0


def _build_crash_row(item: PdfText, now: datetime, expires: datetime) -> CrashedPdfRow:
    detail = item.error_msg or item.status.explanation
    return CrashedPdfRow(item.sha1hex, item.extractor, str(item.status), detail, now, expires)


def _build_sketch(row: PdfMetaRow, item: PdfText) -> TextSketchRow:
    datetime14 = format_datetime14(item.source.captured_at)
    return build_file_sketch(row, datetime14, item.source.url, item.text or "")


def _build_row(item: PdfText, now: datetime, has_thumbnail: bool) -> PdfMetaRow:
    extra = item.pdf_extra or PdfExtra()
    return PdfMetaRow(
        sha1hex=item.sha1hex,
        updated=now,
        status=str(item.status),
        has_page0_thumbnail=has_thumbnail,
        page_count=extra.page_count,
        word_count=extra.word_count,
        page0_height=extra.page0_height,
        page0_width=extra.page0_width,
        permanent_id=extra.permanent_id,
        pdf_created=_find_creation_date(item.pdf_info or {}),
        pdf_version=extra.pdf_version,
        metadata=_build_metadata(item.pdf_info or {}, item.pdf_extra),
        extractor=item.extractor,
        error_msg=item.error_msg,
    )


def _build_metadata(info: Mapping[str, str], extra: PdfExtra | None) -> PdfMetadata | None:
    """Return the metadata fields of seed 003 and some short further fields, or None if there are
    none.

    - `info`: Info dictionary of the PDF. The case of its keys is ignored.
    - `extra`: what the extractor found. Its title and DOI replace those of `info`, even if they
      are None, because the extractor judges which ones belong to the document.
    """
    values: dict[str, str] = {}
    for name, text in info.items():
        if text.strip():
            values.setdefault(name.lower(), text.strip())
    metadata = PdfMetadata(
        title=values.get("title"),
        subject=values.get("subject"),
        author=values.get("author"),
        creator=values.get("creator"),
        producer=values.get("producer"),
        crossmark_domains=values.get("crossmarkdomains"),
        doi=values.get("doi"),
        keywords=values.get("keywords"),
    )
    if extra is not None:
        metadata = _add_extra(metadata, extra)
    return metadata if metadata != PdfMetadata() else None


def _add_extra(metadata: PdfMetadata, extra: PdfExtra) -> PdfMetadata:
    is_same_count = extra.word_count == extra.word_count_whitespace
    return msgspec.structs.replace(
        metadata,
        title=extra.title,
        title_from=extra.title_from,
        authors=extra.authors or (),
        authors_from=extra.authors_from,
        doi=extra.doi,
        doi_from=extra.doi_from,
        arxiv_id=extra.arxiv_id,
        arxiv_id_from=extra.arxiv_id_from,
        published=(extra.bibliography.date or None) if extra.bibliography else None,
        form=extra.form,
        encrypted=extra.encrypted,
        update_id=extra.update_id,
        language=extra.language,
        origin=extra.origin,
        fonts_embedded=extra.fonts_embedded,
        tagged=extra.tagged,
        javascript=extra.javascript,
        page0_rotation=extra.page0_rotation,
        pages_garbled=extra.pages_garbled or (),
        rights=extra.rights or (),
        unseen_chars=sum(len(hidden.text) for hidden in extra.unseen) if extra.unseen else None,
        written_on=extra.written_on or None,
        text_truncated=extra.text_truncated or None,
        word_count_whitespace=None if is_same_count else extra.word_count_whitespace,
    )


def _find_creation_date(info: Mapping[str, str]) -> datetime | None:
    """Return the creation date of the PDF; None if it is missing, invalid or without a
    time zone.
    """
    try:
        moment = datetime.fromisoformat(info.get("CreationDate", ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


# persist_thumbnail


_CONTENT_TYPES = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}


@dataclass(frozen=True, slots=True)
class PersistThumbnailStep:
    """Step that writes a thumbnail to the blobs, then records it in the row of the PDF.

    If the row does not exist yet, the step that writes the row finds the blob. A repeated call
    overwrites the blob with the same picture.
    """

    blobs: Blobs
    records: Records

    def __call__(self, items: Sequence[Thumbnail]) -> list[Result]:
        """Store each thumbnail in the blobs, and mark the rows of PDFs that now have a thumbnail of
        their first page.

        The key of a blob is such as `thumbnail/pdf/….180px.jpg`.
        """
        self.blobs.put([_build_blob(item) for item in items])
        self.records.put(
            [
                build_fixity(item.sha1hex, name_thumbnail_part(item.form), item.image)
                for item in items
            ]
        )
        page0_sha1hexes = [item.sha1hex for item in items if item.form == PAGE0_FORM]
        self.records.change(PdfMetaRow, page0_sha1hexes, {"has_page0_thumbnail": True})
        return [Result() for _ in items]


def _build_blob(item: Thumbnail) -> Blob:
    content_type = _CONTENT_TYPES[item.form.rpartition("-")[2]]
    return Blob(build_thumbnail_blob_key(item.sha1hex, item.form), item.image, content_type)

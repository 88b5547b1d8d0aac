"""import_jats: an article in JATS or NLM XML read, and kept in blobs, table, records and index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fonds.bibliography.jats_reading import JatsReading
from fonds.bibliography.tei_reading import BibliographyReading
from fonds.extract.url import canonical_domain
from fonds.formats.journal import bibliography_cells, row_key
from fonds.kinds.documents import Origin, put_current, text_blob, text_bytes
from fonds.kinds.fixity import TEXT, fixity_of, fixity_of_row
from fonds.kinds.papers.jats import (
    RIGHTS,
    SUCCESS,
    UNREADABLE,
    document,
    indexed_rows,
    promised_rights,
)
from fonds.kinds.rights import remove_stale_rights
from fonds.kinds.similarity.sketch import file_sketch, put_sketches
from fonds.model.capture import to_datetime14
from fonds.model.errors import ChildError
from fonds.model.paper import JATS_VERSION, Unmatched, UnreadArticle
from fonds.model.rows import JatsRow
from fonds.model.step import Output, Result
from fonds.ports import Archive, Blobs, Index, Records, Table

EMITS = (Output(Unmatched),)
ERROR_MAX_CHARS = 1_024


@dataclass(frozen=True, slots=True)
class ImportJats:
    """Blobs first, then cells, then rows, then the index. `read` takes an article apart in an isolated
    process."""

    archive: Archive
    table: Table
    records: Records
    blobs: Blobs
    index: Index
    journal: str
    read: Callable[[bytes], JatsReading]
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[UnreadArticle]) -> list[Result]:
        """Idempotent by SHA-1. Raises PermanentError when the bytes cannot be had."""
        now = self.clock()
        return [self._keep(item, now) for item in items]

    def _keep(self, item: UnreadArticle, now: datetime) -> Result:
        found = read_article(self.archive, self.read, item)
        row, text = _row(item, found, now), text_bytes(found.text)
        if found.text:
            self.blobs.put([text_blob(row.sha1hex, text)])
        if row.status == SUCCESS:
            self.table.put(self.journal, [(row_key(row.sha1hex), _cells(found.kept))])
        parts = [fixity_of(row.sha1hex, TEXT, text)] if found.text else []
        url = item.capture.url
        seen = to_datetime14(item.capture.captured_at)
        sketched = file_sketch(row, seen, url, found.text or "")
        rights = promised_rights(row)
        put_sketches(self.records, [sketched], [row, fixity_of_row(row), *parts, *rights])
        remove_stale_rights(self.records, [row], rights)
        day = item.capture.captured_at.astimezone(UTC).date()
        origin = Origin(url, canonical_domain(url) or "", item.capture.collection, day)
        put_current(
            self.records,
            self.index,
            (),
            lambda: indexed_rows(self.records, [row.sha1hex]),
            lambda rows: [document(one, text if found.text else None, origin) for one in rows],
        )
        return Result(found.disposition, (Unmatched(row.sha1hex),) if found.reason is None else ())


def read_article(
    archive: Archive, read: Callable[[bytes], JatsReading], item: UnreadArticle
) -> JatsReading:
    """What `read` makes of an article, also where it did not survive it. Raises PermanentError when the
    bytes cannot be had."""
    body = archive.read(item.capture.place, item.file.sha1).body
    try:
        return read(body)
    except ChildError as error:
        return JatsReading(BibliographyReading(error=error.detail), reason=error.reason)


def _row(item: UnreadArticle, found: JatsReading, now: datetime) -> JatsRow:
    said = found.kept.row.get("biblio", {})
    error = found.kept.error
    return JatsRow(
        sha1hex=item.file.sha1,
        updated=now,
        status=SUCCESS if found.reason is None else UNREADABLE,
        quality=found.kept.quality or None,
        title=said.get("title"),
        doi=said.get("doi"),
        published=found.date,
        language=found.language,
        word_count=len(found.text.split()) if found.reason is None else None,
        reference_count=found.kept.row.get("reference_count", 0),
        metadata=_metadata(found),
        error_msg=error[:ERROR_MAX_CHARS] if error else None,
        extractor=JATS_VERSION,
    )


def _metadata(found: JatsReading) -> dict[str, Any] | None:
    rights = [one.to_json() for one in found.rights]
    return {**found.kept.row, **({RIGHTS: rights} if rights else {})} or None


def _cells(kept: BibliographyReading) -> dict[str, bytes]:
    """As those of a PDF read without GROBID."""
    status = {"status": "success", "extractor": JATS_VERSION}
    return bibliography_cells(kept.whole, kept.metadata, kept.quality, status)

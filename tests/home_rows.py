"""Rows of declared types about one body: how it entered, where it lies, what was said of it.

For tests about the rows themselves (ledger counts, lists, lineage) and for volume (`many_entries`,
`many_documents`). A home with files, stories or PDFs in it is filled by the steps: `ingesting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha1, sha256

from fonds.model.archive import ArchiveEntry
from fonds.model.capture import Place, format_datetime14
from fonds.model.disposition import COMES_BACK, PENDING, Reason, Verdict
from fonds.model.entry import CAPTURE
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow, Row
from fonds.ports import Stores
from fonds.urls.surt import build_lookup_key, build_surt

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
PIPELINE = "library"
WAY_IN = ("identify", "persist_file")


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes on their way in."""

    number: int
    url: str
    captured_at: datetime
    mime: str
    content: bytes
    place: Place | None = None

    @property
    def capture_id(self) -> str:
        return f"capture-{self.number:05d}"

    @property
    def sha1hex(self) -> str:
        return sha1(self.content).hexdigest()


def archived(stores: Stores, bodies: Sequence[Body]) -> list[Body]:
    """The bodies in one of our WARC files."""
    entries = [
        ArchiveEntry(
            capture_id=body.capture_id,
            url=body.url,
            captured_at=body.captured_at,
            mime=body.mime,
            body=body.content,
            http=HttpHead(200, "HTTP/1.1 200 OK", (("Content-Type", body.mime),)),
        )
        for body in bodies
    ]
    places = {one.capture_id: one.place for one in stores.archive.write(entries)}
    return [replace(body, place=places[body.capture_id]) for body in bodies]


def entry(body: Body) -> EntryRow:
    place = str(body.place) if body.place else f"/crawls/daily-2026.warc.gz:{body.number * 1000}"
    stamp = format_datetime14(body.captured_at)
    facts = (CAPTURE, "input-1", body.url, stamp, place, "default")
    return EntryRow(body.capture_id, PIPELINE, *facts, NOW)


def enter(stores: Stores, bodies: Iterable[Body]) -> None:
    """Onto the books, as the intake does."""
    stores.ledger.enter([], [entry(body) for body in bodies], [WAY_IN[0]])


def write(stores: Stores, rows: Sequence[Row]) -> None:
    """Rows of any table: dispositions by the ledger, the others as they are."""
    stores.records.put([row for row in rows if not isinstance(row, DispositionRow)])
    stores.ledger.write([row for row in rows if isinstance(row, DispositionRow)])


def file_row(body: Body) -> FileMetaRow:
    return FileMetaRow(
        sha1hex=body.sha1hex,
        sha256hex=sha256(body.content).hexdigest(),
        md5hex=md5(body.content).hexdigest(),
        size_bytes=len(body.content),
        mimetype=body.mime,
        capture_id=body.capture_id,
        row_created=NOW,
    )


def cdx_row(body: Body) -> CdxRow:
    assert body.place is not None
    key = build_surt(body.url)
    return CdxRow(
        capture_id=body.capture_id,
        sha1hex=body.sha1hex,
        url=body.url,
        surt=key,
        surt_key=build_lookup_key(key),
        datetime=format_datetime14(body.captured_at),
        mimetype=body.mime,
        status=200,
        warc_path=body.place.path,
        warc_csize=body.place.size_bytes,
        warc_offset=body.place.offset,
        row_created=NOW,
    )


def kept(body: Body, steps: tuple[str, str]) -> list[Row]:
    """The file, its place, and the way of its messages: each step hands on to the next."""
    way = (*WAY_IN, *steps)
    passed = [
        said(body, step, second, way[second - 1] if second else None)
        for second, step in enumerate(way)
    ]
    return [file_row(body), cdx_row(body), *passed]


def said(
    body: Body,
    step: str,
    second: int,
    parent_step: str | None = None,
    verdict: Verdict = Verdict.DONE,
    reason: Reason | None = None,
    detail: str = "",
) -> DispositionRow:
    """How the message of a body ended at a step; `parent_step` sent it there."""
    at = NOW + timedelta(seconds=second)
    return DispositionRow(
        message_id=body.capture_id,
        pipeline=PIPELINE,
        step=step,
        entry_id=body.capture_id,
        parent_id=body.capture_id if parent_step else None,
        parent_step=parent_step,
        verdict=str(verdict),
        is_open=verdict in COMES_BACK,
        reason=str(reason) if reason else None,
        detail=detail,
        about=body.sha1hex,
        attempt=0,
        promised_at=at,
        settled_at=at,
    )


def promised(body: Body, step: str, second: int, parent_step: str) -> DispositionRow:
    """The message of a body that was sent to a step and has not ended there."""
    row = said(body, step, second, parent_step)
    return replace(row, verdict=PENDING, is_open=True, settled_at=None)


def ended(
    body: Body, step: str, verdict: Verdict, reason: Reason, sha1hex: str | None = None
) -> list[Row]:
    """A body that went the way of all until `step`, and what became of it there."""
    way = WAY_IN[: WAY_IN.index(step)] if step in WAY_IN else WAY_IN
    before = [
        said(body, one, second, way[second - 1] if second else None)
        for second, one in enumerate(way)
    ]
    detail = f"{reason.explanation} ({body.url})"
    parent = way[-1] if way else None
    last = said(body, step, len(way), parent, verdict, reason, detail)
    return [replace(row, about=sha1hex) for row in (*before, last)]

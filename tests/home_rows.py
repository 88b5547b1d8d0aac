"""Rows of declared types about one body: its entry, its place and its dispositions.

Use them in tests of the rows themselves (ledger counts, lists, lineage) and for volume (`many_entries`,
`many_documents`). To fill a home with files, stories or PDFs, run the steps with `ingesting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha1, sha256

from fonds.model.archive import ArchiveEntry
from fonds.model.capture import Place, format_datetime14
from fonds.model.disposition import PENDING, RETURNING_VERDICTS, Reason, Verdict
from fonds.model.entry import CAPTURE
from fonds.model.exchange import HttpHead
from fonds.model.rows import CdxRow, DispositionRow, EntryRow, FileMetaRow, Row
from fonds.ports import Stores
from fonds.urls.surt import build_lookup_key, build_surt

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
PIPELINE = "library"
INTAKE_STEPS = ("identify", "persist_file")


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes to ingest, with their URL and time."""

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


def write_to_archive(stores: Stores, bodies: Sequence[Body]) -> list[Body]:
    """Write the bodies to a WARC file of the archive and return them with their places."""
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
    places = {
        archive_entry.capture_id: archive_entry.place
        for archive_entry in stores.archive.write(entries)
    }
    return [replace(body, place=places[body.capture_id]) for body in bodies]


def entry(body: Body) -> EntryRow:
    place = str(body.place) if body.place else f"/crawls/daily-2026.warc.gz:{body.number * 1000}"
    stamp = format_datetime14(body.captured_at)
    facts = (CAPTURE, "input-1", body.url, stamp, place, "default")
    return EntryRow(body.capture_id, PIPELINE, *facts, NOW)


def enter(stores: Stores, bodies: Iterable[Body]) -> None:
    """Record the entries of bodies in the ledger, as the intake does."""
    stores.ledger.enter([], [entry(body) for body in bodies], [INTAKE_STEPS[0]])


def write(stores: Stores, rows: Sequence[Row]) -> None:
    """Write rows of any table: dispositions through the ledger, others directly."""
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


def build_stored_rows(body: Body, steps: tuple[str, str]) -> list[Row]:
    """Build the file, its place, and the dispositions of its messages at each step."""
    steps_so_far = (*INTAKE_STEPS, *steps)
    dispositions = [
        build_disposition(body, step, second, steps_so_far[second - 1] if second else None)
        for second, step in enumerate(steps_so_far)
    ]
    return [file_row(body), cdx_row(body), *dispositions]


def build_disposition(
    body: Body,
    step: str,
    second: int,
    parent_step: str | None = None,
    verdict: Verdict = Verdict.DONE,
    reason: Reason | None = None,
    detail: str = "",
) -> DispositionRow:
    """Build the disposition of a body's message at a step; `parent_step` sent the message."""
    at = NOW + timedelta(seconds=second)
    return DispositionRow(
        message_id=body.capture_id,
        pipeline=PIPELINE,
        step=step,
        entry_id=body.capture_id,
        parent_id=body.capture_id if parent_step else None,
        parent_step=parent_step,
        verdict=str(verdict),
        is_open=verdict in RETURNING_VERDICTS,
        reason=str(reason) if reason else None,
        detail=detail,
        about=body.sha1hex,
        attempt=0,
        promised_at=at,
        settled_at=at,
    )


def build_promise(body: Body, step: str, second: int, parent_step: str) -> DispositionRow:
    """Build the promise of a body's message that was sent to a step and not processed."""
    row = build_disposition(body, step, second, parent_step)
    return replace(row, verdict=PENDING, is_open=True, settled_at=None)


def build_end_rows(
    body: Body, step: str, verdict: Verdict, reason: Reason, sha1hex: str | None = None
) -> list[Row]:
    """Build the dispositions of a body up to `step`, with its verdict there."""
    earlier_steps = (
        INTAKE_STEPS[: INTAKE_STEPS.index(step)] if step in INTAKE_STEPS else INTAKE_STEPS
    )
    earlier_rows = [
        build_disposition(body, earlier_step, second, earlier_steps[second - 1] if second else None)
        for second, earlier_step in enumerate(earlier_steps)
    ]
    detail = f"{reason.explanation} ({body.url})"
    parent = earlier_steps[-1] if earlier_steps else None
    last_row = build_disposition(body, step, len(earlier_steps), parent, verdict, reason, detail)
    return [replace(row, about=sha1hex) for row in (*earlier_rows, last_row)]

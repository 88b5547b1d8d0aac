"""Rows about one body, as the steps would write them: how it entered, where it lies, what was said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import md5, sha1, sha256

from fonds.formats.surt import surt
from fonds.model.archive import ArchiveEntry, HttpHead
from fonds.model.capture import Place, to_datetime14
from fonds.model.disposition import Reason, Verdict
from fonds.model.rows import CaptureRow, CdxRow, DispositionRow, FileMetaRow, Row
from fonds.ports import Stores

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)


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


def entered(body: Body) -> list[Row]:
    place = str(body.place) if body.place else f"/crawls/daily-2026.warc.gz:{body.number * 1000}"
    stamp = to_datetime14(body.captured_at)
    return [CaptureRow(body.capture_id, "input-1", body.url, stamp, place, "default", NOW)]


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
    key = surt(body.url)
    return CdxRow(
        capture_id=body.capture_id,
        sha1hex=body.sha1hex,
        url=body.url,
        surt=key,
        surt_sha1hex=sha1(key.encode()).hexdigest(),
        datetime=to_datetime14(body.captured_at),
        mimetype=body.mime,
        warc_path=body.place.path,
        warc_csize=body.place.size_bytes,
        warc_offset=body.place.offset,
        row_created=NOW,
    )


def kept(body: Body, steps: tuple[str, str]) -> list[Row]:
    """The file, its place, and the way of its messages: each step hands on to the next."""
    way = ("identify", "persist_file", *steps)
    through = [said(body, step, n, way[n + 1 : n + 2]) for n, step in enumerate(way)]
    return [file_row(body), cdx_row(body), *through]


def said(
    body: Body,
    step: str,
    second: int,
    emitted: tuple[str, ...],
    verdict: Verdict = Verdict.DONE,
    reason: Reason | None = None,
    detail: str = "",
) -> DispositionRow:
    return DispositionRow(
        capture_id=body.capture_id,
        step=step,
        verdict=str(verdict),
        reason=str(reason) if reason else None,
        detail=detail,
        sha1hex=body.sha1hex,
        emitted=emitted,
        emitted_count=len(emitted),
        attempt=0,
        settled_at=NOW + timedelta(seconds=second),
    )


def ended(
    body: Body, step: str, verdict: Verdict, reason: Reason, sha1hex: str | None = None
) -> list[Row]:
    detail = f"{reason.explanation} ({body.url})"
    row = said(body, step, 1, (), verdict, reason, detail)
    return [*entered(body), replace(row, sha1hex=sha1hex)]

"""Captures from one WARC or ARC, found by scanning record heads; bodies are read later, by
location.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fonds.archive.warc.fields import UNDATED
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.ingest.sources.container import Container
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.record_offset import build_offset_id, format_offset
from fonds.model.rows import InputRow
from fonds.rights.licenses import normalize_line
from fonds.urls.parts import member_url

WARCS = (Container.WARC, Container.ARC)
_NO_RECORD = Damage(
    0, "the file has the name of an archive but contains no records", Reason.DAMAGED_RECORD
)
WARCINFO_MAX_BYTES, CRAWLER_MAX_CHARS = 64 * 1024, 200
CAPTURE_TYPES = frozenset({"response", "resource", "revisit", "conversion"})


def read_warc(
    stream: BinaryIO, row: InputRow, collection: str, path: Path, *, base_bytes: int = 0
) -> Iterator[Capture | Mapping[str, int] | int]:
    """Yield captures, counts of other records, and before each record its offset, where reading can
    resume.

    `base_bytes` is the offset of the WARC in the file at `path`, if it is stored inside another
    file. A file without records is one damage.
    """
    is_empty = row.position == 0
    crawler = _find_crawler(stream, base_bytes)
    for head in read_heads(stream, max(0, row.position - base_bytes)):
        is_empty = False
        offset = base_bytes + head.offset
        # Everything before this record has been yielded, so reading can resume here.
        yield offset
        size_bytes = None if isinstance(head, Damage) else head.size_bytes
        place = Place(PlaceKind.WARC, str(path), offset, size_bytes)
        if isinstance(head, Damage):
            yield _build_damaged_capture(row, collection, place, head)
        elif head.type not in CAPTURE_TYPES:
            yield {str(Reason.NOT_A_CAPTURE): 1}
        else:
            yield replace(_build_capture(row, collection, place, head, path), crawler=crawler)
    if is_empty:
        yield base_bytes
        place = Place(PlaceKind.WARC, str(path), base_bytes)
        yield _build_damaged_capture(row, collection, place, _NO_RECORD)


def _find_crawler(stream: BinaryIO, offset: int) -> str:
    """Return the User-Agent from the first warcinfo record; '' if there is none.

    Later warcinfo records are ignored: they belong to files appended to this one, and a scan may
    begin in the middle.
    """
    try:
        payload = read_record(stream, offset, body_max_bytes=WARCINFO_MAX_BYTES)
    except PermanentError:
        return ""
    if payload.warc_headers.get("WARC-Type") != "warcinfo":
        return ""
    for line in payload.body.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "http-header-user-agent":
            return normalize_line(value)[:CRAWLER_MAX_CHARS]
    return ""


def _build_capture(
    row: InputRow, collection: str, place: Place, head: RecordHead, path: Path
) -> Capture:
    """Build the capture of a record. Without a URL it gets one from its location."""
    return Capture(
        id=f"{row.input_id}-{build_offset_id(place.offset)}",
        input_id=row.input_id,
        place=place,
        url=head.url or member_url(path.as_uri(), format_offset(place.offset)),
        captured_at=row.updated if head.captured_at == UNDATED else head.captured_at,
        record_type=head.type,
        collection=collection,
        mime=head.mime,
        status=head.status,
        digest=head.digest,
    )


def _build_damaged_capture(row: InputRow, collection: str, place: Place, damage: Damage) -> Capture:
    return Capture(
        id=f"{row.input_id}-{build_offset_id(place.offset)}-damage",
        input_id=row.input_id,
        place=place,
        url=Path(place.path).as_uri(),
        captured_at=row.updated,
        record_type="damage",
        collection=collection,
        damage=damage.detail,
        damage_reason=damage.reason,
    )

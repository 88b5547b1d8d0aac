"""Read captures from one WARC or ARC by scanning its record heads. Bodies are read later, by
location.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from fonds.archive.warc.fields import UNDATED
from fonds.archive.warc.reader import read_record
from fonds.archive.warc.scanner import Damage, RecordHead, read_heads
from fonds.ingest.sources.container import Container
from fonds.ingest.sources.damage_runs import Item, count_damage_runs
from fonds.model.capture import DAMAGE, Capture, Place, PlaceKind
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
) -> Iterator[Item]:
    """Yield the captures of a WARC or ARC. Before each, yield the offset of its record as a number.

    The offset is a position from which a later call can resume. For each record that is not a
    capture, such as a request, a mapping with a count is yielded. A damaged record, or a file
    without any record, yields a capture that reports the damage. Damaged records that follow
    directly are counted only.

    - `stream`: the open WARC.
    - `row`: input row; `row.position` is the offset to resume from.
    - `collection`: collection of the captures.
    - `path`: path of the file that contains the WARC.
    - `base_bytes`: offset of the WARC in that file; not 0 if the WARC is a member of a ZIP.
    """
    items = _iter_records(stream, row, collection, path, base_bytes)
    return count_damage_runs(
        items, {Reason.DAMAGED_RECORD}, lambda offset: f"offset {format_offset(offset)}"
    )


def _iter_records(
    stream: BinaryIO, row: InputRow, collection: str, path: Path, base_bytes: int
) -> Iterator[Item]:
    """Yield the same as `read_warc`, with a capture for each damaged record."""
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
    """Return the crawler's User-Agent from the warcinfo record at the beginning of a WARC; '' if
    there is none.

    Later warcinfo records are ignored: they belong to WARCs that were appended to the file, and a
    scan may begin after them. `offset` is the offset of the WARC in `stream`.
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
    """Build the capture of a WARC record. A record without URL gets a URL made from its
    location.
    """
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
        record_type=DAMAGE,
        collection=collection,
        damage=damage.detail,
        damage_reason=damage.reason,
    )

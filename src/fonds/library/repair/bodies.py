"""Bodies that are gone from their place: taken from wherever else they lie into a WARC of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from fonds.formats.journal import alternate_key, row_key
from fonds.formats.placing import cdx_row, end_in_file, first_cells, later_cells, status_of
from fonds.kinds import beside
from fonds.library.checks.fault import Act
from fonds.library.chunks import chunks
from fonds.library.repair.placing import meta_of
from fonds.library.repair.workshop import Workshop, place_of
from fonds.model.archive import ArchiveEntry, Held, Original, Payload
from fonds.model.capture import REVISIT_MIME, Capture, Place, from_datetime14
from fonds.model.record_offset import record_place
from fonds.model.rows import CdxRow, FileMetaRow
from fonds.steps.intake.capture_count import crawler_files, note_capture_counts

AT_ONCE = 20


def bring_bodies_back(shop: Workshop) -> None:
    """Each record that is gone is written again, if its bytes are to be had."""
    for some in shop.plan.wanted(Act.BODY):
        for one in some:
            for row in _bad(shop, one.subject):
                _bring_back(shop, row)
    shop.stores.archive.finish()


def _bad(shop: Workshop, subject: str) -> Iterator[CdxRow]:
    """The rows of a file, or of a WARC, that lead nowhere."""
    records = shop.stores.records
    if len(subject) == 40 and "/" not in subject and "." not in subject:
        for row in list(records.find(CdxRow, {"sha1hex": subject})):
            if row.mimetype != REVISIT_MIME and shop.readable(place_of(row), subject) is None:
                yield row
        return
    held = shop.stores.archive.held(subject)
    beyond = partial(_is_beyond, held)
    for rows in chunks(records.find(CdxRow, {"warc_path": subject}), AT_ONCE):
        yield from filter(beyond, rows)


def _is_beyond(held: Held | None, row: CdxRow) -> bool:
    """Whether the file is too short for a record, or gone."""
    if held is None:
        return True
    return held.size_bytes is not None and end_in_file(row) > held.size_bytes


def _bring_back(shop: Workshop, row: CdxRow) -> None:
    records = shop.stores.records
    there = f"{row.sha1hex} at {record_place(row.warc_path, row.warc_offset)}"
    others = [
        one
        for one in records.find(CdxRow, {"capture_id": row.capture_id})
        if one != row and one.mimetype == row.mimetype
    ]
    if any(shop.readable(place_of(one), one.sha1hex) for one in others):
        # Written again before, and not yet taken from the books.
        records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
        return
    payload = shop.body(row.sha1hex, without=row)
    file = next(iter(records.get(FileMetaRow, [row.sha1hex])), None)
    if payload is None or file is None:
        shop.give_up(
            record_place(row.warc_path, row.warc_offset), f"the bytes of {there} lie nowhere else"
        )
        return
    place = _archive_again(shop, row, file, payload)
    shop.note(Act.BODY, row.capture_id, row.sha1hex, f"{there} was gone: archived again as {place}")


def _archive_again(shop: Workshop, row: CdxRow, file: FileMetaRow, payload: Payload) -> Place:
    """A record like the one that is gone, and its place on all books before the old one is taken off."""
    records = shop.stores.records
    owner = _owner(shop, file) if row.mimetype == REVISIT_MIME else None
    repeats = owner is not None and owner.capture_id != row.capture_id
    entry = ArchiveEntry(
        capture_id=row.capture_id,
        url=row.url,
        captured_at=from_datetime14(row.datetime),
        mime=file.mimetype,
        body=payload.body,
        http=payload.http,
        metadata_json=None if repeats else beside(shop.stores.records, row.sha1hex),
        revisit_of=_original(shop, owner) if repeats and owner else None,
    )
    (archived,) = shop.stores.archive.write([entry])
    place = archived.place
    capture = Capture(row.capture_id, "", place, row.url, entry.captured_at, "response")
    fresh = cdx_row(capture, meta_of(file), place, shop.clock())
    fresh = replace(fresh, status=status_of(payload.http))
    if row.mimetype == REVISIT_MIME:
        fresh = replace(fresh, mimetype=REVISIT_MIME)
    if file.capture_id == row.capture_id:
        is_crawlers = bool(crawler_files(records, [row.sha1hex]))
        first = first_cells(capture, place, archived.record_id)
        own = later_cells(capture, place) if is_crawlers else first
        cells = (row_key(row.sha1hex), own)
    else:
        cells = (alternate_key(row.sha1hex, row.capture_id), later_cells(capture, place))
    shop.stores.table.put(shop.stores.journal, [cells])
    records.put([fresh])
    records.delete(CdxRow, [(row.warc_path, row.warc_offset)])
    note_capture_counts(shop.stores.table, records, shop.stores.journal, [row.sha1hex])
    return place


def _original(shop: Workshop, owner: CdxRow) -> Original:
    """The capture that brought the bytes first, with its record's id where it can be read there."""
    return Original(owner.url, from_datetime14(owner.datetime), shop.record_id(owner))


def _owner(shop: Workshop, file: FileMetaRow) -> CdxRow | None:
    rows = shop.stores.records.find(CdxRow, {"capture_id": file.capture_id}, count_max=1)
    return next(rows, None)

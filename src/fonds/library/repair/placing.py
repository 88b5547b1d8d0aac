"""Places put right: rows of `cdx` from the table and the CDXJ, proved by reading what lies there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fonds.formats.journal import read_location, row_key
from fonds.formats.placing import cdx_row, status_of
from fonds.library.checks.fault import Act
from fonds.library.checks.places import is_ours
from fonds.library.repair.workshop import PLACES_MAX, Workshop, owner_of, place_of
from fonds.library.tracing.taken_down import taken_down
from fonds.model.capture import REVISIT_MIME, Capture, Place, PlaceKind, from_datetime14
from fonds.model.file import FileMeta
from fonds.model.record_offset import record_place
from fonds.model.rows import CdxRow, EntryRow, FileMetaRow


def put_places_right(shop: Workshop) -> None:
    """For each file some of whose places are not on the books, or are and are wrong."""
    for some in shop.plan.wanted(Act.PLACE):
        for one in some:
            if len(one.subject) == 40:
                _put_right(shop, one.subject)
            else:
                shop.give_up(one.subject, f"{one.told}: the record does not say whose bytes it is")


def _put_right(shop: Workshop, sha1hex: str) -> None:
    records = shop.stores.records
    if taken_down(records, [sha1hex]):
        shop.give_up(sha1hex, f"{sha1hex} was taken down")
        return
    rows = list(records.find(CdxRow, {"sha1hex": sha1hex}, count_max=PLACES_MAX))
    known = {(row.warc_path, row.warc_offset) for row in rows}
    candidates = {
        (row.warc_path, row.warc_offset): row
        for row in (*_from_the_table(shop, sha1hex), *_from_indexes(shop, sha1hex, rows))
    }
    right = [
        replace(row, status=_status(shop, row))
        for place, row in sorted(candidates.items())
        if place not in known and _is_true(shop, row)
    ]
    for row in right:
        wrong = [
            one for one in rows if one.capture_id == row.capture_id and not _is_true(shop, one)
        ]
        records.put([row])
        records.delete(CdxRow, [(one.warc_path, one.warc_offset) for one in wrong])
        told = f"{sha1hex} lies at {record_place(row.warc_path, row.warc_offset)}: written down in cdx again"
        shop.note(Act.PLACE, row.capture_id, sha1hex, told)
        rows = [one for one in rows if one not in wrong]
        rows.append(row)
    if not rows:
        # In no WARC at all: its owner is sent through again, and archives it.
        owner = next(iter(records.get(FileMetaRow, [sha1hex])), None)
        if owner is not None:
            shop.plan.want(Act.SEND, owner.capture_id, told=f"{sha1hex} lies in no WARC")


def _is_true(shop: Workshop, row: CdxRow) -> bool:
    """Whether what a row says lies there."""
    if row.mimetype != REVISIT_MIME:
        return shop.readable(place_of(row), row.sha1hex) is not None
    held = shop.stores.archive.held(row.warc_path)
    offsets = {one.offset for one in (held.records if held else None) or ()}
    return row.warc_offset in offsets or not is_ours(row.warc_path)


def _status(shop: Workshop, row: CdxRow) -> int | None:
    """What the record says that the server answered."""
    whose = None if row.mimetype == REVISIT_MIME else row.sha1hex
    found = shop.readable(place_of(row), whose)
    return status_of(found.http) if found else None


def _from_the_table(shop: Workshop, sha1hex: str) -> Iterator[CdxRow]:
    stores = shop.stores
    file = next(iter(stores.records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    owners = {sha1hex: file.capture_id}
    for key, cells in stores.table.scan(stores.journal, row_key(sha1hex), count_max=PLACES_MAX):
        try:
            location = read_location(cells)
        except ValueError:
            continue
        if location is None:
            continue
        place = Place(PlaceKind.WARC, location.warc, location.offset, location.size_bytes)
        _, capture_id = owner_of(key, owners)
        row = _row(shop, file, capture_id, location.url, location.datetime14, place)
        yield _as_indexed(shop, row)


def _as_indexed(shop: Workshop, row: CdxRow) -> CdxRow:
    """A record of ours may be a revisit: its index says so."""
    if not is_ours(row.warc_path):
        return row
    held = shop.stores.archive.held(row.warc_path)
    lines = {one.offset: one for one in (held.records if held else None) or ()}
    line = lines.get(row.warc_offset)
    return replace(row, mimetype=REVISIT_MIME) if line is not None and line.is_revisit else row


def _from_indexes(shop: Workshop, sha1hex: str, rows: list[CdxRow]) -> Iterator[CdxRow]:
    """What the indexes of those of our WARCs say that the file is said to lie in."""
    records = shop.stores.records
    file = next(iter(records.get(FileMetaRow, [sha1hex])), None)
    if file is None:
        return
    names = {row.warc_path for row in rows} | {one.path for one in shop.table_places(sha1hex)}
    for name in sorted(filter(is_ours, names)):
        held = shop.stores.archive.held(name)
        for one in (held.records if held else None) or ():
            if one.sha1hex != sha1hex:
                continue
            capture_id = _captured(shop, sha1hex, one.url, one.datetime14)
            if capture_id is None:
                continue
            place = Place(PlaceKind.WARC, name, one.offset, one.size_bytes)
            row = _row(shop, file, capture_id, one.url, one.datetime14, place)
            yield replace(row, mimetype=REVISIT_MIME) if one.is_revisit else row


def _captured(shop: Workshop, sha1hex: str, url: str, datetime14: str) -> str | None:
    """The capture of this address and time that was about the file."""
    entries = shop.stores.records.find(
        EntryRow, {"url": url, "seen": datetime14}, count_max=PLACES_MAX
    )
    there = {row.entry_id for row in entries}
    about = [key for key in shop.entries_about(sha1hex) if key in there]
    return about[0] if about else None


def _row(
    shop: Workshop,
    file: FileMetaRow,
    capture_id: str,
    url: str,
    datetime14: str,
    place: Place,
) -> CdxRow:
    moment = from_datetime14(datetime14)
    capture = Capture(capture_id, "", place, url, moment, "response")
    return cdx_row(capture, meta_of(file), place, shop.clock())


def meta_of(file: FileMetaRow, more: Mapping[str, str] | None = None) -> FileMeta:
    """What a row says of a file; what only libmagic would is empty unless `more` has it."""
    said = more or {}
    return FileMeta(
        size=file.size_bytes,
        mime=file.mimetype,
        magic=said.get("magic", ""),
        magic_mime=said.get("magic_mime", file.mimetype),
        sha1=file.sha1hex,
        md5=file.md5hex,
        sha256=file.sha256hex,
    )

"""archive_body: write bodies that are in no WARC yet to our WARC files, and record their locations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_later_cells,
    get_status,
)
from fonds.ingest.steps.persist_file import find_crawler_files, update_capture_counts
from fonds.isolation.process_identity import create_worker_name, is_process_gone
from fonds.model.archive import ArchivedRecord, ArchiveEntry, OriginalCapture
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    PlaceKind,
    RssEntry,
    format_datetime14,
    parse_datetime14,
)
from fonds.model.disposition import Reason, defer
from fonds.model.errors import TransientError
from fonds.model.file import UnparsedPage
from fonds.model.rows import ArchivingLeaseRow, CdxRow, EntryRow, FetchedPageRow
from fonds.model.step import Output, Result
from fonds.model.story import Story, UnarchivedBody
from fonds.model.story_json import encode_story
from fonds.ports import Archive, Blobs, Records, Table
from fonds.stores.journal_table.cells import F_C, parse_first_archived
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

ABANDONED = timedelta(minutes=10)
"""Lease duration where it is unknown whether the owner's process has ended."""


@contextmanager
def lease_for_archiving(
    records: Records, now: datetime, capture_ids: Sequence[str]
) -> Iterator[set[str]]:
    """Lease captures, and yield those that no other process archives meanwhile. The leases end
    afterwards.

    Check inside whether a capture is archived: the previous owner has written its row of `cdx`.
    Each batch has its own leases, since two threads of a process may work on one capture.
    """
    holder_name, unique_ids = create_worker_name(), list(dict.fromkeys(capture_ids))
    records.put(
        [ArchivingLeaseRow(capture_id, holder_name, now) for capture_id in unique_ids],
        replace=False,
    )
    try:
        yield _lease_captures(records, unique_ids, holder_name, now)
    finally:
        with suppress(TransientError):
            _release(records, unique_ids, holder_name)


def _lease_captures(
    records: Records, capture_ids: Sequence[str], holder_name: str, now: datetime
) -> set[str]:
    leases = records.get(ArchivingLeaseRow, capture_ids)
    ours = {row.capture_id for row in leases if row.claimed_by == holder_name}
    for row in leases:
        if row.capture_id not in ours and _is_abandoned(row, now):
            values = {"claimed_by": holder_name, "claimed_at": now}
            unchanged = {"claimed_by": row.claimed_by}
            if records.change(ArchivingLeaseRow, [row.capture_id], values, unchanged):
                ours.add(row.capture_id)
    return ours


def _release(records: Records, capture_ids: Sequence[str], holder_name: str) -> None:
    leases = records.get(ArchivingLeaseRow, capture_ids)
    records.delete(
        ArchivingLeaseRow, [row.capture_id for row in leases if row.claimed_by == holder_name]
    )


def _is_abandoned(row: ArchivingLeaseRow, now: datetime) -> bool:
    return is_process_gone(row.claimed_by) or now - row.claimed_at > ABANDONED


TOGETHER_MAX_BYTES = 64 * 1024**2
RETRY_S = 2.0
DONE = Result()
ELSEWHERE = Result(defer(Reason.NOT_YET, "another process archives it now", RETRY_S))


EMITS = ()


@dataclass(frozen=True, slots=True)
class ArchiveBodyStep:
    """Writes each capture once.

    What `cdx` already names is not written again. If several processes work on one capture, as in
    two pipelines, one writes it and the others retry.

    `prefix` begins the file names, '' for the archive's own. `{YYYY}` in it is the year of the
    capture.
    """

    archive: Archive
    records: Records
    table: Table
    blobs: Blobs
    journal: str
    clock: Callable[[], datetime]
    prefix: str = ""

    def __call__(self, items: Sequence[UnarchivedBody]) -> list[Result]:
        """Archive the bodies.

        A body is durable in the WARC before its location is recorded. Both precede its removal from
        the spool, and all precede the completion of the message.
        """
        ids = [item.capture.id for item in items]
        with lease_for_archiving(self.records, self.clock(), ids) as leased:
            archived_before = {
                row.capture_id for row in self.records.find(CdxRow, {"capture_id": ids})
            }
            # A message may occur twice in one batch.
            new_items = {
                item.capture.id: item
                for item in items
                if item.capture.id in leased - archived_before
            }
            for batch in _batch_by_size(list(new_items.values())):
                self._archive(batch)
        archived = leased | archived_before
        self._clear_spool([item.capture for item in items if item.capture.id in archived])
        return [DONE if item.capture.id in archived else ELSEWHERE for item in items]

    def _archive(self, items: Sequence[UnarchivedBody]) -> None:
        originals = self._find_originals(items)
        entries = [self._build_entry(item, originals) for item in items]
        self._record_places(items, entries, self.archive.write(entries))
        sha1hexes = [item.file.sha1 for item in items]
        update_capture_counts(self.table, self.records, self.journal, sha1hexes)

    def _find_originals(self, items: Sequence[UnarchivedBody]) -> dict[str, OriginalCapture]:
        """Return the primary captures of these bytes, by id.

        They come from the file's `f:c`; a page we fetched has its final URL. For files not in the
        table yet, the ledger is searched, in all pipelines.
        """
        owners = {item.repeat_of: build_row_key(item.file.sha1) for item in items if item.repeat_of}
        if not owners:
            return {}
        cells = self.table.get(self.journal, list(owners.values()), [F_C])
        first_archived = {
            owner: parse_first_archived(cells.get(key, {})) for owner, key in owners.items()
        }
        originals = {
            owner: original for owner, original in first_archived.items() if original is not None
        }
        missing_ids = [owner for owner in owners if owner not in originals]
        entries = self.records.find(EntryRow, {"entry_id": missing_ids}) if missing_ids else ()
        originals |= {
            row.entry_id: OriginalCapture(row.url, parse_datetime14(row.seen))
            for row in entries
            if row.seen
        }
        fetched = self.records.get(FetchedPageRow, list(owners))
        return originals | {
            row.capture_id: _build_original(row, originals.get(row.capture_id)) for row in fetched
        }

    def _clear_spool(self, captures: Sequence[Capture]) -> None:
        """Delete archived bodies from the spool."""
        spooled = [capture for capture in captures if capture.place.kind is PlaceKind.SPOOL]
        if spooled:
            self.blobs.delete([capture.place.path for capture in spooled])
            self.records.change(
                FetchedPageRow, [capture.id for capture in spooled], {"in_spool": False}
            )

    def _build_entry(self, item: UnarchivedBody, first: dict[str, OriginalCapture]) -> ArchiveEntry:
        capture = item.capture
        payload = self.archive.read(capture.place, item.file.sha1)
        story = item.story
        if story is None and payload.exchange is not None:
            story = Story(capture.rss_entry or RssEntry(), exchange=payload.exchange)
        return ArchiveEntry(
            capture_id=capture.id,
            url=capture.url,
            captured_at=capture.captured_at,
            mime=item.file.mime,
            body=payload.body,
            http=payload.http,
            metadata_json=msgspec.json.encode(encode_story(story)) if story else None,
            original=first.get(item.repeat_of or ""),
            exchange=payload.exchange,
            prefix=self.prefix.replace("{YYYY}", capture.datetime14[:4]),
        )

    def _record_places(
        self,
        items: Sequence[UnarchivedBody],
        entries: Sequence[ArchiveEntry],
        archived: Sequence[ArchivedRecord],
    ) -> None:
        now, rows, cells = self.clock(), [], []
        crawlers = find_crawler_files(self.records, [item.file.sha1 for item in items])
        for item, entry, record in zip(items, entries, archived, strict=True):
            place = record.place
            row = replace(
                build_cdx_row(item.capture, item.file, place, now), status=get_status(entry.http)
            )
            rows.append(row if entry.original is None else replace(row, mimetype=REVISIT_MIME))
            if item.repeat_of is None:
                if item.file.sha1 in crawlers:
                    first_cells = build_later_cells(item.capture, place)
                else:
                    first_cells = build_first_cells(item.capture, place, record.record_id)
                cells.append((build_row_key(item.file.sha1), first_cells))
            else:
                key = build_alternate_key(item.file.sha1, item.capture.id)
                cells.append((key, build_later_cells(item.capture, place)))
        self.table.put(self.journal, cells)
        self.records.put(rows)


def _build_original(row: FetchedPageRow, recorded: OriginalCapture | None) -> OriginalCapture:
    """Build the original of a page we fetched, with fractions of a second.

    It has the record's id if `f:c` is of the same capture.
    """
    capture_key = (row.final_url, format_datetime14(row.fetched))
    is_same = (
        recorded is not None
        and (recorded.url, format_datetime14(recorded.captured_at)) == capture_key
    )
    return OriginalCapture(
        row.final_url, row.fetched, recorded.record_id if recorded and is_same else None
    )


def _batch_by_size(items: Sequence[UnarchivedBody]) -> Iterator[list[UnarchivedBody]]:
    """Yield groups whose bodies fit in memory together; a larger body is a group of its own."""
    group: list[UnarchivedBody] = []
    size_bytes = 0
    for item in items:
        if group and size_bytes + item.file.size > TOGETHER_MAX_BYTES:
            yield group
            group, size_bytes = [], 0
        group.append(item)
        size_bytes += item.file.size
    if group:
        yield group


# archive_unparsed: archive pages unchanged, in pipelines that parse nothing.


ARCHIVE_UNPARSED_EMITS = (Output(UnarchivedBody),)


@dataclass(frozen=True, slots=True)
class ArchiveUnparsedStep:
    """Sends pages to the archive. Bodies in a WARC stay there unless they are to be copied."""

    copies_bodies: bool

    def __call__(self, item: UnparsedPage) -> Result:
        """Return the body, if it is in no WARC yet."""
        if item.capture.place.kind is PlaceKind.WARC and not self.copies_bodies:
            return Result()
        return Result(items=(UnarchivedBody(item.capture, item.file),))

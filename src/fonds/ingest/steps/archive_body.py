"""archive_body: write bodies that are in no WARC yet to the WARC files of Fonds, and record their
locations.

archive_unparsed: send pages to `archive_body` in pipelines that do not parse pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_later_cells,
    get_status,
)
from fonds.ingest.steps.persist_file import find_crawler_files, update_capture_counts
from fonds.leases.lease import Lease
from fonds.leases.leases import Leases
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
from fonds.model.file import UnparsedPage
from fonds.model.rows import CdxRow, EntryRow, FetchedPageRow
from fonds.model.step import Output, Result
from fonds.model.story import Story, UnarchivedBody
from fonds.model.story_json import encode_warc_metadata
from fonds.ports import Archive, Blobs, Records, Table
from fonds.stores.journal_table.cells import F_C, parse_first_archived
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

LEASE_S = 600.0
BATCH_MAX_BYTES = 64 * 1024**2
RETRY_S = 2.0
DONE = Result()
DEFERRED = Result(defer(Reason.NOT_YET, "another process is archiving it now", RETRY_S))
EMITS = ()


def name_lease(capture_id: str) -> str:
    """Return the name of the lease (temporary exclusive right) that a process needs to archive a
    capture.
    """
    return f"archive {capture_id}"


@dataclass(frozen=True, slots=True)
class ArchiveBodyStep:
    """Step that writes the body of each capture to a WARC file, once.

    - `archive`: reads bodies and writes WARC records.
    - `journal`: name of the wide table that has the files.
    - `leases`: grants each capture to one process at a time, for 10 minutes (`LEASE_S`).
    - `prefix`: beginning of the WARC file names; '' for the default. `{YYYY}` in it becomes the
      year of the capture.

    A capture that has a `cdx` row was archived before and is not written again. If several
    processes have the same capture, as two pipelines may, one acquires its lease and the others
    retry later.
    """

    archive: Archive
    records: Records
    table: Table
    blobs: Blobs
    journal: str
    clock: Callable[[], datetime]
    leases: Leases
    prefix: str = ""

    def __call__(self, items: Sequence[UnarchivedBody]) -> list[Result]:
        """Write the bodies to WARC files, then record their locations, then delete the bodies from
        the spool.

        The spool stores fetched bodies until they are archived. Returns one result per item, in
        order. If another process is archiving a capture, its result says that it is retried later.
        """
        ids = [item.capture.id for item in items]
        with self.leases.acquire_free({name_lease(capture_id) for capture_id in ids}) as leases:
            # Read after acquiring: the last holder wrote its `cdx` row before the release.
            recorded_ids = {
                row.capture_id for row in self.records.find(CdxRow, {"capture_id": ids})
            }
            leased_ids = {capture_id for capture_id in ids if name_lease(capture_id) in leases}
            # A message may occur twice in one batch.
            fresh = {
                item.capture.id: item
                for item in items
                if item.capture.id in leased_ids - recorded_ids
            }
            for batch in _batch_by_size(list(fresh.values())):
                self._archive(batch, [leases[name_lease(item.capture.id)] for item in batch])
        archived_ids = leased_ids | recorded_ids
        self._clear_spool([item.capture for item in items if item.capture.id in archived_ids])
        return [DONE if item.capture.id in archived_ids else DEFERRED for item in items]

    def _archive(self, items: Sequence[UnarchivedBody], leases: Sequence[Lease]) -> None:
        originals = self._find_originals(items)
        entries = [self._build_entry(item, originals) for item in items]
        self.leases.renew_due_leases(leases)
        archived_records = self.archive.write(entries)
        self.leases.renew_due_leases(leases)
        self._record_places(items, entries, archived_records)
        sha1s = [item.file.sha1 for item in items]
        update_capture_counts(self.table, self.records, self.journal, sha1s)

    def _find_originals(self, items: Sequence[UnarchivedBody]) -> dict[str, OriginalCapture]:
        """Return the original capture of each item whose bytes repeat those of an earlier capture,
        by the id of the original capture.

        The original is the primary capture of the file. It is read from the cell `f:c` (first seen)
        of the file's table row. If the cell is missing, it is read from the ledger entries of all
        pipelines. For a fetched page, the final URL and exact time are used.
        """
        primary_keys = {
            item.repeat_of: build_row_key(item.file.sha1) for item in items if item.repeat_of
        }
        if not primary_keys:
            return {}
        cells = self.table.get(self.journal, list(primary_keys.values()), [F_C])
        parsed_originals = {
            capture_id: parse_first_archived(cells.get(key, {}))
            for capture_id, key in primary_keys.items()
        }
        originals = {
            capture_id: original
            for capture_id, original in parsed_originals.items()
            if original is not None
        }
        missing_ids = [primary_id for primary_id in primary_keys if primary_id not in originals]
        entry_rows = self.records.find(EntryRow, {"entry_id": missing_ids}) if missing_ids else ()
        originals |= {
            row.entry_id: OriginalCapture(row.url, parse_datetime14(row.seen))
            for row in entry_rows
            if row.seen
        }
        fetched_rows = self.records.get(FetchedPageRow, list(primary_keys))
        return originals | {
            row.capture_id: _build_original(row, originals.get(row.capture_id))
            for row in fetched_rows
        }

    def _clear_spool(self, captures: Sequence[Capture]) -> None:
        """Delete the bodies of archived captures from the spool."""
        spooled_captures = [
            capture for capture in captures if capture.place.kind is PlaceKind.SPOOL
        ]
        if spooled_captures:
            self.blobs.delete([item.place.path for item in spooled_captures])
            self.records.change(
                FetchedPageRow, [item.id for item in spooled_captures], {"in_spool": False}
            )

    def _build_entry(
        self, item: UnarchivedBody, originals: dict[str, OriginalCapture]
    ) -> ArchiveEntry:
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
            metadata_json=encode_warc_metadata(story) if story else None,
            original=originals.get(item.repeat_of or ""),
            exchange=payload.exchange,
            prefix=self.prefix.replace("{YYYY}", capture.datetime14[:4]),
        )

    def _record_places(
        self,
        items: Sequence[UnarchivedBody],
        entries: Sequence[ArchiveEntry],
        archived_records: Sequence[ArchivedRecord],
    ) -> None:
        now, rows, cells = self.clock(), [], []
        crawlers = find_crawler_files(self.records, [item.file.sha1 for item in items])
        for item, entry, record in zip(items, entries, archived_records, strict=True):
            place = record.place
            row = replace(
                build_cdx_row(item.capture, item.file, place, now), status=get_status(entry.http)
            )
            rows.append(row if entry.original is None else replace(row, mimetype=REVISIT_MIME))
            if item.repeat_of is None:
                if item.file.sha1 in crawlers:
                    first = build_later_cells(item.capture, place)
                else:
                    first = build_first_cells(item.capture, place, record.record_id)
                cells.append((build_row_key(item.file.sha1), first))
            else:
                key = build_alternate_key(item.file.sha1, item.capture.id)
                cells.append((key, build_later_cells(item.capture, place)))
        self.table.put(self.journal, cells)
        self.records.put(rows)


def _build_original(
    row: FetchedPageRow, recorded_original: OriginalCapture | None
) -> OriginalCapture:
    """Build the description of the original capture that a repeated body refers to, if it was a
    fetched page.

    `row` gives the final URL, and the time with fractions of a second. The WARC record id is that
    of `recorded_original` if `recorded_original` has the same URL and second, else None.
    """
    fetched_capture = (row.final_url, format_datetime14(row.fetched))
    is_same = (
        recorded_original is not None
        and (recorded_original.url, format_datetime14(recorded_original.captured_at))
        == fetched_capture
    )
    return OriginalCapture(
        row.final_url,
        row.fetched,
        recorded_original.record_id if recorded_original and is_same else None,
    )


def _batch_by_size(items: Sequence[UnarchivedBody]) -> Iterator[list[UnarchivedBody]]:
    """Yield the bodies in groups of at most 64 MiB. A larger body is alone in its group."""
    group: list[UnarchivedBody] = []
    size_bytes = 0
    for item in items:
        if group and size_bytes + item.file.size > BATCH_MAX_BYTES:
            yield group
            group, size_bytes = [], 0
        group.append(item)
        size_bytes += item.file.size
    if group:
        yield group


ARCHIVE_UNPARSED_EMITS = (Output(UnarchivedBody),)


@dataclass(frozen=True, slots=True)
class ArchiveUnparsedStep:
    """Step that sends pages to the step `archive_body` without parsing them.

    If `copies_bodies` is False, pages that are already in a WARC file are not sent.
    """

    copies_bodies: bool

    def __call__(self, item: UnparsedPage) -> Result:
        """Return the body that `archive_body` must write, or nothing if the body stays in the WARC
        that it is in.
        """
        if item.capture.place.kind is PlaceKind.WARC and not self.copies_bodies:
            return Result()
        return Result(items=(UnarchivedBody(item.capture, item.file),))

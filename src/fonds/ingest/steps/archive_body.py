"""archive_body: write bodies that are in no WARC yet to our WARC files, and record their locations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

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
from fonds.model.story_json import encode_story
from fonds.ports import Archive, Blobs, Records, Table
from fonds.stores.journal_table.cells import F_C, parse_first_archived
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key

LEASE_S = 600.0
TOGETHER_MAX_BYTES = 64 * 1024**2
RETRY_S = 2.0
DONE = Result()
ELSEWHERE = Result(defer(Reason.NOT_YET, "another process is archiving it now", RETRY_S))
EMITS = ()


def name_lease(capture_id: str) -> str:
    """Return the name of the lease for archiving a capture."""
    return f"archive {capture_id}"


@dataclass(frozen=True, slots=True)
class ArchiveBodyStep:
    """Writes each capture once: what `cdx` already names is not written again, and of several processes that
    have the same capture in hand, as two pipelines may, one has its lease and the others come again.

    `leases` are in the table `lease`, of `LEASE_S`.

    `prefix` begins the files' names, "" for the archive's own; `{YYYY}` in it is the year of the capture.
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
        """Archive the bodies.

        A body is durable in the WARC before its location is recorded. Both precede its removal from
        the spool, and all precede the completion of the message.
        """
        ids = [item.capture.id for item in items]
        with self.leases.acquire_free({name_lease(one) for one in ids}) as leases:
            # The holder before wrote its row of `cdx` before it released the lease.
            there = {row.capture_id for row in self.records.find(CdxRow, {"capture_id": ids})}
            leased = {one for one in ids if name_lease(one) in leases}
            # A message may occur twice in one batch.
            fresh = {item.capture.id: item for item in items if item.capture.id in leased - there}
            for some in _batch_by_size(list(fresh.values())):
                self._archive(some, [leases[name_lease(item.capture.id)] for item in some])
        archived = leased | there
        self._clear_spool([item.capture for item in items if item.capture.id in archived])
        return [DONE if item.capture.id in archived else ELSEWHERE for item in items]

    def _archive(self, items: Sequence[UnarchivedBody], leases: Sequence[Lease]) -> None:
        first = self._find_originals(items)
        entries = [self._build_entry(item, first) for item in items]
        self.leases.check_renewed(leases)
        archived = self.archive.write(entries)
        self.leases.check_renewed(leases)
        self._record_places(items, entries, archived)
        met = [item.file.sha1 for item in items]
        update_capture_counts(self.table, self.records, self.journal, met)

    def _find_originals(self, items: Sequence[UnarchivedBody]) -> dict[str, OriginalCapture]:
        """Return the primary captures of these bytes, by id.

        They come from the file's `f:c`; a page we fetched has its final URL. For files not in the
        table yet, the ledger is searched, in all pipelines.
        """
        owners = {item.repeat_of: build_row_key(item.file.sha1) for item in items if item.repeat_of}
        if not owners:
            return {}
        cells = self.table.get(self.journal, list(owners.values()), [F_C])
        said = {one: parse_first_archived(cells.get(key, {})) for one, key in owners.items()}
        found = {one: known for one, known in said.items() if known is not None}
        absent = [owner for owner in owners if owner not in found]
        entered = self.records.find(EntryRow, {"entry_id": absent}) if absent else ()
        found |= {
            row.entry_id: OriginalCapture(row.url, parse_datetime14(row.seen))
            for row in entered
            if row.seen
        }
        fetched = self.records.get(FetchedPageRow, list(owners))
        return found | {
            row.capture_id: _build_original(row, found.get(row.capture_id)) for row in fetched
        }

    def _clear_spool(self, captures: Sequence[Capture]) -> None:
        """Delete archived bodies from the spool."""
        spooled = [capture for capture in captures if capture.place.kind is PlaceKind.SPOOL]
        if spooled:
            self.blobs.delete([one.place.path for one in spooled])
            self.records.change(FetchedPageRow, [one.id for one in spooled], {"in_spool": False})

    def _build_entry(self, item: UnarchivedBody, first: dict[str, OriginalCapture]) -> ArchiveEntry:
        capture = item.capture
        payload = self.archive.read(capture.place, item.file.sha1)
        told = item.story
        if told is None and payload.exchange is not None:
            told = Story(capture.rss_entry or RssEntry(), exchange=payload.exchange)
        return ArchiveEntry(
            capture_id=capture.id,
            url=capture.url,
            captured_at=capture.captured_at,
            mime=item.file.mime,
            body=payload.body,
            http=payload.http,
            metadata_json=msgspec.json.encode(encode_story(told)) if told else None,
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
        for item, entry, there in zip(items, entries, archived, strict=True):
            place = there.place
            row = replace(
                build_cdx_row(item.capture, item.file, place, now), status=get_status(entry.http)
            )
            rows.append(row if entry.original is None else replace(row, mimetype=REVISIT_MIME))
            if item.repeat_of is None:
                if item.file.sha1 in crawlers:
                    first = build_later_cells(item.capture, place)
                else:
                    first = build_first_cells(item.capture, place, there.record_id)
                cells.append((build_row_key(item.file.sha1), first))
            else:
                key = build_alternate_key(item.file.sha1, item.capture.id)
                cells.append((key, build_later_cells(item.capture, place)))
        self.table.put(self.journal, cells)
        self.records.put(rows)


def _build_original(row: FetchedPageRow, recorded: OriginalCapture | None) -> OriginalCapture:
    """Build the original of a page we fetched, with fractions of a second.

    It has the record's id if `f:c` is of the same capture.
    """
    there = (row.final_url, format_datetime14(row.fetched))
    same = recorded is not None and (recorded.url, format_datetime14(recorded.captured_at)) == there
    return OriginalCapture(
        row.final_url, row.fetched, recorded.record_id if recorded and same else None
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


# archive_unparsed: a page goes to the archive as it is, in pipelines that parse nothing.


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

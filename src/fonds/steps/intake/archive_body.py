"""archive_body: bodies that lie in no WARC yet into files of ours, and their place into the books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from fonds.formats.envelope import story_to_json
from fonds.formats.journal import F_C, alternate_key, first_archived, row_key
from fonds.formats.placing import cdx_row, first_cells, later_cells, status_of
from fonds.model.archive import Archived, ArchiveEntry, Original
from fonds.model.capture import (
    REVISIT_MIME,
    Capture,
    PlaceKind,
    from_datetime14,
    to_datetime14,
)
from fonds.model.disposition import Reason, deferred
from fonds.model.rows import CdxRow, EntryRow, FetchedRow
from fonds.model.step import Result
from fonds.model.story import RssEntry, Story, Unarchived
from fonds.ports import Archive, Blobs, Records, Table
from fonds.steps.intake.archive_claims import claimed_to_archive
from fonds.steps.intake.capture_count import crawler_files, note_capture_counts

TOGETHER_MAX_BYTES = 64 * 1024**2
AGAIN_S = 2.0
DONE = Result()
ELSEWHERE = Result(deferred(Reason.NOT_YET, "another process archives it now", AGAIN_S))


EMITS = ()


@dataclass(frozen=True, slots=True)
class ArchiveBody:
    """Writes each capture once: what `cdx` already names is not written again, and of several processes that
    have the same capture in hand, as two pipelines may, one writes it and the others come again.

    `prefix` begins the files' names, "" for the archive's own; `{YYYY}` in it is the year of the capture.
    """

    archive: Archive
    records: Records
    table: Table
    blobs: Blobs
    journal: str
    clock: Callable[[], datetime]
    prefix: str = ""

    def __call__(self, items: Sequence[Unarchived]) -> list[Result]:
        """Durable in the WARC before its place is written down, both before the spool forgets what was there,
        and all of it before the message is settled."""
        ids = [item.capture.id for item in items]
        with claimed_to_archive(self.records, self.clock(), ids) as claimed:
            there = {row.capture_id for row in self.records.find(CdxRow, {"capture_id": ids})}
            # A message may come twice in one batch.
            fresh = {item.capture.id: item for item in items if item.capture.id in claimed - there}
            for some in _by_size(list(fresh.values())):
                self._archive(some)
        archived = claimed | there
        self._forget([item.capture for item in items if item.capture.id in archived])
        return [DONE if item.capture.id in archived else ELSEWHERE for item in items]

    def _archive(self, items: Sequence[Unarchived]) -> None:
        first = self._first(items)
        entries = [self._entry(item, first) for item in items]
        self._note(items, entries, self.archive.write(entries))
        met = [item.file.sha1 for item in items]
        note_capture_counts(self.table, self.records, self.journal, met)

    def _first(self, items: Sequence[Unarchived]) -> dict[str, Original]:
        """The captures that brought these bytes first, by their ids.

        As `f:c` of the file says; a page we fetched goes by the address it came from in the end. Of one
        that is not in the table yet the books are asked, whichever pipeline it came into.
        """
        owners = {item.repeat_of: row_key(item.file.sha1) for item in items if item.repeat_of}
        if not owners:
            return {}
        cells = self.table.get(self.journal, list(owners.values()), [F_C])
        said = {one: first_archived(cells.get(key, {})) for one, key in owners.items()}
        found = {one: known for one, known in said.items() if known is not None}
        absent = [one for one in owners if one not in found]
        entered = self.records.find(EntryRow, {"entry_id": absent}) if absent else ()
        found |= {
            row.entry_id: Original(row.url, from_datetime14(row.seen))
            for row in entered
            if row.seen
        }
        fetched = self.records.get(FetchedRow, list(owners))
        return found | {row.capture_id: _fetched(row, found.get(row.capture_id)) for row in fetched}

    def _forget(self, captures: Sequence[Capture]) -> None:
        """The spool needs no more what lies in a WARC."""
        spooled = [one for one in captures if one.place.kind is PlaceKind.SPOOL]
        if spooled:
            self.blobs.delete([one.place.path for one in spooled])
            self.records.change(FetchedRow, [one.id for one in spooled], {"in_spool": False})

    def _entry(self, item: Unarchived, first: dict[str, Original]) -> ArchiveEntry:
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
            metadata_json=msgspec.json.encode(story_to_json(told)) if told else None,
            revisit_of=first.get(item.repeat_of or ""),
            exchange=payload.exchange,
            prefix=self.prefix.replace("{YYYY}", capture.datetime14[:4]),
        )

    def _note(
        self,
        items: Sequence[Unarchived],
        entries: Sequence[ArchiveEntry],
        archived: Sequence[Archived],
    ) -> None:
        now, rows, cells = self.clock(), [], []
        crawlers = crawler_files(self.records, [item.file.sha1 for item in items])
        for item, entry, there in zip(items, entries, archived, strict=True):
            place = there.place
            row = replace(
                cdx_row(item.capture, item.file, place, now), status=status_of(entry.http)
            )
            rows.append(row if entry.revisit_of is None else replace(row, mimetype=REVISIT_MIME))
            if item.repeat_of is None:
                if item.file.sha1 in crawlers:
                    first = later_cells(item.capture, place)
                else:
                    first = first_cells(item.capture, place, there.record_id)
                cells.append((row_key(item.file.sha1), first))
            else:
                key = alternate_key(item.file.sha1, item.capture.id)
                cells.append((key, later_cells(item.capture, place)))
        self.table.put(self.journal, cells)
        self.records.put(rows)


def _fetched(row: FetchedRow, noted: Original | None) -> Original:
    """A page we fetched, to the fraction of a second; its record's id where `f:c` is of the same capture."""
    there = (row.final_url, to_datetime14(row.fetched))
    same = noted is not None and (noted.url, to_datetime14(noted.captured_at)) == there
    return Original(row.final_url, row.fetched, noted.record_id if noted and same else None)


def _by_size(items: Sequence[Unarchived]) -> Iterator[list[Unarchived]]:
    """Groups whose bodies fit into memory together; a larger body stands alone."""
    group: list[Unarchived] = []
    size_bytes = 0
    for item in items:
        if group and size_bytes + item.file.size > TOGETHER_MAX_BYTES:
            yield group
            group, size_bytes = [], 0
        group.append(item)
        size_bytes += item.file.size
    if group:
        yield group

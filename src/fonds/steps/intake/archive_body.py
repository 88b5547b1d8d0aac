"""archive_body: bodies that lie in no WARC yet into files of ours, and their place into the books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from fonds.formats.envelope import story_to_json
from fonds.formats.journal import alternate_key, row_key
from fonds.formats.placing import cdx_row, first_cells, later_cells
from fonds.model.archive import ArchiveEntry
from fonds.model.capture import REVISIT_MIME, Place, from_datetime14
from fonds.model.rows import CdxRow, EntryRow
from fonds.model.step import Result
from fonds.model.story import Unarchived
from fonds.ports import Archive, Records, Table

TOGETHER_MAX_BYTES = 64 * 1024**2


EMITS = ()


@dataclass(frozen=True, slots=True)
class ArchiveBody:
    """Writes each capture once: what `cdx` already names is not written again.

    Two processes that have the same capture in hand at the same moment, as two pipelines may, each write
    it, to a file of its own: both places are right.
    """

    archive: Archive
    records: Records
    table: Table
    journal: str
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[Unarchived]) -> list[Result]:
        """Durable in the WARC before its place is written down, and both before the message is settled."""
        ids = [item.capture.id for item in items]
        there = {row.capture_id for row in self.records.find(CdxRow, {"capture_id": ids})}
        # A message may come twice in one batch.
        fresh = {item.capture.id: item for item in items if item.capture.id not in there}
        for some in _by_size(list(fresh.values())):
            first = self._entries(_owners(some))
            entries = [self._entry(item, first) for item in some]
            places = [archived.place for archived in self.archive.write(entries)]
            self._note(some, entries, places)
        return [Result() for _ in items]

    def _entries(self, capture_ids: Sequence[str]) -> dict[str, EntryRow]:
        """The captures that brought these bytes first, whichever pipeline they came into."""
        return {row.entry_id: row for row in self.records.find(EntryRow, {"entry_id": capture_ids})}

    def _entry(self, item: Unarchived, first: dict[str, EntryRow]) -> ArchiveEntry:
        capture = item.capture
        payload = self.archive.read(capture.place, item.file.sha1)
        owner = first.get(item.repeat_of or "")
        story = msgspec.json.encode(story_to_json(item.story)) if item.story else None
        return ArchiveEntry(
            capture_id=capture.id,
            url=capture.url,
            captured_at=capture.captured_at,
            mime=item.file.mime,
            body=payload.body,
            http=payload.http,
            metadata_json=story,
            revisit_of=(owner.url, from_datetime14(owner.seen)) if owner and owner.seen else None,
        )

    def _note(
        self, items: Sequence[Unarchived], entries: Sequence[ArchiveEntry], places: Sequence[Place]
    ) -> None:
        now, rows, cells = self.clock(), [], []
        for item, entry, place in zip(items, entries, places, strict=True):
            row = cdx_row(item.capture, item.file, place, now)
            rows.append(row if entry.revisit_of is None else replace(row, mimetype=REVISIT_MIME))
            if item.repeat_of is None:
                cells.append((row_key(item.file.sha1), first_cells(item.capture, place)))
            else:
                key = alternate_key(item.file.sha1, item.capture.id)
                cells.append((key, later_cells(item.capture, place)))
        self.table.put(self.journal, cells)
        self.records.put(rows)


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


def _owners(items: Sequence[Unarchived]) -> list[str]:
    return [item.repeat_of for item in items if item.repeat_of]

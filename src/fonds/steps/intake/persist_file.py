"""persist_file: write down a file and its capture, and send what is new to the readers of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fonds.formats.journal import F_C, FILE_CDX, FILE_META, alternate_key, file_cells, row_key
from fonds.formats.placing import (
    cdx_row,
    first_cells,
    indexed_key,
    later_cells,
    noted_record_id,
    revisit_rows,
)
from fonds.model.capture import Capture, PlaceKind
from fonds.model.disposition import Reason, dropped, kept_without_text
from fonds.model.file import FileMeta, Identified, Kind, Unextracted, Unparsed
from fonds.model.keys import sha1_from_text
from fonds.model.paper import Ungrobided, UnreadArticle
from fonds.model.rows import CdxRow, FileMetaRow, TakedownRow
from fonds.model.step import Output, Result
from fonds.model.story import Unarchived
from fonds.ports import Records, Table
from fonds.ports.walking import walk_pages
from fonds.steps.intake.capture_count import note_capture_counts

EMITS = (
    Output(Unextracted),
    Output(Ungrobided),
    Output(Unparsed),
    Output(Unarchived),
    Output(UnreadArticle),
)


@dataclass(frozen=True, slots=True)
class PersistFile:
    """The first capture of a file owns it; later ones are noted beside it and end as duplicates."""

    table: Table
    records: Records
    journal: str
    copy_bodies: bool
    clock: Callable[[], datetime]

    def __call__(self, items: Sequence[Identified]) -> list[Result]:
        """Idempotent: a capture seen again finds itself the owner and is sent on again. Of bytes that were
        taken down nothing stays written, whoever brings them.

        It is asked before the write and again behind it: a takedown says so before it purges, so that what
        it came too early to see is found here. What a killed process wrote goes when its message is back.
        """
        gone = self._taken_down(items)
        wanted = [one for one in items if _sha1(one) not in gone]
        kept = dict(zip(map(id, wanted), self._persist(wanted), strict=True))
        gone |= self._taken_down(wanted)
        if gone:
            self._forget([one for one in items if _sha1(one) in gone])
        refused = Result(dropped(Reason.TAKEN_DOWN))
        return [refused if _sha1(one) in gone else kept[id(one)] for one in items]

    def _taken_down(self, items: Sequence[Identified]) -> set[str]:
        wanted = {sha1 for one in items if (sha1 := _sha1(one)) is not None}
        return {row.sha1hex for row in self.records.get(TakedownRow, sorted(wanted))}

    def _forget(self, items: Sequence[Identified]) -> None:
        """Remove what was written of these, their files last, by which the rest is found."""
        now = self.clock()
        places = [row for one in items for row in self._captures(one, now)]
        self.records.delete(CdxRow, [(row.warc_path, row.warc_offset) for row in places])
        sha1hexes = sorted({sha1 for one in items if (sha1 := _sha1(one)) is not None})
        for sha1hex in sha1hexes:
            for page in walk_pages(self.table, self.journal, row_key(sha1hex)):
                self.table.delete(self.journal, [key for key, _ in page])
        self.records.delete(FileMetaRow, sha1hexes)

    def _persist(self, items: Sequence[Identified]) -> list[Result]:
        now = self.clock()
        files = [(one.capture, one.file) for one in items if one.file is not None]
        self.records.put([_file_row(capture, file, now) for capture, file in files], replace=False)
        known = self.records.get(FileMetaRow, [file.sha1 for _, file in files])
        owners = {row.sha1hex: row.capture_id for row in known}
        mine = [file.sha1 for capture, file in files if owners[file.sha1] == capture.id]
        noted = self._noted(mine)
        cells = [
            row
            for capture, file in files
            for row in self._cells(capture, file, noted, first=owners[file.sha1] == capture.id)
        ]
        self.table.put(self.journal, [*_displaced(noted), *cells])
        rows = [row for one in items for row in self._captures(one, now)]
        self.records.put(rows, replace=False)
        firsts = set(owners.values())
        again = [row.sha1hex for row in rows if row.capture_id not in firsts]
        again += [key.hex() for key, there in noted.items() if F_C in there]
        note_capture_counts(self.table, self.records, self.journal, again)
        return [self._route(one, owners) for one in items]

    def _noted(self, sha1hexes: Sequence[str]) -> dict[bytes, dict[str, bytes]]:
        """What the table says of these files by now."""
        keys = [row_key(one) for one in sha1hexes]
        columns = [F_C, FILE_CDX, FILE_META]
        return self.table.get(self.journal, keys, columns) if keys else {}

    def _referenced(self, capture: Capture) -> bool:
        """Whether the body stays where it is: in somebody's WARC."""
        return capture.place.kind is PlaceKind.WARC and not self.copy_bodies

    def _cells(
        self,
        capture: Capture,
        file: FileMeta,
        noted: Mapping[bytes, Mapping[str, bytes]],
        *,
        first: bool,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """The crawler's own note of this very record may have told its id: that stays."""
        if first:
            key, cells = row_key(file.sha1), file_cells(file)
            if self._referenced(capture):
                known = noted_record_id(noted.get(key, {}), capture.url, capture.place)
                cells |= first_cells(capture, capture.place, known)
            return [(key, cells)]
        if self._referenced(capture):
            key = alternate_key(file.sha1, capture.id)
            return [(key, later_cells(capture, capture.place))]
        return []

    def _captures(self, one: Identified, now: datetime) -> list[CdxRow]:
        if one.file is None:
            return revisit_rows(one.capture, now)
        if self._referenced(one.capture):
            return [cdx_row(one.capture, one.file, one.capture.place, now)]
        return []

    def _route(self, one: Identified, owners: dict[str, str]) -> Result:
        capture, file = one.capture, one.file
        if file is None:
            return Result(dropped(Reason.REVISIT, capture.digest or ""))
        referenced = self._referenced(capture)
        owner = owners[file.sha1]
        if owner != capture.id:
            repeat = Unarchived(capture, file, repeat_of=owner)
            ended = dropped(Reason.DUPLICATE, f"same bytes as capture {owner}")
            return Result(ended, () if referenced else (repeat,))
        if file.kind is Kind.STORY:
            return Result(items=(Unparsed(capture, file, one.charset),))
        if file.kind is Kind.UNREAD:
            kept = kept_without_text(Reason.UNREAD_TYPE, file.mime)
            return Result(kept, () if referenced else (Unarchived(capture, file),))
        if file.kind is Kind.JATS:
            article = UnreadArticle(capture, file)
            return Result(items=(article,) if referenced else (article, Unarchived(capture, file)))
        work = (Unextracted(capture, file), Ungrobided(capture, file))
        return Result(items=work if referenced else (*work, Unarchived(capture, file)))


def _sha1(one: Identified) -> str | None:
    """The bytes an item is about; of a revisit those its record names."""
    if one.file is not None:
        return one.file.sha1
    raw = sha1_from_text(one.capture.digest or "")
    return raw.hex() if raw is not None else None


def _displaced(noted: Mapping[bytes, Mapping[str, bytes]]) -> list[tuple[bytes, dict[str, bytes]]]:
    """Captures that an index had told of before the files came: they are kept beside the first now."""
    return [
        (indexed_key(key.hex(), cells), {FILE_CDX: cells[FILE_CDX]})
        for key, cells in noted.items()
        if FILE_CDX in cells and FILE_META not in cells
    ]


def _file_row(capture: Capture, file: FileMeta, now: datetime) -> FileMetaRow:
    return FileMetaRow(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        capture_id=capture.id,
        row_created=now,
    )

"""persist_file: record a file and its capture, and send new files to the extractors of their kind.

The cell `f:c` (first seen) in the table row of a file describes the first capture of the file. A
crawler, such as Heritrix, may have written it before Fonds knew the file. This is called a
crawler's note. Fonds keeps a crawler's note and updates only its count of captures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from fonds.archive.table_places import (
    build_cdx_row,
    build_first_cells,
    build_indexed_key,
    build_later_cells,
    build_revisit_rows,
    find_recorded_id,
)
from fonds.ingest.known_captures import CapturePlan, build_cdx_key, plan_captures, write_captures
from fonds.ingest.revisits import find_revisited
from fonds.model.capture import Capture, Place, PlaceKind
from fonds.model.disposition import Reason, defer, drop, keep_without_text
from fonds.model.file import (
    FileMeta,
    IdentifiedCapture,
    Kind,
    RevisitReference,
    UnextractedPdf,
    UnindexedFile,
    UnparsedPage,
)
from fonds.model.keys import encode_sha1_base32
from fonds.model.paper import UngrobidedPdf, UnreadArticle
from fonds.model.rows import CaptureRightsRow, CdxRow, CrawlerCountRow, FileMetaRow, TakedownRow
from fonds.model.step import Output, Result
from fonds.model.story import UnarchivedBody
from fonds.ports import Records, Table
from fonds.ports.scan import iter_pages
from fonds.rights.capture_rights import build_capture_rights_row, parse_row_rights
from fonds.rights.host_files import (
    build_host_rows,
    remove_capture_rights,
    remove_host_rows,
    write_host_rows,
)
from fonds.stores.journal_table.cells import (
    F_C,
    FILE_CDX,
    FILE_META,
    build_file_cells,
    read_first_seen,
    set_dupe_count,
)
from fonds.stores.journal_table.keys import (
    OLD_KEY_PREFIX,
    build_alternate_key,
    build_old_key,
    build_row_key,
)

ROUNDS_MAX = 10
"""Maximum attempts to write the cell `f:c` of a file while other processes write the same cell."""


def record_crawler_counts(
    table: Table, records: Records, journal: str, sha1hexes: Collection[str]
) -> None:
    """Find which new files have a crawler's note, and record the count of captures that each note
    states.

    A crawler's note is a cell `f:c` (first seen) that a crawler wrote before Fonds knew the file.
    It is in the table row of the file, or in the row `sha1:BASE32` that Heritrix writes. It is
    copied from there to the row of the file. Call this function before writing anything about a new
    file. A repeated call changes nothing.
    """
    unknown_sha1hexes = _find_unknown(records, sorted(set(sha1hexes)))
    keys = {build_row_key(sha1hex): sha1hex for sha1hex in unknown_sha1hexes}
    has_old_rows = bool(
        unknown_sha1hexes and table.scan(journal, OLD_KEY_PREFIX, count_max=1, columns=[F_C])
    )
    old_keys = {build_old_key(sha1hex): sha1hex for sha1hex in unknown_sha1hexes if has_old_rows}
    cells_by_key = (
        table.get(journal, [*keys, *old_keys], [F_C, FILE_META]) if unknown_sha1hexes else {}
    )
    described_sha1hexes = {
        sha1hex for key, sha1hex in keys.items() if FILE_META in cells_by_key.get(key, {})
    }
    notes = {
        sha1hex: cells_by_key[key][F_C]
        for key, sha1hex in old_keys.items()
        if F_C in cells_by_key.get(key, {})
    }
    copied_cells = {
        sha1hex: cell
        for sha1hex, cell in notes.items()
        if F_C not in cells_by_key.get(build_row_key(sha1hex), {})
    }
    notes |= {
        sha1hex: cells_by_key[key][F_C]
        for key, sha1hex in keys.items()
        if F_C in cells_by_key.get(key, {})
    }
    rows = [
        CrawlerCountRow(sha1hex, count)
        for sha1hex, cell in notes.items()
        if sha1hex not in described_sha1hexes and (count := _count(cell)) is not None
    ]
    if not rows:
        return
    recorded_sha1hexes = {row.sha1hex for row in rows}
    if cells := [
        (build_row_key(sha1hex), {F_C: cell})
        for sha1hex, cell in copied_cells.items()
        if sha1hex in recorded_sha1hexes
    ]:
        table.put(journal, cells)
    records.put(rows, replace=False)


def record_no_crawler(records: Records, sha1hexes: Collection[str]) -> None:
    """Record that the files have no crawler's note, which is a cell `f:c` (first seen) written by a
    crawler.

    Otherwise, once a file has no `cdx` row, an `f:c` that Fonds wrote could later be mistaken for a
    crawler's note.
    """
    if sha1hexes:
        records.put(
            [CrawlerCountRow(sha1hex, 0) for sha1hex in sorted(set(sha1hexes))], replace=False
        )


def find_crawler_files(records: Records, sha1hexes: Collection[str]) -> set[str]:
    """Return the SHA-1s of those files whose cell `f:c` (first seen) was written by a crawler.

    In such a cell, Fonds may change only the count of captures.
    """
    return {
        row.sha1hex for row in records.get(CrawlerCountRow, sorted(set(sha1hexes))) if row.count
    }


def count_captures(
    records: Records, notes: Mapping[str, bytes], leaving: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return the number of captures of each file: its `cdx` rows, plus captures that a crawler
    counted before.

    - `notes`: the cell `f:c` (first seen) of each file, by SHA-1. If a crawler wrote it, it is
      called a crawler's note.
    - `leaving`: number of `cdx` rows that are about to be removed, by SHA-1. They are not counted.

    The capture in a crawler's note counts once, even if it also has a `cdx` row.
    """
    counts = {
        sha1hex: count
        for (sha1hex,), count in records.count(CdxRow, ("sha1hex",), {"sha1hex": [*notes]}).items()
    }
    for sha1hex, count in (leaving or {}).items():
        counts[sha1hex] = counts.get(sha1hex, 0) - count
    totals = {sha1: counts.get(sha1, 1) for sha1 in notes}
    for row in records.get(CrawlerCountRow, [*notes]):
        if not row.count:
            continue
        noted_count = _has_row(records, row.sha1hex, notes[row.sha1hex])
        totals[row.sha1hex] = row.count + counts.get(row.sha1hex, 0) - noted_count
    return totals


def update_capture_counts(
    table: Table,
    records: Records,
    journal: str,
    sha1hexes: Sequence[str],
    leaving: Mapping[str, int] | None = None,
) -> None:
    """Update the number of captures in the cell `f:c` of each file, from its `cdx` rows (including
    revisits).

    `leaving` is the number of `cdx` rows that are about to be removed, by SHA-1. Counting before
    the removal keeps the number right if this process is killed in between. A repeated call changes
    nothing.

    A count is written only if the cell is unchanged since it was read, so that concurrent writes
    are not lost. After a write the captures are counted again: of several processes that add
    captures of one file, the last to write sees the rows of all others. The row `sha1:BASE32`,
    which crawlers read, gets the same count.
    """
    unique = sorted(set(sha1hexes))
    old_keys = {build_old_key(sha1hex): sha1hex for sha1hex in find_crawler_files(records, unique)}
    keys = {build_row_key(sha1hex): sha1hex for sha1hex in unique} | old_keys
    for _ in range(ROUNDS_MAX):
        cells_by_key = table.get(journal, sorted(keys), [F_C]) if keys else {}
        if not cells_by_key:
            return
        totals = count_captures(
            records, {keys[key]: row[F_C] for key, row in cells_by_key.items()}, leaving
        )
        changed_rows = [
            (key, {F_C: new_cell})
            for key, row in cells_by_key.items()
            if (new_cell := set_dupe_count(row[F_C], totals[keys[key]])) != row[F_C]
        ]
        if not changed_rows:
            return
        table.put(
            journal,
            changed_rows,
            where_equal={key: cells_by_key[key][F_C] for key, _ in changed_rows},
        )
        keys = {key: keys[key] for key, _ in changed_rows}


def _find_unknown(records: Records, sha1hexes: Sequence[str]) -> list[str]:
    """Return those SHA-1s that have neither a `cdx` row nor a row with a crawler's count of
    captures.
    """
    if not sha1hexes:
        return []
    cdx_counts = records.count(CdxRow, ("sha1hex",), {"sha1hex": sha1hexes})
    known_sha1hexes = {sha1hex for (sha1hex,) in cdx_counts}
    known_sha1hexes |= {row.sha1hex for row in records.get(CrawlerCountRow, sha1hexes)}
    return [sha1hex for sha1hex in sha1hexes if sha1hex not in known_sha1hexes]


def _count(cell: bytes) -> int | None:
    """Return the number of captures that a crawler's note (a cell `f:c` written by a crawler)
    states.

    Returns 1 if it states none, and None if it is unreadable.
    """
    try:
        note = read_first_seen({F_C: cell})
    except ValueError:
        return None
    return None if note is None else note.count or 1


def _has_row(records: Records, sha1hex: str, cell: bytes) -> bool:
    """Return whether the capture in a crawler's note (a cell `f:c` written by a crawler) has a
    `cdx` row.
    """
    try:
        note = read_first_seen({F_C: cell})
    except ValueError:
        return False
    if note is None or note.warc is None or note.offset is None:
        return False
    rows = records.find(CdxRow, {"sha1hex": sha1hex, "warc_offset": note.offset})
    return any(row.warc_path.rpartition("/")[2] == note.warc for row in rows)


RETRY_S = 2.0


def return_place(place: Place) -> Place:
    """Return the location unchanged. Default where WARC files are not given recorded names."""
    return place


EMITS = (
    Output(UnextractedPdf),
    Output(UngrobidedPdf),
    Output(UnparsedPage),
    Output(UnarchivedBody),
    Output(UnreadArticle),
    Output(UnindexedFile),
)


@dataclass(frozen=True, slots=True)
class PersistFileStep:
    """Step that records files and captures in the wide table and the SQL records.

    - `journal`: name of the wide table.
    - `copies_bodies`: whether bodies in WARC files of other programs are copied to the archive.
    - `clock`: returns the current time (aware UTC).

    The first capture of a file becomes its primary capture. Later captures end as duplicates.
    """

    table: Table
    records: Records
    journal: str
    copies_bodies: bool
    clock: Callable[[], datetime]
    name_place: Callable[[Place], Place] = return_place
    """Function that replaces the path in a location by the name of the WARC, as
    `WarcNames.name_place` does.
    """

    def __call__(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        """Record the captures. Return one result per capture, in order.

        A repeated call has the same result: a primary capture is sent to the next step again.
        Captures of files that were removed by a takedown leave no rows. Takedowns are checked
        before and after the write, because a takedown that began earlier may not see the new rows.
        If the process is killed in between, the rows are removed when the message is delivered
        again.
        """
        without_sha1 = [item for item in items if _is_missing_sha1(item)]
        if not without_sha1:
            return self._build_results(items)
        # The captures they repeat may be in the same batch.
        identified_items = [item for item in items if not _is_missing_sha1(item)]
        results = dict(
            zip(map(id, identified_items), self._build_results(identified_items), strict=True)
        )
        results |= dict(
            zip(map(id, without_sha1), map(self._persist_revisit, without_sha1), strict=True)
        )
        return [results[id(item)] for item in items]

    def _persist_revisit(self, identified_capture: IdentifiedCapture) -> Result:
        """Record a revisit without a SHA-1 as a capture of the file that it repeats.

        If that file is not known, the revisit is retried later while a capture in progress may
        still add the file. Otherwise it is dropped.
        """
        revisited_file = find_revisited(
            self.records,
            identified_capture.capture,
            identified_capture.refers_to or RevisitReference(),
        )
        if revisited_file.sha1hex is not None:
            digest = encode_sha1_base32(bytes.fromhex(revisited_file.sha1hex))
            resolved_capture = replace(
                identified_capture,
                capture=replace(identified_capture.capture, digest=digest),
                refers_to=None,
            )
            return self._build_results([resolved_capture])[0]
        if revisited_file.is_open:
            return Result(
                defer(Reason.NOT_YET, "the original of this revisit is being read", RETRY_S)
            )
        return Result(drop(Reason.REVISIT, ("the original of this revisit is not in the library")))

    def _build_results(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        removed_sha1hexes = self._find_taken_down(items)
        allowed_items = [item for item in items if item.sha1hex not in removed_sha1hexes]
        results_by_id = dict(zip(map(id, allowed_items), self._persist(allowed_items), strict=True))
        removed_sha1hexes |= self._find_taken_down(allowed_items)
        refusal = Result(drop(Reason.TAKEN_DOWN))
        results = [
            refusal if item.sha1hex in removed_sha1hexes else results_by_id[id(item)]
            for item in items
        ]
        if removed_sha1hexes:
            changed_sha1hexes = self._remove_written(
                [item for item in items if item.sha1hex in removed_sha1hexes]
            )
            _request_reindex(results, items, changed_sha1hexes)
        return results

    def _find_taken_down(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        sha1hexes = {sha1 for item in items if (sha1 := item.sha1hex) is not None}
        return {row.sha1hex for row in self.records.get(TakedownRow, sorted(sha1hexes))}

    def _remove_written(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        """Remove the rows of these captures again, because their files were removed by a takedown.

        Rows of files are removed last, since all other rows are found through them. Returns the
        SHA-1s of other files for whose captures other rights now apply.
        """
        now = self.clock()
        capture_rows = [row for item in items for row in self._list_captures(item, now)]
        plan = plan_captures(
            self.records, capture_rows, {row.sha1hex: row.capture_id for row in capture_rows}
        )
        removed_rows = [*plan.rows.values(), *chain.from_iterable(plan.replaced.values())]
        self.records.delete(CdxRow, [build_cdx_key(row) for row in removed_rows])
        self.records.delete(CaptureRightsRow, [item.capture.id for item in items])
        changed_sha1hexes = remove_host_rows(self.records, build_host_rows(items), now)
        sha1hexes = sorted({sha1 for item in items if (sha1 := item.sha1hex) is not None})
        for sha1hex in sha1hexes:
            for page in iter_pages(self.table, self.journal, build_row_key(sha1hex)):
                self.table.delete(self.journal, [key for key, _ in page])
        self.records.delete(FileMetaRow, sha1hexes)
        return changed_sha1hexes - set(sha1hexes)

    def _persist(self, items: Sequence[IdentifiedCapture]) -> list[Result]:
        now = self.clock()
        files = [(item.capture, item.file) for item in items if item.file is not None]
        self.records.put(
            [_build_file_row(capture, file, now) for capture, file in files], replace=False
        )
        file_rows = self.records.get(FileMetaRow, [file.sha1 for _, file in files])
        owners = {row.sha1hex: row.capture_id for row in file_rows}
        plan = plan_captures(
            self.records, [row for item in items for row in self._list_captures(item, now)], owners
        )
        primary_files = [file.sha1 for capture, file in files if owners[file.sha1] == capture.id]
        record_crawler_counts(self.table, self.records, self.journal, primary_files)
        stored_cells, crawlers = (
            self._load_cells(primary_files),
            find_crawler_files(self.records, primary_files),
        )
        cells = [
            row
            for capture, file in files
            for row in self._build_cells(
                capture, file, stored_cells, plan, first=owners[file.sha1] == capture.id
            )
        ]
        cells = [
            (key, {name: cell for name, cell in row.items() if name != F_C})
            if key.hex() in crawlers
            else (key, row)
            for key, row in cells
        ]
        self.table.put(self.journal, [*_build_displaced_rows(stored_cells, plan), *cells])
        if replaced_keys := _list_replaced_keys(plan):
            self.table.delete(self.journal, replaced_keys)
        write_captures(self.records, plan)
        remove_capture_rights(self.records, list(chain.from_iterable(plan.replaced.values())))
        rights = [row for item in items if (row := _build_rights_row(item, now)) is not None]
        self.records.put([row for row in rights if row.capture_id not in plan.repeats])
        hosts = build_host_rows(item for item in items if item.capture.id not in plan.repeats)
        changed_sha1hexes = write_host_rows(self.records, hosts, now)
        primary_ids = set(owners.values())
        rows = [row for row in plan.rows.values() if row.capture_id not in primary_ids]
        recounted_sha1hexes = {row.sha1hex for row in rows}
        recounted_sha1hexes |= {row.sha1hex for row in chain.from_iterable(plan.replaced.values())}
        recounted_sha1hexes |= {
            key.hex() for key, file_cells in stored_cells.items() if F_C in file_cells
        }
        update_capture_counts(self.table, self.records, self.journal, sorted(recounted_sha1hexes))
        stating_ids = self._find_stating(items)
        results = [self._route(item, owners, stating_ids) for item in items]
        _request_reindex(results, items, changed_sha1hexes)
        return results

    def _find_stating(self, items: Sequence[IdentifiedCapture]) -> set[str]:
        """Return the ids of those captures that have stored rights statements."""
        rows = self.records.get(CaptureRightsRow, [item.capture.id for item in items])
        return {row.capture_id for row in rows if parse_row_rights(row).statements}

    def _load_cells(self, sha1hexes: Sequence[str]) -> dict[bytes, dict[str, bytes]]:
        """Return the current table cells of the files by row key, limited to `f:c`, `file:cdx` and
        `file:meta`.
        """
        keys = [build_row_key(sha1hex) for sha1hex in sha1hexes]
        columns = [F_C, FILE_CDX, FILE_META]
        return self.table.get(self.journal, keys, columns) if keys else {}

    def _is_referenced(self, capture: Capture) -> bool:
        """Return whether the body of a capture stays in the WARC file of another program and is not
        copied.
        """
        return capture.place.kind is PlaceKind.WARC and not self.copies_bodies

    def _build_cells(
        self,
        capture: Capture,
        file: FileMeta,
        stored_cells: Mapping[bytes, Mapping[str, bytes]],
        plan: CapturePlan,
        *,
        first: bool,
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Build the wide-table rows (key and cells) of a capture, at most one.

        `first` is whether it is the primary capture of the file. Then the record id in a crawler's
        note about the same WARC record is kept. A capture that `plan` does not store adds no
        location.
        """
        row = plan.rows.get(capture.id)
        place = replace(capture.place, path=row.warc_path) if row else capture.place
        if first:
            key, cells = build_row_key(file.sha1), build_file_cells(file)
            if row is not None:
                recorded_id = find_recorded_id(stored_cells.get(key, {}), capture.url, place)
                cells |= build_first_cells(capture, place, recorded_id)
            return [(key, cells)]
        if row is not None:
            key = build_alternate_key(file.sha1, capture.id)
            return [(key, build_later_cells(capture, place))]
        return []

    def _list_captures(self, identified_capture: IdentifiedCapture, now: datetime) -> list[CdxRow]:
        if identified_capture.file is None:
            return build_revisit_rows(
                identified_capture.capture, self.name_place(identified_capture.capture.place), now
            )
        if self._is_referenced(identified_capture.capture):
            return [
                build_cdx_row(
                    identified_capture.capture,
                    identified_capture.file,
                    self.name_place(identified_capture.capture.place),
                    now,
                )
            ]
        return []

    def _route(
        self, identified_capture: IdentifiedCapture, owners: dict[str, str], stating_ids: set[str]
    ) -> Result:
        """Return the result of a capture: what is sent to the next steps, or why the capture ends
        here.

        `owners` gives the primary capture of each file, by SHA-1. A later capture with rights
        statements (`stating_ids`) also requests an update of its file's index document.
        """
        capture, file = identified_capture.capture, identified_capture.file
        sha1hex = identified_capture.sha1hex
        reindex_items = (
            (UnindexedFile(sha1hex),) if sha1hex is not None and capture.id in stating_ids else ()
        )
        if file is None:
            return Result(drop(Reason.REVISIT, capture.digest or ""), reindex_items, sha1hex)
        is_referenced = self._is_referenced(capture)
        owner = owners[file.sha1]
        if owner != capture.id:
            repeated_body = UnarchivedBody(capture, file, repeat_of=owner)
            disposition = drop(Reason.DUPLICATE, f"same bytes as capture {owner}")
            return Result(
                disposition, reindex_items if is_referenced else (repeated_body, *reindex_items)
            )
        if file.kind is Kind.STORY:
            return Result(items=(UnparsedPage(capture, file, identified_capture.charset),))
        if file.kind is Kind.UNREAD:
            disposition_unread = keep_without_text(Reason.UNREAD_TYPE, file.mime)
            return Result(
                disposition_unread, () if is_referenced else (UnarchivedBody(capture, file),)
            )
        if file.kind is Kind.JATS:
            article = UnreadArticle(capture, file)
            return Result(
                items=(article,) if is_referenced else (article, UnarchivedBody(capture, file))
            )
        work = (UnextractedPdf(capture, file), UngrobidedPdf(capture, file))
        return Result(items=work if is_referenced else (*work, UnarchivedBody(capture, file)))


def _request_reindex(
    results: list[Result], items: Sequence[IdentifiedCapture], sha1hexes: Collection[str]
) -> None:
    """Add to the first result a request to update the index documents of files whose rights may
    have changed.

    `sha1hexes` are these files. Nothing is added if it is empty.
    """
    if sha1hexes:
        first_result, unindexed_files = results[0], tuple(map(UnindexedFile, sorted(sha1hexes)))
        first_sha1hex = items[0].sha1hex
        results[0] = replace(
            first_result, items=(*first_result.items, *unindexed_files), about=first_sha1hex
        )


def _is_missing_sha1(identified_capture: IdentifiedCapture) -> bool:
    """Return whether a capture is a revisit that declares no SHA-1. Then its file is known only
    from the capture to which the revisit refers.
    """
    return identified_capture.refers_to is not None and identified_capture.sha1hex is None


def _build_displaced_rows(
    stored_cells: Mapping[bytes, Mapping[str, bytes]], plan: CapturePlan
) -> list[tuple[bytes, dict[str, bytes]]]:
    """Build the alternate table rows of captures that an index had listed before the files were
    read.

    In the file's own table row, a capture of this batch replaces the location of such a capture,
    which becomes a later capture. Captures whose `cdx` rows the plan replaces are left out.
    """
    replaced_keys = set(_list_replaced_keys(plan))
    return [
        (key, {FILE_CDX: cells[FILE_CDX]})
        for row_key, cells in stored_cells.items()
        if FILE_CDX in cells
        and FILE_META not in cells
        and (key := build_indexed_key(row_key.hex(), cells)) not in replaced_keys
    ]


def _list_replaced_keys(plan: CapturePlan) -> list[bytes]:
    """Return the keys of the alternate table rows of the captures whose `cdx` rows the plan
    replaces.
    """
    replaced_rows = chain.from_iterable(plan.replaced.values())
    return sorted({build_alternate_key(row.sha1hex, row.capture_id) for row in replaced_rows})


def _build_file_row(capture: Capture, file: FileMeta, now: datetime) -> FileMetaRow:
    return FileMetaRow(
        sha1hex=file.sha1,
        sha256hex=file.sha256,
        md5hex=file.md5,
        size_bytes=file.size,
        mimetype=file.mime,
        capture_id=capture.id,
        row_created=now,
    )


def _build_rights_row(
    identified_capture: IdentifiedCapture, now: datetime
) -> CaptureRightsRow | None:
    """Build the row of a capture's rights statements; None if the capture has none or its SHA-1 is
    unknown.
    """
    sha1hex = identified_capture.sha1hex
    return (
        None
        if sha1hex is None
        else build_capture_rights_row(
            identified_capture.capture.id, sha1hex, identified_capture.rights, now
        )
    )
